use super::*;
use crate::{NeighboringRelation, Units};
use jointly_pgm::domain::Clique;

fn table(names: [&str; 2], rows: &[[u32; 2]]) -> Dataset {
    Dataset::from_rows(Domain::new(names.map(|name| (name, 5))).unwrap(), rows).unwrap()
}

fn sealed(rows: &[[u32; 2]], relation: NeighboringRelation) -> Result<PrivateTable> {
    PrivateTable::of_records(table(["a", "b"], rows), PrivacyUnit::of_record(relation))
}

#[test]
fn tables_of_the_same_rows_are_recognized_in_any_order_of_rows_and_columns() {
    let private = table(["a", "b"], &[[1, 2], [3, 4], [1, 2]]);
    assert!(are_same_rows(&private, &table(["a", "b"], &[[3, 4], [1, 2], [1, 2]])));
    assert!(are_same_rows(&private, &table(["b", "a"], &[[2, 1], [2, 1], [4, 3]])));
    assert!(are_same_rows(&private, &table(["a", "c"], &[[1, 0], [1, 3], [3, 1]])));
    assert!(!are_same_rows(&private, &table(["a", "b"], &[[1, 2], [3, 4], [3, 4]])));
    assert!(!are_same_rows(&private, &table(["a", "b"], &[[1, 2], [3, 4]])));
    assert!(!are_same_rows(&private, &table(["c", "d"], &[[1, 2], [3, 4], [1, 2]])));
}

#[test]
fn only_a_number_that_is_public_is_told() {
    let rows = [[1, 2], [3, 4]];
    let of_units = PrivacyUnit::of_units(Units::new("home", 2).unwrap()).unwrap();
    let number = |relation| sealed(&rows, relation).unwrap().records();
    assert_eq!(number(NeighboringRelation::ReplaceOne), Some(2));
    assert_eq!(number(NeighboringRelation::AddRemoveOne), None);
    let units = PrivateTable::of_records(table(["a", "b"], &rows), of_units).unwrap();
    assert_eq!(units.records(), None);
    assert!(sealed(&[], NeighboringRelation::ReplaceOne).is_err());
    assert!(sealed(&[], NeighboringRelation::AddRemoveOne).is_ok());
}

#[test]
fn what_is_printed_does_not_depend_on_the_records() {
    let printed = |rows: &[[u32; 2]]| {
        format!("{:?}", sealed(rows, NeighboringRelation::AddRemoveOne).unwrap())
    };
    assert_eq!(printed(&[[1, 2]]), printed(&[[3, 4], [0, 0]]));
    assert_eq!(printed(&[]), r#"PrivateTable { attributes: ["a", "b"], .. }"#);
}

#[test]
fn a_table_and_its_curator_are_recoded_alike() {
    let (from, to) = ([("a", 5), ("b", 5)], [("a", 2), ("b", 5)]);
    let (from, to) = (Domain::new(from).unwrap(), Domain::new(to).unwrap());
    let codes = vec![Some(vec![0, 0, 1, 1, 1]), None];
    let recoding = Recoding::new(from, to, codes).unwrap();
    let budget = Budget::approximate(1.0, 1e-6).unwrap();
    let before = sealed(&[[1, 2], [3, 4], [4, 4]], NeighboringRelation::ReplaceOne).unwrap();
    let measured = |table: &PrivateTable, recode: bool| {
        let mut curator = table.curator(Some(budget), NoiseSeed::Fixed(1), None).unwrap();
        if recode {
            curator.recode(&recoding).unwrap();
        }
        curator.begin_round(1).unwrap();
        assert_eq!(curator.domain().cardinality(0), 2);
        curator.measure(&Clique::new([0, 1]), budget.rho()).unwrap().values
    };
    let after = before.recoded(&recoding).unwrap();
    assert_eq!(measured(&before, true), measured(&after, false));
    // Codes of another domain are refused, by the table and by its curator.
    assert!(after.recoded(&recoding).is_err());
    let mut curator = after.curator(Some(budget), NoiseSeed::Fixed(1), None).unwrap();
    assert!(curator.recode(&recoding).is_err());
}

#[test]
fn counts_are_never_recoded() {
    struct Counts(Dataset);
    impl Projectable for Counts {
        fn domain(&self) -> &Domain {
            self.0.domain()
        }
        fn records(&self) -> u64 {
            2
        }
        fn project_many(&self, cliques: &[Clique]) -> jointly_pgm::Result<Vec<Vec<u32>>> {
            self.0.project_many(cliques)
        }
    }
    let rows = table(["a", "b"], &[[1, 2], [3, 4]]);
    let recoding = Recoding::new(rows.domain().clone(), rows.domain().clone(), vec![None, None]);
    let counted = PrivateTable::of_counts(Counts(rows.clone()), PrivacyUnit::default()).unwrap();
    assert!(counted.recoded(&recoding.unwrap()).is_err());
    assert!(counted.check_public(&rows).is_ok());
    assert!(
        sealed(&[[1, 2], [3, 4]], NeighboringRelation::ReplaceOne)
            .unwrap()
            .check_public(&rows)
            .is_err()
    );
}

#[test]
fn a_curator_without_a_budget_spends_nothing() {
    let table = sealed(&[[1, 2]], NeighboringRelation::ReplaceOne).unwrap();
    let mut curator = table.curator(None, NoiseSeed::Fixed(1), None).unwrap();
    assert!(curator.measure(&Clique::new([0]), Rho::from_f64(1e-9).unwrap()).is_err());
}
