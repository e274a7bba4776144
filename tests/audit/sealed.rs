//! The private table as a sealed value: whose records it holds, what can be asked of it, and what a curator of it spends.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use jointly::data::{Dataset, Recoding, Units};
use jointly::domain::{Clique, Domain};
use jointly::observe::Silent;
use jointly::privacy::{
    Budget, LedgerFile, NeighboringRelation, NoiseMechanism, NoiseSeed, PrivacyUnit, PrivateTable,
    Rho,
};
use jointly::synthesis::PrivateSource;
use jointly::{Job, Schema};

fn domain() -> Domain {
    Domain::new([("a", 2), ("b", 3)]).unwrap()
}

fn records(number: u32) -> Dataset {
    let rows: Vec<[u32; 2]> = (0..number).map(|i| [i % 2, i % 3]).collect();
    Dataset::from_rows(domain(), &rows).unwrap()
}

/// A record of either relation, and households of three.
fn units() -> Vec<PrivacyUnit> {
    let of = PrivacyUnit::of_record;
    let households = PrivacyUnit::of_units(Units::new("home", 3).unwrap()).unwrap();
    vec![of(NeighboringRelation::ReplaceOne), of(NeighboringRelation::AddRemoveOne), households]
}

fn budget() -> Budget {
    Budget::approximate(1.0, 1e-6).unwrap()
}

#[test]
fn a_number_of_records_that_is_private_is_not_told() {
    for unit in units() {
        let table = PrivateTable::of_records(records(40), unit.clone()).unwrap();
        let expected = unit.relation().has_public_total().then_some(40);
        assert_eq!(table.records(), expected);
        let more = PrivateTable::of_records(records(41), unit.clone()).unwrap();
        assert_eq!(format!("{table:?}"), format!("{more:?}"));
        let nobody = PrivateTable::of_records(records(0), unit.clone());
        assert_eq!(nobody.is_ok(), !unit.relation().has_public_total());
        let counted = PrivateTable::of_counts(records(40), unit).unwrap();
        assert_eq!(counted.records(), expected);
    }
}

#[test]
fn the_curator_of_a_sealed_table_has_its_unit_its_budget_and_what_was_spent() {
    for unit in units() {
        let table = PrivateTable::of_records(records(40), unit.clone()).unwrap();
        let mut first = table.curator(Some(budget()), NoiseSeed::System, None).unwrap();
        assert_eq!((first.unit(), first.remaining()), (&unit, budget().rho()));
        let third = budget().rho().split(1, 3).unwrap().0;
        first.measure(&Clique::new([0]), third).unwrap();
        let entry = &first.ledger().entries()[0];
        let NoiseMechanism::DiscreteGaussian { squared_l2_sensitivity, .. } = entry.mechanism
        else {
            unreachable!("Gaussian noise")
        };
        // Two counts change by one; one by one; one by three.
        let expected = match unit.relation() {
            NeighboringRelation::ReplaceOne => 2,
            NeighboringRelation::AddRemoveOne => 1,
            NeighboringRelation::AddRemoveUnit(_) => 9,
        };
        assert_eq!(squared_l2_sensitivity, expected);
        let file = LedgerFile::new("first", Some(budget()), &first);
        let second = table.curator(Some(budget()), NoiseSeed::System, Some(&file)).unwrap();
        assert_eq!(second.spent(), first.spent());
        let mut nothing = table.curator(None, NoiseSeed::System, None).unwrap();
        assert_eq!((nothing.unit(), nothing.remaining()), (&unit, Rho::ZERO));
        assert!(nothing.measure(&Clique::new([0]), third).is_err());
    }
}

/// A record, or a household that was limited while it was read: a job takes the one that it is about.
#[test]
fn a_job_takes_a_sealed_table_of_its_own_unit_only() {
    let schema = Schema::from_json(r#"{"a": 2, "b": 3}"#, "schema.json").unwrap();
    for (i, of_job) in units().iter().enumerate() {
        for (k, of_table) in units().into_iter().enumerate() {
            let table = PrivateTable::of_records(records(40), of_table).unwrap();
            let mut job = Job::new(PrivateSource::from(table), schema.clone(), 1.0, 1e-6);
            job.mechanism = "independent".into();
            job.neighbors = match of_job.relation() {
                NeighboringRelation::ReplaceOne => NeighboringRelation::ReplaceOne,
                _ => NeighboringRelation::AddRemoveOne,
            };
            job.unit = of_job.units().map(|units| units.column().to_owned());
            job.max_records = of_job.units().map(Units::most);
            let done = job.fit(&mut Silent);
            assert_eq!(done.is_ok(), i == k, "{of_job:?}");
        }
    }
}

/// Resuming takes the step that the rule came from out of the checkpoint and draws no noise for it.
#[test]
fn a_resumed_run_draws_after_a_recoding_what_the_first_one_drew() {
    let same = Recoding::new(domain(), domain(), vec![None, None]).unwrap();
    let table = PrivateTable::of_records(records(40), PrivacyUnit::default()).unwrap();
    let (pair, third) = (Clique::new([0, 1]), budget().rho().split(1, 3).unwrap().0);
    let drawn = |first: bool| {
        let mut curator = table.curator(Some(budget()), NoiseSeed::Fixed(1), None).unwrap();
        if first {
            curator.measure(&pair, third).unwrap();
        }
        curator.recode(&same).unwrap();
        let values = curator.measure(&pair, third).unwrap().values;
        assert_eq!(curator.ledger().entries().len(), if first { 2 } else { 1 });
        values
    };
    assert_eq!(drawn(true), drawn(false));
}
