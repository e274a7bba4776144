use clap::{CommandFactory, FromArgMatches};
use jointly::Job;
use jointly::evaluation::EvaluationSettings;
use serde_json::json;

use super::*;
use crate::cli::args::{Arguments, EvaluateArgs, JobArgs};

/// A value of each form, in JSON and as it is typed.
fn other(form: Form) -> (Value, String) {
    match form {
        Form::Switch => (json!(true), String::new()),
        Form::Count | Form::Whole => (json!(5), "5".into()),
        Form::Number => (json!(0.25), "0.25".into()),
        Form::Choice(choices) => {
            let last = choices[choices.len() - 1].0;
            (json!(last), last.into())
        }
        Form::Choices(choices) => {
            let last = choices[choices.len() - 1].0;
            (json!([last]), last.into())
        }
        Form::Names => (json!(["b", "c"]), "b,c".into()),
        Form::Texts => (json!(["y ~ x"]), "y ~ x".into()),
        Form::Counts => (json!([1, 2]), "1,2".into()),
        Form::NamedFiles => (json!(["ohio=oh.csv"]), "ohio=oh.csv".into()),
        Form::Mechanism => (json!("mst"), "mst".into()),
        Form::Text | Form::Query | Form::Program | Form::File | Form::FileOrName => {
            (json!("x.csv"), "x.csv".into())
        }
    }
}

/// A command with all settings typed, and their JSON.
fn all_typed(command: &str, settings: &[Setting]) -> (ArgMatches, Map<String, Value>) {
    let mut words: Vec<String> = command.split(' ').map(str::to_owned).collect();
    let mut all = Map::new();
    for setting in settings {
        let (value, typed) = other(setting.form);
        words.push(format!("--{}", setting.name()));
        words.extend(Some(typed).filter(|typed| !typed.is_empty()));
        all.insert(setting.name(), value);
    }
    let matches = Arguments::command().try_get_matches_from(words).unwrap();
    let (_, matches) = matches.subcommand().unwrap();
    (matches.clone(), all)
}

#[test]
fn every_setting_of_a_job_is_a_flag_that_gives_it() {
    let (matches, all) = all_typed("jointly synth", Job::SETTINGS);
    let typed = JobArgs::from_arg_matches(&matches).unwrap().0;
    assert_eq!(typed.to_settings().unwrap(), all);
}

#[test]
fn every_setting_of_an_evaluation_is_a_flag_that_gives_it() {
    let command = "jointly evaluate --private p.csv --synthetic s.csv --schema s.json";
    let (matches, all) = all_typed(command, EvaluationSettings::SETTINGS);
    let typed = EvaluateArgs::from_arg_matches(&matches).unwrap().evaluation.0;
    assert_eq!(serde_json::to_value(&typed).unwrap(), Value::Object(all));
}

#[test]
fn a_setting_that_is_added_becomes_a_flag() {
    let added = Setting {
        field: "added_in_a_test",
        doc: &[" What it does.", "", " More."],
        value_name: "N",
        form: Form::Count,
        group: Group::Output,
        needs: None,
    };
    let command = Command::new("test").arg(flag(&added, &json!({"added-in-a-test": "7"})));
    let matches = command.try_get_matches_from(["test", "--added-in-a-test", "3"]).unwrap();
    assert_eq!(given(&matches, "added-in-a-test", added.form), Some(json!(3)));
    assert_eq!(added.help(), "What it does");
}
