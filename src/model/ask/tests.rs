use super::*;
use crate::data::Dataset;
use crate::model::WeightedSupport;

const SCHEMA: &str = r#"{"na_token": "NA", "columns": [
    {"name": "sex", "role": "attribute", "kind": "categorical", "na": false, "codes": ["f", "m"],
     "labels": ["female", "male"]},
    {"name": "age", "role": "attribute", "kind": "numeric", "na": true, "edges": [0, 10, 11, 21], "integer": true,
     "draw": [[0, 6], [4, 2], [11, 21, 5]]}
]}"#;

/// Ten records: women of the first bin (4), the third (2) and without an age (1), men of the second (3).
fn model() -> (Model, Schema) {
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let rows = [[0, 0], [0, 2], [0, 3], [1, 1]];
    let rows = Dataset::from_rows(schema.domain(), &rows).unwrap();
    let model = WeightedSupport::new(&rows, vec![4.0, 2.0, 1.0, 3.0], 10.0).unwrap();
    (model.into(), schema)
}

fn answers(by: &[&str], questions: &[Question]) -> Vec<Answer> {
    let (model, schema) = model();
    let by: Vec<String> = by.iter().map(|name| (*name).to_owned()).collect();
    model.ask(&schema, &by, questions).unwrap()
}

fn near(found: Option<f64>, expected: f64) {
    assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?}, expected {expected}");
}

#[test]
fn means_and_quantiles_follow_the_pieces_of_bins() {
    let age = || "age".to_owned();
    let quantile = |share| Question::Quantile(age(), share);
    let found = answers(
        &[],
        &[
            Question::Mean(age()),
            quantile(0.0),
            quantile(0.3),
            quantile(0.5),
            quantile(0.9),
            quantile(1.0),
        ],
    );
    // The first bin has a mean of 1 (0 six times, 4 twice), the second is 10, the third 11, ..., 20.
    near(found[0].rows[0].answer, (4.0 + 3.0 * 10.0 + 2.0 * 15.5) / 9.0);
    assert!((found[0].rows[0].count - 9.0).abs() < 1e-12, "without the missing one");
    // Three of nine are 0, one is 4, three are 10, two are 11 to 20.
    for (answer, expected) in found[1..].iter().zip([0.0, 0.0, 10.0, 16.0, 20.0]) {
        near(answer.rows[0].answer, expected);
    }
}

#[test]
fn groups_have_their_own_answers_and_names() {
    let (_, schema) = model();
    let child = Evidence::parse("age=0..9", &schema).unwrap();
    let found = answers(
        &["sex"],
        &[
            Question::Share(child),
            Question::Mean("age".into()),
            Question::Marginal(vec!["age".into()]),
        ],
    );
    assert_eq!(found[0].rows[0].group, ["f (female)"]);
    near(found[0].rows[0].answer, 4.0 / 7.0);
    near(found[0].rows[1].answer, 0.0);
    near(found[1].rows[1].answer, 10.0);
    let values: Vec<&str> = found[2].rows.iter().take(4).map(|row| &*row.values[0]).collect();
    assert_eq!(values, ["0 to 9", "10", "11 to 20", "missing"]);
    near(found[2].rows[2].answer, 2.0 / 7.0);
    // By the attribute itself: everybody of a group has its value.
    let own = answers(&["sex"], &[Question::Marginal(vec!["sex".into()])]);
    near(own[0].rows[0].answer, 1.0);
    assert_eq!(own[0].rows.len(), 2);
}

#[test]
fn values_are_named_in_the_order_of_the_question() {
    let both = |names: [&str; 2]| {
        let found = answers(&[], &[Question::Marginal(names.map(str::to_owned).to_vec())]);
        found[0].rows[1].values.clone()
    };
    // The second cell in the domain's order: women of 10.
    assert_eq!(both(["sex", "age"]), ["f (female)", "10"]);
    assert_eq!(both(["age", "sex"]), ["10", "f (female)"]);
    let by = answers(&["age", "sex"], &[Question::Share(Evidence::default())]);
    assert_eq!(by[0].rows[1].group, ["10", "f (female)"]);
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let (model, schema) = model();
    let refuse = |question: Question, part: &str| {
        let error = model.ask(&schema, &[], &[question]).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refuse(Question::Mean("sex".into()), "a numeric column or a date");
    refuse(Question::Mean("sexx".into()), "sexx");
    refuse(Question::Quantile("age".into(), 1.5), "from 0 to 1");
    refuse(Question::Marginal(vec![]), "at least one");
}

#[test]
fn means_by_their_own_column_are_those_of_its_bins() {
    let found = answers(&["age"], &[Question::Mean("age".into())]);
    let means: Vec<Option<f64>> = found[0].rows.iter().map(|row| row.answer).collect();
    // The first bin has 0 six times and 4 twice; nobody without an age has a mean.
    assert_eq!(means, [Some(1.0), Some(10.0), Some(15.5), None]);
}

/// What a release knows that measured sex x age, with noise of deviation 2.
fn accuracy() -> Accuracy {
    let values = vec![500.0, 0.0, 250.0, 125.0, 0.0, 375.0, 0.0, 0.0];
    let measured = crate::measurement::Measurement::new(Clique::new([0, 1]), values, 2.0);
    Accuracy::of(&[measured])
}

#[test]
fn answers_say_what_they_rest_on() {
    let (model, schema) = model();
    let ask = |accuracy: &Accuracy, given: &str, question: Question| {
        let given = Evidence::parse(given, &schema).unwrap();
        let asked = model.given(&given).unwrap();
        let narrowed = given.narrowed(&schema).unwrap();
        let found = asked.ask_with(&narrowed, &[], &[question], Some(accuracy), Some(&given));
        found.unwrap().remove(0).rows.remove(0)
    };
    let mean = || Question::Mean("age".into());
    let row = ask(&accuracy(), "sex=f", mean());
    assert_eq!(row.basis, Some(Basis::Measured));
    // 500 records with a mean of 1 and 250 of 15.5; the derivative of the mean by a count is its distance over 750.
    let expected: f64 = (500.0 + 250.0 * 15.5) / 750.0;
    let distances = [1.0 - expected, 10.0 - expected, 15.5 - expected].map(|x| x * x);
    let half = 1.959_963_984_540_054 * 2.0 * distances.iter().sum::<f64>().sqrt() / 750.0;
    let found = row.answer_interval.unwrap();
    near(Some(found.lower), expected - half);
    near(Some(found.upper), row.answer.unwrap().max(expected + half));
    // Women of 11 to 14 are two fifths of a bin: at least none and at most all of its records agree.
    let share = Question::Share(Evidence::parse("age=11..14", &schema).unwrap());
    let row = ask(&accuracy(), "sex=f", share);
    let found = row.interval.unwrap();
    near(Some(found.estimate), 100.0);
    near(Some(found.lower), 0.0);
    near(Some(found.upper), 250.0 + 1.959_963_984_540_054 * 2.0);
    // The median is 4 or less in 500 of 750 records.
    let row = ask(&accuracy(), "sex=f", Question::Quantile("age".into(), 0.5));
    let found = row.answer_interval.unwrap();
    near(Some(found.lower), 0.0);
    near(Some(found.upper), 9.0);
    // One attribute alone was measured.
    let measured = crate::measurement::Measurement::new(Clique::new([1]), vec![9.0; 4], 2.0);
    let known = Accuracy::of(&[measured]);
    let row = ask(&known, "sex=f", mean());
    assert_eq!((row.basis, row.answer_interval), (Some(Basis::Model), None));
    assert!(ask(&known, "", mean()).answer_interval.is_some());
}

#[test]
fn a_grade_is_that_of_the_noise_beside_the_number() {
    let grades = [4.9, 5.1, 14.0, 24.0, 30.0, 36.0].map(|stddev| Grade::of(100.0, stddev).letter());
    assert_eq!(grades, ["A", "B", "C", "D", "E", "F"]);
    assert_eq!((Grade::of(0.0, 1.0), Grade::of(-9.0, 1.0)), (Grade::F, Grade::F));
    let (model, schema) = model();
    let ask = |by: &[String]| {
        let questions = [Question::Marginal(vec!["age".into()]), Question::Mean("age".into())];
        model.ask_together(&schema, by, &questions, &accuracy(), None).unwrap()
    };
    let found = ask(&["sex".into()]);
    // 500 women below 10 of 875, with noise of 2.
    assert_eq!(found[0].rows[0].grade, Some(Grade::A));
    assert_eq!(found[0].rows[1].grade, Some(Grade::F), "nobody");
    // Means of 875 and 125 records or so, within a year: noise of 2 moves neither by 5 %.
    let mean = &found[1].rows[0];
    let stddev = mean.answer_interval.unwrap().stddev.unwrap();
    assert_eq!(mean.grade, Some(Grade::of(mean.answer.unwrap(), stddev)));
    assert_eq!(mean.grade, Some(Grade::A));
    // Eight counts with their shares, and two means: 18 intervals.
    let half = crate::normal::deviations(0.05 / 18.0, false) * 2.0;
    let interval = found[0].rows[0].interval.unwrap();
    near(Some(interval.upper), 500.0 + half);
    near(interval.stddev, 2.0);
    let (share, expected) = (found[0].rows[0].answer_interval.unwrap(), 500.0 / 875.0_f64);
    let variance = (1.0 - expected).powi(2) + 3.0 * expected.powi(2);
    near(share.stddev, 2.0 * variance.sqrt() / 875.0);
}

#[test]
fn means_and_quantiles_have_a_grade_where_they_are_amounts() {
    let (model, _) = model();
    let grades = |edges: &str| {
        let schema = SCHEMA.replace("[0, 10, 11, 21]", edges);
        let schema =
            Schema::from_json(&schema.replace("[[0, 6], [4, 2], [11, 21, 5]]", "[]"), "schema")
                .unwrap();
        let questions = [Question::Mean("age".into()), Question::Quantile("age".into(), 0.9)];
        let found = model.ask_with(&schema, &[], &questions, Some(&accuracy()), None).unwrap();
        [0, 1].map(|at| (found[at].rows[0].clone(), found[at].rows[0].grade))
    };
    let [(_, of_mean), (quantile, of_quantile)] = grades("[0, 10, 11, 21]");
    assert_eq!(of_mean, Some(Grade::A));
    // Its interval is the whole of the last bin, 11 to 20: 4.5 over 1.96 is 14 % of 16.
    let ends = quantile.answer_interval.unwrap();
    near(Some(ends.lower), 11.0);
    near(Some(ends.upper), 20.0);
    assert_eq!(of_quantile, Some(Grade::C));
    assert_eq!(grades("[-5, 10, 11, 21]").map(|(_, grade)| grade), [None, None], "may be negative");
}

#[test]
fn what_the_schema_forbids_has_no_records_whatever_the_noise_says() {
    let (model, _) = model();
    let rule = r#", "forbidden": [{"sex": "m", "age": "NA"}] }"#;
    let text = format!("{}{rule}", SCHEMA.trim_end_matches('}'));
    let schema = Schema::from_json(&text, "schema").unwrap();
    let domain = schema.domain();
    let rows = Dataset::from_rows(domain.clone(), &[[0, 0], [0, 2], [0, 3], [1, 1]]).unwrap();
    let known = WeightedSupport::new(&rows, vec![4.0, 2.0, 1.0, 3.0], 10.0).unwrap();
    let asked = |model: &Model| {
        let question = [Question::Marginal(vec!["sex".into(), "age".into()])];
        model.ask_with(&schema, &[], &question, Some(&accuracy()), None).unwrap().remove(0).rows
    };
    let forbidden = &asked(&known.into())[7];
    assert_eq!((forbidden.count.to_bits(), forbidden.basis), (0.0_f64.to_bits(), None));
    assert!(forbidden.interval.is_none() && forbidden.model.is_none());
    // A model over a domain without that rule.
    assert_eq!(asked(&model)[7].basis, Some(Basis::Measured));
}

#[test]
fn answers_about_records_that_are_never_drawn_say_so() {
    let (model, _) = model();
    let rules = r#", "unlikely": [{"values": {"sex": "f", "age": {"below": 11}}}, {"values": {"sex": "m", "age": "NA"}}] }"#;
    let schema =
        Schema::from_json(&format!("{}{rules}", SCHEMA.trim_end_matches('}')), "schema").unwrap();
    let left_out = |by: &[&str], question: Question, given: Option<&str>| -> Vec<bool> {
        let by: Vec<String> = by.iter().map(|name| (*name).to_owned()).collect();
        let given = given.map(|given| Evidence::parse(given, &schema).unwrap());
        let model = given.as_ref().map_or_else(|| model.clone(), |g| model.given(g).unwrap());
        let found = model.ask_with(&schema, &by, &[question], None, given.as_ref()).unwrap();
        found[0].rows.iter().map(|row| row.is_left_out).collect()
    };
    let share = |text: &str| Question::Share(Evidence::parse(text, &schema).unwrap());
    let marginal =
        |names: &[&str]| Question::Marginal(names.iter().map(|n| (*n).to_owned()).collect());
    // Women: below 10, 10, from 11, unknown; men alike.
    let cells = [true, true, false, false, false, false, false, true];
    assert_eq!(left_out(&[], marginal(&["sex", "age"]), None), cells);
    assert_eq!(left_out(&["sex"], marginal(&["age"]), None), cells);
    assert_eq!(left_out(&[], marginal(&["age"]), Some("sex=f")), cells[..4]);
    assert_eq!(left_out(&["sex"], share("age=0..9"), None), [true, false]);
    // Some of these are drawn.
    assert_eq!(left_out(&["sex"], share("age=0..15"), None), [false, false]);
    assert_eq!(left_out(&[], share("age=0..9"), None), [false]);
    assert_eq!(left_out(&["age"], share("sex=f"), None), cells[..4]);
    assert_eq!(left_out(&[], share("age=NA"), Some("sex=m")), [true]);
    assert_eq!(left_out(&[], Question::Mean("age".into()), Some("sex=m")), [false]);
}
