use super::*;
use crate::measurement::Provenance;

/// 1,000 records, of which the base expects half in each of two cells, and 900 and 100 were measured with noise of 10.
#[test]
fn an_expert_is_charged_as_sure_as_its_records_let_it_be() {
    let domain = Domain::new([("a", 2), ("b", 2)]).unwrap();
    let single = Measurement {
        clique: Clique::new([0]),
        cell: None,
        values: vec![900.0, 100.0],
        stddev: 10.0,
        provenance: Provenance::Private,
    };
    let charged = |mut expert: Expert| {
        expert.charge_for(&single).unwrap();
        expert.charge
    };
    let over_public = |records| {
        let base = Base::uniform(&domain, 1000.0).unwrap();
        charged(Expert::over_public(base, records))
    };
    let expected = [500.0, 500.0];
    for records in [1.0, 10_000.0] {
        let density = Trust::in_public(records).log_density(&single, &expected);
        assert!((over_public(records) + density + FAILS_ONE_IN.ln()).abs() < 1e-9);
    }
    // As little as for a normal with a variance of 100 + 1,000 · 500, and some nats for the choice of κ.
    let one = over_public(1.0) + FAILS_ONE_IN.ln();
    assert!(one > 500_100_f64.ln() && one < 20.0, "{one}");
    // AIM's takes its prediction for certain: 400²/(2 · 10²) nats for each cell, and ln 10.
    let certain = charged(Expert::alone(&domain, 1000.0).unwrap());
    assert!((certain - 1600.0 - 100_f64.ln()).abs() < 1e-6, "{certain}");
}
