//! GEM, GEM^Pub, RAP-softmax and RAP: what they choose, spend and learn.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use jointly::data::{Dataset, Projectable};
use jointly::domain::{Clique, Domain, Schema};
use jointly::evaluation::WorkloadError;
use jointly::mechanism::{
    FitRecord, Gem, GemPub, Iterate, Latents, Loss, Mechanism, NeuralFit, Queries, QueryRelease,
    Rap, RapSoftmax, Release, RowFit,
};
use jointly::model::{Distribution, ModelFile, ModelLimits, Products};
use jointly::observe::Silent;
use jointly::privacy::NoiseMechanism;
use jointly::query::Workload;
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use crate::support::{Run, people, select};

fn small() -> NeuralFit {
    NeuralFit {
        hidden: vec![32],
        embedding: 32,
        components: 100,
        learning_rate: 2e-3,
        ..NeuralFit::default()
    }
}

fn rows(components: u32, steps: u32, learning_rate: f64) -> RowFit {
    RowFit { components, steps, learning_rate }
}

/// Records of three binary attributes with a strong pair and a weak triple.
fn three(records: usize, seed: u64) -> Dataset {
    let domain = Domain::new([("a", 2), ("b", 2), ("c", 2)]).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut coin = |p: f64| u32::from(rng.random::<f64>() < p);
    let rows: Vec<[u32; 3]> = (0..records)
        .map(|_| {
            let a = coin(0.3);
            let b = if coin(0.9) == 1 { a } else { coin(0.5) };
            [a, b, coin(0.2 + 0.5 * f64::from(a & b))]
        })
        .collect();
    Dataset::from_rows(domain, &rows).unwrap()
}

fn mixture(release: &Release) -> &Products {
    release.model.as_products().unwrap()
}

/// Largest error of the model on all cells, as a probability.
fn largest_error(private: &Dataset, release: &Release) -> f64 {
    let workload = Workload::all_k_way(private.domain(), private.domain().len()).unwrap();
    WorkloadError::of_model(private, &release.model, &workload, 0).unwrap().max_query
}

#[test]
fn with_a_huge_budget_they_learn_the_table() {
    let private = three(4000, 1);
    let run = Run { epsilon: 2000.0, ..Run::new(&private, &[]) };
    let marginals = |rounds| QueryRelease::new(rounds, Queries::Marginals);
    let gem = Gem { release: marginals(30), network: small() };
    let error = largest_error(&private, &run.release(&gem));
    assert!(error < 0.005, "GEM: {error}");
    let soft = RapSoftmax { release: marginals(3), rows: rows(100, 1000, 0.1) };
    let error = largest_error(&private, &run.release(&soft));
    assert!(error < 0.005, "RAP-softmax: {error}");
}

/// All cells are measured, so that the relaxed rows have no freedom left.
#[test]
fn rap_answers_what_it_measured_before_it_is_normalized() {
    let private = three(4000, 1);
    let run = Run { epsilon: 2000.0, ..Run::new(&private, &[]) };
    let release = QueryRelease::new(3, Queries::Marginals);
    let rap = Rap { release, rows: rows(100, 1000, 0.01) };
    let release = run.release(&rap);
    let Some(FitRecord::Products { largest_error, .. }) = release.rounds.last().unwrap().fit else {
        unreachable!("a mixture was trained")
    };
    assert!(largest_error < 0.01, "{largest_error}");
    assert!(self::largest_error(&private, &release) < 0.2);
}

#[test]
fn a_round_makes_its_choices_against_one_model_and_no_marginal_twice() {
    let run = Run::new(&people(2000, 1, 0.0), &[]);
    let release = QueryRelease { per_round: 3, ..QueryRelease::new(2, Queries::Marginals) };
    let rap = RapSoftmax { release, rows: rows(20, 50, 0.1) };
    let release = run.release(&rap);
    assert_eq!(release.rounds.len(), 2);
    for round in &release.rounds {
        assert_eq!(release.measurements_of(round).len(), 3);
        assert_eq!(round.choices.len(), 3);
        assert!(round.choices.windows(2).all(|pair| pair[1] == pair[0] - 1));
    }
    let mut cliques: Vec<&Clique> = release.measurements.iter().map(|m| &m.clique).collect();
    cliques.sort_unstable();
    cliques.dedup();
    assert_eq!(cliques.len(), 6);
    assert_eq!(release.ledger.spent(), release.ledger.limit());
    // Six choices and six measurements at equal parts of the budget.
    let costs: Vec<f64> = release.ledger.entries().iter().map(|e| e.rho.to_f64()).collect();
    assert_eq!(costs.len(), 12);
    let mean = costs.iter().sum::<f64>() / 12.0;
    assert!(costs.iter().all(|cost| (cost / mean - 1.0).abs() < 1e-6), "{costs:?}");
}

#[test]
fn public_tables_cost_nothing_and_a_missing_attribute_is_uniform_until_it_is_measured() {
    let private = three(4000, 1);
    let public = select(&three(4000, 2), &["a", "b"]);
    let run = Run { epsilon: 0.01, ..Run::new(&private, &[("near", &public)]) };
    let gem = GemPub {
        release: QueryRelease::new(1, Queries::Marginals),
        network: NeuralFit { steps: 1, learning_rate: 1e-9, ..small() },
        pretrain_steps: 2500,
    };
    let release = run.release(&gem);
    assert_eq!(release.ledger.entries().len(), 2, "a choice and a measurement");
    let marginals =
        mixture(&release).marginals(&[Clique::new([0, 1]), Clique::new([0, 1, 2])]).unwrap();
    let expected = public.project(&Clique::new([0, 1])).unwrap();
    for (pair, (found, expected)) in marginals[0].values().iter().zip(expected).enumerate() {
        assert!((found - f64::from(expected)).abs() < 40.0, "{found} {expected}");
        let cells = &marginals[1].values()[2 * pair..2 * pair + 2];
        assert!((cells[0] - cells[1]).abs() < 1e-3, "{cells:?}");
    }
    let none = Run::new(&private, &[]).with(&gem, &mut Silent).unwrap_err();
    assert!(none.to_string().contains("number of public tables"), "{none}");
}

#[test]
fn the_options_of_the_papers_run_and_differ() {
    let run = Run { epsilon: 5.0, ..Run::new(&people(2000, 1, 0.0), &[]) };
    let release = QueryRelease::new(4, Queries::Marginals);
    let with = |network| run.release(&Gem { release, network });
    let base = with(small());
    assert_ne!(mixture(&base), mixture(&with(NeuralFit { loss: Loss::L1, ..small() })));
    assert_ne!(mixture(&base), mixture(&with(NeuralFit { latents: Latents::Fresh, ..small() })));
    assert_eq!(mixture(&base), mixture(&with(small())));
    let other = with(NeuralFit { start: 1, ..small() });
    assert_ne!(mixture(&base), mixture(&other));
    assert_eq!(base.ledger.spent(), other.ledger.spent());
}

/// The budget is spent when training fails, so there is a release all the same.
#[test]
fn training_that_diverges_is_taken_back() {
    let private = people(1500, 1, 0.0);
    let run = Run::new(&private, &[("own", &private)]);
    let release =
        QueryRelease { iterate: Iterate::Average, ..QueryRelease::new(3, Queries::Marginals) };
    let network = NeuralFit { learning_rate: 1e38, ..small() };
    let diverging = rows(20, 60, 1e38);
    let first = |release: &Release| match release.rounds[0].fit {
        Some(FitRecord::Products { steps, largest_error, .. }) => (steps, largest_error),
        _ => unreachable!("a mixture was trained"),
    };
    let mechanisms: [&dyn Mechanism; 4] = [
        &Gem { release, network: network.clone() },
        &GemPub { release, network, pretrain_steps: 5 },
        &RapSoftmax { release, rows: diverging },
        &Rap { release, rows: diverging },
    ];
    for mechanism in mechanisms {
        let release = run.release(mechanism);
        let (steps, error) = first(&release);
        assert!(error.is_finite() && error <= 1.0, "{}: {error}", mechanism.name());
        let sums = mixture(&release).marginals(&[Clique::new([0, 3])]).unwrap();
        let sum: f64 = sums[0].values().iter().sum();
        assert!((sum - 1500.0).abs() < 1.0, "{}: {sum}", mechanism.name());
        if mechanism.name().starts_with("gem") {
            assert_eq!(steps, 0, "{}", mechanism.name());
        }
    }
}

#[test]
fn the_model_is_the_same_on_one_and_two_threads() {
    let run = Run::new(&people(1500, 1, 0.0), &[]);
    let gem = Gem { release: QueryRelease::new(3, Queries::Marginals), network: small() };
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run.release(&gem))
    };
    assert_eq!(mixture(&on(1)), mixture(&on(2)));
}

#[test]
fn the_model_can_be_stored_read_and_sampled() {
    let private = people(1500, 1, 0.0);
    let run = Run::new(&private, &[]);
    let gem = Gem { release: QueryRelease::new(2, Queries::Marginals), network: small() };
    let release = run.release(&gem);
    let codes = r#"{"SEX": 2, "SCH": 4, "MAR": 5, "ESR": 5, "PRIVCOV": 2, "TEN": 5}"#;
    let file = release.model_file(Schema::from_json(codes, "codes").unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    file.write(&path).unwrap();
    let read = ModelFile::read(&path, ModelLimits::default()).unwrap();
    assert_eq!(read.model.as_products(), release.model.as_products());
    let limits = ModelLimits { model_mib: 1e-6, ..ModelLimits::default() };
    let error = ModelFile::read(&path, limits).unwrap_err().to_string();
    assert!(error.contains("MiB"), "{error}");
    let text = std::fs::read_to_string(&path).unwrap();
    for (from, to, part) in [
        ("\"components\":100", "\"components\":99", "for each of 99 components"),
        ("\"products\":{", "\"products\":{\"more\":1,", "unknown field"),
        ("\"attribute\":\"", "\"attribute\":\"x", "in its order"),
    ] {
        let text = ModelFile::with_digest(&text.replacen(from, to, 1), "x.json").unwrap();
        let read = ModelFile::from_json(&text, "x.json", ModelLimits::default());
        let error = read.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn parameters_out_of_range_are_refused_before_anything_is_spent() {
    let release = QueryRelease::new(3, Queries::Marginals);
    let gem = |network| Gem { release, network }.check().unwrap_err().to_string();
    for (network, part) in [
        (NeuralFit { components: 0, ..small() }, "components is 0"),
        (NeuralFit { hidden: vec![0], ..small() }, "hidden is 0"),
        (NeuralFit { embedding: 0, ..small() }, "embedding is 0"),
        (NeuralFit { steps: 0, ..small() }, "steps is 0"),
        (NeuralFit { learning_rate: f64::NAN, ..small() }, "learning rate"),
    ] {
        let error = gem(network);
        assert!(error.contains(part), "{error}");
    }
    let none = QueryRelease { per_round: 0, ..release };
    assert!(Gem { release: none, network: small() }.check().is_err());
    assert!(GemPub { pretrain_steps: 0, ..GemPub::default() }.check().is_err());
    assert!(Rap { rows: rows(10, 10, 0.0), ..Rap::default() }.check().is_err());
    let network = NeuralFit { components: 1 << 20, embedding: 1 << 20, ..small() };
    let run = Run::new(&people(100, 1, 0.0), &[]);
    let error = run.with(&Gem { release, network }, &mut Silent).unwrap_err().to_string();
    assert!(error.contains("the model in training"), "{error}");
    let release = Gem::default().release;
    assert!(!matches!(
        run.release(&Gem { release: QueryRelease { rounds: 1, ..release }, network: small() })
            .ledger
            .entries()[0]
            .mechanism,
        NoiseMechanism::DiscreteGaussian { .. }
    ));
}
