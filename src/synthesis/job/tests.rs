//! One value for all who describe a job.

use serde_json::{Value, json};

use crate::data::Labels;
use crate::domain::Schema;
use crate::mechanism::CATALOGUE;
use crate::model::Drawing;
use crate::observe::Silent;
use crate::privacy::{LedgerFile, PrivacyUnit, PrivateTable};
use crate::settings::{Form, Group};
use crate::synthesis::{Job, PrivateSource, PublicFile};

fn job() -> Job {
    let mut job = Job::new("/secret/place/pa 2024.csv", "/secret/schema.json", 1.0, 1e-9);
    job.public.push(PublicFile { name: "it's".into(), path: "/other/oh.csv".into() }.into());
    job.parameters.insert("rounds".into(), 20.into());
    job.parameters.insert("cliques".into(), json!(["a,b", "c"]));
    job.max_cells = Some(10_000);
    job.labels = Labels::Text;
    job.seed = Some(7);
    job.out = Some("/secret/out.csv".into());
    job
}

#[test]
fn the_command_can_be_copied_and_names_no_folder() {
    let mut job = job();
    assert_eq!(
        job.command(),
        "jointly synth --private 'pa 2024.csv' --public 'it'\\''s=oh.csv' --schema schema.json --workload all-3-way \
         --max-cells 10000 --mechanism anchor-pgm --cliques a,b,c --rounds 20 --epsilon 1 --delta 1e-9 --seed 7 \
         --labels text --out out.csv"
    );
    job.draw = Drawing::Independent;
    assert!(job.command().contains(" --draw independent "));
    let people = crate::demo::Generator { records: 10, seed: 1, drift: 0.0 }.generate().unwrap();
    job.private = PrivateTable::of_records(people, PrivacyUnit::default()).unwrap().into();
    assert_eq!(job.command(), "", "a table in memory has no name");
}

#[test]
fn a_report_names_the_schema_by_its_digest_and_the_day() {
    let (schema, job) = (Schema::from_json(r#"{"a": 2}"#, "s").unwrap(), job());
    let mut job = job;
    job.parameters.remove("cliques");
    let made = job.resolve().unwrap().made(&schema).unwrap();
    assert_eq!(made.command, job.command());
    assert_eq!((made.schema_sha256.len(), made.date.len()), (64, 10));
    assert!(made.date.as_str() > "2026-01-01");
}

#[test]
fn the_command_has_every_parameter_of_every_mechanism() {
    for entry in CATALOGUE {
        let given = |value: Value| match value {
            Value::Null => json!(3),
            Value::Array(_) => json!(["a"]),
            value => value,
        };
        let known = entry.defaults().unwrap();
        let parameters =
            known.clone().into_iter().map(|(name, value)| (name, given(value))).collect();
        let mut job = Job::new("p.csv", "s.json", 1.0, 1e-9);
        (job.mechanism, job.parameters) = (entry.name.to_owned(), parameters);
        let command = job.command();
        for name in known.keys() {
            assert!(command.contains(&format!(" --{name} ")), "{command}");
        }
    }
}

/// A value of each form that is no default.
fn other(form: Form) -> Value {
    match form {
        Form::Switch => json!(true),
        Form::Count | Form::Whole => json!(5),
        Form::Number => json!(0.25),
        Form::Choice(choices) => json!(choices[choices.len() - 1].0),
        Form::Choices(choices) => json!([choices[choices.len() - 1].0]),
        Form::Names | Form::Texts => json!(["b", "c"]),
        Form::Counts => json!([1, 2]),
        Form::NamedFiles => json!(["ohio=oh.csv"]),
        Form::Mechanism => json!("mst"),
        Form::Text | Form::Query | Form::Program | Form::File | Form::FileOrName => json!("x.csv"),
    }
}

#[test]
fn every_setting_is_in_the_json_and_in_the_command() {
    let all: serde_json::Map<String, Value> =
        Job::SETTINGS.iter().map(|setting| (setting.name(), other(setting.form))).collect();
    let job = Job::from_settings(Value::Object(all.clone())).unwrap();
    assert!(
        job.parameters.is_empty(),
        "a setting that the type does not have: {:?}",
        job.parameters
    );
    assert_eq!(job.to_settings().unwrap(), all);
    let command = job.command();
    for setting in Job::SETTINGS {
        // A program on this machine is nobody else's business.
        let is_told = setting.form != Form::Program;
        assert_eq!(command.contains(&format!(" --{}", setting.name())), is_told, "{command}");
        assert!(!setting.help().is_empty() && !setting.help().ends_with('.'), "{}", setting.field);
    }
    let fields = serde_json::to_value(Job::default()).unwrap();
    assert_eq!(fields.as_object().unwrap().len(), Job::SETTINGS.len(), "every field is a setting");
    assert!(Job::SETTINGS.iter().any(|setting| setting.group == Group::Privacy));
}

#[test]
fn members_that_are_no_settings_are_parameters() {
    let job = Job::from_settings(json!({"rounds": 5, "epsilon": 2})).unwrap();
    assert_eq!((job.epsilon, &job.parameters["rounds"]), (Some(2.0), &json!(5)));
}

#[test]
fn a_setting_of_another_form_is_named_with_what_is_expected() {
    for (settings, message) in [
        (json!({"rows": 3, "epsilon": "much"}), "epsilon is \"much\", expected a number"),
        (json!({"draw": null}), "draw is null, expected refined or independent"),
        (
            json!({"neighbors": "add-remove-unit"}),
            "neighbors is \"add-remove-unit\", expected replace-one or add-remove-one",
        ),
        (
            json!({"max-records": -1}),
            "max-records is -1, expected a whole number from 0 to 4294967295",
        ),
    ] {
        assert_eq!(Job::from_settings(settings).unwrap_err().to_string(), message);
    }
    let given = |value| serde_json::Map::from_iter([("measure-share".to_owned(), value)]);
    let build = |value| crate::mechanism::find("aim").unwrap().build(&given(value));
    assert!(build(json!(0.5)).is_ok());
    let refused = build(json!("inf")).map(drop).unwrap_err().to_string();
    assert_eq!(refused, "measure-share is \"inf\", expected a number");
}

/// It is entered in the catalogue and known nowhere else: `tests/integration/architecture.rs` counts.
#[test]
fn a_mechanism_that_a_test_adds_is_a_job_with_parameters_a_ledger_and_a_checkpoint() {
    let people = crate::demo::Generator { records: 500, seed: 1, drift: 0.0 }.generate().unwrap();
    let people = people.select(&[1, 2, 8]).unwrap();
    let sizes = people.domain().attributes().iter();
    let sizes = sizes.map(|a| format!("{:?}: {}", a.name, a.cardinality)).collect::<Vec<_>>();
    let sizes = format!("{{{}}}", sizes.join(", "));
    let folder = tempfile::tempdir().unwrap();
    let settings = json!({
        "mechanism": "handful", "picks": 3, "epsilon": 1.0, "delta": 1e-6, "workload": "all-2-way",
        "checkpoint": folder.path().join("state"), "ledger": folder.path().join("ledger.json"),
    });
    let mut job = Job::from_settings(settings).unwrap();
    job.schema = Schema::from_json(&sizes, "domain.json").unwrap().into();
    let table = PrivateTable::of_records(people, PrivacyUnit::default()).unwrap();
    job.private = PrivateSource::Sealed { table, label: "people".to_owned() };
    let first = job.run(&mut Silent).unwrap().release;
    assert_eq!(first.measurements.len(), 3);
    assert_eq!(first.ledger.spent(), first.ledger.limit());
    // The noise is the system's: only a step that is taken from the checkpoint repeats it.
    let again = job.run(&mut Silent).unwrap().release;
    assert_eq!((&again.measurements, &again.ledger), (&first.measurements, &first.ledger));
    let ledger = LedgerFile::read(&folder.path().join("ledger.json")).unwrap();
    assert_eq!((&*ledger.command, &ledger.ledger), ("handful", &first.ledger));
    let more = Job { parameters: json!({"picks": 2}).as_object().unwrap().clone(), ..job };
    let refused = more.run(&mut Silent).unwrap_err().to_string();
    assert!(refused.ends_with("these differ: mechanism"), "{refused}");
}
