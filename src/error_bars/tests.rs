use crate::data::{Dataset, Units};
use crate::domain::Domain;
use crate::privacy::NeighboringRelation;
use crate::query::WeightedClique;

use super::*;

fn table() -> Dataset {
    let domain = Domain::new([("a", 2), ("b", 2)]).unwrap();
    Dataset::from_rows(domain, &[[0, 0], [1, 1], [1, 0], [0, 0]]).unwrap()
}

fn workload() -> Workload {
    let clique = |attribute, weight| WeightedClique { clique: Clique::new([attribute]), weight };
    Workload::new([clique(0, 3.0), clique(1, 1.0)], table().domain()).unwrap()
}

fn errors(values: &[f64], stddev: f64, form: NoiseForm, is_public: bool) -> MeasuredErrors {
    let noisy = NoisyStatistics { values: values.to_vec(), stddev, form };
    let total = Total { records: 100.0, is_public };
    let unit = PrivacyUnit::of_record(NeighboringRelation::ReplaceOne);
    MeasuredErrors::new(&noisy, (&table()).into(), &workload(), &[], total, &unit).unwrap()
}

#[test]
fn the_mean_has_the_weights_and_the_noise_of_its_marginals() {
    let found = errors(&[20.0, 60.0], 2.0, NoiseForm::Gaussian, true);
    assert_eq!((found.records, found.total, found.stddev), (4, 100.0, 0.02));
    assert!((found.mean.estimate - 0.3).abs() < 1e-12);
    let half = 1.959_964 * 0.02 * 10.0_f64.sqrt() / 4.0 + 1.0 / 25_600.0;
    assert!((found.mean.upper - 0.3 - half).abs() < 1e-7, "{found:?}");
    assert_eq!(found.marginals[1].clique, Clique::new([1]));
    assert!((found.marginals[1].measured.lower - 0.6 + 1.959_964 * 0.02).abs() < 1e-4);
    // Φ(x)² = 0.95 at x = 1.955.
    assert!((found.none_above.unwrap() - 0.6 - 1.955 * 0.02).abs() < 1e-4);
    assert_eq!(found.worst(1)[0].clique, Clique::new([1]));
}

#[test]
fn intervals_are_cut_to_what_an_error_can_be() {
    let found = errors(&[-5.0, 199.0], 10.0, NoiseForm::Gaussian, true);
    let [low, high] = [0, 1].map(|i: usize| found.marginals[i].measured);
    // What was released stays as it is, without bias; only what is shown is cut.
    assert_eq!((low.estimate, low.shown(), low.lower, high.upper), (-0.05, 0.0, 0.0, 2.0));
    // Where n is private it may be more than N, and an error more than 2.
    let found = errors(&[-5.0, 199.0], 10.0, NoiseForm::Gaussian, false);
    assert!(found.marginals[1].measured.upper > 2.0);
}

#[test]
fn under_pure_privacy_the_mean_alone_has_laplace_noise() {
    let found = errors(&[30.0], 2.0, NoiseForm::Laplace, true);
    assert!(found.marginals.is_empty() && found.none_above.is_none());
    // The 95 % quantile of |X| at scale 2/√2 is 2.9957 of it.
    let half = 0.02 / 2.0_f64.sqrt() * 2.995_732 + 1.0 / 25_600.0;
    assert!((found.mean.upper - 0.3 - half).abs() < 1e-7, "{found:?}");
    assert!(found.worst(3).is_empty());
}

#[test]
fn the_sentence_has_the_digits_that_the_noise_leaves() {
    let about = |sentence: &str, expected: &str| {
        let text =
            format!("the mean error over the workload is {expected} (95 %, measured privately)");
        assert_eq!(sentence, text);
    };
    about(&errors(&[20.0, 60.0], 2.0, NoiseForm::Gaussian, true).sentence(), "0.300 \u{b1} 0.031");
    about(&errors(&[2.0, 2.0], 2.0, NoiseForm::Gaussian, true).sentence(), "at most 0.051");
    // An interval that is cut at 2 is not as wide as its upper half.
    let cut = errors(&[199.0, 199.0], 2.0, NoiseForm::Gaussian, true).sentence();
    assert!(cut.contains("is between 1.9") && cut.contains(" and 2.000 (95 %"), "{cut}");
}

#[test]
fn the_sentence_says_what_is_left_out() {
    let noisy =
        NoisyStatistics { values: vec![20.0, 60.0], stddev: 2.0, form: NoiseForm::Gaussian };
    let total = Total { records: 100.0, is_public: false };
    let unit = PrivacyUnit::of_units(Units::new("home", 7).unwrap()).unwrap();
    let of_units =
        MeasuredErrors::new(&noisy, (&table()).into(), &workload(), &[], total, &unit).unwrap();
    assert_eq!(of_units.left_out.beyond, Some(("home".to_owned(), 7)));
    let told = of_units.sentence();
    assert!(
        told.ends_with(
            "against at most 7 records of each home; what the others would add is not measured"
        ),
        "{told}"
    );
    let mut merged = errors(&[20.0, 60.0], 2.0, NoiseForm::Gaussian, true);
    assert!(merged.sentence().ends_with("measured privately)"), "nothing is left out");
    merged.left_out.merged_values = true;
    assert!(merged.sentence().contains("within merged values is not measured"));
    let named = serde_json::to_value(NamedErrors::new(&of_units, table().domain())).unwrap();
    assert_eq!(named["left_out"]["beyond"], serde_json::json!(["home", 7]));
}
