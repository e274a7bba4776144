use super::*;

fn notation(text: &str) -> Notation {
    Notation::new(text, "column 'x'").unwrap()
}

#[test]
fn numbers_are_read_and_written_like_their_example() {
    for (example, cells) in [
        (
            "1.234,56",
            vec![("5.664,39", "5664.39"), ("0,5", "0.5"), ("-12", "-12"), ("1.000.000", "1000000")],
        ),
        ("1234,56", vec![("23963,84", "23963.84"), ("-0,25", "-0.25"), ("7", "7")]),
        ("1,234", vec![("1,234", "1234"), ("999", "999"), ("-1,000,000", "-1000000")]),
        ("$1,234.56", vec![("$5,664.39", "5664.39"), ("-$12.50", "-12.50"), ("$0", "0")]),
        (
            "1\u{202f}234,56 \u{20ac}",
            vec![("5\u{202f}664,39 \u{20ac}", "5664.39"), ("12 \u{20ac}", "12")],
        ),
        ("1234.56 %", vec![("12.5 %", "12.5"), ("-3 %", "-3")]),
        ("1'234", vec![("12'345", "12345")]),
    ] {
        let own = notation(example);
        assert_eq!(own.text(), example);
        for (cell, plain) in cells {
            let number: f64 = plain.parse().unwrap();
            assert_eq!(own.read(cell), Some(number), "{cell} as {example}");
            assert_eq!(own.written(plain), cell, "{plain} as {example}");
            assert_eq!(own.plainly(cell).unwrap().parse::<f64>(), Ok(number));
        }
    }
}

#[test]
fn other_cells_are_no_numbers_of_a_notation() {
    let refuses = |example: &str, cells: &[&str]| {
        let own = notation(example);
        for cell in cells {
            assert_eq!(own.read(cell), None, "{cell} as {example}");
        }
    };
    refuses(
        "1.234,56",
        &["56.64", "1.23,5", ",5", "5,", "1.2345", "0.123", "x", "", "1,5,2", "1e3"],
    );
    refuses("1,234", &["1,23", "12,34", "1.5", "1234,567", "--1"]);
    refuses("1234,56", &["1.5", "1 000,5", "\u{20ac}5"]);
    // Blanks of any width, and units that lack.
    assert_eq!(notation("1 234 \u{20ac}").read("5\u{a0}664\u{a0}\u{20ac}"), Some(5664.0));
    assert_eq!(notation("$1,234").read("5,664"), Some(5664.0));
}

#[test]
fn dates_and_times_are_read_and_written_like_their_example() {
    for (example, cell, plain) in [
        ("DD.MM.YYYY", "01.08.2016", "2016-08-01"),
        ("D.M.YYYY", "1.8.2016", "2016-08-01"),
        ("MM/DD/YYYY", "02/29/2024", "2024-02-29"),
        ("YYYY/MM/DD", "1999/12/31", "1999-12-31"),
        ("DD.MM.YY", "31.12.99", "1999-12-31"),
        ("DD/MM/YY", "01/02/68", "2068-02-01"),
    ] {
        let own = notation(example);
        assert_eq!((own.is_date(), own.is_time()), (true, false));
        assert_eq!(own.read(cell), days(plain).map(f64::from), "{cell}");
        assert_eq!(own.written(plain), cell);
        assert_eq!(own.plainly(cell).as_deref(), Some(plain));
    }
    let day = notation("DD.MM.YYYY");
    for cell in ["31.02.2016", "1.8.2016", "01.13.2016", "01/08/2016", "01.08.16", "01.08.2016x"] {
        assert_eq!(day.read(cell), None, "{cell}");
    }
    assert_eq!(day.read("01.08.2016 17:53"), day.read("01.08.2016"), "a time is dropped");
    let (minutes, seconds) = (notation("HH:MM"), notation("HH:MM:SS"));
    assert!(minutes.is_time() && !minutes.is_date());
    assert_eq!((minutes.read("17:53"), minutes.read("7:05")), (Some(1073.0), Some(425.0)));
    assert_eq!(
        (minutes.written("425"), seconds.written("3661")),
        ("07:05".into(), "01:01:01".into())
    );
    assert_eq!(
        (minutes.read("24:00"), minutes.read("17:60"), seconds.read("17:53")),
        (None, None, None)
    );
}

#[test]
fn other_examples_are_refused() {
    for text in [
        "",
        "1",
        "12,34",
        "abc",
        "1.234.56",
        "1,234,56",
        "YYYY-MM",
        "DD.MM.YYYY.",
        "12:34",
        "1x234",
        "5 1234",
    ] {
        let error = Notation::new(text, "column 'x'").unwrap_err().to_string();
        assert!(
            error.contains("column 'x', 'notation'") && error.contains("1.234,56"),
            "{text}: {error}"
        );
    }
}

#[test]
fn numbers_that_are_not_whole_have_a_decimal_mark() {
    let fractions = |text: &str| notation(text).with_fractions().text().to_owned();
    assert_eq!(fractions("$1,234"), "$1,234.56");
    assert_eq!(fractions("1.234 kr"), "1.234,56 kr");
    assert_eq!(fractions("1234 %"), "1234.56 %");
    for same in ["1.234,56", "DD.MM.YYYY", "HH:MM"] {
        assert_eq!(fractions(same), same);
    }
    assert_eq!(notation("$1,234").with_fractions().read("$1,234.5"), Some(1234.5));
}
