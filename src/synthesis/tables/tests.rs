use super::*;

#[test]
fn public_tables_are_named_by_the_user_or_by_their_file() {
    let parse = |text: &str| text.parse::<PublicFile>().map(|file| (file.name, file.path));
    assert_eq!(parse("ohio=a/oh.csv").unwrap(), ("ohio".into(), "a/oh.csv".into()));
    assert_eq!(parse("a=b/oh.csv.gz").unwrap(), ("a".into(), "b/oh.csv.gz".into()));
    assert_eq!(parse("./a=b/oh.csv.gz").unwrap(), ("oh".into(), "./a=b/oh.csv.gz".into()));
    assert!(parse("=x.csv").is_err() && parse("x=").is_err());
}
