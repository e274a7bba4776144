//! Unit tests of `src/synthesis/made.rs`.

use crate::data::Labels;
use crate::domain::Schema;
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
    assert_eq!((made.schema_sha256.len(), made.date.len()), (64, 10));
    assert!(made.date.as_str() > "2026-01-01");
    assert_eq!(made.schema_sha256, job.made(&schema).unwrap().schema_sha256);
}
