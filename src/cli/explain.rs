//! `jointly explain`: what errors and terms mean, from `docs/guide/terms.md`.

use std::fmt::Write;

use jointly::data::nearest;
use jointly::mechanism::{self, CATALOGUE, PublicTables};

use super::args::ExplainArgs;
use super::console;
use super::failure::{Failure, Outcome};

const TEXT: &str = include_str!("../../docs/guide/terms.md");

/// A part of the text, with the names that it goes by.
#[derive(Debug)]
struct Entry {
    part: &'static str,
    names: Vec<&'static str>,
    text: &'static str,
}

pub(super) fn run(args: &ExplainArgs) -> Outcome {
    let entries = entries();
    if args.name.is_empty() {
        return console::result(&list(&entries));
    }
    let asked = args.name.join(" ");
    let Some(entry) = find(&entries, &asked) else { return Err(unknown(&entries, &asked)) };
    let mechanism = CATALOGUE.iter().find(|mechanism| mechanism.name == entry.names[0]);
    let facts = mechanism.map_or_else(String::new, facts);
    console::result(&format!("{}\n\n{}\n{facts}", entry.names.join(", "), entry.text))
}

/// What the catalogue says of a mechanism.
fn facts(entry: &mechanism::Entry) -> String {
    let public = match entry.public_tables {
        PublicTables::Unused => "not used",
        PublicTables::Used => "used if there are any",
        PublicTables::Needed => "needed",
    };
    let is = |yes: bool| if yes { "yes" } else { "no" };
    let defaults = entry.defaults().unwrap_or_default();
    let flags: Vec<String> = defaults.keys().map(|name| format!("--{name}")).collect();
    format!(
        "\n\
         public tables      {public}\n\
         spends budget      {}\n\
         uses the workload  {}\n\
         checkpoints        {}\n\
         small domains only {}\n\
         parameters         {}\n\
         its steps          jointly plan --mechanism {}\n",
        is(entry.spends),
        is(entry.uses_workload),
        is(entry.resumes),
        is(entry.needs_small_domain),
        flags.join(" "),
        entry.name,
    )
}

/// The entries of the text, in its order: `### name, name` and what follows, below `## part`.
fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    for part in TEXT.split("\n## ").skip(1) {
        let (title, rest) = part.split_once('\n').unwrap_or((part, ""));
        for entry in rest.split("\n### ").skip(1) {
            let (names, text) = entry.split_once('\n').unwrap_or((entry, ""));
            let names = names.split(", ").map(str::trim).collect();
            entries.push(Entry { part: title.trim(), names, text: text.trim() });
        }
    }
    entries
}

/// A name as it is compared: in lower case, with words separated by `-`.
fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '_'], "-")
}

fn find<'e>(entries: &'e [Entry], asked: &str) -> Option<&'e Entry> {
    let asked = plain(asked);
    let is_asked = |name: &str| {
        let name = plain(name);
        name == asked || asked.strip_suffix('s') == Some(&name)
    };
    entries.iter().find(|entry| entry.names.iter().any(|name| is_asked(name)))
}

/// One line for each entry: its first name and its first sentence.
fn list(entries: &[Entry]) -> String {
    let mut text = String::new();
    let mut part = "";
    for entry in entries {
        if entry.part != part {
            let gap = if part.is_empty() { "" } else { "\n" };
            _ = writeln!(text, "{gap}{}", entry.part);
            part = entry.part;
        }
        let flat = entry.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let first = flat.split_once(". ").map_or(flat.as_str(), |(first, _)| first);
        _ = writeln!(text, "  {:<20}  {}", entry.names[0], first.trim_end_matches('.'));
    }
    text + "\nMore about one: jointly explain NAME\n"
}

/// The error of a name that is not explained, with those like it.
fn unknown(entries: &[Entry], asked: &str) -> Failure {
    let asked = plain(asked);
    let names: Vec<&str> = entries.iter().flat_map(|entry| entry.names.iter().copied()).collect();
    let mut alike: Vec<&str> = nearest(&asked, names.iter().copied()).into_iter().collect();
    let parts = |name: &&&str| asked.len() >= 3 && plain(name).contains(&asked);
    alike.extend(
        names
            .iter()
            .filter(parts)
            .filter(|name| !alike.contains(*name))
            .copied()
            .collect::<Vec<_>>(),
    );
    let expected = if alike.is_empty() {
        "a name that 'jointly explain' lists".to_owned()
    } else {
        format!("a name that 'jointly explain' lists, such as {}", alike.join(", "))
    };
    Failure::usage(format!("no explanation of '{}', expected {expected}", asked.escape_debug()))
}

#[cfg(test)]
mod tests;
