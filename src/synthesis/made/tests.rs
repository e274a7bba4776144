use crate::data::Labels;
use crate::domain::Schema;
use crate::mechanism::CATALOGUE;
use crate::model::Drawing;
use crate::privacy::Budget;
use crate::synthesis::{PublicFile, Synthesis};

#[test]
fn the_command_can_be_copied_and_names_no_folder() {
    let budget = Budget::approximate(1.0, 1e-9).unwrap();
    let mut job = Synthesis::new("/secret/place/pa 2024.csv", "/secret/schema.json", budget);
    job.public.push(PublicFile { name: "it's".into(), path: "/other/oh.csv".into() }.into());
    job.parameters.insert("rounds".into(), 20.into());
    job.parameters.insert("cliques".into(), serde_json::json!(["a,b", "c"]));
    job.workload.max_cells = Some(10_000);
    job.labels = Labels::Text;
    job.seed = Some(7);
    job.outputs.table = Some("/secret/out.csv".into());
    let schema = Schema::from_json(r#"{"a": 2}"#, "s").unwrap();
    let made = job.made(&schema).unwrap();
    assert_eq!(
        made.command,
        "jointly synth --private 'pa 2024.csv' --public 'it'\\''s'=oh.csv --schema schema.json --mechanism anchor-pgm \
         --cliques a,b,c --rounds 20 --workload all-3-way --max-cells 10000 --epsilon 1 --delta 1e-9 --labels text --seed 7 --out out.csv"
    );
    job.drawing = Drawing::Independent;
    assert!(job.made(&schema).unwrap().command.contains(" --draw independent "));
    assert_eq!((made.schema_sha256.len(), made.date.len()), (64, 10));
    assert!(made.date.as_str() > "2026-01-01");
    assert_eq!(made.schema_sha256, job.made(&schema).unwrap().schema_sha256);
}

#[test]
fn the_command_has_every_parameter_of_every_mechanism() {
    let schema = Schema::from_json(r#"{"a": 2}"#, "s").unwrap();
    for entry in CATALOGUE {
        let mut job = Synthesis::new("p.csv", "s.json", Budget::approximate(1.0, 1e-9).unwrap());
        job.mechanism = entry.name.to_owned();
        let given = |value: serde_json::Value| match value {
            serde_json::Value::Null => serde_json::json!(3),
            serde_json::Value::Array(_) => serde_json::json!(["a"]),
            value => value,
        };
        let known = entry.defaults().unwrap();
        job.parameters =
            known.clone().into_iter().map(|(name, value)| (name, given(value))).collect();
        let command = job.made(&schema).unwrap().command;
        for name in known.keys() {
            assert!(command.contains(&format!(" --{name} ")), "{command}");
        }
    }
}
