#![expect(clippy::float_cmp, reason = "whole numbers, which are exact")]

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::*;
use crate::data::Dataset;
use crate::measurement::Measurement;

/// Tenure, age, and the bin of the weight, which depends on both.
fn domain() -> Domain {
    Domain::new([("tenure", 2), ("age", 3), ("weight", 2)]).unwrap()
}

fn sample() -> (Domain, Dataset) {
    let domain = domain();
    let code = |i: u32| {
        let (tenure, age) = (u32::from(i.is_multiple_of(5)), i / 5 % 3);
        [tenure, age, u32::from((i * 13 + i / 7) % 10 < 2 + 3 * tenure + age)]
    };
    let rows: Vec<[u32; 3]> = (0..3000).map(code).collect();
    (domain.clone(), Dataset::from_rows(domain, &rows).unwrap())
}

fn weight() -> Weight {
    Weight { attribute: 2, means: vec![10.0, 40.0] }
}

/// The weighted table of a clique.
fn truth(rows: &Dataset, clique: &Clique) -> Vec<f64> {
    let codes = rows.cells(&Clique::new([2])).unwrap();
    let weights: Vec<f64> = codes.iter().map(|code| weight().means[*code as usize]).collect();
    rows.weighted_marginals(&weights, std::slice::from_ref(clique)).unwrap().remove(0)
}

fn models() -> [Model; 2] {
    let (domain, rows) = sample();
    let all = domain.everything();
    let counts = rows.weighted_marginals(&vec![1.0; 3000], std::slice::from_ref(&all)).unwrap();
    let measured = Measurement::new(all, counts[0].clone(), 0.01);
    let fitted = MarkovRandomField::fit(&domain, &[measured], 3000.0).unwrap();
    [fitted.into(), WeightedSupport::new(&rows, vec![1.0; 3000], 3000.0).unwrap().into()]
}

fn near(found: &[f64], wanted: &[f64], within: f64) {
    assert!(found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < within), "{found:?} {wanted:?}");
}

#[test]
fn a_weighted_sample_becomes_its_population() {
    let (domain, rows) = sample();
    let population = Population { weight: Some(weight()), totals: None };
    for model in models() {
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        let found = population.of(&model, &[domain.everything()], &mut rng).unwrap();
        for clique in [Clique::new([0]), Clique::new([1]), Clique::new([0, 1])] {
            let wanted = truth(&rows, &clique);
            near(
                found.marginals(std::slice::from_ref(&clique)).unwrap()[0].values(),
                &wanted,
                10.0,
            );
            assert!((found.total() / wanted.iter().sum::<f64>() - 1.0).abs() < 1e-3);
        }
    }
}

#[test]
fn totals_hold_and_what_they_do_not_say_stays() {
    let (domain, rows) = sample();
    let ages = Clique::new([1]);
    let totals = || Totals::new(&domain, [(ages.clone(), vec![500.0, 300.0, 200.0])]).unwrap();
    for weight in [None, Some(weight())] {
        let population = Population { weight: weight.clone(), totals: Some(totals()) };
        for model in models() {
            let mut rng = ChaCha20Rng::seed_from_u64(0);
            let found = population.of(&model, &[domain.everything()], &mut rng).unwrap();
            assert_eq!(found.total(), 1000.0);
            near(
                found.marginals(std::slice::from_ref(&ages)).unwrap()[0].values(),
                &[500.0, 300.0, 200.0],
                1e-4,
            );
            // Of the renters of an age, as many as before.
            let pair = Clique::new([0, 1]);
            let before = match &weight {
                Some(_) => truth(&rows, &pair),
                None => model.marginals(std::slice::from_ref(&pair)).unwrap()[0].values().to_vec(),
            };
            let after = found.marginals(std::slice::from_ref(&pair)).unwrap()[0].values().to_vec();
            for age in 0..3 {
                let share = |table: &[f64]| table[3 + age] / (table[age] + table[3 + age]);
                assert!((share(&before) - share(&after)).abs() < 2e-3, "{weight:?}");
            }
        }
    }
}

#[test]
fn listed_records_get_values_that_totals_have_and_they_lack() {
    let domain = Domain::new([("a", 3), ("b", 2), ("weight", 2)]).unwrap();
    let rows = Dataset::from_rows(domain.clone(), &[[0, 0, 0], [1, 1, 1], [0, 1, 1]]).unwrap();
    let model = WeightedSupport::new(&rows, vec![1.0; 3], 3.0).unwrap().into();
    let totals = Totals::new(&domain, [(Clique::new([0]), vec![50.0, 40.0, 10.0])]).unwrap();
    let population = Population { weight: Some(weight()), totals: Some(totals) };
    let mut rng = ChaCha20Rng::seed_from_u64(0);
    let found = population.of(&model, &[], &mut rng).unwrap();
    near(found.marginals(&[Clique::new([0])]).unwrap()[0].values(), &[50.0, 40.0, 10.0], 1e-4);
}

/// The model of two records cannot have these totals, and half of the population is off.
#[test]
fn what_is_left_of_totals_is_told() {
    let domain = domain();
    let rows = Dataset::from_rows(domain.clone(), &[[0, 0, 0], [1, 1, 0]]).unwrap();
    let model: Model = WeightedSupport::new(&rows, vec![1.0; 2], 2.0).unwrap().into();
    let tables = [(Clique::new([0]), vec![75.0, 25.0]), (Clique::new([1]), vec![0.0, 50.0, 50.0])];
    let totals = Some(Totals::new(&domain, tables).unwrap());
    let population = Population { weight: None, totals };
    // Half of the population has another age than the totals say, a quarter another tenure.
    assert!((population.unmet(&model).unwrap().unwrap() - 0.5).abs() < 1e-12);
    let found = population.of(&model, &[], &mut ChaCha20Rng::seed_from_u64(0)).unwrap();
    assert!(population.unmet(&found).unwrap().unwrap() < 1e-4);
    assert_eq!(Population::default().unmet(&model).unwrap(), None);
}
