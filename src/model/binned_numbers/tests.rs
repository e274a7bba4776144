//! Means, quantiles and their intervals.

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, Normal};

use super::*;
use crate::domain::{Clique, Domain, Kind, Schema};
use crate::measurement::Measurement;
use crate::model::Accuracy;

fn marginal(known: &Accuracy, domain: &Domain, clique: &Clique) -> EstimatedMarginal {
    let solved = known.measured.estimates(domain, std::slice::from_ref(clique)).unwrap();
    solved.marginal(clique).unwrap()
}

fn bins_of(text: &str) -> Bins {
    let text = format!(r#"{{"columns": [{{"name": "age", "kind": "numeric", {text}}}]}}"#);
    let schema = Schema::from_json(&text, "schema.json").unwrap();
    match &schema.column("age").unwrap().kind {
        Some(Kind::Numeric(bins)) => bins.clone(),
        _ => unreachable!(),
    }
}

#[test]
fn a_spread_is_the_mean_and_the_quartiles_of_the_counts() {
    let bins = bins_of(r#""edges": [0, 10, 11, 21], "draw": [[0, 6], [4, 2], [11, 21, 5]]"#);
    // Four in the first bin: three at 0 and one at 4; three at 10.
    let found = Spread::of(&bins, &[4.0, 3.0, 0.0]).unwrap();
    assert!((found.mean - 34.0 / 7.0).abs() < 1e-12, "{found:?}");
    assert_eq!(found.quartiles.map(|q| q.to_string()), ["0", "4", "10"]);
    assert_eq!(Spread::of(&bins, &[0.0; 3]), None);
    // The values of a piece with steps end at the last step.
    let stepped = bins_of(r#""edges": [0, 9, 10], "draw": [[0, 9, 1, 4]]"#);
    assert!((bin_mean(&stepped, 0) - 4.0).abs() < 1e-12, "0, 4 and 8");
}

#[test]
fn intervals_cover_as_often_as_they_say() {
    let bins = bins_of(r#""edges": [0, 10, 20, 30, 40, 60]"#);
    let domain = Domain::new([("sex", 2), ("age", 5)]).unwrap();
    let (clique, noise) = (Clique::new([0, 1]), Normal::new(0.0, 20.0).unwrap());
    let counts = [90.0, 200.0, 160.0, 90.0, 60.0, 10.0, 20.0, 40.0, 80.0, 150.0];
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let (mut means, mut medians, mut rounds) = (0.0, 0.0, 0.0);
    for _ in 0..2000 {
        let noisy = counts.iter().map(|count| count + noise.sample(&mut rng)).collect();
        let measured = Measurement::new(clique.clone(), noisy, 20.0);
        let known = Accuracy::of(&[measured]);
        let marginal = &marginal(&known, &domain, &clique);
        for sex in 0..2 {
            let cells = (0..5).map(|bin| (bin, 5 * sex + bin as usize, 1.0)).collect();
            let deviations = known.deviations();
            let numbers = MeasuredNumbers { bins: &bins, marginal, cells, deviations };
            let own = &counts[5 * sex..5 * sex + 5];
            let covers = |ends: Option<Ends>, x: f64| {
                f64::from(u8::from(ends.is_some_and(|(low, high)| (low..=high).contains(&x))))
            };
            means += covers(numbers.mean_interval(), mean(&bins, own));
            // The smallest and the largest median that the counts allow: any between may be that of the records.
            let found = numbers.quantile_interval(0.5);
            let (low, high) = if sex == 0 { (20.0, 29.0) } else { (40.0, 59.0) };
            medians += covers(found, low) * covers(found, high);
            rounds += 1.0;
        }
    }
    let (means, medians): (f64, f64) = (means / rounds, medians / rounds);
    assert!((means - 0.95).abs() < 0.012, "{means}");
    // Conservative where a bin holds the quantile by far.
    assert!(medians > 0.94, "{medians}");
}

#[test]
fn a_group_that_noise_drowns_has_no_interval_for_its_mean() {
    let bins = bins_of(r#""edges": [0, 10, 20]"#);
    let domain = Domain::new([("age", 2)]).unwrap();
    let measured = Measurement::new(Clique::new([0]), vec![4.0, 5.0], 3.0);
    let known = Accuracy::of(&[measured]);
    let marginal = &marginal(&known, &domain, &Clique::new([0]));
    let (cells, deviations) = (vec![(0, 0, 1.0), (1, 1, 1.0)], 2.0);
    let numbers = MeasuredNumbers { bins: &bins, marginal, cells, deviations };
    assert_eq!(numbers.mean_interval(), None);
    assert_eq!(numbers.quantile_interval(0.5), Some((0.0, 19.0)));
}
