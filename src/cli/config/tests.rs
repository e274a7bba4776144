use super::*;

fn completed(file: &str, typed: &str) -> Outcome<Vec<String>> {
    let folder = tempfile::tempdir().map_err(|error| Failure::internal(error.to_string()))?;
    let path = folder.path().join("run.toml");
    write_text(&path, file)?;
    let words = typed.split(' ').map(|word| match word {
        "FILE" => path.clone().into_os_string(),
        word => word.into(),
    });
    let line = CommandLine::complete(words.collect())?;
    let words = line.words.iter().map(|word| word.to_string_lossy().into_owned());
    Ok(words.skip(4).collect())
}

fn refused(file: &str, typed: &str) -> String {
    completed(file, typed).map_or_else(|failure| failure.message, |words| words.join(" "))
}

#[test]
fn values_become_words_with_their_digits() {
    let file = "threads = 2\n[synth]\nepsilon = 1e-9\nrows = 1_000\nseed = 0x10\nquiet = true\n\
                public = [\"a=b.csv\", \"c.csv\"]\n[plan]\nepsilon = 3\n";
    let words = completed(file, "jointly --config FILE synth").unwrap_or_default();
    let expected = [
        "--epsilon=1e-9",
        "--public=a=b.csv",
        "--public=c.csv",
        "--quiet",
        "--rows=1000",
        "--seed=16",
        "--threads=2",
    ];
    assert_eq!(words, expected);
}

#[test]
fn what_is_typed_wins_whole_and_comes_before_the_flags_of_a_file() {
    let file = "epsilon = 5\n[synth]\nepsilon = 1\npublic = [\"a.csv\", \"b.csv\"]\njson = false\n";
    let told = refused(file, "jointly synth --config FILE");
    assert!(told.contains("the unknown key 'json'"), "{told}");
    let file = file.replace("json = false\n", "");
    let words = completed(&file, "jointly synth --config FILE --public c.csv --epsilon=2");
    assert_eq!(words.unwrap_or_default(), ["--public", "c.csv", "--epsilon=2"]);
    let file = "[thresholds.ask]\nin = \"r.json\"\n";
    let words = completed(file, "jointly --config FILE thresholds ask -- x<1");
    assert_eq!(words.unwrap_or_default(), ["ask", "--in=r.json", "--", "x<1"]);
}

#[test]
fn flags_above_all_tables_hold_for_every_command_that_has_them() {
    let file = "schema = \"s.json\"\nworst = 3\n[plan]\nrecords = 5\nschema = \"t.json\"\n";
    let words = completed(file, "jointly --config FILE evaluate").unwrap_or_default();
    assert_eq!(words, ["--schema=s.json", "--worst=3"]);
    let words = completed(file, "jointly --config FILE plan").unwrap_or_default();
    assert_eq!(words, ["--records=5", "--schema=t.json"]);
}

#[test]
fn faults_name_the_line_and_the_nearest_name_whatever_the_command() {
    for (file, part) in [
        (
            "[synth]\n\nepsilom = 1\n",
            "line 3: found the unknown key 'epsilom', expected a flag of synth without the two dashes, such as 'epsilon'",
        ),
        ("[plan]\nseed = 1\n", "line 2: found the unknown key 'seed', expected a flag of plan"),
        ("[sinth]\n", "line 1: found the table [sinth], expected a command, such as [synth]"),
        (
            "workloads = 1\n",
            "line 1: found the unknown key 'workloads', expected a flag of a command",
        ),
        ("[synth]\nconfig = 'x'\n", "line 2: found the unknown key 'config'"),
        ("[compare-run]\n", "line 1: found the table [compare-run]"),
        ("[plan]\njson = 1\n", "line 2: found 'json' as integer, expected true or false"),
        (
            "[plan]\nepsilon = true\n",
            "line 2: found 'epsilon' as boolean, expected a text or a number",
        ),
        ("[plan]\nepsilon = [1, 2]\n", "line 2: found 'epsilon' as a list, expected a single"),
        ("[plan]\nepsilon = 1\nepsilon = 2\n", "line 3: found duplicate key"),
        ("[plan\n", "line 1: found"),
    ] {
        let told = refused(file, "jointly --config FILE budget");
        assert!(told.contains(part), "{file}: {told}");
    }
}

#[test]
fn a_written_value_is_read_back_with_the_same_characters() {
    for (text, expected) in [
        ("1e-9", "1e-9"),
        ("130000", "130000"),
        ("1_000", "\"1_000\""),
        ("007", "\"007\""),
        ("0x10", "\"0x10\""),
        ("1\ny = 2", "\"\"\"\n1\ny = 2\"\"\""),
        ("a.csv # b", "\"a.csv # b\""),
        ("1 # b", "\"1 # b\""),
    ] {
        assert_eq!(written(text), expected);
        let line = format!("x = {expected}");
        let read = DeTable::parse(&line).ok();
        let read = read.and_then(|table| text_of(table.get_ref().get("x")?.get_ref()));
        assert_eq!(read.as_deref(), Some(text));
    }
}
