use super::*;

fn domain() -> Domain {
    Domain::new([("a", 2), ("b", 3), ("c", 1)]).unwrap()
}

#[test]
fn a_query_centers_the_attributes_it_names() {
    let (domain, variance) = (domain(), Ratio::new(9, 1).unwrap());
    let pair = Clique::new([0, 1]);
    let query = |centered: &[usize]| {
        let centered = Clique::new(centered.iter().copied());
        ResidualQuery::new(&domain, pair.clone(), centered, variance).unwrap()
    };
    let counts = [1, 2, 3, 4, 0, 0];
    assert_eq!(query(&[]).apply(&domain, &counts), [1, 2, 3, 4, 0, 0]);
    assert_eq!(query(&[0]).apply(&domain, &counts), [-3, 2, 3, 3, -2, -3]);
    assert_eq!(query(&[1]).apply(&domain, &counts), [-3, 0, 3, 8, -4, -4]);
    assert_eq!(query(&[0, 1]).apply(&domain, &counts), [-11, 4, 7, 11, -4, -7]);
    assert_eq!(query(&[0, 1]).scale(), 6);
    let all = ResidualQuery::new(&domain, Clique::default(), Clique::default(), variance);
    assert_eq!(all.unwrap().apply(&domain, &[10]), [10]);
}

#[test]
fn queries_that_make_no_sense_are_refused() {
    let domain = domain();
    let one = Ratio::new(1, 1).unwrap();
    let (a, b) = (Clique::new([0]), Clique::new([1]));
    assert!(ResidualQuery::new(&domain, a.clone(), b, one).is_err());
    assert!(ResidualQuery::new(&domain, Clique::new([3]), a.clone(), one).is_err());
    let tiny = Ratio::new(1, 1 << 12).unwrap();
    assert!(ResidualQuery::new(&domain, a.clone(), a, tiny).is_err());
}

#[test]
fn variances_are_rounded_up_by_little() {
    for variance in [1e-9, 1e-3, 0.3, 1.0, 7.7, 1e5, 1e12, 2_f64.powi(50)] {
        let found = variance_at_least(variance).unwrap();
        assert!(DiscreteGaussian::new(found).is_ok());
        let ratio = found.to_f64() / variance.max(2_f64.powi(-11));
        assert!((1.0..1.0 + 1e-9).contains(&ratio), "{variance}: {found}");
    }
    assert!(variance_at_least(2_f64.powi(51)).is_err() && variance_at_least(f64::NAN).is_err());
}
