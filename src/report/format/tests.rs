use super::*;

#[test]
fn numbers_are_short() {
    assert_eq!(short(0.014_973_4), "0.01497");
    assert_eq!(short(123_456.0), "123500");
    assert_eq!(short(1.25e-9), "1.25e-9");
    assert_eq!((short(0.0), short(-0.0)), ("0".into(), "0".into()));
    assert_eq!(grouped(1_234_567), "1,234,567");
    assert_eq!(grouped(999), "999");
    assert_eq!(bytes(1536.0), "1.5 KiB");
    assert_eq!(duration(200.0), "3 min 20 s");
    assert_eq!(percent(0.5), "50 %");
}

#[test]
fn one_of_a_thing_has_no_plural() {
    let texts = [0, 1, 2, 1200].map(|n| counted(n, "column"));
    assert_eq!(texts, ["0 columns", "1 column", "2 columns", "1,200 columns"]);
}
