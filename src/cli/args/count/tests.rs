use super::count;

#[test]
fn whole_numbers_are_read_as_people_write_them() {
    let written = [
        "0",
        "130000",
        "130_000",
        "130,000",
        "1.3e5",
        "13E4",
        "1e0",
        "18446744073709551615",
        "1,234,567",
    ];
    let read = [0, 130_000, 130_000, 130_000, 130_000, 130_000, 1, u64::MAX, 1_234_567];
    for (text, number) in written.into_iter().zip(read) {
        assert_eq!(count(text), Ok(number), "{text}");
    }
    for text in [
        "",
        "x",
        "-1",
        "1.5",
        "1e-3",
        "1.23e1",
        "1,3",
        "13,00",
        "1_000,000",
        ",130",
        "1,,000",
        "1e17",
        "inf",
        "nan",
        "e5",
        "1e999",
        "99999999999999999999",
        "+1e3",
        " 1",
    ] {
        assert!(count(text).is_err(), "{text}");
    }
}
