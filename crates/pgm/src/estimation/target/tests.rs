//! A fit to targets has the exact ones, is certified to be optimal for the others, and says what contradicts what.

use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::estimation::{SquaredLoss, Weighting};
use crate::model::MarkovRandomField;

const N: f64 = 1000.0;

fn domain() -> Domain {
    let domain = Domain::new([("a", 3), ("b", 4), ("c", 2), ("d", 3)]).unwrap();
    domain.forbid([vec![("a", vec![0]), ("b", vec![1, 2])]]).unwrap()
}

fn clique(attributes: &[usize]) -> Clique {
    Clique::new(attributes.iter().copied())
}

/// The true counts of a random distribution.
struct Truth(MarkovRandomField);

impl Truth {
    fn new(rng: &mut ChaCha20Rng) -> Self {
        let domain = domain();
        let everything = CliqueLayout::new(&domain, [domain.everything()]).unwrap();
        let mut theta = Potentials::zeros(&everything);
        theta.values_mut().iter_mut().for_each(|value| *value = rng.random_range(-2.0..2.0));
        Self(MarkovRandomField::new(&domain, theta, N).unwrap())
    }

    fn table(&self, of: &Clique) -> Vec<f64> {
        self.0.marginals(std::slice::from_ref(of)).unwrap()[0].values().to_vec()
    }

    fn exact(&self, of: &[usize]) -> Target {
        Target::Exact { clique: clique(of), values: self.table(&clique(of)) }
    }

    fn rounded(&self, of: &[usize], base: f64) -> Target {
        let values: Vec<f64> =
            self.table(&clique(of)).iter().map(|count| (count / base).round() * base).collect();
        Target::rounded(clique(of), &values, 0.5 * base)
    }

    fn noisy(&self, of: &[usize], stddev: f64, rng: &mut ChaCha20Rng) -> Target {
        let noise =
            |count: f64| count + stddev * (0..12).map(|_| rng.random_range(-0.5..0.5)).sum::<f64>();
        let values = self.table(&clique(of)).into_iter().map(noise).collect();
        Target::Noisy(Measurement::new(clique(of), values, stddev))
    }
}

fn tables(model: &MarkovRandomField, targets: &[Target]) -> Vec<Vec<f64>> {
    let cliques: Vec<Clique> = targets.iter().map(|target| target.clique().clone()).collect();
    model.marginals(&cliques).unwrap().iter().map(|table| table.values().to_vec()).collect()
}

#[test]
fn fits_to_all_kinds_of_tables_are_certified() {
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    for seed in 0..6 {
        let truth = Truth::new(rng);
        let all = [
            truth.exact(&[0, 1]),
            truth.rounded(&[1, 2], 10.0),
            truth.rounded(&[2], 50.0),
            truth.noisy(&[1, 2], 20.0, rng),
            truth.noisy(&[2, 3], 5.0, rng),
            truth.noisy(&[2, 3], 9.0, rng),
        ];
        let given = if seed % 2 == 0 { &all[..] } else { &all[1..] };
        let targets =
            Targets::new(&domain(), given.to_vec(), (seed % 2 == 1).then_some(N)).unwrap();
        let (model, certificate) = MarkovRandomField::fit_to(&targets).unwrap();
        // The noise of the loss is about 3.
        assert!(certificate.gap() < 0.5 && certificate.lower_bound > 0.5, "{certificate:?}");
        for (target, table) in given.iter().zip(tables(&model, given)) {
            let largest =
                target.off(&table).into_iter().fold(0.0_f64, |most, off| most.max(off.abs()));
            match target {
                Target::Exact { .. } => assert!(largest < 1e-5, "{largest}"),
                Target::Between { .. } => assert!(largest < 0.15, "{largest}"),
                Target::Noisy(noisy) => assert!(largest < 5.0 * noisy.stddev, "{largest}"),
            }
        }
    }
}

#[test]
fn rounded_tables_alone_are_met() {
    let truth = Truth::new(&mut ChaCha20Rng::seed_from_u64(2));
    let given =
        [truth.rounded(&[0, 1], 5.0), truth.rounded(&[1, 2], 5.0), truth.rounded(&[2, 3], 5.0)];
    let targets = Targets::new(&domain(), given.clone(), None).unwrap();
    assert!((targets.total() - N).abs() < 20.0, "{}", targets.total());
    let (model, certificate) = MarkovRandomField::fit_to(&targets).unwrap();
    assert!(certificate.loss < 1e-4, "{certificate:?}");
    for (target, table) in given.iter().zip(tables(&model, &given)) {
        assert!(target.off(&table).iter().all(|off| off.abs() < 0.05));
    }
}

#[test]
fn noisy_tables_have_the_loss_of_squares_and_its_bound() {
    let rng = &mut ChaCha20Rng::seed_from_u64(3);
    let truth = Truth::new(rng);
    let given = [
        truth.noisy(&[0, 1], 3.0, rng),
        truth.noisy(&[1, 2], 7.0, rng),
        truth.noisy(&[1, 2], 2.0, rng),
    ];
    let noisy: Vec<Measurement> = given
        .iter()
        .filter_map(
            |target| if let Target::Noisy(noisy) = target { Some(noisy.clone()) } else { None },
        )
        .collect();
    let squares = SquaredLoss::new(&domain(), &noisy, Weighting::InverseVariance).unwrap();
    let loss = TargetLoss::new(&domain(), &given).unwrap();
    let mu: Vec<f64> = (0..loss.layout().cells()).map(|_| rng.random_range(-20.0..200.0)).collect();
    let (one, other) = (loss.misfit(&mu).value, MarginalLoss::misfit(&squares, &mu).value);
    assert!((one - other).abs() < 1e-9 * one);
    let (mut first, mut second) = (mu.clone(), mu.clone());
    loss.gradient(&mu, &mut first);
    MarginalLoss::gradient(&squares, &mu, &mut second);
    assert!(first.iter().zip(&second).all(|(a, b)| (a - b).abs() < 1e-9));
    let ((a, b), (c, d)) = (loss.dual_parts(&first).unwrap(), squares.dual_parts(&first).unwrap());
    assert!((a - c).abs() < 1e-6 * a.abs() && (b - d).abs() < 1e-9 * b);
    assert!((loss.floor() - MarginalLoss::floor(&squares)).abs() < 1e-9 * loss.floor());
    let (one, other) = (loss.misfit(&mu).excess, MarginalLoss::misfit(&squares, &mu).excess);
    assert!(one > 1.0 && (one - other).abs() < 1e-9 * one, "{one} {other}");
    assert!((loss.smoothness() - MarginalLoss::smoothness(&squares)).abs() < 1e-12);
}

#[test]
fn the_bound_is_below_the_loss_wherever_it_is_looked_at() {
    let rng = &mut ChaCha20Rng::seed_from_u64(4);
    let truth = Truth::new(rng);
    let given = [
        truth.rounded(&[0, 1], 40.0),
        truth.noisy(&[0, 1], 15.0, rng),
        truth.rounded(&[1, 2], 3.0),
        truth.noisy(&[3], 2.0, rng),
    ];
    let loss = TargetLoss::new(&domain(), &given).unwrap();
    for _ in 0..200 {
        let random = |range: std::ops::Range<f64>, rng: &mut ChaCha20Rng| -> Vec<f64> {
            (0..loss.layout().cells()).map(|_| rng.random_range(range.clone())).collect()
        };
        let (mu, g) = (random(-50.0..300.0, rng), random(-5.0..5.0, rng));
        let (along, squares) = loss.dual_parts(&g).unwrap();
        let dot: f64 = mu.iter().zip(&g).map(|(m, g)| m * g).sum();
        for a in [0.1, 1.0, 3.0] {
            let bound = loss.floor() + a * (dot - along) - 0.5 * a * a * squares;
            assert!(loss.misfit(&mu).value >= bound - 1e-6);
        }
        // The gradient is that of the loss.
        let mut gradient = vec![0.0; mu.len()];
        loss.gradient(&mu, &mut gradient);
        let at = rng.random_range(0..mu.len());
        let shifted = |by: f64| {
            let mut shifted = mu.clone();
            shifted[at] += by;
            loss.misfit(&shifted).value
        };
        let slope = (shifted(1e-4) - shifted(-1e-4)) / 2e-4;
        assert!(
            (slope - gradient[at]).abs() < 1e-3 * (1.0 + slope.abs()),
            "{slope} {}",
            gradient[at]
        );
    }
}

/// What no distribution has: the bound is then one of all distributions, inside the intervals or not.
#[test]
fn intervals_that_contradict_one_another_are_approached_and_the_bound_holds() {
    let rng = &mut ChaCha20Rng::seed_from_u64(6);
    let truth = Truth::new(rng);
    let between = |of: &[usize], least: f64, most: f64, cells: usize| Target::Between {
        clique: clique(of),
        least: vec![least; cells],
        most: vec![most; cells],
    };
    // At most 300 records by c, at least 400 by d.
    let given = [
        between(&[2], 0.0, 150.0, 2),
        between(&[3], 134.0, 900.0, 3),
        truth.noisy(&[2, 3], 9.0, rng),
    ];
    let targets = Targets::new(&domain(), given.clone(), Some(350.0)).unwrap();
    let (model, certificate) = MarkovRandomField::fit_to(&targets).unwrap();
    assert!(
        certificate.lower_bound > 0.0 && certificate.lower_bound <= certificate.loss,
        "{certificate:?}"
    );
    // Another distribution: the uniform one.
    let loss = TargetLoss::new(&domain(), &given).unwrap();
    let mu: Vec<f64> = MarkovRandomField::uniform(&domain(), 350.0)
        .unwrap()
        .marginals(loss.layout().cliques())
        .unwrap()
        .iter()
        .flat_map(|table| table.values().to_vec())
        .collect();
    assert!(loss.misfit(&mu).value >= certificate.lower_bound);
    assert!(given[0].off(&tables(&model, &given)[0]).iter().all(|off| (0.0..120.0).contains(off)));
}

#[test]
fn single_cells_are_fitted_and_the_others_are_free() {
    let of_cell =
        Measurement { cell: Some(1), ..Measurement::new(clique(&[2, 3]), vec![400.0], 0.1) };
    let targets = Targets::new(&domain(), [Target::Noisy(of_cell)], Some(N)).unwrap();
    let (model, _) = MarkovRandomField::fit_to(&targets).unwrap();
    let table = model.marginals(&[clique(&[2, 3])]).unwrap()[0].values().to_vec();
    assert!((table[1] - 400.0).abs() < 0.1, "{table:?}");
    assert!(
        table.iter().enumerate().all(|(at, m)| at == 1 || (m - 120.0).abs() < 0.1),
        "{table:?}"
    );
}

#[test]
fn listed_records_are_weighted_as_near_as_they_can() {
    let rng = &mut ChaCha20Rng::seed_from_u64(5);
    let truth = Truth::new(rng);
    let codes = |_| vec![1, rng.random_range(0..4), rng.random_range(0..2), rng.random_range(0..3)];
    let rows: Vec<Vec<u32>> = (0..300).map(codes).collect();
    let rows = Dataset::from_rows(domain(), &rows).unwrap();
    let given = [truth.exact(&[1]), truth.rounded(&[2, 3], 10.0)];
    let targets = Targets::new(&domain(), given.clone(), None).unwrap();
    let (weights, certificate) = targets.weights(&rows, &vec![1.0; 300]).unwrap();
    assert!((weights.iter().sum::<f64>() - N).abs() < 1e-6 && certificate.loss < 1e-3);
    let cliques: Vec<Clique> = given.iter().map(|target| target.clique().clone()).collect();
    let found = rows.weighted_marginals(&weights, &cliques).unwrap();
    assert!(given[0].off(&found[0]).iter().all(|off| off.abs() < 1e-5));
    assert!(given[1].off(&found[1]).iter().all(|off| off.abs() < 0.1));
}

/// The least loss of weights of listed records: steps towards the record along which the loss falls most (Frank and Wolfe 1956).
fn least_loss(rows: &Dataset, given: &[Target]) -> f64 {
    let records = rows.records();
    let cells: Vec<Vec<u32>> =
        given.iter().map(|target| rows.cells(target.clique()).unwrap()).collect();
    let mut weights = vec![N / records as f64; records];
    let mut least = f64::INFINITY;
    for step in 0..20_000_u32 {
        let mut falls = vec![0.0; records];
        let mut loss = 0.0;
        for (target, cells) in given.iter().zip(&cells) {
            let Target::Noisy(Measurement { values, stddev, .. }) = target else { unreachable!() };
            let mut table = vec![0.0; values.len()];
            cells.iter().zip(&weights).for_each(|(cell, w)| table[*cell as usize] += w);
            let off = table.iter().zip(values).map(|(m, y)| (m - y) / stddev);
            let off: Vec<f64> = off.collect();
            loss += 0.5 * off.iter().map(|off| off * off).sum::<f64>();
            let slopes = falls.iter_mut().zip(cells);
            slopes.for_each(|(fall, cell)| *fall -= off[*cell as usize] / stddev);
        }
        least = least.min(loss);
        let best = (0..records).max_by(|a, b| falls[*a].total_cmp(&falls[*b])).unwrap();
        let share = 2.0 / (f64::from(step) + 2.0);
        weights.iter_mut().for_each(|weight| *weight *= 1.0 - share);
        weights[best] += share * N;
    }
    least
}

#[test]
fn no_weights_of_listed_records_come_nearer_than_the_bound() {
    let rng = &mut ChaCha20Rng::seed_from_u64(6);
    let truth = Truth::new(rng);
    let codes = |_| vec![1, rng.random_range(0..4), rng.random_range(0..2), rng.random_range(0..3)];
    let rows: Vec<Vec<u32>> = (0..12).map(codes).collect();
    let rows = Dataset::from_rows(domain(), &rows).unwrap();
    let noisy = [truth.noisy(&[1, 2], 5.0, rng), truth.noisy(&[2, 3], 5.0, rng)];
    let fitted = |given: Vec<Target>| {
        let targets = Targets::new(&domain(), given, Some(N)).unwrap();
        targets.weights(&rows, &[1.0; 12]).unwrap().1
    };
    // Few records: far from what contradicts by itself.
    let certificate = fitted(noisy.to_vec());
    let least = least_loss(&rows, &noisy);
    assert!(certificate.loss > 100.0 * certificate.noise, "{certificate:?}");
    assert!(certificate.lower_bound <= least * (1.0 + 1e-9), "{certificate:?}, {least}");
    assert!(certificate.lower_bound > 0.98 * least, "{certificate:?}, {least}");
    assert!(certificate.loss < 1.001 * least, "{certificate:?}, {least}");
    // A table that must hold makes the least loss larger.
    let under = fitted(noisy.into_iter().chain([truth.exact(&[1])]).collect());
    assert!(under.lower_bound > certificate.lower_bound && under.lower_bound <= under.loss);
    assert!(under.lower_bound > 0.98 * under.loss, "{under:?}");
}

#[test]
fn what_contradicts_is_named() {
    let error = |targets: Vec<Target>, total: Option<f64>| {
        Targets::new(&domain(), targets, total).unwrap_err().to_string()
    };
    assert_eq!(error(Vec::new(), None), "the targets: no table, expected at least one");
    let between = |least: [f64; 2], most: [f64; 2]| Target::Between {
        clique: clique(&[2]),
        least: least.to_vec(),
        most: most.to_vec(),
    };
    assert_eq!(
        error(vec![between([10.0, 0.0], [20.0, 9.0]), between([21.0, 0.0], [30.0, 9.0])], None),
        "the counts of c: 21 to 30 in c 0, expected some of 10 to 20, as another table says"
    );
    let exact = |values: [f64; 2]| Target::Exact { clique: clique(&[2]), values: values.to_vec() };
    assert_eq!(
        error(vec![exact([40.0, 60.0])], Some(90.0)),
        "the number of records: 90, expected 100, as in the exact tables"
    );
    let open = between([0.0, 0.0], [f64::INFINITY, f64::INFINITY]);
    assert_eq!(
        error(vec![open], None),
        "the targets: 0 records, expected a whole table with counts, or the number of records"
    );
    let short = Target::Noisy(Measurement::new(clique(&[2]), vec![1.0], 1.0));
    assert_eq!(error(vec![short], Some(1.0)), "table over c has 1 cells, expected 2");
    let sample = Target::Noisy(Measurement::new(clique(&[3]), vec![4.0, 3.0, 2.0], 0.5));
    let population = || Target::Exact { clique: clique(&[2]), values: vec![400.0, 600.0] };
    assert_eq!(
        error(vec![sample, population()], None),
        "the noisy counts of d: 9 records, expected about 1000, as in the exact tables: counts of a sample and totals of its \
         population cannot be fitted together"
    );
    // Noise that explains it.
    let noisy = Target::Noisy(Measurement::new(clique(&[3]), vec![4.0, 3.0, 2.0], 100.0));
    Targets::new(&domain(), [noisy, population()], None).unwrap();
    let nan = Target::Noisy(Measurement::new(clique(&[2]), vec![1.0, f64::NAN], 1.0));
    assert_eq!(
        error(vec![nan], Some(1.0)),
        "the counts of c: numbers that are not finite, expected finite counts"
    );
}
