use super::super::{Comparison, Row, groups, render};
use super::Ratios;

fn row(data: &str, mechanism: &str, epsilon: Option<f64>, seed: u64, error: f64) -> Row {
    Row {
        data: data.into(),
        mechanism: mechanism.into(),
        epsilon,
        seed: Some(seed),
        workload_error: error,
        ..Row::default()
    }
}

fn comparison() -> Comparison<'static> {
    Comparison {
        title: None,
        delta: 1e-9,
        epsilons: &[0.1, 1.0],
        data: vec!["one", "two"],
        mechanisms: vec!["far", "near", "public-only"],
    }
}

#[test]
fn a_ratio_is_the_mean_error_over_the_least_at_the_same_place() {
    let rows = [
        row("one", "far", Some(0.1), 0, 0.3),
        row("one", "far", Some(0.1), 1, 0.5),
        row("one", "near", Some(0.1), 0, 0.2),
        row("one", "far", Some(1.0), 0, 0.2),
        row("one", "near", Some(1.0), 0, 0.11),
        // It spends nothing, and counts at every epsilon: it is the best at 1.
        row("one", "public-only", None, 0, 0.1),
        row("one", "true one-way marginals", None, 0, 0.01),
        // Alone on its table: no ratio.
        row("two", "near", Some(1.0), 0, 0.7),
    ];
    let comparison = comparison();
    let sets: Vec<_> =
        ["one", "two"].map(|name| (name, groups(&comparison, name, &rows))).into_iter().collect();
    let found = Ratios::new(&comparison, &sets).unwrap();
    let shown: Vec<_> =
        found.charts.iter().map(|c| (c.mechanism.as_str(), c.mean.as_str())).collect();
    // public-only: 1 and 1. near: 2 and 1.1. far: 4 and 2.
    assert_eq!(shown, [("public-only", "0 %"), ("near", "48.3 %"), ("far", "182.8 %")]);
    assert_eq!(found.charts[2].lines.len(), 1);
    assert_eq!(found.charts[2].lines[0].marks.len(), 2);
    assert!(found.charts[2].alt.contains("at most 300 % (on one, epsilon 0.1)"));
    let page = render(&comparison, &rows).unwrap();
    assert!(page.contains("Distance to the best mechanism") && page.contains("+182.8 %"));
}

#[test]
fn one_mechanism_has_no_ratios() {
    let rows = [row("one", "near", Some(1.0), 0, 0.2)];
    let comparison = comparison();
    let sets = [("one", groups(&comparison, "one", &rows))];
    assert!(Ratios::new(&comparison, &sets).is_none());
    assert!(!render(&comparison, &rows).unwrap().contains("Distance to the best"));
}
