use super::*;
use crate::data::{Dataset, Projectable};

fn homes(most: u32, columns: usize) -> (Domain, Units) {
    let names: Vec<String> = (0..columns).map(|column| format!("c{column}")).collect();
    let units = Units::new("h", most).unwrap().linked(["t"]).unwrap();
    let units = units.with_members(names.clone(), "o").unwrap();
    let own = (1..=most).flat_map(|member| {
        let value =
            move |name: &String| (Members::name_of(name, member), 9 + u32::from(member > 1));
        names.iter().map(value).collect::<Vec<_>>()
    });
    let shared = [("t".to_owned(), 3), ("h.records".to_owned(), most)];
    (Domain::new(shared.into_iter().chain(own)).unwrap(), units)
}

#[test]
fn values_are_cut_into_even_groups() {
    let sizes = |values| groups(values).map(|group| group.len()).collect::<Vec<_>>();
    assert_eq!((sizes(0), sizes(1), sizes(3)), (vec![], vec![1], vec![1, 1, 1]));
    assert_eq!((sizes(9), sizes(18)), (vec![2, 2, 2, 3], vec![4, 5, 4, 5]));
    assert_eq!(groups(9).flatten().collect::<Vec<_>>(), (0..9).collect::<Vec<_>>());
}

#[test]
fn nobody_is_counted_nowhere_and_places_do_not_matter() {
    let (domain, units) = homes(3, 1);
    let found = Compositions::of_units(&domain, &units).unwrap();
    // Two members of the first group and one of the last; nobody; the same in other places.
    let rows = [[0, 2, 0, 8, 1], [0, 0, 8, 9, 9], [0, 2, 8, 1, 0]];
    let table = Dataset::from_rows(domain, &rows).unwrap().tallied(found.tallies()).unwrap();
    assert_eq!(table.row(0), [0, 2, 2, 0, 0, 1]);
    assert_eq!(table.row(1), [0, 0, 0, 0, 0, 1]);
    assert_eq!(table.row(2), table.row(0));
    let counts = table.project_many(found.cliques()).unwrap();
    assert!(counts.iter().all(|counts| counts.iter().sum::<u32>() == 3));
}

#[test]
fn there_are_never_too_many_tables_or_cells() {
    let (domain, units) = homes(32, 6);
    let found = Compositions::of_units(&domain, &units).unwrap();
    assert!((128..=MOST_TABLES).contains(&found.cliques().len()));
    let cells = |clique: &Clique| found.tallies().domain().cells(clique).unwrap();
    assert!(found.cliques().iter().all(|clique| cells(clique) <= MOST_CELLS));
}

#[test]
fn units_without_members_and_other_attributes_are_refused() {
    let (domain, units) = homes(2, 1);
    assert!(Compositions::of_units(&domain, &Units::new("h", 2).unwrap()).is_err());
    assert!(Compositions::of_units(&Domain::new([("t", 3)]).unwrap(), &units).is_err());
}
