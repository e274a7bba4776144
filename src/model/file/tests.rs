use super::*;
use crate::data::Dataset;
use crate::model::{MarkovRandomField, WeightedSupport};
use crate::table::{CliqueLayout, Potentials};

fn file() -> ModelFile {
    let schema = Schema::from_json(r#"{"a": 2, "b": 3, "c": 4}"#, "d").expect("a schema");
    let domain: Domain = schema.domain();
    let layout =
        CliqueLayout::new(&domain, [Clique::new([0, 1]), Clique::new([2])]).expect("a layout");
    let mut theta = Potentials::zeros(&layout);
    for (i, x) in theta.values_mut().iter_mut().enumerate() {
        *x = (i as f64).sin() / 3.0;
    }
    theta.table_mut(0)[2] = f64::NEG_INFINITY;
    let model = MarkovRandomField::new(&domain, theta, 77.5).expect("a model");
    ModelFile {
        schema,
        model: model.into(),
        mechanism: "jam-pgm".into(),
        is_private: true,
        refined_on: Vec::new(),
        accuracy: None,
        linked: None,
        weight: None,
        conditional_on: Vec::new(),
    }
}

fn support() -> ModelFile {
    let schema = Schema::from_json(r#"{"a": 2, "b": 3, "c": 4}"#, "d").expect("a schema");
    let rows = [[0, 1, 2], [1, 1, 3], [1, 2, 0]];
    let rows = Dataset::from_rows(schema.domain(), &rows).expect("rows");
    let weights = vec![1.0 / 3.0, 0.0, 1e-300];
    let model = WeightedSupport::new(&rows, weights, 77.5).expect("a model");
    ModelFile {
        schema,
        model: model.into(),
        mechanism: "pmw-pub".into(),
        is_private: false,
        refined_on: Vec::new(),
        accuracy: None,
        linked: None,
        weight: None,
        conditional_on: Vec::new(),
    }
}

/// A changed file with the digest of what it now has.
fn resealed(text: &str) -> String {
    ModelFile::with_digest(text, "m").expect("an object")
}

#[test]
fn a_file_that_was_changed_is_refused_whatever_was_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.json");
    let json = r#"{"columns": [{"name": "a", "kind": "categorical", "codes": ["1", "2"]}, {"name": "b",
        "kind": "coded", "size": 3}, {"name": "c", "kind": "coded", "size": 4}]}"#;
    let schema = Schema::from_json(json, "d").expect("a schema");
    ModelFile { schema, ..file() }.write(&path).expect("written");
    let text = fs::read_to_string(&path).expect("read");
    let read = |text: &str| ModelFile::from_json(text, "m", ModelLimits::default());
    assert!(read(&text).is_ok());
    // Each of these is a model by itself; the first gives everybody the other sex.
    let changes = [
        ("[\"1\",\"2\"]", "[\"2\",\"1\"]"),
        ("[0.0,0.28", "[0.5,0.28"),
        ("\"total\":77.5", "\"total\":77"),
        ("\"private\":true", "\"private\":false"),
        ("\"mechanism\":\"jam-pgm\"", "\"mechanism\":\"mst\""),
    ];
    for (from, to) in changes {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        let error = read(&changed).expect_err(to).to_string();
        assert!(error.contains("content that differs from its digest"), "{error}");
        assert!(read(&resealed(&changed)).is_ok(), "{to}");
    }
    // Blanks and the order of members are not content; a digest there must be.
    let indented: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(read(&text.replace(",\"", ", \"").replace(":{", ": {")).is_ok());
    let mut without = indented;
    without.as_object_mut().expect("an object").remove("digest");
    let error = read(&without.to_string()).expect_err("no digest").to_string();
    assert!(error.contains("no member 'digest'"), "{error}");
}

#[test]
fn a_support_comes_back_to_the_last_bit_and_a_wrong_one_is_refused_with_a_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.json");
    support().write(&path).expect("written");
    let text = fs::read_to_string(&path).expect("read");
    let limits = ModelLimits::default();
    let back = ModelFile::from_json(&text, "m", limits).expect("read");
    let known = support();
    assert_eq!(back.model.as_weighted_support(), known.model.as_weighted_support());
    let small = ModelLimits { model_mib: 1e-5, ..limits };
    assert!(matches!(
        ModelFile::from_json(&text, "m", small),
        Err(Error::Common(crate::CommonError::TooLarge { .. }))
    ));
    for (from, to, expected) in [
        ("\"version\":7", "\"version\":8", "version 8"),
        ("\"version\":7", "\"version\":5", "version 5, expected version 6"),
        ("\"support\":", "\"factors\":[],\"support\":", "exactly one"),
        ("\"total\":77.5", "\"total\":0", "total"),
        ("\"attribute\":\"a\"", "\"attribute\":\"z\"", "columns z"),
        ("[0,1,1]", "[0,1]", "2 codes of 'a'"),
        ("[0,1,1]", "[0,1,2]", "codes below 2"),
        ("[0,1,1]", "[1,0,1]", "out of order"),
        ("[2,3,0]", "[2,-3,0]", "-3"),
        ("1e-300", "-1e-300", "at least 0"),
        ("1e-300", "null", "null"),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        let changed = resealed(&changed);
        let error = ModelFile::from_json(&changed, "m", limits).expect_err(to).to_string();
        assert!(error.contains(expected), "{to}: {error}");
    }
    let mut schema = text.clone();
    schema = schema.replace("[1,1,2]", "[1,1,1]").replace("[2,3,0]", "[2,3,3]");
    let error =
        ModelFile::from_json(&resealed(&schema), "m", limits).expect_err("twice").to_string();
    assert!(error.contains("repeated"), "{error}");
}

#[test]
fn a_model_comes_back_to_the_last_bit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.json");
    let file = file();
    file.write(&path).expect("written");
    let back = ModelFile::read(&path, ModelLimits::default()).expect("read");
    let potentials = |file: &ModelFile| {
        file.model.as_markov_random_field().map(|model| model.potentials().clone())
    };
    assert!(potentials(&back).is_some());
    assert_eq!(potentials(&back), potentials(&file));
    assert!((back.model.total() - 77.5).abs() < f64::EPSILON);
    assert!(back.is_private);
    let tight = ModelLimits { file_bytes: 10, ..ModelLimits::default() };
    assert!(matches!(
        ModelFile::read(&path, tight),
        Err(Error::Common(crate::CommonError::TooLarge { .. }))
    ));
    let small = ModelLimits { model_mib: 1e-5, ..ModelLimits::default() };
    assert!(matches!(
        ModelFile::read(&path, small),
        Err(Error::Common(crate::CommonError::TooLarge { .. }))
    ));
}

#[test]
fn a_stranger_s_file_is_refused_with_a_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.json");
    file().write(&path).expect("written");
    let text = fs::read_to_string(&path).expect("read");
    let read = |text: &str| ModelFile::from_json(text, "m", ModelLimits::default());
    assert!(read(&text).is_ok());
    let changes = [
        ("\"version\":7", "\"version\":1", "version 1, expected version 6"),
        ("\"version\":7", "\"version\":8", "version 8"),
        ("jointly-model", "other", "format 'other'"),
        ("\"total\":77.5", "\"total\":-1", "total"),
        ("\"total\":77.5", "\"total\":1e999", ""),
        ("\"total\":77.5", "\"total\":1e15", "member 'total': 1e15, expected above 0"),
        ("[0.0,0.28", "[1e300,0.28", "member 'factors': a log-potential of 1e300 on a, b"),
        ("[0.0,0.28", "[-2e12,0.28", "a log-potential of -2e12 on a, b, expected from -2^40"),
        ("[\"a\",\"b\"]", "[\"b\",\"a\"]", "distinct cliques"),
        ("[\"a\",\"b\"]", "[\"a\",\"c\"]", "cells"),
        ("[\"a\",\"b\"]", "[\"a\",\"z\"]", "unknown attribute"),
        ("\"private\":true", "\"private\":true,\"more\":1", "more"),
    ];
    for (from, to, expected) in changes {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        let error = read(&resealed(&changed)).expect_err(to).to_string();
        assert!(error.contains(expected), "{to}: {error}");
    }
    for end in [0, 1, text.len() / 2, text.len() - 1] {
        assert!(read(&text[..end]).is_err());
    }
}

/// A reader of the file alone: multiplies all tables, and knows nothing of schemas.
fn by_hand(file: &serde_json::Value, names: &[&str], shape: &[usize]) -> Vec<f64> {
    let cells: usize = shape.iter().product();
    let mut weights = vec![0.0; cells];
    for (cell, weight) in weights.iter_mut().enumerate() {
        let mut rest = cell;
        let mut codes = vec![0; shape.len()];
        for (code, k) in codes.iter_mut().zip(shape).rev() {
            (*code, rest) = (rest % k, rest / k);
        }
        let tables = ["factors", "zeros"].iter().filter_map(|member| file[*member].as_array());
        let logs = tables.flatten().map(|table| {
            let own = table["attributes"].as_array().unwrap().iter();
            let at = own.fold(0, |at, name| {
                let axis = names.iter().position(|n| name == n).unwrap();
                at * shape[axis] + codes[axis]
            });
            table["potentials"][at].as_f64().unwrap_or(f64::NEG_INFINITY)
        });
        *weight = logs.sum::<f64>().exp();
    }
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

#[test]
fn a_file_alone_gives_the_distribution_with_its_forbidden_combinations() {
    let json = r#"{"columns": [{"name": "a", "role": "attribute", "kind": "coded", "size": 2},
        {"name": "b", "role": "attribute", "kind": "coded", "size": 3},
        {"name": "c", "role": "attribute", "kind": "coded", "size": 2}],
        "forbidden": [{"a": "0", "c": "1"}, {"b": "2", "c": "0"}]}"#;
    let schema = Schema::from_json(json, "d").unwrap();
    let domain = schema.domain();
    let layout = CliqueLayout::new(&domain, [Clique::new([0, 1])]).unwrap();
    let mut theta = Potentials::zeros(&layout);
    for (i, x) in theta.values_mut().iter_mut().enumerate() {
        *x = (i as f64).cos();
    }
    let model = MarkovRandomField::new(&domain, theta, 50.0).unwrap();
    let everything = model.marginals(&[domain.everything()]).unwrap().swap_remove(0);
    let refined_on = vec![Clique::new([0, 1]), Clique::new([0, 2]), Clique::new([1, 2])];
    let file = ModelFile {
        schema,
        model: model.into(),
        refined_on: refined_on.clone(),
        accuracy: None,
        linked: None,
        weight: None,
        mechanism: "test".into(),
        is_private: true,
        conditional_on: Vec::new(),
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    file.write(&path).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let stored: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(stored["refined_on"], serde_json::json!({"all": 2, "max_cells": 6}));
    let found = by_hand(&stored, &["a", "b", "c"], &[2, 3, 2]);
    for (p, n) in found.iter().zip(everything.values()) {
        assert!((p - n / 50.0).abs() < 1e-12, "{p} {n}");
    }
    assert!(found.iter().filter(|p| **p == 0.0).count() >= 4);
    let limits = ModelLimits::default();
    assert_eq!(ModelFile::from_json(&text, "m", limits).unwrap().refined_on, refined_on);
    // The tables must be those of the schema.
    let changed = text.replacen("\"potentials\":[0.0,null", "\"potentials\":[null,null", 1);
    assert_ne!(changed, text);
    let error = ModelFile::from_json(&resealed(&changed), "m", limits).unwrap_err().to_string();
    assert!(error.contains("zeros"), "{error}");
    // Without them, they are those of the schema.
    let (start, end) = (text.find(",\"zeros\"").unwrap(), text.find(",\"factors\"").unwrap());
    let without = resealed(&[&text[..start], &text[end..]].concat());
    let read = ModelFile::from_json(&without, "m", limits).unwrap();
    let found = read.model.marginals(&[Clique::new([0, 1, 2])]).unwrap().swap_remove(0);
    for (n, known) in found.values().iter().zip(everything.values()) {
        assert!((n - known).abs() < 1e-9, "{n} {known}");
    }
}

/// What a file says of measurements comes back, and nothing that does not fit the schema does.
#[test]
fn accuracy_comes_back_and_a_wrong_one_is_refused_with_a_reason() {
    use crate::least_squares::{Measured, MeasuredResidual};
    use crate::measurement::Measurement;
    use crate::model::Accuracy;
    let (a, ab) = (Clique::new([0]), Clique::new([0, 1]));
    let whole = |clique: &Clique, values| Measurement::new(clique.clone(), values, 3.5);
    let cell = Measurement { cell: Some(3), ..whole(&ab, vec![9.5]) };
    let residual = MeasuredResidual { values: vec![1.75, -1.75], stddev: 2.5 };
    let known = Accuracy {
        measured: Measured {
            records: Some(80.0),
            marginals: vec![whole(&a, vec![40.5, -2.25])],
            residuals: [(a, residual)].into(),
            cells: vec![cell],
            is_laplace: false,
        },
        public: vec![crate::model::PublicPart {
            clique: Clique::new([1]),
            table: Some("t".into()),
        }],
        errors: vec![(ab.clone(), 0.125)],
        at_most: vec![(ab, 0.25)],
        total: 77.0,
        at_once: 1,
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.json");
    ModelFile { accuracy: Some(known.clone()), ..support() }.write(&path).expect("written");
    let text = fs::read_to_string(&path).expect("read");
    let limits = ModelLimits::default();
    let back = ModelFile::from_json(&text, "m", limits).expect("read");
    assert_eq!(back.accuracy, Some(known));
    // In files of version 6, noise that is not independent has no known law.
    let older = text.replacen("\"version\":7", "\"version\":6", 1);
    for (independent, marginals) in [(true, 1), (false, 0)] {
        let independent = format!("\"independent\":{independent},\"laplace\"");
        let older = resealed(&older.replacen("\"laplace\"", &independent, 1));
        let back = ModelFile::from_json(&older, "m", limits).expect("read").accuracy;
        assert_eq!(back.expect("it has one").measured.marginals.len(), marginals);
    }
    // Files that do not name public tables.
    let older = text.replacen("{\"attributes\":[\"b\"],\"table\":\"t\"}", "[\"b\"]", 1);
    let back = ModelFile::from_json(&resealed(&older), "m", limits).expect("read").accuracy;
    let part = &back.expect("it has one").public[0];
    assert_eq!((&part.clique, &part.table), (&Clique::new([1]), &None));
    // A file may have none.
    support().write(&path).expect("written");
    let without = fs::read_to_string(&path).expect("read");
    assert_eq!(ModelFile::from_json(&without, "m", limits).expect("read").accuracy, None);
    for (from, to, expected) in [
        ("[40.5,-2.25]", "[40.5]", "one for each cell"),
        ("\"stddev\":3.5", "\"stddev\":-1", "out of range"),
        ("\"total\":77.0", "\"total\":0.0", "above 0"),
        ("\"total\":77.0", "\"total\":1e15", "above 0"),
        ("\"records\":80.0", "\"records\":-1", "at least 0"),
        ("[1.75,-1.75]", "[1.75]", "one for each cell"),
        ("\"stddev\":2.5", "\"stddev\":0", "above 0"),
        ("\"cell\":3", "\"cell\":6", "below its number of cells"),
        ("\"l1\":0.125", "\"l1\":-0.125", "out of range"),
        ("\"public\":[{\"attributes\":[\"b\"]", "\"public\":[{\"attributes\":[\"z\"]", "'z'"),
        ("\"table\":\"t\"", "\"table\":7", "accuracy"),
        ("\"laplace\":false", "\"laplace\":2", "accuracy"),
    ] {
        assert!(text.contains(from), "{from}");
        let changed = resealed(&text.replacen(from, to, 1));
        let error = ModelFile::from_json(&changed, "m", limits);
        let error = error.expect_err(to).to_string();
        assert!(error.contains(expected), "{to}: {error}");
    }
}
