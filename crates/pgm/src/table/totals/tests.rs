use super::*;
use crate::estimation::{Target, Targets};
use crate::measurement::Measurement;

fn domain() -> Domain {
    Domain::new([("age", 3), ("sex", 2), ("race", 2)]).unwrap()
}

fn error(tables: &[(&[usize], &[f64])]) -> String {
    let tables = tables.iter().map(|(c, t)| (Clique::new(c.iter().copied()), t.to_vec()));
    Totals::new(&domain(), tables).unwrap_err().to_string()
}

#[test]
fn tables_that_agree_are_taken_up_to_rounding() {
    let by_age = vec![10.0, 20.0, 30.0, 15.0, 5.0, 20.0];
    let by_race = vec![45.0 - 1e-8, 55.0 + 1e-8];
    let tables = [(Clique::new([0, 1]), by_age), (Clique::new([2]), by_race)];
    let totals = Totals::new(&domain(), tables).unwrap();
    assert_eq!(
        (totals.total(), totals.table(0)[4], totals.layout().cliques().len()),
        (100.0, 5.0, 2)
    );
}

#[test]
fn what_no_table_can_have_is_refused_with_its_cell() {
    let age_sex: (&[usize], &[f64]) = (&[0, 1], &[10.0, 20.0, 30.0, 15.0, 5.0, 20.0]);
    let race: (&[usize], &[f64]) = (&[2], &[45.0, 55.0]);
    assert!(error(&[]).contains("no table, expected at least one"));
    assert!(error(&[race, age_sex, race]).contains("the totals of race: given twice"));
    assert_eq!(error(&[(&[2], &[45.0])]), "table over race has 1 cells, expected 2");
    assert_eq!(
        error(&[(&[0, 1], &[10.0, 20.0, 30.0, -15.0, 5.0, 20.0])]),
        "the totals of age x sex: -15 in age 1 and sex 1, expected counts that are not negative"
    );
    assert!(error(&[(&[2], &[f64::NAN, 1.0])]).contains("NaN in race 0"));
    assert!(error(&[(&[2], &[0.0, 0.0])]).contains("0 records, expected a positive number"));
    assert_eq!(
        error(&[age_sex, (&[2], &[45.0, 54.0])]),
        "the totals of race: 99 records, expected 100, as in the totals of age x sex"
    );
    // 45 and 55 by sex.
    assert_eq!(
        error(&[age_sex, (&[1, 2], &[20.0, 26.0, 30.0, 24.0])]),
        "the totals of sex x race: 46 records in sex 0, expected 45, as in the totals of age x sex"
    );
}

#[test]
fn an_adjusted_table_has_the_totals_and_is_the_nearest_one() {
    let domain = domain();
    let age_sex = (Clique::new([0, 1]), vec![10.0, 20.0, 30.0, 15.0, 5.0, 20.0]);
    let sex_race = (Clique::new([1, 2]), vec![20.0, 25.0, 30.0, 25.0]);
    let totals = Totals::new(&domain, [age_sex.clone(), sex_race.clone()]).unwrap();
    let noisy: Vec<f64> = (0..12).map(|cell| f64::from((cell * 7) % 5) * 6.0 - 3.0).collect();
    let all = domain.everything();
    let mut adjusted = noisy.clone();
    totals.adjust(&domain, &all, &mut adjusted).unwrap();
    let marginal = |values: &[f64], of: &Clique| {
        let mut sums = vec![0.0; domain.shape(of).iter().product()];
        Projection::between(&all, &domain.shape(&all), of).add_into(values, &mut sums);
        sums
    };
    for (clique, wanted) in [age_sex, sex_race] {
        let found = marginal(&adjusted, &clique);
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
    }
    // The nearest one: the difference is at right angles to every table with marginals of 0.
    let interaction = |cell: usize| {
        let [age, sex, race] = [cell / 4, cell / 2 % 2, cell % 2];
        (
            [1.0, -2.0, 1.0][age] * [1.0, -1.0][race],
            [0.0, 1.0, -1.0][age] * [1.0, -1.0][sex] * [1.0, -1.0][race],
        )
    };
    let difference = adjusted.iter().zip(&noisy).map(|(a, b)| a - b).enumerate();
    let (x, y) = difference.fold((0.0, 0.0), |(x, y), (cell, by)| {
        (x + by * interaction(cell).0, y + by * interaction(cell).1)
    });
    assert!(x.abs() < 1e-9 && y.abs() < 1e-9, "{x}, {y}");
    // A table that shares nothing has the number of records alone.
    let mut apart = vec![1.0, 2.0];
    let by_age = Totals::new(&domain, [(Clique::new([0]), vec![10.0, 60.0, 30.0])]).unwrap();
    by_age.adjust(&domain, &Clique::new([2]), &mut apart).unwrap();
    assert_eq!(apart, [49.5, 50.5]);
}

#[test]
fn another_domain_and_another_size_are_refused() {
    let by_age = Totals::new(&domain(), [(Clique::new([0]), vec![10.0, 60.0, 30.0])]).unwrap();
    let other = Domain::new([("age", 4), ("sex", 2), ("race", 2)]).unwrap();
    let error = by_age.adjust(&other, &Clique::new([1]), &mut [1.0, 2.0]).unwrap_err();
    assert_eq!(error.to_string(), "table over age has 3 cells, expected 4");
    let error = by_age.adjust(&domain(), &Clique::new([0, 1]), &mut [1.0, 2.0]).unwrap_err();
    assert_eq!(error.to_string(), "table over age x sex has 2 cells, expected 6");
    let noisy = Measurement::new(Clique::new([1]), vec![50.0, 40.0, 10.0], 1.0);
    let by_age = Target::Exact { clique: Clique::new([0]), values: vec![10.0, 60.0, 30.0] };
    assert!(Targets::new(&domain(), [Target::Noisy(noisy), by_age.clone()], None).is_err());
    assert!(Targets::new(&other, [by_age], None).is_err());
}
