use super::*;

#[test]
fn relations_are_written_in_kebab_case() {
    for relation in [NeighboringRelation::ReplaceOne, NeighboringRelation::AddRemoveOne] {
        assert_eq!(serde_json::to_string(&relation).unwrap(), format!("\"{relation}\""));
    }
    let unit = NeighboringRelation::AddRemoveUnit(RecordsPerUnit::new(4).unwrap());
    let written = r#"{"add-remove-unit":4}"#;
    assert_eq!(serde_json::to_string(&unit).unwrap(), written);
    assert_eq!(serde_json::from_str::<NeighboringRelation>(written).unwrap(), unit);
    for wrong in [r#"{"add-remove-unit":0}"#, r#"{"add-remove-unit":33}"#] {
        assert!(serde_json::from_str::<NeighboringRelation>(wrong).is_err());
    }
}

#[test]
fn weights_that_are_no_scale_are_refused() {
    let sensitivity = ScoreSensitivity::l1_error(NeighboringRelation::AddRemoveOne);
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(sensitivity.weighted(weight).is_err(), "{weight}");
    }
}
