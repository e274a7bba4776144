use super::*;

#[test]
fn the_delimiter_is_the_one_that_cuts_every_row_alike() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.csv");
    let of = |text: &str| {
        std::fs::write(&file, text).unwrap();
        delimiter_of(&file, &TableFormat::default())
    };
    assert_eq!(of("a,b\n1,2\n"), ',');
    assert_eq!(of("a;b;c\n1,5;2,5;x\n2,5;3;y\n"), ';');
    assert_eq!(of("a\tb\n1,2\t3\n"), '\t');
    assert_eq!(of("a|b|c\n1|2|3\n"), '|');
    // A comma in some cells only, and a quoted one.
    assert_eq!(of("a;b\n\"x, y\";1\nz;2\n"), ';');
    assert_eq!(of("one\n1\n2\n"), ',', "a single column");
    assert_eq!(of("a;b\n1;2\n3\n"), ',', "no row like the header");
}
