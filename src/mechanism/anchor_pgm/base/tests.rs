//! The base measure: what it says of values that no public record has.

use super::*;
use crate::data::Dataset;
use crate::observe::Unstoppable;
use crate::query::Workload;

#[test]
fn unseen_slices_get_a_share_of_the_sum_along_their_axis() {
    let mut table = [3.0, 1.0, 0.0, 2.0, 4.0, 0.0, 0.0, 0.0, 0.0];
    spread_unseen(&mut table, &[3, 3], 0.1);
    // First the last row, then the last column, which the row is part of.
    let expected = [3.0, 1.0, 0.4, 2.0, 4.0, 0.6, 0.5, 0.5, 0.1];
    for (found, expected) in table.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{table:?}");
    }
}

#[test]
fn an_unseen_value_is_rare_and_between_independence_and_the_others() {
    // No record has a = 1; b and c are equal in four of five records.
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 3)]).unwrap();
    let rows: Vec<[u32; 3]> =
        (0..600).map(|i| [0, i % 3, if i % 5 == 0 { (i + 1) % 3 } else { i % 3 }]).collect();
    let table = Dataset::from_rows(domain.clone(), &rows).unwrap();
    let table = PublicData::new("p", table, &domain).unwrap();
    let cliques = Workload::all_k_way(&domain, 3).unwrap().downward_closure();
    let public = PublicMarginals::count(&[table], &cliques).unwrap();
    let base = Base::build(&domain, &public, &vec![1.0; cliques.len()], 1.0, 1000.0, &Unstoppable)
        .unwrap();

    let of_all = base.model.marginals(&[Clique::new([0, 1, 2])]).unwrap();
    let (seen, unseen) = of_all[0].values().split_at(9);
    let (seen_sum, unseen_sum): (f64, f64) = (seen.iter().sum(), unseen.iter().sum());
    let records = unseen_sum * 600.0 / 1000.0;
    assert!(records > 0.5 * UNSEEN && records < 2.0 * UNSEEN, "{records} public records");
    for (seen, unseen) in seen.iter().zip(unseen) {
        let [seen, unseen] = [seen / seen_sum, unseen / unseen_sum].map(|p| p - 1.0 / 9.0);
        let is_between = unseen * seen.signum() > -0.01 && unseen.abs() < seen.abs() + 0.01;
        assert!(is_between, "beyond independence: {seen}, {unseen}");
    }
}
