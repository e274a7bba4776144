//! What the documents say and the source decides: flags, and numbers that drift.
#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use jointly::mechanism::all_parameters;

use crate::cli::Bench;

fn text(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
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
    for page in ["README.md", "docs/README.md", "docs/results/audit.md"] {
        let text = text(page);
        assert!(text.contains(&format!("{bugs} planted")), "{page} does not say '{bugs} planted'");
    }
}
