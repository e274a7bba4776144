use super::*;
use crate::domain::Schema;

fn column(edges: &str) -> SchemaColumn {
    let text = format!(
        r#"{{"columns": [{{"name": "pay", "kind": "numeric", "edges": {edges}, "integer": true}}]}}"#
    );
    Schema::from_json(&text, "s").unwrap().column("pay").unwrap().clone()
}

#[test]
fn a_heap_is_a_jump_and_a_wide_bin_a_slope() {
    let column = column("[0, 1, 100, 101, 400]");
    // Nothing is left out: the tails are below the first and above the last half percent.
    let found = Cumulative::of(&column, &[50.0, 0.0, 25.0, 25.0], &[]).unwrap();
    let Some(Kind::Numeric(bins)) = &column.kind else { panic!() };
    let curve = Curve::of(bins, &[50.0, 0.0, 25.0, 25.0]).unwrap();
    for (value, share) in [(0.0, 0.0), (1.0, 0.5), (100.0, 0.5), (101.0, 0.75), (400.0, 1.0)] {
        assert!((curve.share_below(value) - share).abs() < 1e-12, "{value}");
    }
    for (share, value) in [(0.25, 0.5), (0.5, 1.0), (0.625, 100.5), (0.75, 101.0)] {
        assert!((curve.value_below(share) - value).abs() < 1e-12, "{share}");
    }
    assert_eq!(found.ends, ["0", "394"]);
    // From the first half percent at the left to the last at the right; the heap of 100 rises within a quarter of a percent
    // of the width.
    let heights: Vec<&str> = found.model.trim_start_matches('M').split('L').collect();
    assert_eq!(heights.first(), Some(&"0 39.8"));
    assert_eq!(heights.last(), Some(&"150 0.2"));
    assert!(
        heights.iter().any(|corner| corner.ends_with(" 20"))
            && heights.iter().any(|corner| corner.ends_with(" 10"))
    );
}

#[test]
fn a_long_tail_does_not_take_the_axis() {
    let column = column("[0, 10, 20, 30, 40, 10000000]");
    let found = Cumulative::of(
        &column,
        &[500.0, 300.0, 150.0, 49.0, 1.0],
        &[(1, vec![0.0, 0.0, 1.0, 1.0, 0.0])],
    )
    .unwrap();
    assert_eq!(found.ends, ["0", "39"]);
    // The public table begins at the bottom; a share of 0.041 lies above the last value.
    let path = &found.lines[0].path;
    assert!(path.starts_with("M0 40L") && path.ends_with("L150 1.63"), "{path}");
    assert!(found.alt.contains("the share of pay below each value, 0 to 39"), "{}", found.alt);
}

#[test]
fn what_is_no_number_or_has_no_records_has_no_curve() {
    let column = column("[0, 1, 2, 3, 4]");
    assert!(Cumulative::of(&column, &[0.0; 4], &[]).is_none());
    assert!(Cumulative::of(&column, &[1.0; 3], &[]).is_none());
    let coded = SchemaColumn::attribute("a", Kind::Coded { size: 9 });
    assert!(Cumulative::of(&coded, &[1.0; 9], &[]).is_none());
}
