use std::fs;
use std::path::{Path, PathBuf};

use super::CountedParts;
use crate::data::{CountPlan, Projectable};
use crate::domain::{Clique, Schema};
use crate::observe::Unstoppable;

fn plan(cliques: &[Clique]) -> CountPlan {
    let schema = Schema::from_json(r#"{"sex": 2, "age": 3}"#, "domain.json").unwrap();
    CountPlan::new(&schema, cliques).unwrap()
}

fn part(folder: &Path, name: &str, rows: &str) -> (String, PathBuf) {
    let path = folder.join(format!("{name}.csv"));
    fs::write(&path, format!("age,sex\n{rows}")).unwrap();
    (name.to_owned(), path)
}

fn counted(plan: &CountPlan, part: (String, PathBuf), all: &[&str]) -> CountedParts {
    let all = all.iter().map(|name| (*name).to_owned()).collect();
    CountedParts::count(plan, &[part], Some(all), &Unstoppable).unwrap()
}

#[test]
fn merged_parts_are_the_table_and_files_return_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let pair = Clique::new([0, 1]);
    let plan = plan(std::slice::from_ref(&pair));
    let all = ["a", "b", "c"];
    let parts = [("a", "0,1\n2,0\n"), ("b", ""), ("c", "2,0\n2,1\n")];
    let files: Vec<PathBuf> = parts
        .iter()
        .map(|(name, rows)| {
            let file = folder.path().join(format!("{name}.counts"));
            counted(&plan, part(folder.path(), name, rows), &all).write(&file).unwrap();
            assert!(CountedParts::is_file(&file));
            file
        })
        .collect();
    let mut merged = CountedParts::read(&files[2]).unwrap();
    for file in &files[..2] {
        merged.merge(&CountedParts::read(file).unwrap(), "other").unwrap();
    }
    assert_eq!(merged.parts().0, ["a", "b", "c"]);
    let table = merged.finish("merged").unwrap();
    assert_eq!((table.records(), table.project(&pair).unwrap()), (4, vec![0, 0, 2, 1, 0, 1]));
}

#[test]
fn parts_that_do_not_belong_together_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let plan_of_pairs = plan(&[Clique::new([0, 1])]);
    let own = |name| part(folder.path(), name, "0,1\n");
    let mut first = counted(&plan_of_pairs, own("a"), &["a", "b"]);
    let before = first.counter.state().unwrap();
    let mut refused = |other: &CountedParts, expected: &str| {
        let error = first.merge(other, "x.counts").unwrap_err().to_string();
        assert!(error.starts_with("x.counts: ") && error.contains(expected), "{error}");
        assert_eq!(first.counter.state().unwrap(), before);
    };
    refused(&counted(&plan(&[Clique::new([0])]), own("b"), &["a", "b"]), "another plan");
    refused(&counted(&plan_of_pairs, own("b"), &["b", "c"]), "another table: 'b', 'c'");
    refused(&counted(&plan_of_pairs, own("a"), &["a", "b"]), "part 'a', which was counted");
    let error = first.clone().finish("x.counts").unwrap_err().to_string();
    assert!(error.contains("no counts of 'b'"), "{error}");
    let error =
        CountedParts::count(&plan_of_pairs, &[own("z")], Some(vec!["a".to_owned()]), &Unstoppable);
    assert!(error.unwrap_err().to_string().contains("part 'z'"));
    let error = CountedParts::count(&plan_of_pairs, &[own("a"), own("a")], None, &Unstoppable);
    assert!(error.unwrap_err().to_string().contains("part 'a' twice"));
}

#[test]
fn no_changed_byte_is_accepted_and_only_the_owner_may_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.counts");
    counted(&plan(&[Clique::new([0])]), part(folder.path(), "a", "0,1\n"), &["a"])
        .write(&file)
        .unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let bytes = fs::read(&file).unwrap();
    let changed = folder.path().join("changed.counts");
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 1;
        fs::write(&changed, other).unwrap();
        assert!(CountedParts::read(&changed).is_err(), "byte {at}");
        fs::write(&changed, &bytes[..at]).unwrap();
        assert!(CountedParts::read(&changed).is_err(), "first {at} bytes");
    }
    assert!(
        counted(&plan(&[Clique::new([0])]), part(folder.path(), "a", ""), &["a"])
            .write(Path::new("-"))
            .is_err()
    );
}
