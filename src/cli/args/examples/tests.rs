use clap::{CommandFactory, Parser};

use crate::cli::args::Arguments;

/// The words of a line as a shell reads it: quotes hold words together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in line.split('"').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[test]
fn every_command_has_examples_that_it_accepts() {
    let mut tried = 0;
    for command in Arguments::command().get_subcommands() {
        if command.is_hide_set() || ["help", "man"].contains(&command.get_name()) {
            continue;
        }
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let joined = text.replace("\\\n", " ");
        let lines = joined.lines().map(str::trim).filter(|line| line.starts_with("jointly "));
        let mut own = 0;
        for line in lines {
            assert_eq!(line.split(' ').nth(1), Some(command.get_name()), "{line}");
            let parsed = Arguments::try_parse_from(words(line));
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            own += 1;
        }
        assert!(own > 0, "{} has no example", command.get_name());
        assert!(text.lines().all(|line| line.len() <= 98), "{text}");
        tried += own;
    }
    assert!(tried > 30, "{tried}");
}
