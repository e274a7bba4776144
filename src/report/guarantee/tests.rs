use super::*;
use crate::privacy::NeighboringRelation;

fn budget() -> Budget {
    Budget::approximate(1.0, 1e-9).unwrap()
}

#[test]
fn the_sentence_names_factor_delta_and_whose_records() {
    let unit = PrivacyUnit::of_record(NeighboringRelation::ReplaceOne);
    let text = guarantee(Some(budget()), &unit, true, &[]);
    assert!(
        text.contains("a factor of at most 2.718") && text.contains("\u{3b4} = 1e-9"),
        "{text}"
    );
    assert!(text.contains("had had any other values"), "{text}");
    assert!(text.contains("The number of private records is public."), "{text}");
    let unit = PrivacyUnit::of_record(NeighboringRelation::AddRemoveOne);
    let text = guarantee(Some(budget()), &unit, true, &[]);
    assert!(text.contains("if one record had not been in the private table"), "{text}");
    assert!(!text.contains("is public"), "{text}");
}

#[test]
fn a_fixed_seed_has_no_guarantee() {
    let text = guarantee(Some(budget()), &PrivacyUnit::default(), false, &[]);
    assert!(text.starts_with("There is no guarantee") && text.contains("fixed seed"), "{text}");
    assert!(!text.contains("a factor of"), "{text}");
    let text = guarantee(None, &PrivacyUnit::default(), false, &[]);
    assert!(text.starts_with("Nothing computed from private records"), "{text}");
}
