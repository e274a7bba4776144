use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::*;

fn domain() -> Domain {
    Domain::new([("a", 2), ("b", 3), ("c", 300)]).unwrap()
}

#[test]
fn equal_records_become_one_and_the_order_of_rows_does_not_matter() {
    let rows = |rows: &[[u32; 3]]| Dataset::from_rows(domain(), rows).unwrap();
    let [x, y] = [[1, 2, 299], [0, 1, 4]];
    let one = WeightedSupport::new(&rows(&[x, y, x]), vec![1.0, 3.0, 2.0], 12.0).unwrap();
    let other = WeightedSupport::new(&rows(&[y, x]), vec![3.0, 3.0], 12.0).unwrap();
    assert_eq!(one, other);
    assert_eq!((one.rows().row(0), one.rows().row(1)), (y.to_vec(), x.to_vec()));
    assert!((one.entropy() - 2_f64.ln()).abs() < 1e-12);
    for (weights, total) in [
        (vec![1.0], 1.0),
        (vec![0.0, 0.0], 1.0),
        (vec![1.0, -1.0], 1.0),
        (vec![1.0, f64::NAN], 1.0),
        (vec![f64::MAX, f64::MAX], 1.0),
        (vec![1.0, 1.0], 0.0),
    ] {
        assert!(WeightedSupport::new(&rows(&[x, y]), weights, total).is_err());
    }
}

#[test]
fn all_cells_are_the_records_of_the_domain_in_order() {
    let support = WeightedSupport::all_cells(&domain(), 1800.0).unwrap();
    assert_eq!((support.size(), support.rows().row(900 + 2 * 300 + 7)), (1800, vec![1, 2, 7]));
    let marginal = &support.marginals(&[Clique::new([0, 1])]).unwrap()[0];
    assert!(marginal.values().iter().all(|count| (count - 300.0).abs() < 1e-9));
    let wide = Domain::new((0..23).map(|i| (i.to_string(), 2))).unwrap();
    let error = WeightedSupport::all_cells(&wide, 1.0).unwrap_err();
    assert!(matches!(error, Error::Common(crate::CommonError::TooLarge { .. })), "{error}");
}

#[test]
fn rounded_records_occur_as_often_as_expected_rounded_up_or_down() {
    let rows = WeightedSupport::all_cells(&domain(), 1.0).unwrap().rows().clone();
    let weights: Vec<f64> = (0..1800_u32).map(|i| f64::from(i * i % 37)).collect();
    let sum: f64 = weights.iter().sum();
    let support = WeightedSupport::new(&rows, weights.clone(), 1.0).unwrap();
    for records in [1, 10, 1000, 12_345] {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let drawn = support.draw(records, Sampling::Rounded, &mut rng).unwrap();
        let found = drawn.weighted_marginals(&vec![1.0; records], &[domain().everything()]);
        let found = found.unwrap().swap_remove(0);
        assert_eq!(drawn.records(), records);
        for (count, weight) in found.iter().zip(&weights) {
            assert!((count - weight / sum * records as f64).abs() < 1.0);
        }
        let drawn = support.draw(records, Sampling::Independent, &mut rng).unwrap();
        assert_eq!(drawn.records(), records);
    }
    assert!(support.draw(0, Sampling::Rounded, &mut ChaCha20Rng::seed_from_u64(1)).is_err());
}

/// All old people are of the rarest kind: no weights of these records have both totals, and copies of others do.
#[test]
fn cells_whose_records_cannot_stand_for_them_get_others() {
    let domain = Domain::new([("age", 2), ("kind", 3), ("work", 2)]).unwrap();
    let row = |i: u32| if i == 0 { [1, 2, 0] } else { [0, i % 2, i % 3 % 2] };
    let rows: Vec<[u32; 3]> = (0..200).map(row).collect();
    let rows = Dataset::from_rows(domain.clone(), &rows).unwrap();
    let listed = WeightedSupport::new(&rows, vec![1.0; 200], 200.0).unwrap();
    let tables =
        [(Clique::new([0]), vec![600.0, 400.0]), (Clique::new([1]), vec![500.0, 490.0, 10.0])];
    let totals = Totals::new(&domain, tables.clone()).unwrap();
    let found = listed.projected(&totals).unwrap();
    let cliques = tables.each_ref().map(|(clique, _)| clique.clone());
    for (table, (_, wanted)) in found.marginals(&cliques).unwrap().iter().zip(&tables) {
        for (found, wanted) in table.values().iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-3, "{found}, expected {wanted}");
        }
    }
    // Nothing is added where the records are enough.
    let enough = Totals::new(&domain, [(Clique::new([0]), vec![600.0, 400.0])]).unwrap();
    assert_eq!(listed.projected(&enough).unwrap().size(), listed.size());
}

#[test]
fn totals_that_no_weights_have_are_approached_and_no_record_vanishes() {
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 1)]).unwrap();
    let rows = [[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 2, 0]];
    let rows = Dataset::from_rows(domain.clone(), &rows).unwrap();
    let support = WeightedSupport::new(&rows, vec![1.0; 4], 100.0).unwrap();
    let totals = |a: [f64; 2], b: [f64; 3]| {
        let tables = [(Clique::new([0]), a.to_vec()), (Clique::new([1]), b.to_vec())];
        Totals::new(&domain, tables).unwrap()
    };
    // More records with b = 0 than with a = 0, where each of the former is one of the latter. Half of the way can be had.
    let contradicting = totals([40.0, 60.0], [60.0, 30.0, 10.0]);
    let found = support.raked(&contradicting).unwrap();
    let both = found.marginals(&[Clique::new([0, 1])]).unwrap().remove(0);
    let wanted = [42.5, 2.5, 0.0, 0.0, 37.5, 17.5];
    let pairs = both.values().iter().zip(wanted);
    assert!(pairs.into_iter().all(|(found, wanted)| (found - wanted).abs() < 0.01), "{both:?}");
    // With copies of records they are had, though more than half of each could be.
    let found = support.projected(&contradicting).unwrap();
    let tables = found.marginals(&[Clique::new([0]), Clique::new([1])]).unwrap();
    for (found, wanted) in tables.iter().zip([&[40.0, 60.0][..], &[60.0, 30.0, 10.0]]) {
        let pairs = found.values().iter().zip(wanted);
        assert!(pairs.into_iter().all(|(found, wanted)| (found - wanted).abs() < 0.1), "{found:?}");
    }
    // What can be had is had.
    let found = support.projected(&totals([40.0, 60.0], [30.0, 50.0, 20.0])).unwrap();
    let both = found.marginals(&[Clique::new([0])]).unwrap().remove(0);
    assert!((both.values()[0] - 40.0).abs() < 1e-6);
}
