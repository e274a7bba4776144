//! The cover, the cells, and whole releases with brackets.

use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

use super::cells::Cells;
use super::cover::{everything, labels};
use super::{HalfPlaneRelease, HalfPlanes, Linear};
use crate::privacy::NeighboringRelation::{AddRemoveOne, AddRemoveUnit, ReplaceOne};
use crate::privacy::{Curator, NeighboringRelation, NoiseSeed, RecordsPerUnit, Rho};

fn plane(points: &[[f64; 2]]) -> HalfPlanes {
    HalfPlanes::new(["x", "y"], points).unwrap()
}

fn points(count: usize, rng: &mut ChaCha20Rng) -> Vec<[f64; 2]> {
    (0..count).map(|_| [rng.random(), rng.random()]).collect()
}

/// Labelings of points by half-planes, each line with both sides, and all and none.
fn labelings(planes: &HalfPlanes) -> usize {
    2 * planes.lines().len() + 2
}

#[test]
fn a_cover_has_all_labelings() {
    // Convex position, and one point in a triangle of others: 14 labelings of 4 points either way.
    let square = [[0.0, 0.0], [1.0, 0.1], [1.1, 1.0], [0.0, 1.2]];
    let triangle = [[0.0, 0.0], [1.0, 0.1], [0.4, 1.0], [0.45, 0.4]];
    assert_eq!([square, triangle].map(|points| labelings(&plane(&points))), [14, 14]);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    for m in [2, 3, 7, 32] {
        let planes = plane(&points(m, &mut rng));
        assert_eq!(labelings(&planes), m * (m - 1) + 2);
        // Any line divides the points as one of the cover does.
        let all = everything(m);
        let cover: Vec<u32> =
            planes.lines().iter().map(|line| labels(line, planes.points())).collect();
        for _ in 0..500 {
            let text = format!(
                "{} * x + {} * y <= {}",
                rng.random_range(-1.0..1.0),
                rng.random_range(-1.0..1.0),
                rng.random_range(-1.0..1.0)
            );
            let half =
                text.parse::<Linear>().unwrap().half_plane(&["x", "y"].map(str::to_owned)).unwrap();
            let own = labels(&half, planes.points());
            let is_known =
                own == 0 || own == all || cover.contains(&own) || cover.contains(&(all & !own));
            assert!(is_known, "{text}");
        }
    }
    // On one line, and in a grid of wildly different scales.
    let on_line: Vec<[f64; 2]> = (0..5).map(|i| [f64::from(i), 2.0 * f64::from(i)]).collect();
    assert_eq!(labelings(&plane(&on_line)), 10);
    let grid: Vec<[f64; 2]> = (0..9).map(|i| [f64::from(i % 3), 1e6 * f64::from(i / 3)]).collect();
    let even: Vec<[f64; 2]> = grid.iter().map(|[x, y]| [*x, *y / 1e6]).collect();
    assert_eq!(labelings(&plane(&grid)), labelings(&plane(&even)));
}

#[test]
fn every_record_is_in_a_listed_cell() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    for m in [2, 4, 6] {
        let planes = plane(&points(m, &mut rng));
        let cells = Cells::new(planes.lines());
        let lines = planes.lines().len();
        // One for each line and each crossing more than there are without.
        let crosses = |(i, j): &(usize, usize)| {
            let [[a, b], [p, q]] = [*i, *j].map(|line| planes.lines()[line].direction());
            (a * q - b * p).abs() > 1e-12
        };
        let pairs = (0..lines).flat_map(|i| (0..i).map(move |j| (i, j)));
        assert_eq!(cells.count, 1 + lines + pairs.filter(crosses).count(), "{m}");
        let mut listed: Vec<Vec<bool>> = (0..cells.count)
            .map(|cell| (0..lines).map(|line| cells.is_inside(line, cell)).collect())
            .collect();
        listed.sort();
        for _ in 0..3000 {
            let [x, y] = [0; 2].map(|_| rng.random_range(-0.5..1.5));
            let own: Vec<bool> = planes.lines().iter().map(|line| line.holds(x, y)).collect();
            assert!(listed.binary_search(&own).is_ok(), "{m}: {x}, {y}");
        }
    }
}

fn release(
    planes: &HalfPlanes,
    records: &[[Option<f64>; 2]],
    relation: NeighboringRelation,
    rho: f64,
    seed: u64,
) -> HalfPlaneRelease {
    let counts = planes.sides().unwrap().count(records.iter().copied()).unwrap();
    let rho = Rho::from_f64(rho).unwrap();
    let mut curator = Curator::new(&counts, relation, rho, NoiseSeed::Fixed(seed)).unwrap();
    planes.run(&mut curator).unwrap()
}

fn asked(rng: &mut ChaCha20Rng) -> Linear {
    let weights = [0; 2].map(|_| rng.random_range(-1.0..1.0_f64));
    let most = weights.iter().sum::<f64>() / 2.0 + rng.random_range(-0.5..0.5);
    Linear::new(weights.into_iter().zip(["x".to_owned(), "y".to_owned()]), most).unwrap()
}

fn truth(query: &Linear, records: &[[Option<f64>; 2]]) -> f64 {
    let half = query.half_plane(&["x", "y"].map(str::to_owned)).unwrap();
    let holds = |[x, y]: &&[Option<f64>; 2]| x.zip(*y).is_some_and(|(x, y)| half.holds(x, y));
    records.iter().filter(holds).count() as f64 / records.len() as f64
}

/// Of 120 releases with brackets for 95 %, under three relations, with public points like the records and from elsewhere.
#[test]
fn brackets_hold_wherever_public_points_come_from() {
    let relations = [ReplaceOne, AddRemoveOne, AddRemoveUnit(RecordsPerUnit::new(2).unwrap())];
    let (mut failures, mut widths, mut asked_of) = (0, 0.0, 0.0);
    for (seed, relation) in (0..120).zip(relations.into_iter().cycle()) {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let shift = if seed % 2 == 0 { 0.0 } else { 0.6 };
        let public: Vec<[f64; 2]> =
            points(6, &mut rng).iter().map(|[x, y]| [x + shift, *y]).collect();
        let mut record = |i: usize| {
            let [x, y]: [f64; 2] = [rng.random(), rng.random()];
            [Some(x), (!i.is_multiple_of(10)).then_some(y * x)]
        };
        let records: Vec<[Option<f64>; 2]> = (0..400).map(&mut record).collect();
        let release = release(&plane(&public), &records, relation, 0.5, seed);
        let mut holds = true;
        for _ in 0..15 {
            let query = asked(&mut rng);
            let answer = release.answer(&query).unwrap();
            assert!(
                0.0 <= answer.low
                    && answer.low <= answer.value
                    && answer.value <= answer.high
                    && answer.high <= 1.0
            );
            let truth = truth(&query, &records);
            holds &= (answer.low..=answer.high).contains(&truth);
            (widths, asked_of) = (widths + answer.high - answer.low, asked_of + 1.0);
        }
        failures += u32::from(!holds);
    }
    let width = widths / asked_of;
    println!(
        "{failures} of 120 releases have a bracket that fails; their width is {width:.3} on average"
    );
    assert!(failures <= 6, "{failures} of 120");
    assert!(width < 0.85, "{width}: brackets say something");
}

#[test]
fn answers_are_those_of_the_nearest_half_plane_of_the_cover() {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let records: Vec<[Option<f64>; 2]> =
        (0..4000).map(|i| [Some(rng.random()), (i % 8 > 0).then(|| rng.random())]).collect();
    let planes = plane(&points(12, &mut rng));
    let release = release(&planes, &records, ReplaceOne, 50.0, 5);
    assert!((release.missing - 0.125).abs() < 0.03, "{}", release.missing);
    for (line, share) in release.lines.iter().zip(&release.shares) {
        let [a, b] = line.direction();
        let terms = [(a, "x".to_owned()), (b, "y".to_owned())];
        let query = Linear::new(terms, line.bound()).unwrap();
        let answer = release.answer(&query).unwrap();
        assert_eq!(answer.value.to_bits(), share.to_bits());
        assert!((answer.value - truth(&query, &records)).abs() < 0.06, "{answer:?}");
    }
    let ask = |text: &str| release.answer(&text.parse().unwrap()).unwrap().value;
    assert_eq!(ask("x <= 9").to_bits(), (1.0 - release.missing).to_bits());
    assert_eq!(ask("x + y < -9").to_bits(), 0.0_f64.to_bits());
    assert!((ask("x + y <= 1") + ask("x + y > 1") - (1.0 - release.missing)).abs() < 1e-9);
    // Two entries a round, each budget spent to the last unit, and the text of a file.
    let entries = release.ledger.entries();
    assert_eq!(entries.len(), 2 * release.measured.len());
    assert!(release.ledger.remaining().is_zero());
    let text = release.to_json().unwrap();
    assert_eq!(HalfPlaneRelease::from_json(&text, "r.json").unwrap(), release);
    for (from, to) in [
        ("jointly-half-planes", "jointly-thresholds"),
        ("\"missing\": 0.", "\"missing\": 7."),
        ("\"line\": ", "\"line\": 99999"),
        ("\"points\": [", "\"points\": [[0, 0], [1, 1]], \"more\": ["),
        ("\"confidence\": 0.95", "\"confidence\": 1.0"),
    ] {
        assert!(text.contains(from), "{from}");
        assert!(
            HalfPlaneRelease::from_json(&text.replacen(from, to, 1), "r.json").is_err(),
            "{to}"
        );
    }
}

#[test]
fn wrong_parameters_cost_nothing() {
    let made = |columns: [&str; 2], points: &[[f64; 2]]| {
        HalfPlanes::new(columns, points).unwrap_err().to_string()
    };
    let two = [[0.0, 0.0], [1.0, 2.0]];
    assert!(made(["x", "x"], &two).contains("twice"));
    assert!(made(["x", "y"], &[[1.0, 2.0]; 3]).contains("at least 2"));
    assert!(made(["x", "y"], &[[1.0, f64::NAN], [0.0, 1.0]]).contains("finite"));
    assert!(!made(["x", "y"], &[[f64::MIN, 0.0], [f64::MAX, 1.0]]).is_empty());
    let planes = plane(&two);
    let counts = planes.sides().unwrap().count([[Some(0.5), Some(0.5)]]).unwrap();
    let other = plane(&[[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]]);
    let refused = |planes: &HalfPlanes, rho: Rho| {
        let mut curator = Curator::new(&counts, ReplaceOne, rho, NoiseSeed::Fixed(1)).unwrap();
        let message = planes.run(&mut curator).unwrap_err().to_string();
        assert!(curator.spent().is_zero(), "{message}");
        message
    };
    let one = Rho::from_f64(1.0).unwrap();
    assert!(refused(&other, one).contains("other attributes"));
    assert!(refused(&HalfPlanes { confidence: 1.0, ..planes.clone() }, one).contains("confidence"));
    assert!(refused(&HalfPlanes { rounds: Some(0), ..planes.clone() }, one).contains("rounds"));
    assert!(refused(&planes, Rho::from_units(1)).contains("rho"));
}
