//! Combinations that a schema forbids are in no model and no synthetic record, whatever the mechanism.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use jointly::data::{AbsentColumns, Dataset, PublicData, read_csv_from};
use jointly::domain::{Domain, Schema};
use jointly::mechanism::{
    Aim, Independent, JamPgm, Mechanism, Mst, MwemPgm, PublicOnly, Release, Task,
};
use jointly::model::{MarkovRandomField, ModelFile, ModelLimits, Sampling};
use jointly::observe::Silent;
use jointly::privacy::{Curator, NeighboringRelation, NoiseSeed, Rho};
use jointly::query::Workload;
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

const SCHEMA: &str = r#"{
  "columns": [
    {"name": "age", "kind": "numeric", "edges": [0, 15, 30, 65, 120], "na": false},
    {"name": "marital", "kind": "categorical", "codes": ["single", "married", "widowed"], "na": true},
    {"name": "city", "kind": "coded", "size": 6},
    {"name": "state", "kind": "coded", "size": 3},
    {"name": "sex", "kind": "categorical", "codes": [1, 2]}
  ],
  "forbidden": [
    {"age": {"below": 15}, "marital": ["married", "widowed"]},
    {"age": [{"from": 15, "below": 30}], "marital": "widowed", "sex": "1"},
    {"marital": null, "city": [4, 5]}
  ],
  "functional_dependencies": [
    {"from": "city", "to": "state", "map": {"0": 0, "1": 0, "2": [1], "3": 1, "4": [1, 2], "5": 2}}
  ]
}"#;

fn schema() -> Schema {
    Schema::from_json(SCHEMA, "schema.json").unwrap()
}

fn is_forbidden(row: &[u32]) -> bool {
    let [age, marital, city, state, sex] = row else { return true };
    let states: [&[u32]; 6] = [&[0], &[0], &[1], &[1], &[1, 2], &[2]];
    (*age == 0 && (*marital == 1 || *marital == 2))
        || (*age == 1 && *marital == 2 && *sex == 0)
        || (*marital == 3 && *city >= 4)
        || !states[*city as usize].contains(state)
}

/// Records that the schema allows.
fn table(records: usize, seed: u64) -> Dataset {
    let domain = schema().domain();
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut rows: Vec<Vec<u32>> = Vec::new();
    while rows.len() < records {
        let row: Vec<u32> =
            domain.attributes().iter().map(|a| rng.random_range(0..a.cardinality)).collect();
        if !is_forbidden(&row) {
            rows.push(row);
        }
    }
    Dataset::from_rows(domain, &rows).unwrap()
}

fn run(mechanism: &dyn Mechanism, private: &Dataset, public: &[PublicData]) -> Release {
    let domain = private.domain();
    let workload = Workload::all_k_way(domain, 2).unwrap();
    let limit = Rho::from_f64(0.5).unwrap();
    let relation = NeighboringRelation::ReplaceOne;
    let mut curator = Curator::new(private, relation, limit, NoiseSeed::Fixed(7)).unwrap();
    let task = Task::new(&workload, public);
    mechanism.run(&mut curator, &task, &mut Silent).unwrap()
}

#[test]
fn no_mechanism_makes_a_forbidden_record() {
    let (private, public) = (table(500, 1), table(300, 2));
    let public = [PublicData::new("public", public, private.domain()).unwrap()];
    let mechanisms: [&dyn Mechanism; 6] = [
        &JamPgm { rounds: Some(8), ..JamPgm::default() },
        &Aim { rounds: Some(12), ..Aim::default() },
        &Mst::default(),
        &MwemPgm { rounds: Some(4), ..MwemPgm::default() },
        &Independent::default(),
        &PublicOnly::default(),
    ];
    for mechanism in mechanisms {
        let release = run(mechanism, &private, &public);
        let everything = private.domain().everything();
        let joint = release.model.marginals(&[everything]).unwrap().swap_remove(0);
        let shape = private.domain().shape(joint.clique());
        for (cell, count) in joint.values().iter().enumerate() {
            let mut rest = cell;
            let mut row = vec![0; shape.len()];
            for (code, k) in row.iter_mut().zip(&shape).rev() {
                *code = u32::try_from(rest % k).unwrap();
                rest /= k;
            }
            if is_forbidden(&row) {
                assert!(*count == 0.0, "{}: {row:?} {count}", mechanism.name());
            }
        }
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        for sampling in [Sampling::Rounded, Sampling::Independent] {
            let rows = release.model.sample(1_000_000, sampling, &mut rng).unwrap();
            let bad = (0..rows.records()).find(|i| is_forbidden(&rows.row(*i)));
            assert_eq!(bad, None, "{} {sampling:?}", mechanism.name());
        }
    }
}

#[test]
fn schemas_keep_their_rules_through_files_and_selections() {
    let schema = schema();
    let again = Schema::from_json(&schema.to_json().unwrap(), "again").unwrap();
    assert_eq!(schema, again);
    let domain = schema.domain();
    assert_eq!(domain.structural_zeros().len(), 4);
    // A rule on three attributes says nothing about two of them.
    let fewer = schema.select(&["age", "marital", "state"]).unwrap();
    assert_eq!(fewer.domain().structural_zeros().len(), 1);
    let model = MarkovRandomField::uniform(&domain, 10.0).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    let file = ModelFile {
        accuracy: None,
        linked: None,
        weight: None,
        schema,
        model: model.into(),
        refined_on: Vec::new(),
        mechanism: "test".into(),
        is_private: false,
        conditional_on: Vec::new(),
    };
    file.write(&path).unwrap();
    let read = ModelFile::read(&path, ModelLimits::default()).unwrap();
    let pair = domain.clique(&["age", "marital"]).unwrap();
    let table = read.model.marginals(&[pair]).unwrap().swap_remove(0);
    assert_eq!(table.values()[1..3], [0.0, 0.0]);
    assert!(table.values()[0] > 0.0);
}

#[test]
fn a_forbidden_row_is_refused_with_its_line_and_values() {
    let text = "age,marital,city,state,sex\n20,single,0,0,1\n7,married,0,0,2\n";
    let error = read_csv_from(text.as_bytes(), "t.csv", &schema(), AbsentColumns::Refuse);
    let error = error.unwrap_err().to_string();
    for part in ["t.csv, line 3", "age = '7' with marital = 'married'", "schema forbids"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn bad_rules_are_refused_with_their_place() {
    let refused = |rule: &str| {
        let text = SCHEMA.replace("\"forbidden\": [", &format!("\"forbidden\": [{rule},"));
        Schema::from_json(&text, "s.json").unwrap_err().to_string()
    };
    for (rule, parts) in [
        (r#"{"height": 3}"#, ["forbidden combination 1", "'height'"]),
        (r#"{"marital": "divorced"}"#, ["attribute 'marital'", "divorced"]),
        (r#"{"age": {"below": 160}}"#, ["ends at 160", "edges of its bins, from 0 to 120"]),
        (r#"{"sex": {"below": 2}}"#, ["attribute 'sex'", "not a number"]),
        (r#"{"city": 6}"#, ["attribute 'city'", "value 6"]),
    ] {
        let error = refused(rule);
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}

#[test]
fn rules_that_leave_no_record_are_refused_before_anything_is_spent() {
    let domain = Domain::new([("a", 2), ("b", 2)]).unwrap();
    let domain = domain.forbid([vec![("a", vec![0])], vec![("a", vec![1]), ("b", vec![0, 1])]]);
    let data = Dataset::from_rows(domain.unwrap(), &[[0_u32, 0]]).unwrap();
    let workload = Workload::all_k_way(data.domain(), 2).unwrap();
    let relation = NeighboringRelation::AddRemoveOne;
    let limit = Rho::from_f64(1.0).unwrap();
    let mut curator = Curator::new(&data, relation, limit, NoiseSeed::Fixed(1)).unwrap();
    let task = Task::new(&workload, &[]);
    let error = JamPgm::default().run(&mut curator, &task, &mut Silent).unwrap_err();
    assert!(error.to_string().contains("possible"), "{error}");
    assert!(curator.ledger().entries().is_empty());
}
