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

/// Homes of one to five persons, each of one of a thousand kinds. The rules leave 10³ combinations of one person and 10¹⁵ of five,
/// so that by a uniform distribution all homes are of five. Nobody said that homes are like this.
#[test]
fn rules_do_not_say_how_likely_values_are() {
    let (homes, kinds) = ([500.0, 200.0, 150.0, 100.0, 50.0], 1000_u32);
    let most = u32::try_from(homes.len()).unwrap();
    let names: Vec<String> = (1..=most).map(|person| format!("kind.{person}")).collect();
    let sizes = (1..=most).map(|person| kinds + u32::from(person > 1));
    let domain = names.iter().cloned().zip(sizes).chain([("size".to_owned(), most)]);
    let domain = Domain::new(domain).unwrap();
    let rules = (1..most).flat_map(|fewer| {
        let name = names[fewer as usize].as_str();
        [
            vec![("size", (0..fewer).collect()), (name, (0..kinds).collect::<Vec<u32>>())],
            vec![("size", (fewer..most).collect()), (name, vec![kinds])],
        ]
    });
    let domain = domain.forbid(rules.collect::<Vec<_>>()).unwrap();
    let (total, size) = (1000.0, Clique::new([homes.len()]));
    let base = Base::uniform(&domain, total).unwrap();
    let before = base.model.marginals(std::slice::from_ref(&size)).unwrap();
    assert!(before[0].values()[0] < 1e-6, "{:?}", before[0].values());

    let of_person = |person: usize| -> Vec<f64> {
        let there: f64 = homes[person..].iter().sum();
        let own = std::iter::repeat_n(there / f64::from(kinds), kinds as usize);
        own.chain((person > 0).then_some(total - there)).collect()
    };
    let singles = (0..homes.len()).map(of_person).chain([homes.to_vec()]).enumerate();
    let measured = |(a, values)| Measurement::new(Clique::new([a]), values, 5.0);
    let singles: Vec<Measurement> = singles.map(measured).collect();
    let (moved, _) = base.moved(&singles, Trust::in_independence(total), &Unstoppable).unwrap();
    let after = moved.model.marginals(&[size]).unwrap();
    for (found, wanted) in after[0].values().iter().zip(homes) {
        assert!((found - wanted).abs() < 50.0, "{:?}", after[0].values());
    }
}
