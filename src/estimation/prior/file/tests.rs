use super::*;

fn domain() -> Domain {
    Domain::new([("age", 3), ("sex", 2), ("x", 2)]).unwrap()
}

fn read(lines: &str) -> Result<Vec<Answers>> {
    let text = format!("attributes,codes,count,stddev\n{lines}");
    Answers::from_csv(&text, "noisy.csv", &domain(), 10.0)
}

#[test]
fn whole_marginals_and_some_cells_are_told_apart() {
    let found =
        read("\"age x sex\",0 1,5,2\nsex,1,4,2\n\"sex x age\",0 2,-1,2\nsex,0,6.5,2\n").unwrap();
    let pair = Answers::of_cells(Clique::new([0, 1]), vec![1, 4], vec![0.5, -0.1]);
    assert_eq!(found, [pair, Answers::new(Clique::new([1]), vec![0.65, 0.4])]);
    // Other columns and their order do not matter, nor does a byte-order mark.
    let text = "\u{feff}count,stddev,codes,note,attributes\n 3 ,1, 0 ,n, x \n";
    let found = Answers::from_csv(text, "noisy.csv", &domain(), 10.0).unwrap();
    assert_eq!(found, [Answers::of_cells(Clique::new([2]), vec![0], vec![0.3])]);
}

#[test]
fn wrong_lines_are_refused_with_file_line_and_column() {
    for (lines, part) in [
        ("", "noisy.csv, line 1: found a header without lines"),
        ("sex,0,1,2\nsix,0,1,2\n", "unknown attribute 'six' in noisy.csv, line 3"),
        (
            "sex x sex,0 1,1,2\n",
            "line 2, column 'attributes': found 'sex x sex', expected different",
        ),
        ("age x sex,0,1,2\n", "line 2, column 'codes': found '0', expected 2 codes, one per"),
        ("age,3,1,2\n", "line 2, column 'codes': found '3', expected a code of 'age' from 0 to 2"),
        ("age,-1,1,2\n", "expected a code of 'age' from 0 to 2"),
        ("age,1,many,2\n", "line 2, column 'count': found 'many', expected a finite number"),
        ("age,1,inf,2\n", "line 2, column 'count': found 'inf', expected a finite number"),
        ("age,1,1,2\nage,1,2,2\n", "line 3, column 'codes': found '1', expected each cell"),
        ("age,1\n", "noisy.csv, line 2"),
    ] {
        let message = read(lines).unwrap_err().to_string();
        assert!(message.contains(part), "{lines}: {message}");
    }
    let long = read(&format!("age,{},1,2\n", "7".repeat(1000))).unwrap_err().to_string();
    assert!(long.contains("777...'") && long.len() < 200, "{long}");
    let header = Answers::from_csv("attributes,count\n", "noisy.csv", &domain(), 10.0);
    assert!(header.unwrap_err().to_string().contains("line 1: found a header without 'codes'"));
    for records in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = Answers::from_csv("attributes,codes,count\n", "n", &domain(), records);
        assert!(refused.unwrap_err().to_string().starts_with("records is"));
    }
    assert!(Answers::read(Path::new("none.csv"), &domain(), 1.0).is_err());
}

#[test]
fn a_marginal_of_too_many_cells_is_refused_before_its_index_overflows() {
    let domain = Domain::new([("a", 70_000), ("b", 70_000)]).unwrap();
    let text = "attributes,codes,count\na x b,69999 69999,1\n";
    let message = Answers::from_csv(text, "noisy.csv", &domain, 1.0).unwrap_err().to_string();
    assert!(message.contains("noisy.csv, line 2"), "{message}");
}
