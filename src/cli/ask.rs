//! `jointly ask`: answers from a saved model. They cost no privacy.

use std::fmt::Write;

use jointly::domain::Schema;
use jointly::model::{
    Answer, AnswerRow, Basis, CountInterval, Evidence, Grade, Having, NamedParts, Question,
};
use jointly::report::format::number;
use serde_json::json;

use super::args::{AskModelArgs, QuestionArgs};
use super::console::{self, Console};
use super::failure::{Failure, Outcome};
use super::format::short;

pub(super) fn run(args: &AskModelArgs, console: Console) -> Outcome {
    let file = console.open_model(&args.model)?;
    let given =
        args.given.as_ref().map(|given| Evidence::parse(given, &file.schema)).transpose()?;
    let accuracy = file.accuracy.as_ref();
    let asked = match &given {
        Some(given) => &file.given(given)?,
        None => &file,
    };
    let (model, schema) = (&asked.model, &asked.schema);
    let questions = args.questions.parse(schema)?;
    let mut answers = match accuracy.filter(|_| args.together) {
        Some(known) => model.ask_together(schema, &args.by, &questions, known, given.as_ref())?,
        None => model.ask_with(schema, &args.by, &questions, accuracy, given.as_ref())?,
    };
    for text in &args.questions.having {
        answers.push(Having::parse(text, schema, file.linked.as_ref())?.answer(model, schema)?);
    }
    let cut_bins = given.as_ref().map_or_else(Vec::new, Evidence::cut_bins);
    if args.json {
        let mut all = json!({
            "private": file.is_private,
            "records": model.total(),
            "answers": answers,
        });
        if !file.conditional_on.is_empty() {
            all["conditional_on"] = json!(file.conditional_on);
        }
        if !cut_bins.is_empty() {
            all["cut_bins"] = json!(cut_bins);
        }
        if args.together {
            all["together"] = json!(true);
        }
        return console::json_result(&all);
    }
    if args.csv {
        return console::result(&table(&args.by, &answers)?);
    }
    let called = match &file.linked {
        _ if file.weight.is_some() => ["Members of the population", "members"],
        Some(units) if units.members().is_some() => ["Units that the model expects", "units"],
        _ => ["Records that the model expects", "records"],
    };
    let whole = Whole { total: model.total(), called, is_together: args.together, cut_bins };
    console::result(&text(&whole, &args.by, &answers))
}

/// What all answers are about.
struct Whole {
    total: f64,
    /// What the model's records are called, all of them and some.
    called: [&'static str; 2],
    /// Whether measured intervals hold all at once.
    is_together: bool,
    /// Bins that --given cuts.
    cut_bins: Vec<String>,
}

impl QuestionArgs {
    fn parse(&self, schema: &Schema) -> Outcome<Vec<Question>> {
        let mut questions = Vec::new();
        for names in &self.marginal {
            let names = names.split(',').map(|name| name.trim().to_owned()).collect();
            questions.push(Question::Marginal(names));
        }
        for evidence in &self.share {
            questions.push(Question::Share(Evidence::parse(evidence, schema)?));
        }
        questions.extend(self.mean.iter().map(|name| Question::Mean(name.clone())));
        questions.extend(self.median.iter().map(|name| Question::Quantile(name.clone(), 0.5)));
        for quantile in &self.quantile {
            let split = quantile.split_once('=').map(|(name, share)| (name, share.trim().parse()));
            let Some((name, Ok(share))) = split else {
                let expected = "expected a column and a share, such as INCOME=0.9";
                return Err(Failure::usage(format!("--quantile is '{quantile}', {expected}")));
            };
            questions.push(Question::Quantile(name.trim().to_owned(), share));
        }
        Ok(questions)
    }
}

/// The columns behind the question and the groups: the number of records and the answer, what they rest on, their intervals, the
/// standard deviations of their noise, and the grade.
const COLUMNS: [&str; 11] = [
    "values",
    "records",
    "answer",
    "basis",
    "lower",
    "upper",
    "answer_lower",
    "answer_upper",
    "stddev",
    "answer_stddev",
    "grade",
];

/// The answers as CSV: a line each, with the values that they are about in one cell.
fn table(by: &[String], answers: &[Answer]) -> Outcome<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = ["question"].into_iter().chain(by.iter().map(String::as_str));
    writer.write_record(header.chain(COLUMNS)).map_err(unwritten)?;
    for answer in answers {
        for row in &answer.rows {
            let cells = [answer.question.clone()].into_iter().chain(row.group.iter().cloned());
            let found = row.answer.map_or_else(String::new, |x| shown(x, answer));
            let rest = [row.values.join("; "), row.count.to_string(), found];
            let bound = |end: fn(&CountInterval) -> f64| row.interval.as_ref().map(end);
            let ends = [bound(|i| i.lower), bound(|i| i.upper)];
            let ends = ends.map(|end| end.map_or_else(String::new, |end| end.to_string()));
            let own = row.answer_interval.map(|own| [own.lower, own.upper]);
            let own = own.map_or_else(Default::default, |own| own.map(|end| shown(end, answer)));
            let basis = [row.basis.map_or("", Basis::name).to_owned()];
            let noise =
                [row.interval.and_then(|i| i.stddev), row.answer_interval.and_then(|i| i.stddev)];
            let noise = noise.map(|x| x.map_or_else(String::new, |x| x.to_string()));
            let grade = [row.grade.map_or("", Grade::letter).to_owned()];
            let line = cells.chain(rest).chain(basis).chain(ends).chain(own);
            let line = line.chain(noise).chain(grade);
            writer.write_record(line).map_err(unwritten)?;
        }
    }
    text_of(writer)
}

/// What a writer of CSV has written.
pub(super) fn text_of(writer: csv::Writer<Vec<u8>>) -> Outcome<String> {
    let bytes = writer.into_inner().map_err(|error| unwritten(error.into_error().into()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The failure of writing CSV to memory.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(super) fn unwritten(error: csv::Error) -> Failure {
    Failure::usage(error.to_string())
}

/// An answer in short, or the date or time that it stands for.
fn short_form(found: f64, answer: &Answer) -> String {
    match &answer.time {
        Some(time) => time.written(&found.round().to_string()),
        None => number(found, answer.is_date),
    }
}

/// An answer in full, or the date or time that it stands for.
fn shown(found: f64, answer: &Answer) -> String {
    if answer.is_date || answer.time.is_some() {
        short_form(found, answer)
    } else {
        found.to_string()
    }
}

fn text(whole: &Whole, by: &[String], answers: &[Answer]) -> String {
    let [of_all, of_some] = whole.called;
    let mut text = format!("{of_all}: {}\n", short(whole.total));
    _ = write!(text, "{}", cut("--given", &whole.cut_bins));
    if whole.is_together {
        text.push_str("Intervals of measured numbers all hold at once in 95 % of releases.\n");
    }
    for answer in answers {
        let by = if by.is_empty() { String::new() } else { format!(", by {}", by.join(", ")) };
        _ = writeln!(text, "\n{}{by}:", answer.question);
        _ = write!(text, "{}", cut("It", &answer.cut_bins));
        _ = write!(text, "{}", answer.parts.as_ref().map_or_else(String::new, parts));
        let names = |row: &AnswerRow| {
            let names: Vec<&str> =
                row.group.iter().chain(&row.values).map(String::as_str).collect();
            names.join(" | ")
        };
        let lines: Vec<String> = answer.rows.iter().map(names).collect();
        let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        for (line, row) in lines.iter().zip(&answer.rows) {
            let found = row.answer.map_or_else(|| "-".into(), |x| short_form(x, answer));
            let count = short(row.count);
            let left_out = if row.is_left_out { "; drawn records have none of these" } else { "" };
            let known = known(row, answer);
            _ = writeln!(text, "  {line:<width$}{found:>12}  ({count} {of_some}{known}{left_out})");
        }
    }
    text
}

/// What is said of answers that were not measured as a whole.
fn parts(parts: &NamedParts) -> String {
    let joined = |names: &[String]| names.join(" x ");
    let mut found: Vec<String> = Vec::new();
    if parts.measured.is_empty() {
        found.push("none of its marginals was measured".into());
    } else {
        let measured: Vec<String> = parts.measured.iter().map(|names| joined(names)).collect();
        found.push(format!("measured: {}", measured.join(", ")));
    }
    for (names, table) in &parts.public {
        let table = table.as_ref().map_or("a public table".into(), |t| format!("public table {t}"));
        found.push(format!("from {table}, corrected by all measurements: {}", joined(names)));
    }
    if !parts.is_public {
        found.push("how they go together follows from the model".into());
    }
    format!("  {}\n", found.join("; "))
}

/// What is said of bins that evidence cuts.
fn cut(what: &str, bins: &[String]) -> String {
    if bins.is_empty() {
        return String::new();
    }
    let bins = bins.join(", ");
    format!(
        "  {what} cuts bins ({bins}): inside a bin, numbers are spread as the schema says, nothing was measured.\n"
    )
}

/// What an answer rests on, and its intervals.
fn known(row: &AnswerRow, answer: &Answer) -> String {
    let Some(basis) = row.basis else { return String::new() };
    let ends = row.answer_interval.map(|i| {
        let [lower, upper] = [i.lower, i.upper].map(|end| short_form(end, answer));
        format!("{lower} to {upper}")
    });
    if !answer.is_of_numbers {
        let ends = ends.map_or_else(String::new, |ends| format!("; share {ends}"));
        return match row.interval {
            Some(i) => {
                let (lower, upper) = (short(i.lower), short(i.upper));
                let grade = row.grade.map_or_else(String::new, |g| format!("; {}", g.letter()));
                format!(", {}: {lower} to {upper}{ends}{grade}", basis.name())
            }
            None => format!(", {}", basis.name()),
        };
    }
    match (basis, ends) {
        (_, Some(ends)) => {
            let grade = row.grade.map_or_else(String::new, |g| format!("; {}", g.letter()));
            format!("; measured: {ends}{grade}")
        }
        (Basis::Measured, None) => "; measured, but with too much noise for an interval".into(),
        (Basis::Public, None) => "; in part from a public table: no interval".into(),
        (Basis::Model, None) => "; never measured together: no interval".into(),
    }
}
