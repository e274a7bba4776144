//! Prior-aware estimation: closed form against linear program, iterations against two exact stages.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use jointly::data::{Column, Dataset};
use jointly::domain::{Clique, Domain};
use jointly::estimation::prior::{
    Answers, KullbackLeibler, Order, PriorAware, Projection, TwoStages, l1_projection,
    l1_projection_by_program,
};
use jointly::model::{Distribution, MarkovRandomField, WeightedSupport};
use jointly::table::{CliqueLayout, Potentials};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum()
}

fn divergence(q: &[f64], p: &[f64]) -> f64 {
    let terms = q.iter().zip(p).filter(|(q, _)| **q > 0.0);
    terms.map(|(q, p)| if *p > 0.0 { q * (q / p).ln() } else { f64::INFINITY }).sum()
}

#[test]
fn the_closed_form_is_as_near_as_the_linear_program_and_never_less_like_the_prior() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut cases = [0; 4];
    for case in 0..10_000 {
        let cells = rng.random_range(1..9);
        let scale = [0.2, 1.0, 3.0][case % 3];
        let answers: Vec<f64> =
            (0..cells).map(|_| scale * (rng.random::<f64>() - 0.3) / f64::from(cells)).collect();
        let mut prior: Vec<f64> = (0..cells)
            .map(|_| if rng.random::<f64>() < 0.2 { 0.0 } else { rng.random::<f64>() })
            .collect();
        let sum: f64 = prior.iter().sum();
        prior.iter_mut().for_each(|b| *b = if sum > 0.0 { *b / sum } else { 0.0 });
        let mut possible: Vec<bool> =
            prior.iter().map(|b| *b > 0.0 || rng.random::<f64>() < 0.7).collect();
        if !possible.contains(&true) {
            possible[0] = true;
        }
        let closed = l1_projection(&answers, &prior, &possible).unwrap();
        let program = l1_projection_by_program(&answers, &possible).unwrap();
        for y in [&closed, &program] {
            assert!((y.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{case}: {y:?}");
            assert!(y.iter().zip(&possible).all(|(y, may)| *y >= 0.0 && (*may || *y == 0.0)));
        }
        let (own, theirs) = (distance(&closed, &answers), distance(&program, &answers));
        assert!((own - theirs).abs() < 1e-9, "{case}: {own} against {theirs}");
        // The solver's point is among the nearest ones but for its tolerance.
        let (own, theirs) = (divergence(&closed, &prior), divergence(&program, &prior));
        assert!(own <= theirs + 1e-6, "{case}: {own} against {theirs}");
        let raised = answers.iter().zip(&possible).filter(|(_, may)| **may);
        let raised = raised.map(|(a, _)| a.max(0.0)).sum::<f64>() < 1.0;
        cases[usize::from(raised) + 2 * usize::from(own.is_infinite())] += 1;
    }
    assert!(cases.iter().all(|count| *count > 50), "{cases:?}");
}

#[test]
fn projections_are_those_computed_by_hand() {
    let all = [true; 4];
    let close = |found: Vec<f64>, expected: [f64; 4]| {
        assert!(distance(&found, &expected) < 1e-15, "{found:?}, expected {expected:?}");
    };
    // 1.5 must fall to 1: cells beyond c b are cut, c = 1.6.
    let y = l1_projection(&[0.8, 0.5, 0.2, -0.3], &[0.25, 0.25, 0.25, 0.25], &all).unwrap();
    close(y, [0.4, 0.4, 0.2, 0.0]);
    // 0.5 must rise to 1: the first keeps what it has, the others go up to c b, c = 0.6 / 0.75.
    let y = l1_projection(&[0.4, 0.1, 0.0, -0.3], &[0.25, 0.25, 0.25, 0.25], &all).unwrap();
    close(y, [0.4, 0.2, 0.2, 0.2]);
    // A cell that had nothing gets something only when the others cannot hold it.
    let y = l1_projection(&[0.7, 0.4, 0.5, 0.0], &[0.5, 0.5, 0.0, 0.0], &all).unwrap();
    close(y, [0.6, 0.4, 0.0, 0.0]);
    let y = l1_projection(&[0.3, 0.4, 0.5, 0.1], &[0.5, 0.5, 0.0, 0.0], &all).unwrap();
    close(y, [0.3, 0.4, 0.2, 0.1]);
    // ... or when its answer requests it and there is room.
    let y = l1_projection(&[0.3, 0.2, 0.1, 0.0], &[0.5, 0.5, 0.0, 0.0], &all).unwrap();
    close(y, [0.45, 0.45, 0.1, 0.0]);
    assert!(l1_projection(&[0.5, f64::NAN], &[0.5, 0.5], &[true; 2]).is_err());
    assert!(l1_projection(&[0.5, 0.5], &[0.5, 0.5], &[false; 2]).is_err());
    assert!(l1_projection(&[0.5, 0.5], &[0.5, -0.5], &[true; 2]).is_err());
}

fn domain() -> Domain {
    Domain::new([("a", 3), ("b", 4), ("c", 2), ("d", 3)]).unwrap()
}

/// All cells of the domain with random weights; some of them 0.
fn random_support(zeros: f64, seed: u64) -> WeightedSupport {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let cells = WeightedSupport::all_cells(&domain(), 1000.0).unwrap();
    let weight = |rng: &mut ChaCha20Rng| {
        if rng.random::<f64>() < zeros { 0.0 } else { rng.random::<f64>().powi(3) + 1e-3 }
    };
    let weights = (0..cells.size()).map(|_| weight(&mut rng)).collect();
    WeightedSupport::new(cells.rows(), weights, 1000.0).unwrap()
}

fn cliques() -> Vec<Clique> {
    [vec![0, 1], vec![1, 2], vec![3], vec![0, 3]].into_iter().map(Clique::new).collect()
}

/// What a distribution answers, as frequencies.
fn answers_of(model: &WeightedSupport) -> Vec<Answers> {
    let tables = model.marginals(&cliques()).unwrap();
    let frequencies = |t: &jointly::table::Factor| t.values().iter().map(|x| x / 1000.0).collect();
    cliques()
        .into_iter()
        .zip(&tables)
        .map(|(clique, table)| Answers::new(clique, frequencies(table)))
        .collect()
}

fn probabilities(model: &WeightedSupport) -> Vec<f64> {
    let sum: f64 = model.weights().iter().sum();
    model.weights().iter().map(|w| w / sum).collect()
}

#[test]
fn iterations_reach_the_optimum_of_the_two_stages_on_answers_that_a_distribution_has() {
    for seed in 0..4 {
        let prior = random_support(0.2, seed);
        let p = probabilities(&prior);
        // Another distribution on the prior's support.
        let mut rng = ChaCha20Rng::seed_from_u64(100 + seed);
        let other: Vec<f64> =
            prior.weights().iter().map(|w| w * (3.0 * rng.random::<f64>()).exp()).collect();
        let other = WeightedSupport::new(prior.rows(), other, 1000.0).unwrap();
        let answers = answers_of(&other);
        let mut found = Vec::new();
        for method in [KullbackLeibler::ProportionalFitting, KullbackLeibler::Newton] {
            let exact = TwoStages { method, ..TwoStages::default() };
            let exact = exact.update(&prior, &answers).unwrap();
            assert!(exact.moved < 1e-6 && exact.residual < 1e-9, "{exact:?}");
            assert!(exact.duality_gap.abs() < 1e-8, "{}", exact.duality_gap);
            let own = divergence(&probabilities(&exact.model), &p);
            assert!((own - exact.divergence).abs() < 1e-9);
            assert!(exact.divergence < divergence(&probabilities(&other), &p));
            found.push(exact.divergence);
        }
        assert!((found[0] - found[1]).abs() < 1e-7, "{found:?}");
        for order in [Order::RoundRobin, Order::Random { seed: 5 }, Order::WorstFirst] {
            for projection in [Projection::LeastEntropy, Projection::LinearProgram] {
                // The solver's answers are off by its tolerance.
                let tolerance = if projection == Projection::LeastEntropy { 1e-12 } else { 1e-8 };
                let method = PriorAware {
                    order,
                    projection,
                    passes: 2000,
                    tolerance,
                    stagnation: f64::INFINITY,
                };
                if projection == Projection::LinearProgram
                    && (seed > 0 || order != Order::RoundRobin)
                {
                    continue;
                }
                let posterior = method.update(&prior, &answers).unwrap();
                assert!(posterior.converged, "{order:?}, {:?}", posterior.moved.last());
                let own = divergence(&probabilities(&posterior.model), &p);
                assert!((own - found[0]).abs() < 1e-6, "{order:?}: {own}, {}", found[0]);
            }
        }
    }
}

#[test]
fn a_first_stage_finds_the_nearest_answers_that_a_distribution_has() {
    // Noisy answers: no distribution on the support is nearer than y*, by its dual or by many random ones.
    let prior = random_support(0.3, 7);
    let mut rng = ChaCha20Rng::seed_from_u64(8);
    let mut answers = answers_of(&prior);
    for answers in &mut answers {
        answers.frequencies.iter_mut().for_each(|x| *x += 0.05 * (rng.random::<f64>() - 0.5));
    }
    let exact = TwoStages::default().update(&prior, &answers).unwrap();
    let off = |model: &WeightedSupport| -> f64 {
        let tables = model.marginals(&cliques()).unwrap();
        let of = |(table, answers): (&jointly::table::Factor, &Answers)| -> f64 {
            let cells = table.values().iter().zip(&answers.frequencies);
            cells.map(|(x, y)| (x / 1000.0 - y).abs()).sum()
        };
        tables.iter().zip(&answers).map(of).sum()
    };
    assert!(
        (off(&exact.model) - exact.moved).abs() < 1e-6,
        "{} {}",
        off(&exact.model),
        exact.moved
    );
    assert!(exact.moved < off(&prior));
    let best = probabilities(&exact.model);
    for _ in 0..200 {
        let near = best.iter().zip(prior.weights()).map(|(q, w)| {
            let factor = 1.0 + 0.1 * (rng.random::<f64>() - 0.5);
            if *w > 0.0 { q * factor + 1e-4 * rng.random::<f64>() } else { 0.0 }
        });
        let near = WeightedSupport::new(prior.rows(), near.collect(), 1000.0).unwrap();
        assert!(off(&near) > exact.moved - 1e-7);
    }
}

#[test]
fn definition_3_1_scales_what_has_weight_and_fills_what_has_none_evenly() {
    let domain = Domain::new([("a", 4), ("b", 2)]).unwrap();
    let column = |codes: [u32; 7], k| Column::from_codes(codes, k).unwrap();
    let columns = vec![column([0, 0, 1, 1, 2, 2, 3], 4), column([0, 1, 0, 1, 0, 1, 0], 2)];
    let rows = Dataset::new(domain, columns).unwrap();
    // a = 0: both weigh; a = 1: one does; a = 2: none; a = 3: none, and none is wanted.
    let weights = vec![0.2, 0.3, 0.5, 0.0, 0.0, 0.0, 0.0];
    let prior = WeightedSupport::new(&rows, weights, 10.0).unwrap();
    let answers = [Answers::new(Clique::new([0]), vec![0.4, 0.3, 0.3, 0.0])];
    let posterior = PriorAware::default().update(&prior, &answers).unwrap();
    let q = probabilities(&posterior.model);
    assert!(distance(&q, &[0.16, 0.24, 0.3, 0.0, 0.15, 0.15, 0.0]) < 1e-12, "{q:?}");
}

#[test]
fn a_graphical_prior_gives_the_posterior_of_the_same_distribution_listed() {
    let domain = domain();
    let layout = CliqueLayout::new(&domain, [Clique::new([0, 1]), Clique::new([1, 3])]).unwrap();
    let mut theta = Potentials::zeros(&layout);
    for (i, x) in theta.values_mut().iter_mut().enumerate() {
        *x = (2.3 * i as f64).sin();
    }
    let prior = MarkovRandomField::new(&domain, theta, 1000.0).unwrap();
    let all = Clique::new(0..4);
    let cells = WeightedSupport::all_cells(&domain, 1000.0).unwrap();
    let joint = |model: &MarkovRandomField| {
        model.marginals(std::slice::from_ref(&all)).unwrap()[0].values().to_vec()
    };
    let listed = WeightedSupport::new(cells.rows(), joint(&prior), 1000.0).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let mut answers = answers_of(&random_support(0.0, 9));
    for answers in &mut answers {
        answers.frequencies.iter_mut().for_each(|x| *x += 0.02 * (rng.random::<f64>() - 0.5));
    }
    for order in [Order::RoundRobin, Order::Random { seed: 2 }, Order::WorstFirst] {
        let method =
            PriorAware { order, passes: 5, stagnation: f64::INFINITY, ..PriorAware::default() };
        let model = method.update_model(&prior, &answers, 80.0).unwrap();
        let support = method.update(&listed, &answers).unwrap();
        let (a, b) = (joint(&model.model), probabilities(&support.model));
        let off: f64 = a.iter().zip(&b).map(|(a, b)| (a / 1000.0 - b).abs()).sum();
        assert!(off < 1e-9, "{order:?}: {off}");
        assert!(distance(&model.moved, &support.moved) < 1e-9);
    }
    let error = PriorAware::default().update_model(&prior, &answers, 1e-6).unwrap_err();
    assert!(error.to_string().contains("MiB"), "{error}");
}

#[test]
fn contradicting_answers_end_by_themselves_and_bad_ones_are_refused() {
    let prior = random_support(0.1, 11);
    let mut answers = answers_of(&random_support(0.0, 12));
    let mut rng = ChaCha20Rng::seed_from_u64(13);
    for answers in &mut answers {
        answers.frequencies.iter_mut().for_each(|x| *x += 0.1 * (rng.random::<f64>() - 0.5));
    }
    let posterior = PriorAware::default().update(&prior, &answers).unwrap();
    assert!(posterior.converged && posterior.moved.len() < 50, "{:?}", posterior.moved);
    let refused = |clique: &[usize], frequencies: Vec<f64>| {
        let answers = [Answers::new(Clique::new(clique.iter().copied()), frequencies)];
        PriorAware::default().update(&prior, &answers).unwrap_err().to_string()
    };
    assert!(refused(&[4], vec![1.0]).contains("#4"));
    assert!(refused(&[0], vec![0.5, 0.5]).contains("2 cells, expected 3"));
    assert!(refused(&[0], vec![0.5, 0.5, f64::NAN]).contains("not finite"));
    let none = PriorAware { passes: 0, ..PriorAware::default() };
    assert!(none.update(&prior, &[]).is_err());
}

/// Four records, one per cell.
fn four_cells(weights: [f64; 4]) -> WeightedSupport {
    let domain = Domain::new([("a", 4)]).unwrap();
    let rows = Dataset::from_rows(domain, &[[0], [1], [2], [3]]).unwrap();
    WeightedSupport::new(&rows, weights.to_vec(), 1.0).unwrap()
}

fn of_cells(cells: &[u32], frequencies: &[f64]) -> Answers {
    Answers::of_cells(Clique::new([0]), cells.to_vec(), frequencies.to_vec())
}

#[test]
fn answers_on_some_cells_leave_the_others_what_remains() {
    let both = [Projection::LeastEntropy, Projection::LinearProgram];
    let posterior = |projection: Projection, prior: &WeightedSupport, answers: &Answers| {
        let method = PriorAware { projection, ..PriorAware::default() };
        let found = method.update(prior, std::slice::from_ref(answers)).unwrap();
        assert!(found.converged);
        found.model.weights().to_vec()
    };
    let prior = four_cells([0.1, 0.2, 0.3, 0.4]);
    let zero = four_cells([0.4, 0.6, 0.0, 0.0]);
    for projection in both {
        for (prior, cells, answers, expected) in [
            // 0.2 is left for 0.7: the others are scaled by 2/7.
            (&prior, [0, 1], [0.5, 0.3], [0.5, 0.3, 0.6 / 7.0, 0.8 / 7.0]),
            // The order of the cells is that of the answers.
            (&prior, [1, 0], [0.3, 0.5], [0.5, 0.3, 0.6 / 7.0, 0.8 / 7.0]),
            // Negative answers are 0, and a sum below 1 stays as it is.
            (&prior, [2, 3], [-0.2, 0.4], [0.2, 0.4, 0.0, 0.4]),
            // Others without weight share what is left evenly.
            (&zero, [0, 1], [0.5, 0.3], [0.5, 0.3, 0.1, 0.1]),
        ] {
            let found = posterior(projection, prior, &of_cells(&cells, &answers));
            assert!(distance(&found, &expected) < 1e-12, "{found:?}, expected {expected:?}");
        }
    }
    // 1.2 in all must fall to 1, with nothing for the others: as for answers on all cells.
    let found = posterior(both[0], &prior, &of_cells(&[0, 1], &[0.8, 0.4]));
    assert!(distance(&found, &[0.6, 0.4, 0.0, 0.0]) < 1e-12, "{found:?}");
    // All cells listed, or none of the records outside them: they sum to 1.
    let found = posterior(both[0], &prior, &of_cells(&[0, 1, 2, 3], &[0.1, 0.2, 0.3, 0.2]));
    assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{found:?}");
    let all = Answers::new(Clique::new([0]), vec![0.1, 0.2, 0.3, 0.2]);
    assert_eq!(found, posterior(both[0], &prior, &all));
}

#[test]
fn some_cells_of_overlapping_marginals_reach_the_exact_two_stages_and_the_model() {
    let domain = Domain::new([("a", 3), ("b", 2), ("c", 2)]).unwrap();
    let rows: Vec<[u32; 3]> = (0..12).map(|i| [i % 3, i / 3 % 2, i / 6]).collect();
    let rows = Dataset::from_rows(domain.clone(), &rows).unwrap();
    let weights: Vec<f64> = (0..12).map(|i| f64::from(1 + i * 5 % 7)).collect();
    let prior = WeightedSupport::new(&rows, weights.clone(), 1.0).unwrap();
    // Answers that some distribution has, so that the posterior is the projection of the prior.
    let answers = [
        Answers::of_cells(Clique::new([0, 1]), vec![0, 5], vec![0.05, 0.3]),
        Answers::of_cells(Clique::new([2]), vec![1], vec![0.35]),
        Answers::new(Clique::new([1]), vec![0.45, 0.55]),
    ];
    let method =
        PriorAware { passes: 5_000, tolerance: 1e-14, stagnation: 2.0, ..PriorAware::default() };
    let iterated = method.update(&prior, &answers).unwrap();
    for how in [KullbackLeibler::ProportionalFitting, KullbackLeibler::Newton] {
        let exact =
            TwoStages { method: how, ..TwoStages::default() }.update(&prior, &answers).unwrap();
        assert!(exact.moved < 1e-9 && exact.residual < 1e-8, "{exact:?}");
        assert_eq!(exact.answers.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 2]);
        let off = distance(iterated.model.weights(), exact.model.weights());
        assert!(off < 1e-7, "{how:?}: {off}");
        assert!(exact.duality_gap.abs() < 1e-8, "{exact:?}");
    }
    // The same on a graphical model of one clique, whose table is the prior.
    let layout = CliqueLayout::new(&domain, [Clique::new(0..3)]).unwrap();
    let mut theta = Potentials::zeros(&layout);
    for (row, weight) in weights.iter().enumerate() {
        let row = rows.row(row);
        let cell = (row[0] * 2 + row[1]) * 2 + row[2];
        theta.table_mut(0)[cell as usize] = weight.ln();
    }
    let model = MarkovRandomField::new(&domain, theta, 1.0).unwrap();
    let modelled = method.update_model(&model, &answers, 10.0).unwrap();
    let own = modelled.model.marginals(&[Clique::new(0..3)]).unwrap();
    let listed = iterated.model.marginals(&[Clique::new(0..3)]).unwrap();
    assert!(distance(own[0].values(), listed[0].values()) < 1e-9);
}

#[test]
fn answers_on_wrong_cells_are_refused() {
    let prior = four_cells([0.1, 0.2, 0.3, 0.4]);
    for (answers, part) in [
        (of_cells(&[0, 4], &[0.1, 0.2]), "cell 4, expected different cells of the marginal"),
        (of_cells(&[1, 1], &[0.1, 0.2]), "cell 1, expected different cells of the marginal"),
        (of_cells(&[1], &[0.1, 0.2]), "1"),
        (of_cells(&[1], &[f64::NAN]), "not finite"),
    ] {
        let answers = [answers];
        let message = PriorAware::default().update(&prior, &answers).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
        assert!(TwoStages::default().update(&prior, &answers).is_err());
    }
}
