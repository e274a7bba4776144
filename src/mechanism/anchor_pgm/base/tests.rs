//! The base measure: what it says of values that no public record has.

use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

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

/// Twelve attributes, each mostly equal to the one before. Many records make their marginals exact, and the base is then closer to
/// them than the rules for rough marginals would leave it.
#[test]
fn the_choice_is_careful_where_public_marginals_are_exact() {
    let domain = Domain::new((0..12).map(|i| (format!("a{i}"), 3))).unwrap();
    let cliques = Workload::all_k_way(&domain, 2).unwrap().downward_closure();
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let mut row = || -> Vec<u32> {
        let mut last = rng.random_range(0..3);
        let mut next = || {
            last = if rng.random_range(0..5) > 0 { last } else { rng.random_range(0..3) };
            last
        };
        (0..12).map(|_| next()).collect()
    };
    let mut built = |records: u32| {
        let rows: Vec<Vec<u32>> = (0..records).map(|_| row()).collect();
        let table = Dataset::from_rows(domain.clone(), &rows).unwrap();
        let public = [PublicData::new("p", table, &domain).unwrap()];
        let public = PublicMarginals::count(&public, &cliques).unwrap();
        let relevance = vec![1.0; cliques.len()];
        let choice = Choice::new(&domain, &public, &relevance, 0.005, &Unstoppable);
        let as_elsewhere = Choice { care: Care::little(), ..choice.clone() };
        let excess = [&choice, &as_elsewhere]
            .map(|choice| choice.excess(&choice.run(GROWTH_MIB).unwrap()).unwrap());
        (choice.mean_sampling_error(), choice.care.of_largest, excess)
    };
    let (rough, of_largest, _) = built(90);
    assert!(rough > EXACT && of_largest.abs() < 1e-12, "{rough}");
    let (exact, of_largest, excess) = built(9000);
    // A tenth of the error of a hundredth of the records.
    assert!((exact * 10.0 / rough - 1.0).abs() < 0.2, "{rough} {exact}");
    assert!((of_largest - OF_LARGEST).abs() < 1e-12);
    assert!(excess[0] < 0.95 * excess[1], "{excess:?}");
}

/// A mixture's share is judged by a model of four fifths of the records, fitted from the start: of all records it must be the base again,
/// but for what fits leave open.
#[test]
fn a_base_that_is_fitted_again_is_the_same() {
    let domain = Domain::new((0..12).map(|i| (format!("a{i}"), 6))).unwrap();
    let cliques = Workload::all_k_way(&domain, 3).unwrap().downward_closure();
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let rows: Vec<Vec<u32>> = (0..5000)
        .map(|_| {
            let first: u32 = rng.random_range(0..6);
            (0..12).map(|i| (first + rng.random_range(0..2) * i) % 6).collect()
        })
        .collect();
    let table = Dataset::from_rows(domain.clone(), &rows).unwrap();
    let table = PublicData::new("p", table, &domain).unwrap();
    let public = PublicMarginals::count(std::slice::from_ref(&table), &cliques).unwrap();
    let relevance = vec![1.0; cliques.len()];
    let base = Base::build(&domain, &public, &relevance, 0.5, 5000.0, &Unstoppable).unwrap();
    let again = base.refitted(&table, &Unstoppable).unwrap();
    let (of_base, again) = (base.model.marginals(&cliques), again.marginals(&cliques));
    for (base, again) in of_base.unwrap().iter().zip(again.unwrap()) {
        let pairs = base.values().iter().zip(again.values());
        let distance = pairs.map(|(b, a)| (b - a).abs()).sum::<f64>() / 5000.0;
        assert!(distance < 0.01, "{distance}");
    }
}
