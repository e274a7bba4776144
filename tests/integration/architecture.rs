//! Modules use only modules above them. The order below is also that of the map in the crate's documentation.

#![expect(clippy::unwrap_used, reason = "helpers of a test")]

use std::fs;
use std::path::{Path, PathBuf};

/// Modules of the engine, `crates/pgm`, each allowed to name the ones before it and itself.
const ENGINE: [&str; 10] = [
    "error",
    "checks",
    "domain",
    "table",
    "data",
    "graph",
    "inference",
    "measurement",
    "estimation",
    "model",
];

/// Modules of the library, in the same way. All of them may name the engine's.
const ORDER: [&str; 30] = [
    "error",
    "observe",
    "linalg",
    "normal",
    "program",
    "domain",
    "data",
    "query",
    "settings",
    "compression",
    "strategy",
    "least_squares",
    "model",
    "estimation",
    "survey",
    "error_bars",
    "mechanism",
    "mixture_error",
    "trust",
    "pap",
    "paid_bins",
    "evaluation",
    "posterior",
    "combine",
    "experiment",
    "report",
    "synthesis",
    "compare",
    "fit",
    "demo",
];

/// Modules that may name any other: errors and events carry types of all parts.
const ANYTHING: [&str; 2] = ["error", "observe"];

/// Names at the root of a crate that are not those of its modules, with the module they come from; those of the engine
/// and of the privacy path come before all others.
const ROOT: [(&str, &str); 11] = [
    ("Error", "error"),
    ("Result", "error"),
    ("CommonError", "error"),
    ("PrivacyError", "error"),
    ("privacy", "error"),
    ("Checks", "checks"),
    ("Unstoppable", "checks"),
    ("table", "error"),
    ("graph", "error"),
    ("inference", "error"),
    ("measurement", "error"),
];

/// First segments of all paths that start with `crate::` outside comments, with their line numbers.
fn named(source: &str) -> Vec<(usize, String)> {
    let mut code = String::with_capacity(source.len());
    for line in source.lines() {
        code.push_str(if line.trim_start().starts_with("//") { "" } else { line });
        code.push('\n');
    }
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let line = code[..at].matches('\n').count() + 1;
        let rest = &code[at + "crate::".len()..];
        let segments = match rest.strip_prefix('{') {
            Some(group) => first_segments(group),
            None => vec![first_word(rest)],
        };
        found.extend(segments.into_iter().map(|segment| (line, segment)));
    }
    found
}

fn first_word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// First segments of the members of a group `a::b, c::{d, e}, f}`, which ends with its closing brace.
fn first_segments(group: &str) -> Vec<String> {
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                found.push(first_word(&group[start..at]));
                start = at + 1;
                if character == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    found.retain(|segment| !segment.is_empty());
    found
}

/// The module that a name at the root comes from.
fn from(name: &str) -> Option<&'static str> {
    ROOT.iter().find(|(root, _)| *root == name).map(|(_, from)| *from)
}

/// What a file of `module` names and must not, a message each.
fn violations(order: &[&str], module: &str, source: &str) -> Vec<String> {
    let place = |name: &str| order.iter().position(|m| *m == name);
    let wrong = |(line, name): (usize, String)| {
        let own = place(&name).map(|_| &*name);
        let target = own.or_else(|| from(&name)).unwrap_or(&name);
        let allowed = match (place(module), place(target)) {
            (Some(_), Some(_)) if ANYTHING.contains(&module) => true,
            (Some(own), Some(other)) => other <= own,
            _ => false,
        };
        (!allowed).then(|| format!("line {line}: `{module}` uses `{name}`"))
    };
    named(source).into_iter().filter_map(wrong).collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") && !is_test(&path) {
            found.push(path);
        }
    }
}

/// Whether a file holds the tests of a module, beside it: `tests.rs`, or a part of it in `tests/`.
fn is_test(path: &Path) -> bool {
    let in_folder = path.parent().is_some_and(|folder| folder.ends_with("tests"));
    in_folder || path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests"))
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn privacy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/privacy/src")
}

fn engine() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/pgm/src")
}

#[test]
fn every_module_uses_only_modules_above_it() {
    in_order(&ORDER, &src());
    in_order(&ENGINE, &engine());
}

fn in_order(order: &[&str], src: &Path) {
    let mut files = Vec::new();
    sources(src, &mut files);
    let mut wrong = Vec::new();
    let mut checked = 0;
    for file in &files {
        let inside = file.strip_prefix(src).unwrap();
        let module = inside.components().next().unwrap().as_os_str().to_str().unwrap();
        let module = module.strip_suffix(".rs").unwrap_or(module);
        // The root only declares; the program is a crate of its own.
        if ["lib", "main", "cli"].contains(&module) {
            continue;
        }
        checked += 1;
        let source = fs::read_to_string(file).unwrap();
        let found = violations(order, module, &source);
        wrong.extend(found.into_iter().map(|message| format!("{}, {message}", inside.display())));
    }
    assert!(checked > 4 * order.len(), "only {checked} files found");
    assert!(wrong.is_empty(), "against the order of the modules:\n{}", wrong.join("\n"));
}

#[test]
fn the_root_declares_and_maps_the_modules_of_the_order() {
    let root = fs::read_to_string(src().join("lib.rs")).unwrap();
    let mut declared: Vec<&str> = root
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ").or_else(|| line.strip_prefix("mod ")))
        .filter_map(|rest| rest.strip_suffix(';'))
        .collect();
    declared.sort_unstable();
    let mut ordered = ORDER.to_vec();
    ordered.sort_unstable();
    assert_eq!(declared, ordered);
    // Rows of the map: "//! | [`name`] | ...".
    let mapped: Vec<&str> = root
        .lines()
        .filter_map(|line| {
            let row = line.strip_prefix("//! | [`").or_else(|| line.strip_prefix("//! | `"))?;
            row.split('`').next()
        })
        .map(|name| from(name).unwrap_or(name))
        .collect();
    assert_eq!(mapped, ORDER);
}

#[test]
fn the_check_sees_a_module_below_however_it_is_written() {
    let caught = |module: &str, source: &str| !violations(&ORDER, module, source).is_empty();
    assert!(caught("domain", "use crate::mechanism::JamPgm;"));
    assert!(caught("data", "use crate::{domain::Clique, model::{Model, Drawing}};"));
    assert!(caught("data", "use crate::{\n    domain::Clique,\n    model::Model,\n};"));
    assert!(caught("query", "pub(crate) use crate::strategy::Answers;"));
    assert!(caught("strategy", "    let x = crate::model::Sampling::Rounded;"));
    assert!(caught("demo", "use crate::cli::main;"));
    assert!(caught("nowhere", "use crate::error::Result;"));
    let message = violations(&ENGINE, "table", "\nuse crate::data::Dataset;");
    assert_eq!(message, ["line 2: `table` uses `data`"]);
}

#[test]
fn the_check_lets_pass_what_is_above_and_what_only_looks_like_a_path() {
    let passes = |module: &str, source: &str| violations(&ORDER, module, source).is_empty();
    assert!(passes("mechanism", "use crate::{Error, Result, privacy::{Curator, Rho}};"));
    assert!(passes("data", "use crate::data::Dataset;"));
    assert!(passes("data", "use crate::inference::BeliefPropagation;"));
    assert!(passes("observe", "use crate::privacy::Rho;"));
    assert!(passes("query", "pub(in crate::query) fn new() {}"));
    assert!(passes("domain", "/// See [`crate::mechanism`].\n//! and crate::model::X\nlet a = 1;"));
    assert!(passes("domain", "use other_crate::mechanism::X;"));
}

/// Code without comments and without what follows the unit tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap().to_owned();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Whether a text names a type, as a whole word.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(is_part)
            && !text[at + name.len()..].chars().next().is_some_and(is_part)
    })
}

/// The places that CONTRIBUTING.md names for a new mechanism: its own file, `mechanism/mod.rs` and
/// `mechanism/catalogue.rs`; and the root, which re-exports the default one.
#[test]
fn a_mechanism_is_named_in_its_file_the_module_and_the_catalogue_alone() {
    let types = [
        ("JamPgm", "jam_pgm"),
        ("AnchorPgm", "anchor_pgm"),
        ("Aim", "aim.rs"),
        ("Mst", "mst.rs"),
        ("MwemPgm", "mwem_pgm.rs"),
        ("Independent", "independent.rs"),
        ("ResidualPlanner", "residual_planner.rs"),
        ("Hdmm", "hdmm.rs"),
        ("PublicOnly", "public_only.rs"),
        ("Mwem", "multiplicative_weights.rs"),
        ("PmwPub", "multiplicative_weights.rs"),
        ("Pep", "entropy_projection.rs"),
        ("PepPub", "entropy_projection.rs"),
        ("Gem", "products"),
        ("GemPub", "products"),
        ("RapSoftmax", "products"),
        ("Rap", "products"),
        ("Fem", "fem.rs"),
        ("DualQuery", "dual_query.rs"),
        ("Ide", "ide"),
        ("Handful", "handful.rs"),
    ];
    let known = jointly::mechanism::CATALOGUE.len();
    assert_eq!(types.len(), known + 1, "every mechanism is checked, and the one of the tests");
    let mut files = Vec::new();
    sources(&src(), &mut files);
    let mut wrong = Vec::new();
    for file in &files {
        let inside = file.strip_prefix(src()).unwrap();
        let known = ["mechanism/mod.rs", "mechanism/catalogue.rs", "lib.rs"];
        if known.iter().any(|place| inside == Path::new(place)) {
            continue;
        }
        let text = code(file);
        for (name, own) in types {
            // A variant of another type is no mechanism.
            let text =
                text.replace("Sampling::Independent", "").replace("Drawing::Independent", "");
            let declares = ["pub enum Sampling", "pub enum Drawing", "enum DrawName"];
            let other = name == "Independent" && declares.iter().any(|d| text.contains(d));
            let at_home = inside.starts_with(Path::new("mechanism").join(own));
            if names(&text, name) && !at_home && !other {
                wrong.push(format!("{} names {name}", inside.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The mechanism of the tests stands for the next one.
#[test]
fn a_mechanism_touches_three_files_of_the_source() {
    let mut files = Vec::new();
    sources(&src(), &mut files);
    let named = |file: &&PathBuf| {
        let text = fs::read_to_string(file).unwrap();
        ["Handful", "handful", "handful"].iter().any(|name| text.contains(name))
    };
    let inside = |file: &PathBuf| file.strip_prefix(src()).unwrap().to_str().unwrap().to_owned();
    let touched: Vec<String> = files.iter().filter(named).map(inside).collect();
    assert_eq!(touched, ["mechanism/catalogue.rs", "mechanism/handful.rs", "mechanism/mod.rs"]);
}

#[test]
fn the_command_line_splits_no_budget() {
    let mut files = Vec::new();
    sources(&src().join("cli"), &mut files);
    assert!(files.len() > 15);
    let arithmetic =
        ["Rho::from_units", ".checked_sub(", ".checked_add(", ".fraction(", ".split(1"];
    for file in &files {
        let text = code(file);
        let found = arithmetic.iter().find(|part| names_rho(&text) && text.contains(**part));
        assert_eq!(found, None, "{}", file.display());
    }
}

fn names_rho(text: &str) -> bool {
    names(text, "Rho") || text.contains("rho()") || text.contains("remaining()")
}

#[test]
fn no_file_is_above_500_lines() {
    let mut files = Vec::new();
    sources(&src(), &mut files);
    sources(&engine(), &mut files);
    sources(&privacy(), &mut files);
    for file in &files {
        let lines = fs::read_to_string(file).unwrap().lines().count();
        assert!(lines <= 500, "{}: {lines} lines", file.display());
    }
}
