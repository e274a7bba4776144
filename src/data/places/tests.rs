use super::*;
use crate::data::{read_csv, read_csv_or_empty};
use crate::domain::Schema;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn schema() -> Schema {
    Schema::from_json(r#"{"sex": 2, "age": 4}"#, "domain.json").unwrap()
}

#[test]
fn the_tables_of_a_folder_are_one_in_the_order_of_their_names() {
    let files = [
        ("part-2.csv", "sex,age\n1,3\n"),
        ("part-1.csv", "sex,age\n0,1\n1,2\n"),
        ("part-0.csv", "sex,age\n"),
        ("_SUCCESS", ""),
        (".part-1.csv", "what another program keeps"),
        ("schema.json", "{}"),
    ];
    let folder = folder(&files);
    let place = folder.path().display().to_string();
    let places = [
        place.clone(),
        format!("{place}/"),
        format!("file://{place}"),
        format!("{place}/part-*.csv"),
        format!("{place}/part-[012].csv"),
    ];
    for place in places {
        let table = read_csv(Path::new(&place), &schema()).unwrap();
        let rows: Vec<_> = (0..table.records()).map(|row| table.row(row)).collect();
        assert_eq!(rows, [[0, 1], [1, 2], [1, 3]], "{place}");
    }
}

#[test]
fn errors_name_the_file_and_its_line() {
    let said = |files: &[(&str, &str)]| {
        let folder = folder(files);
        let error = read_csv(folder.path(), &schema()).unwrap_err().to_string();
        error.replace(&format!("{}/", folder.path().display()), "")
    };
    let first = ("a.csv", "sex,age\n0,1\n1,2\n");
    let found = said(&[first, ("b.csv", "sex,age\n0,1\n1,9\n")]);
    assert!(found.starts_with("b.csv, line 3, column 'age': found '9'"), "{found}");
    let found = said(&[first, ("b.csv", "age,sex\n0,1\n")]);
    assert!(found.contains("b.csv, line 1") && found.contains("as in a.csv"), "{found}");
    let found = said(&[("notes.txt", "")]);
    assert!(found.contains("a folder without tables"), "{found}");
    let found = read_csv_or_empty(Path::new("/nowhere/*.csv"), &schema()).unwrap_err().to_string();
    assert!(found.contains("a pattern that no file matches"), "{found}");
}

#[test]
fn a_file_whose_name_is_a_pattern_is_that_file() {
    let folder = folder(&[("a[1].csv", "sex,age\n0,1\n"), ("a1.csv", "sex,age\n1,1\n1,2\n")]);
    let table = read_csv(&folder.path().join("a[1].csv"), &schema()).unwrap();
    assert_eq!(table.records(), 1);
}

#[test]
fn outputs_among_the_files_of_a_table_are_known() {
    let folder = folder(&[("part-0.csv", "sex,age\n")]);
    let (place, out) = (folder.path(), folder.path().join("part-1.csv"));
    assert!(would_be_read(place, &out));
    assert!(would_be_read(&place.join("part-*.csv"), &out));
    assert!(!would_be_read(place, &place.join("ledger.json")));
    assert!(!would_be_read(&place.join("east-*.csv"), &out));
    assert!(!would_be_read(&place.join("part-0.csv"), &out));
    assert!(!would_be_read(&out, &out), "a file that is not there");
    assert!(!would_be_read(Path::new("-"), Path::new("-")), "streams");
    assert!(!would_be_read(&place.join("elsewhere").join("*.csv"), &out));
}
