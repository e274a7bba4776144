use super::*;
use crate::data::Dataset;
use crate::domain::Schema;
use crate::model::{ModelFile, ModelLimits};

fn file() -> ModelFile {
    let json = r#"{"b": 3, "puma": 3, "a": 2, "state": 2}"#;
    let schema = Schema::from_json(json, "d").expect("a schema");
    let own = schema.domain().restricted(&Clique::new([0, 2])).expect("a domain");
    let rows = Dataset::from_rows(own, &[[0, 0], [0, 1], [2, 1]]).expect("rows");
    let shared = Arc::new(vec![1.0 / 3.0, 0.0, 1e-300]);
    let group = |codes: [u32; 2], size, weights: &Arc<Vec<f64>>| Group {
        codes: codes.to_vec(),
        size,
        weights: Arc::clone(weights),
    };
    let groups = vec![
        group([0, 1], 30.25, &shared),
        group([0, 0], 0.0, &shared),
        group([1, 2], 20.5, &Arc::new(vec![0.1, 0.2, 0.7])),
    ];
    let model = GroupedSupport::new(&schema.domain(), &[3, 1], rows, groups).expect("a model");
    ModelFile {
        schema,
        model: model.into(),
        mechanism: "ide".into(),
        is_private: true,
        accuracy: None,
        linked: None,
        weight: None,
        refined_on: Vec::new(),
        conditional_on: Vec::new(),
    }
}

#[test]
fn groups_come_back_to_the_last_bit_and_what_they_share_is_written_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.json");
    file().write(&path).expect("written");
    let back = ModelFile::read(&path, ModelLimits::default()).expect("read");
    let groups = |file: &ModelFile| file.model.as_grouped_support().cloned();
    assert!(groups(&back).is_some() && back.is_private);
    assert_eq!(groups(&back), groups(&file()));
    let model = back.model.as_grouped_support().expect("groups");
    assert!(Arc::ptr_eq(&model.groups()[0].weights, &model.groups()[1].weights));
    let text = std::fs::read_to_string(&path).expect("read");
    assert_eq!(text.matches("1e-300").count(), 1);
    // Without groups there is one, of everyone.
    let schema = Schema::from_json(r#"{"a": 2}"#, "d").expect("a schema");
    let rows = Dataset::from_rows(schema.domain(), &[[1]]).expect("a row");
    let everyone = Group { codes: vec![], size: 5.0, weights: Arc::new(vec![1.0]) };
    let model = GroupedSupport::new(&schema.domain(), &[], rows, vec![everyone]);
    let model = model.expect("a model").into();
    let alone = ModelFile {
        schema,
        model,
        mechanism: "ide".into(),
        is_private: false,
        accuracy: None,
        linked: None,
        weight: None,
        refined_on: Vec::new(),
        conditional_on: Vec::new(),
    };
    alone.write(&path).expect("written");
    let back = ModelFile::read(&path, ModelLimits::default()).expect("read");
    assert_eq!(groups(&back), groups(&alone));
}

#[test]
fn groups_of_a_stranger_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.json");
    file().write(&path).expect("written");
    let text = std::fs::read_to_string(&path).expect("read");
    let limits = ModelLimits::default();
    assert!(ModelFile::from_json(&text, "m", limits).is_ok());
    let small = ModelLimits { model_mib: 1e-5, ..limits };
    assert!(matches!(
        ModelFile::from_json(&text, "m", small),
        Err(Error::Common(crate::CommonError::TooLarge { .. }))
    ));
    for (from, to, expected) in [
        ("\"total\":50.75", "\"total\":50", "sum of the sizes"),
        ("\"state\",\"puma\"", "\"state\"", "columns b, a"),
        ("\"state\",\"puma\"", "\"state\",\"state\"", "state"),
        ("\"state\",\"puma\"", "\"state\",\"county\"", "county"),
        ("[0,0,2]", "[0,2]", "2 codes of 'b'"),
        ("[0,0,2]", "[0,0,3]", "codes below 3"),
        ("[0,0,2]", "[2,0,0]", "out of order"),
        ("[0.1,0.2,0.7]", "[0.1,0.2]", "a weight per record"),
        ("[0.1,0.2,0.7]", "[0.1,-0.2,0.7]", "a weight per record"),
        ("\"size\":20.5,\"weights\":1", "\"size\":20.5,\"weights\":2", "weights 2"),
        ("\"codes\":[1,2]", "\"codes\":[1,3]", "codes of the group attributes"),
        ("\"codes\":[1,2]", "\"codes\":[0,1]", "a group twice"),
        ("\"codes\":[1,2]", "\"codes\":[1]", "codes of the group attributes"),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        let changed = ModelFile::with_digest(&changed, "m").expect("an object");
        let error = ModelFile::from_json(&changed, "m", limits).expect_err(to).to_string();
        assert!(error.contains(expected), "{to}: {error}");
    }
}

#[test]
fn groups_and_records_that_the_schema_forbids_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.json");
    let columns = ["b", "puma", "a", "state"].iter().zip([3, 3, 2, 2]);
    let columns = columns.map(|(name, size)| {
        format!(r#"{{"name": "{name}", "role": "attribute", "kind": "coded", "size": {size}}}"#)
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    let refused = |rule: &str, expected: &str| {
        let mut ruled = file();
        let json = format!(r#"{{"columns": [{columns}], "forbidden": [{rule}]}}"#);
        ruled.schema = Schema::from_json(&json, "d").expect("a schema with a rule");
        ruled.write(&path).expect("written");
        let error = ModelFile::read(&path, ModelLimits::default()).expect_err(expected);
        assert!(error.to_string().contains(expected), "{error}");
    };
    refused(r#"{"state": "1", "puma": "2"}"#, "one that the schema allows");
    refused(r#"{"a": "1", "b": "2"}"#, "forbidden by the schema");
    refused(r#"{"a": "1", "state": "1"}"#, "none of a group attribute");
}
