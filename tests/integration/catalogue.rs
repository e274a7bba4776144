//! The catalogue: what it says in the documentation, and that every mechanism of it still does what it did.

#![expect(clippy::unwrap_used, reason = "helpers of a test")]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use jointly::Job;
use jointly::evaluation::EvaluationSettings;
use jointly::fit::FitJob;
use jointly::mechanism::{CATALOGUE, Entry, PublicTables, find};
use jointly::observe::Silent;
use jointly::privacy::NeighboringRelation;
use jointly::settings::{Form, Setting};
use jointly::synthesis::CountJob;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::quick::quick;
use crate::support::{Run, people};

fn updating() -> bool {
    std::env::var_os("UPDATE_GOLDEN").is_some()
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn row(entry: &Entry) -> String {
    let public = match entry.public_tables {
        PublicTables::Unused => "no",
        PublicTables::Used => "yes",
        PublicTables::Needed => "needed",
    };
    let resumes = if entry.resumes { "yes" } else { "no" };
    let defaults = entry.defaults().unwrap();
    let parameters = entry.parameters().unwrap();
    let parameters = parameters.iter().map(|parameter| {
        let value = match &defaults[parameter.name] {
            Value::Null => parameter.unset.to_owned(),
            Value::String(text) => text.clone(),
            Value::Number(number) => number.as_f64().unwrap().to_string(),
            Value::Array(numbers) if !numbers.is_empty() => {
                numbers.iter().map(Value::to_string).collect::<Vec<_>>().join(",")
            }
            _ => "none".to_owned(),
        };
        format!("`{}` {value}", parameter.name)
    });
    let parameters = parameters.collect::<Vec<_>>().join(", ");
    format!("| `{}` | {} | {public} | {resumes} | {parameters} |", entry.name, entry.summary)
}

/// What a setting is, on a line of the reference.
fn setting_row(setting: &Setting, defaults: &serde_json::Value) -> String {
    let name = format!("--{} {}", setting.name(), setting.value_name);
    let default = match &defaults[setting.name()] {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let choices = match setting.form {
        Form::Choice(choices) | Form::Choices(choices) => {
            choices.iter().fold(String::new(), |mut text, (name, meaning)| {
                write!(text, " `{name}`: {}{}.", meaning[..1].to_lowercase(), &meaning[1..])
                    .unwrap();
                text
            })
        }
        _ => String::new(),
    };
    let needs = setting
        .needs
        .map_or_else(String::new, |needed| format!(" Needs `--{}`.", needed.replace('_', "-")));
    let mut meaning = setting.reference().replace('|', "\\|");
    // Pages of the guide are links, in the guide.
    while let Some((before, rest)) = meaning.split_once("`docs/guide/") {
        let (page, after) = rest.split_once('`').unwrap();
        meaning = format!("{before}[{page}]({page}){after}");
    }
    let default = default.map_or_else(String::new, |default| format!("`{default}`"));
    format!("| `{}` | {default} | {meaning}{choices}{needs} |", name.trim().replace('|', "\\|"))
}

fn settings_table(settings: &[Setting], defaults: &impl Serialize) -> String {
    let defaults = serde_json::to_value(defaults).unwrap();
    let rows = settings.iter().map(|setting| setting_row(setting, &defaults) + "\n");
    let head = "| flag | default | meaning |\n| --- | --- | --- |\n".to_owned();
    rows.fold(head, |table, row| table + &row)
}

#[test]
fn the_guide_has_the_settings_of_jobs_evaluations_fits_and_counts() {
    let page = "docs/guide/command-line.md";
    the_page_has(page, "settings", &settings_table(Job::SETTINGS, &Job::default()));
    let settings = settings_table(EvaluationSettings::SETTINGS, &EvaluationSettings::default());
    the_page_has(page, "evaluation", &settings);
    the_page_has(page, "fit", &settings_table(FitJob::SETTINGS, &FitJob::default()));
    the_page_has(page, "count", &settings_table(CountJob::SETTINGS, &CountJob::default()));
}

#[test]
fn the_guide_has_the_table_of_the_catalogue() {
    let mut table = String::from(
        "| mechanism | what it does | public tables | checkpoint | parameters and defaults |\n\
         | --- | --- | --- | --- | --- |\n",
    );
    CATALOGUE.iter().for_each(|entry| writeln!(table, "{}", row(entry)).unwrap());
    the_page_has("docs/guide/mechanisms.md", "catalogue", &table);
}

/// Holds what stands between two marks of a page.
fn the_page_has(page: &str, mark: &str, table: &str) {
    let (open, close) = (format!("<!-- {mark} -->\n"), format!("<!-- /{mark} -->"));
    let path = file(page);
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(&open).unwrap();
    let (found, after) = rest.split_once(&close).unwrap();
    if updating() {
        fs::write(&path, format!("{before}{open}{table}{close}{after}")).unwrap();
    } else {
        assert_eq!(found, table, "UPDATE_GOLDEN=1 writes it");
    }
}

/// Choices and noise are drawn in integers, so that they are the same on every machine.
#[test]
fn every_mechanism_measures_what_it_did_before() {
    let (private, near) = (people(1500, 1, 0.0), people(1000, 2, 0.1));
    let mut lines = String::new();
    for entry in CATALOGUE {
        for relation in [NeighboringRelation::ReplaceOne, NeighboringRelation::AddRemoveOne] {
            let run = Run { relation, ..Run::new(&private, &[("near", &near)]) };
            let own = entry.defaults().unwrap();
            let mut parameters = quick(entry);
            let few =
                [("rounds", json!(8)), ("iterations", json!(200)), ("groups", json!(["SEX"]))];
            for (name, value) in few.into_iter().filter(|(name, _)| own.contains_key(*name)) {
                parameters.insert(name.into(), value);
            }
            let release = run.with(&*entry.build(&parameters).unwrap(), &mut Silent).unwrap();
            let taken: Vec<_> = release
                .measurements
                .iter()
                .map(|m| {
                    (&m.clique, m.cell, m.values.iter().map(|v| v.round()).collect::<Vec<_>>())
                })
                .collect();
            let text = serde_json::to_string(&(taken, &release.ledger)).unwrap();
            let digest = Sha256::digest(text.as_bytes());
            let digest = u64::from_be_bytes(digest[..8].try_into().unwrap());
            let rounds = release.rounds.len();
            writeln!(lines, "{} {relation} {rounds} {digest:016x}", entry.name).unwrap();
        }
    }
    let path = file("tests/golden/runs.txt");
    if updating() {
        fs::write(&path, &lines).unwrap();
    }
    assert_eq!(lines, fs::read_to_string(&path).unwrap(), "UPDATE_GOLDEN=1 accepts the change");
}

#[test]
fn both_estimators_fit_the_same_measurements_about_as_well() {
    let run = Run::new(&people(3000, 1, 0.0), &[]);
    let error = |estimator: &str| {
        let parameters = json!({ "estimator": estimator });
        let mechanism =
            find("independent").unwrap().build(parameters.as_object().unwrap()).unwrap();
        let release = run.release(&*mechanism);
        (run.error(&release.model), release.measurements)
    };
    let (fast, descent) = (error("accelerated-bregman"), error("mirror-descent"));
    assert_eq!(fast.1, descent.1, "what is measured does not depend on the fit");
    assert!((fast.0 - descent.0).abs() < 0.02, "{} against {}", fast.0, descent.0);
}
