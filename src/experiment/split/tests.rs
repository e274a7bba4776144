use super::*;
use crate::domain::Clique;

/// 1,000 records with a number each, a quarter of them of code 1 and three quarters of code 0.
fn table() -> (Dataset, Workload) {
    let domain = Domain::new([("number", 1000), ("sex", 2), ("x", 3)]).unwrap();
    let rows: Vec<[u32; 3]> = (0..1000).map(|i| [i, u32::from(i % 4 == 0), i * i % 3]).collect();
    let workload = Workload::new(
        [crate::query::WeightedClique { clique: Clique::new([1, 2]), weight: 1.0 }],
        &domain,
    );
    (Dataset::from_rows(domain, &rows).unwrap(), workload.unwrap())
}

fn split(json: &str) -> Split {
    serde_json::from_str(json).unwrap()
}

fn numbers(table: &Dataset) -> Vec<u32> {
    table.column(0).unwrap().iter().collect()
}

fn public(json: &str) -> Vec<u32> {
    let (table, workload) = table();
    let [private, public] = split(json).apply(&table, &workload).unwrap();
    let mut all = [numbers(&private), numbers(&public)].concat();
    assert!(numbers(&private).is_sorted() && numbers(&public).is_sorted(), "in their order");
    all.sort_unstable();
    assert!(all.into_iter().eq(0..1000), "every record is in one part");
    numbers(&public)
}

fn of_code_1(public: &[u32]) -> usize {
    public.iter().filter(|number| **number % 4 == 0).count()
}

#[test]
fn a_fraction_is_drawn_at_random_by_its_own_seed() {
    let one_percent = public(r#"{"public_fraction": 0.01}"#);
    assert_eq!(one_percent.len(), 10);
    assert_eq!(one_percent, public(r#"{"public_fraction": 0.01, "seed": 0}"#));
    assert_ne!(one_percent, public(r#"{"public_fraction": 0.01, "seed": 1}"#));
    let more = public(r#"{"public_fraction": 0.3}"#);
    assert!(one_percent.iter().all(|number| more.contains(number)), "less is among more");
    assert_eq!(public(r#"{"public_fraction": 0.0001}"#).len(), 1, "at least one is public");
    assert_eq!(public(r#"{"public_fraction": 0.9999}"#).len(), 999, "at least one is private");
}

#[test]
fn strata_have_their_parts_exactly() {
    let as_there = public(r#"{"public_fraction": 0.1, "stratify": "sex"}"#);
    assert_eq!((as_there.len(), of_code_1(&as_there)), (100, 25));
    // 102 records: 25.5 of code 1 and 76.5 of code 0; the first of equal fractions gets the odd record.
    let odd = public(r#"{"public_fraction": 0.102, "stratify": "sex"}"#);
    assert_eq!((odd.len(), of_code_1(&odd)), (102, 25));
    for (shares, expected) in [("[0.25, 0.75]", 75), ("[0, 1]", 100), ("[2, 2]", 50)] {
        let json = format!(r#"{{"public_fraction": 0.1, "stratify": "sex", "shares": {shares}}}"#);
        assert_eq!(of_code_1(&public(&json)), expected, "{shares}");
    }
}

#[test]
fn a_code_with_too_few_records_for_its_share_is_refused() {
    let (table, workload) = table();
    let all_one = split(r#"{"public_fraction": 0.3, "stratify": "sex", "shares": [0, 1]}"#);
    let message = all_one.apply(&table, &workload).unwrap_err().to_string();
    assert!(message.contains("300 records of code 1, expected at most 250"), "{message}");
}

#[test]
fn samples_are_doubled_until_their_error_is_at_most_the_target() {
    let (table, workload) = table();
    let error = |size: usize| {
        let sample = Sample { size: SampleSize::Fraction(0.5), strata: None, seed: 3 };
        let [private, public] = sample.of_size(&table, size).unwrap();
        WorkloadError::between(&private, &public, &workload, 0).unwrap().mean_l1
    };
    let errors: Vec<f64> = [32, 64, 128, 256, 500].map(error).to_vec();
    let sizes = [32, 64, 128, 256, 500];
    // A target between the errors of two sizes, and one that the first size meets.
    for target in [errors[0] + 1e-9, errors[3] + 1e-9, errors[4] + 1e-9] {
        let first = sizes[errors.iter().position(|error| *error <= target).unwrap()];
        let json = format!(r#"{{"public_error": {target}, "seed": 3}}"#);
        assert_eq!(public(&json).len(), first, "{target}: {errors:?}");
    }
    let least = errors.iter().copied().fold(f64::INFINITY, f64::min);
    let json = format!(r#"{{"public_error": {}, "seed": 3}}"#, least / 2.0);
    let message = split(&json).apply(&table, &workload).unwrap_err().to_string();
    assert!(message.contains("the error of 500 records, half of all"), "{message}");
}

#[test]
fn a_biased_sample_does_not_reach_a_small_error_however_large() {
    let (table, workload) = table();
    let biased =
        split(r#"{"public_error": 0.2, "stratify": "sex", "shares": [0.5, 0.5], "seed": 3}"#);
    // 250 + 250 records: the private rest has none of code 1, so half of the public records are elsewhere.
    let message = biased.apply(&table, &workload).unwrap_err().to_string();
    assert!(message.contains("expected at least 1."), "{message}");
}

#[test]
fn rows_and_codes_split_as_before() {
    assert!(public(r#"{"every": 250}"#).into_iter().eq([0, 250, 500, 750]));
    assert_eq!(public(r#"{"attribute": "sex", "codes": [1]}"#).len(), 250);
    // Their digests in results of comparisons stay: these are the bytes that were written.
    for json in [r#"{"every":50}"#, r#"{"attribute":"shift","codes":[18,19]}"#] {
        assert_eq!(serde_json::to_string(&split(json)).unwrap(), json);
    }
    for json in [
        r#"{"public_fraction":0.01,"seed":0}"#,
        r#"{"public_error":0.3,"stratify":"sex","shares":[0.25,0.75],"seed":7}"#,
    ] {
        assert_eq!(serde_json::to_string(&split(json)).unwrap(), json);
    }
}

#[test]
fn wrong_splits_are_refused_with_what_was_expected() {
    for (json, part) in [
        ("{}", "expected one of { every = N }"),
        (r#"{"every": 1}"#, "expected 'every' above 1"),
        (r#"{"each": 2}"#, "unknown field `each`"),
        (r#"{"every": 2, "public_fraction": 0.1}"#, "expected one of { every = N }"),
        (r#"{"every": 2, "seed": 1}"#, "expected one of { every = N }"),
        (r#"{"attribute": "sex"}"#, "expected one of { every = N }"),
        (r#"{"attribute": "sex", "codes": []}"#, "expected 'codes' with at least one"),
        (r#"{"public_fraction": 0}"#, "public_fraction is 0, expected a share strictly between"),
        (r#"{"public_fraction": 1}"#, "public_fraction is 1, expected a share strictly between"),
        (r#"{"public_fraction": -0.5}"#, "public_fraction is -0.5, expected"),
        (r#"{"public_error": 2}"#, "public_error is 2, expected a workload error"),
        (r#"{"public_error": 0}"#, "public_error is 0, expected a workload error"),
        (r#"{"public_fraction": 0.1, "shares": [1, 1]}"#, "expected 'stratify' with its name"),
        (r#"{"public_fraction": 0.1, "stratify": "sex", "shares": [0, 0]}"#, "not all 0"),
        (r#"{"public_fraction": 0.1, "stratify": "sex", "shares": [-1, 2]}"#, "at least 0"),
        (r#"{"public_fraction": 0.1, "seed": -1}"#, "-1"),
    ] {
        let message = serde_json::from_str::<Split>(json).unwrap_err().to_string();
        assert!(message.contains(part), "{json}: {message}");
    }
    let domain = table().0.domain().clone();
    for (json, part) in [
        (r#"{"public_fraction": 0.1, "stratify": "six"}"#, "'six'"),
        (r#"{"public_fraction": 0.1, "stratify": "sex", "shares": [1]}"#, "expected 2, one for"),
        (r#"{"attribute": "sex", "codes": [0, 2]}"#, "code 2 of 'sex', expected codes from 0 to 1"),
    ] {
        let message = split(json).check(&domain, "here").unwrap_err().to_string();
        assert!(message.contains(part), "{json}: {message}");
    }
}

#[test]
fn a_table_of_one_record_is_not_sampled() {
    let domain = Domain::new([("a", 2)]).unwrap();
    let workload = Workload::all_k_way(&domain, 1).unwrap();
    let one = Dataset::from_rows(domain, &[[1]]).unwrap();
    let message = split(r#"{"public_fraction": 0.5}"#).apply(&one, &workload).unwrap_err();
    assert!(message.to_string().contains("expected at least 2 to split"), "{message}");
}
