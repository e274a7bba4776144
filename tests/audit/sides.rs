//! Private records on the sides of lines between public points: each is on one side of each line, by its own numbers alone, and
//! only records that count are counted.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;

use jointly::data::{Units, count_private_sides};
use jointly::domain::Clique;
use jointly::pap::HalfPlanes;
use jointly::privacy::{Curator, NeighboringRelation, NoiseSeed, PrivacyUnit, Rho};
use tempfile::TempDir;

use NeighboringRelation::{AddRemoveOne, ReplaceOne};

const POINTS: [[f64; 2]; 4] = [[0.0, 0.0], [4.0, 1.0], [1.0, 3.0], [3.0, 4.0]];

/// Numbers of records on the sides of all lines of a file, with noise of hardly a tenth of a record.
fn counted(text: &str, unit: &PrivacyUnit) -> Vec<[i64; 3]> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("private.csv");
    std::fs::write(&path, text).unwrap();
    let planes = HalfPlanes::new(["x", "y"], &POINTS).unwrap();
    let table = count_private_sides(&path, &planes.sides().unwrap(), unit).unwrap();
    let budget = jointly::Budget::approximate(400.0, 1e-6).unwrap();
    let mut curator = table.curator(Some(budget), NoiseSeed::System, None).unwrap();
    let part = curator.remaining().split(1, 3 * planes.lines().len() as u64).unwrap().0;
    let mut cell = |line: usize, side: usize| {
        curator.measure_cell(&Clique::new([line]), side, part).unwrap().value
    };
    (0..planes.lines().len()).map(|line| [0, 1, 2].map(|side| cell(line, side))).collect()
}

/// Rows x, y of a file, some without a number.
fn rows() -> Vec<String> {
    let row = |i: u32| match i % 9 {
        0 => format!("{},NA", f64::from(i) / 7.0),
        _ => format!("{},{}", f64::from(i * i % 41) / 8.0, f64::from(i * 7 % 37) / 8.0),
    };
    (0..90).map(row).collect()
}

#[test]
fn every_record_is_on_the_sides_of_its_own_numbers() {
    let planes = HalfPlanes::new(["x", "y"], &POINTS).unwrap();
    let text = |rows: &[String]| format!("x,y\n{}\n", rows.join("\n"));
    let mut rows = rows();
    let exact: Vec<[i64; 3]> = planes
        .lines()
        .iter()
        .map(|line| {
            let mut sides = [0; 3];
            for row in &rows {
                let (x, y) = row.split_once(',').unwrap();
                let point = x.parse().ok().zip(y.parse().ok());
                sides[point.map_or(2, |(x, y)| usize::from(!line.holds(x, y)))] += 1;
            }
            sides
        })
        .collect();
    let near = |found: Vec<[i64; 3]>| {
        for (found, exact) in found.iter().zip(&exact) {
            let off = found.iter().zip(exact).map(|(a, b)| (a - b).abs()).max();
            assert!(off.unwrap() <= 3, "{found:?}, not {exact:?}");
        }
    };
    for relation in [ReplaceOne, AddRemoveOne] {
        near(counted(&text(&rows), &PrivacyUnit::of_record(relation)));
    }
    rows.sort_by_key(String::len);
    near(counted(&text(&rows), &PrivacyUnit::default()));
}

/// Of each home, two records count: the others are far away.
#[test]
fn only_records_that_count_are_on_a_side() {
    let mut text = String::from("home,x,y\n");
    for home in 0..40 {
        for (place, x) in [1.0, 2.0, 90.0, 90.0, 90.0, 90.0].iter().enumerate() {
            writeln!(text, "h{home},{x},{}", place as f64 / 2.0).unwrap();
        }
    }
    let unit = PrivacyUnit::of_units(Units::new("home", 2).unwrap()).unwrap();
    for sides in counted(&text, &unit) {
        let sum: i64 = sides.iter().sum();
        assert!((sum - 80).abs() <= 6, "{sides:?}");
    }
}

/// The same seed gives the same release, whatever the order of the rows.
#[test]
fn the_order_of_the_rows_does_not_show() {
    let planes = HalfPlanes::new(["x", "y"], &POINTS).unwrap();
    let points: Vec<[Option<f64>; 2]> = (0..50)
        .map(|i| [Some(f64::from(i * i % 41) / 8.0), (i % 7 > 0).then(|| f64::from(i % 11) / 2.0)])
        .collect();
    let run = |points: &[[Option<f64>; 2]]| {
        let counts = planes.sides().unwrap().count(points.iter().copied()).unwrap();
        let limit = Rho::from_f64(0.5).unwrap();
        let mut curator = Curator::new(&counts, AddRemoveOne, limit, NoiseSeed::Fixed(4)).unwrap();
        planes.run(&mut curator).unwrap()
    };
    let mut backwards = points.clone();
    backwards.reverse();
    assert_eq!(run(&points), run(&backwards));
}
