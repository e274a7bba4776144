#![expect(clippy::float_cmp, reason = "whole numbers, which are exact")]

use super::*;
use crate::model::bin_mean;

fn bins_of(rows: &str) -> Result<Bins> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("public.csv");
    std::fs::write(&path, format!("a,w\n{rows}")).unwrap();
    weight_bins(&[&path], &TableFormat::default(), "w")
}

fn repeated(weights: impl IntoIterator<Item = f64>) -> String {
    weights.into_iter().map(|w| format!("x,{w}\n").repeat(20)).collect()
}

#[test]
fn bins_stand_for_as_many_people_and_for_their_mean_weight() {
    let weights: Vec<f64> = (1..=300).map(f64::from).collect();
    let bins = bins_of(&repeated(weights.clone())).unwrap();
    assert_eq!(bins.count(), 8);
    let all: f64 = weights.iter().sum();
    let mut sums = [0.0; 8];
    let mut rows = [0.0; 8];
    for weight in &weights {
        let bin = bins.code(*weight).unwrap() as usize;
        sums[bin] += weight;
        rows[bin] += 1.0;
    }
    for (bin, (sum, rows)) in (0..).zip(sums.iter().zip(rows)) {
        assert!((sum / all * 8.0 - 1.0).abs() < 0.2, "{sums:?}");
        assert!((bin_mean(&bins, bin) / (sum / rows) - 1.0).abs() < 1e-5);
    }
    assert_eq!(bins.code(5000.0), Some(7));
}

#[test]
fn weights_of_zero_have_a_bin() {
    let bins = bins_of(&repeated([0.0, 1.0, 2.0, 3.5, 4.0])).unwrap();
    assert_eq!((bins.code(0.0), bins.code(0.5)), (Some(0), Some(0)));
    assert_eq!(bin_mean(&bins, 0), 0.0);
    assert!(bins.code(1.0) > Some(0));
}

#[test]
fn equal_weights_are_one_bin() {
    let bins = bins_of(&repeated([7.0, 7.0])).unwrap();
    assert_eq!((bins.count(), bin_mean(&bins, 0)), (1, 7.0));
    assert_eq!((bins.code(7.0), bins.code(90.0)), (Some(0), Some(0)));
}

#[test]
fn other_columns_are_refused() {
    for (rows, found) in [
        ("x,1\ny,\n", "texts that are no numbers"),
        ("x,1\ny,b\n", "texts that are no numbers"),
        ("x,-1\ny,2\n", "a weight below 0"),
        ("x,0\ny,0\n", "no weight above 0"),
    ] {
        let error = bins_of(rows).unwrap_err().to_string();
        assert!(error.contains(found), "{rows}: {error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("public.csv");
    std::fs::write(&path, "a\nx\n").unwrap();
    let error = weight_bins(&[&path], &TableFormat::default(), "w").unwrap_err().to_string();
    assert!(error.contains("no such column"), "{error}");
}
