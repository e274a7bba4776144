use super::{two_sided, two_sided_quantile};

#[test]
fn quantiles_are_those_of_printed_tables() {
    // 97.5 % points of Student's t.
    for (degrees, expected) in [
        (1.0, 12.706_205),
        (2.0, 4.302_653),
        (9.0, 2.262_157),
        (30.0, 2.042_272),
        (1e12, 1.959_964),
    ] {
        let found = two_sided_quantile(0.05, degrees);
        assert!((found - expected).abs() < 2e-6, "{degrees}: {found}, expected {expected}");
    }
}

#[test]
fn probabilities_have_closed_forms_for_one_and_two_degrees() {
    for t in [0.0, 0.3, 1.0, 2.5, 40.0, 1e6] {
        let one = 1.0 - 2.0 / std::f64::consts::PI * f64::atan(t);
        let two = 1.0 - t / (2.0 + t * t).sqrt();
        assert!((two_sided(t, 1.0) - one).abs() < 1e-9, "{t}");
        assert!((two_sided(t, 2.0) - two).abs() < 1e-9, "{t}");
    }
}

#[test]
fn many_degrees_are_the_normal_distribution() {
    // P[|Z| > t], computed with Python's math.erfc.
    for (t, normal) in [
        (0.5, 0.617_075_077_451_974),
        (2.0, 0.045_500_263_896_358),
        (5.0, 5.733_031_437_583_892e-7),
    ] {
        for degrees in [1e7, 9e7, 1e8, f64::INFINITY] {
            let off = two_sided(t, degrees) / normal - 1.0;
            assert!(off.abs() < 2e-5, "{t}, {degrees}: {off}");
        }
    }
    // Four degrees: 1 - s (1 + 2/(t² + 4)) with s = t/√(t² + 4).
    for t in [0.3_f64, 1.0, 2.5, 40.0] {
        let whole = t * t + 4.0;
        let expected = 1.0 - t / whole.sqrt() * (1.0 + 2.0 / whole);
        assert!((two_sided(t, 4.0) - expected).abs() < 1e-12, "{t}");
    }
}

#[test]
fn a_quantile_is_exceeded_with_its_probability() {
    for degrees in [0.5, 1.0, 1.7, 3.0, 12.5, 99.0, 4_321.0, 2e5, 9e7, f64::INFINITY] {
        for tail in [1e-6, 1e-3, 0.05, 0.3, 0.9] {
            let t = two_sided_quantile(tail, degrees);
            let found = two_sided(t, degrees);
            assert!((found / tail - 1.0).abs() < 2e-5, "{degrees}, {tail}: {t}, {found}");
        }
    }
}
