//! What the documents say and the source decides: flags, links, commands, and numbers that drift.
#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use jointly::mechanism::all_parameters;

use crate::cli::Bench;

fn text(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// A page without its line breaks.
fn flat(path: &str) -> String {
    text(path).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The commands that a help page lists.
fn commands(help: &str) -> Vec<String> {
    let list = help.split("Commands:\n").nth(1).unwrap_or("");
    let lines = list.lines().take_while(|line| !line.is_empty());
    // Longer lines continue a description.
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// The long flags of a help page.
fn flags(help: &str) -> BTreeSet<String> {
    let words = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let flags = words.flat_map(|line| line.split([' ', ',', '=', '[']).take(3));
    let names = flags.filter_map(|word| word.strip_prefix("--"));
    names.map(|name| name.trim_end_matches("...").to_owned()).collect()
}

#[test]
fn every_flag_of_every_command_is_in_the_guide() {
    let (bench, guide) = (Bench::new(), text("docs/guide/command-line.md"));
    let mechanisms = text("docs/guide/mechanisms.md");
    let mut pages = commands(&bench.succeed("--help"));
    assert!(pages.len() > 15, "{pages:?}");
    pages.extend(["thresholds ask".to_owned()]);
    let (mut all, mut missing) = (0, BTreeSet::new());
    for command in pages.iter().filter(|command| *command != "help") {
        let known = flags(&bench.succeed(&format!("{command} --help")));
        for flag in known.iter().filter(|flag| !["help", "version"].contains(&flag.as_str())) {
            all += 1;
            // Those of mechanisms may be in the table that is made of the catalogue.
            let is_parameter = all_parameters().any(|parameter| parameter.name == *flag);
            let written = format!("--{flag}");
            let stands_in = |page: &str| {
                page.match_indices(&written).any(|(at, found)| {
                    let next = page[at + found.len()..].chars().next();
                    next.is_none_or(|next| !next.is_ascii_alphanumeric() && next != '-')
                })
            };
            let stands = stands_in(&guide) || (is_parameter && stands_in(&mechanisms));
            if !stands {
                missing.insert(format!("{command} {written}"));
            }
        }
    }
    assert!(all > 100, "{all} flags were found");
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_number_of_planted_bugs_is_that_of_the_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/audit/bugs");
    let files =
        fs::read_dir(folder).unwrap().map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let bugs: usize =
        files.map(|text| text.lines().filter(|line| line.trim() == "bug(").count()).sum();
    assert!(bugs > 150, "{bugs}");
    for page in ["README.md", "docs/results/audit.md"] {
        let said = format!("{bugs} planted");
        assert!(flat(page).contains(&said), "{page} does not say '{said}'");
    }
}

/// All files below a folder with an extension, by their paths.
fn files(folder: &str, extension: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut folders, mut found) = (vec![root.join(folder)], vec![]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|own| own == extension) {
                found.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found
}

/// All pages of the repository, by their paths.
fn pages() -> Vec<String> {
    let tops = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "python/README.md"];
    [tops.map(str::to_owned).into(), files("docs", "md")].concat()
}

/// The lines of a page outside blocks of code.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = prose(page).filter(|line| line.starts_with('#'));
    let kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
    let names = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    names.map(|name| name.chars().filter(kept).collect::<String>().replace(' ', "-")).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut all, mut broken) = (0, vec![]);
    for path in pages() {
        let page = text(&path);
        let flat = prose(&page).collect::<Vec<_>>().join("\n");
        let targets = flat.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        for (target, _) in targets.filter(|(target, _)| !target.contains("://")) {
            all += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let own = root.join(&path);
            let place = if file.is_empty() { own } else { own.parent().unwrap().join(file) };
            let is_there = place.exists()
                && (anchor.is_empty()
                    || anchors(&fs::read_to_string(&place).unwrap()).contains(anchor));
            if !is_there {
                broken.push(format!("{path}: {target}"));
            }
        }
    }
    assert!(all > 300, "{all} links were found");
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_page_is_in_the_index() {
    let index = text("docs/README.md");
    for path in pages().iter().filter_map(|path| path.strip_prefix("docs/")) {
        let is_there = path == "README.md" || index.contains(&format!("]({path})"));
        assert!(is_there, "docs/README.md does not name {path}");
    }
}

/// The first block of code after a heading.
fn console(page: &str, heading: &str) -> String {
    let section = page.split("\n## ").find(|part| part.starts_with(heading)).unwrap();
    let block = section.split_once("```console\n").unwrap().1;
    block.split_once("```").unwrap().0.to_owned()
}

#[test]
fn the_commands_of_the_readme_are_those_of_the_guide_which_a_test_runs() {
    let (readme, guide) = (text("README.md"), text("docs/guide/release.md"));
    let road = console(&guide, "The shortest road");
    assert_eq!(console(&readme, "Three commands"), road);
    assert_eq!(road.matches("$ jointly ").count(), 3);
}

/// The cells of the row of a table that begins with `start`.
fn row(page: &str, start: &[&str]) -> Vec<String> {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let mut rows = page.lines().filter(|line| line.starts_with('|')).map(cells);
    let is_own = |cells: &Vec<String>| {
        cells.len() > start.len() && cells.iter().zip(start).all(|(cell, start)| cell == start)
    };
    rows.find(is_own).unwrap()
}

/// The figures of a data set at ε = 1: `anchor-pgm`, JAM-PGM, AIM, the public table itself.
fn figures(data: &str) -> [String; 4] {
    let (default, jam) =
        (text("docs/results/never-hurts.md"), text("docs/results/jam-protocol.md"));
    let mean = |cell: &String| cell.split(' ').next().unwrap().to_owned();
    let (own, others) = (row(&default, &[data, "1"]), row(&jam, &[data, "1"]));
    let alone = jam.split_once("| public table alone |").unwrap().1;
    [mean(&own[2]), mean(&others[3]), mean(&others[4]), row(alone, &[data])[1].clone()]
}

#[test]
fn the_figures_of_the_readme_are_those_of_the_results() {
    let (readme, picture) = (text("README.md"), text("docs/assets/public-tables.svg"));
    for data in ["adult025", "adult100", "salary", "taxi", "taxi-biased", "titanic"] {
        let [anchor, jam, aim, public] = figures(data);
        let cells = format!("| {public} | {anchor} | {jam} | {aim} |");
        let is_own = |line: &&str| {
            line.starts_with(&format!("| {data};")) || line.starts_with(&format!("| {data} |"))
        };
        let line = readme.lines().find(is_own).unwrap();
        assert!(line.ends_with(&cells), "{line}: not {cells}");
    }
    let all = ["adult025", "adult050", "adult075", "adult100"];
    for data in all.into_iter().chain(["salary", "taxi", "taxi-biased", "titanic"]) {
        let [anchor, _, aim, public] = figures(data);
        let said = format!("{data}: anchor-pgm {anchor}, AIM {aim}, public table {public}.");
        assert!(picture.contains(&said), "the picture does not say '{said}'");
    }
}

#[test]
fn numbers_that_drift_are_those_of_their_source() {
    let hostile = text("tests/golden/hostile.txt");
    let lines = hostile.lines().filter(|line| line.starts_with("exit ")).count();
    assert!(flat("docs/results/robustness.md").contains(&format!("{lines} command lines")));
    let python = text("python/pyproject.toml");
    let version = python.split_once("requires-python = \">=").unwrap().1.split('"').next().unwrap();
    for page in ["README.md", "docs/guide/python.md"] {
        assert!(flat(page).contains(&format!("Python {version} or later")), "{page}");
    }
    let version = |file: &str| {
        let source = text(file);
        let rest = source.split_once("const VERSION: u32 = ").unwrap().1;
        rest.split_once(';').unwrap().0.to_owned()
    };
    for (file, page, before) in [
        ("crates/privacy/src/ledger_file.rs", "docs/guide/command-line.md", "| `jointly-ledger`, "),
        ("src/model/file.rs", "docs/guide/model-file.md", "| `version` | always "),
        ("crates/privacy/src/checkpoint.rs", "docs/guide/checkpoints.md", "| `version` | "),
    ] {
        let said = format!("{before}{};", version(file));
        assert!(flat(page).contains(&said), "{page} does not say '{said}'");
    }
}

#[test]
fn every_mechanism_has_an_example() {
    let (mut mechanisms, mut without) = (0, vec![]);
    for page in files("src/mechanism", "rs").iter().map(|file| text(file)) {
        let lines = page.lines().collect::<Vec<_>>();
        for (at, line) in lines.iter().enumerate() {
            let Some(name) =
                line.strip_prefix("pub struct ").and_then(|rest| rest.strip_suffix(" {"))
            else {
                continue;
            };
            let is_run = |of: &str| page.contains(&format!("impl {of} for {name} {{"));
            if !is_run("Mechanism") && !is_run("QueryMechanism") {
                continue;
            }
            mechanisms += 1;
            let above = lines[..at].iter().rev();
            let mut docs =
                above.take_while(|line| line.starts_with("///") || line.starts_with("#["));
            if !docs.any(|line| line.starts_with("/// ```")) {
                without.push(name.to_owned());
            }
        }
    }
    assert!(mechanisms > 15, "only {mechanisms} found");
    assert!(without.is_empty(), "no example: {without:?}");
}
