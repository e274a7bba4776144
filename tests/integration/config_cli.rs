//! Flags in a file: `--config` and `--save-config`.

use crate::cli::{Bench, stderr};

const RUN: &str = "schema = \"schema.json\"\nprivate = \"private.csv\"\nworkload = \"all-2-way\"\n\
                   [synth]\npublic = [\"near=public.csv\"]\nepsilon = 2\ndelta = 1e-6\n\
                   mechanism = \"jam-pgm\"\nrounds = 5\nout = \"out.csv\"\nseed = 7\n\
                   [evaluate]\nsynthetic = \"out.csv\"\njson = true\n";

const TYPED: &str = "synth --private private.csv --public near=public.csv --schema schema.json --workload all-2-way \
                     --epsilon 2 --delta 1e-6 --mechanism jam-pgm --rounds 5 --seed 7";

#[test]
fn a_run_from_a_file_is_the_run_with_typed_flags_and_can_be_saved_and_repeated() {
    let bench = Bench::new();
    bench.write("run.toml", RUN);
    bench.succeed(&format!("{TYPED} --out typed.csv"));
    bench.succeed("synth --config run.toml --save-config saved.toml");
    assert_eq!(bench.read("out.csv"), bench.read("typed.csv"));
    let saved = bench.read("saved.toml");
    for part in [
        "[synth]\n",
        "epsilon = 2\n",
        "delta = 1e-6\n",
        "public = [\"near=public.csv\"]\n",
        "# The seed makes the result NOT PRIVATE",
        "jointly synth --config FILE",
    ] {
        assert!(saved.contains(part), "{saved}");
    }
    assert!(!saved.contains("run.toml") && !saved.contains("saved.toml"), "{saved}");
    bench.succeed("synth --config saved.toml --out again.csv --save-config saved2.toml");
    assert_eq!(bench.read("again.csv"), bench.read("typed.csv"));
    assert_eq!(bench.read("saved2.toml"), saved.replace("\"out.csv\"", "\"again.csv\""));
    let evaluated = bench.succeed("evaluate --config run.toml");
    assert!(evaluated.starts_with('{'), "{evaluated}");
}

#[test]
fn a_saved_file_without_a_seed_says_that_a_repeated_run_spends_again() {
    let bench = Bench::new();
    bench.succeed(&format!(
        "{} --out a.csv --save-config saved.toml --quiet",
        TYPED.replace(" --seed 7", "")
    ));
    let saved = bench.read("saved.toml");
    assert!(saved.contains("spends its budget again") && saved.contains("quiet = true"), "{saved}");
    assert!(!saved.contains("seed ="), "{saved}");
}

#[test]
fn a_release_has_its_flags_beside_it() {
    let bench = Bench::new();
    bench.succeed(&format!("{TYPED} --out typed.csv"));
    let saved = bench.read("typed.csv.config.toml");
    bench.succeed("synth --config typed.csv.config.toml --out again.csv");
    assert_eq!(bench.read("again.csv"), bench.read("typed.csv"));
    assert_eq!(
        bench.read("again.csv.config.toml"),
        saved.replace("\"typed.csv\"", "\"again.csv\"")
    );
    // The file that the flags come from stays as it is, comments and all.
    let own = format!("# mine\n{saved}");
    bench.write("typed.csv.config.toml", &own);
    bench.succeed("synth --config typed.csv.config.toml");
    assert_eq!(bench.read("typed.csv.config.toml"), own);
    // A failed run leaves none, and one that names a file none beside.
    bench.fail(&format!("{TYPED} --out none.csv --rounds 0"), 2, "rounds");
    bench.succeed(&format!("{TYPED} --out named.csv --save-config mine.toml"));
    for absent in ["none.csv.config.toml", "named.csv.config.toml"] {
        assert!(!bench.path(absent).exists(), "{absent}");
    }
    // An input of that name is not overwritten: the run is refused before it spends.
    bench.write("x.csv.config.toml", &bench.read("public.csv"));
    let command = TYPED.replace("near=public.csv", "near=x.csv.config.toml");
    bench.fail(&format!("{command} --out x.csv"), 2, "x.csv.config.toml is the file of --public");
    assert!(!bench.path("x.csv.ledger.json").exists());
    assert_eq!(bench.read("x.csv.config.toml"), bench.read("public.csv"));
}

#[test]
fn faults_of_a_file_name_its_line_and_end_with_the_code_of_their_kind() {
    let bench = Bench::new();
    bench.write("run.toml", &RUN.replace("epsilon = 2", "epsilom = 2"));
    let part = "run.toml, line 6: found the unknown key 'epsilom', expected a flag of synth without the two dashes, such as 'epsilon'";
    bench.fail("synth --config run.toml", 3, part);
    bench.fail("plan --config run.toml", 3, part);
    bench.write("run.toml", &RUN.replace("epsilon = 2", "epsilon = \"two\""));
    bench.fail(
        "synth --config run.toml",
        2,
        "run.toml, line 6: invalid value 'two' for '--epsilon",
    );
    bench.write("run.toml", &RUN.replace("epsilon = 2", "epsilon = -1"));
    bench.fail("synth --config run.toml", 4, "epsilon is");
    bench.succeed("synth --config run.toml --epsilon 2");
    bench.fail("synth --config none.toml", 1, "none.toml");
    bench.write("run.toml", RUN);
    let output = bench.run("--log-format json synth --config run.toml --rounds x");
    assert!(stderr(&output).starts_with('{'), "{}", stderr(&output));
}

#[test]
fn a_saved_file_never_replaces_a_file_of_the_run() {
    let bench = Bench::new();
    for (flags, part) in [
        ("--out a.csv --save-config a.csv", "is the file of --out"),
        ("--out a.csv --save-config ./private.csv", "is the file of --private"),
        ("--out a.csv --save-config public.csv", "is the file of --public"),
        ("--out a.csv --save-config -", "--save-config is -, standard output"),
    ] {
        bench.fail(&format!("{TYPED} {flags}"), 2, part);
        assert!(!bench.path("a.csv").exists());
    }
}
