//! The demonstration of half-planes in `docs/results/pap.md`, the class of the paper's figure. `--nocapture` shows its table.

use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};
use rand_distr::{Distribution, StandardNormal};

use super::over_seeds;
use crate::data::HalfPlane;
use crate::pap::half_planes::cells::Cells;
use crate::pap::{HalfPlanes, Linear};
use crate::privacy::NeighboringRelation::ReplaceOne;
use crate::privacy::{Budget, NoiseSeed};

const RECORDS: usize = 10_000;
/// Half-planes that are asked for.
const ASKED: usize = 2000;
/// Those of them whose brackets are looked at.
const BRACKETS: usize = 40;

/// Correlated normal numbers around a place.
fn points(place: f64, count: usize, rng: &mut ChaCha20Rng) -> Vec<[f64; 2]> {
    let mut draw = || {
        let [a, b]: [f64; 2] = [0; 2].map(|_| StandardNormal.sample(rng));
        [place + a, place + 0.6 * a + 0.8 * b]
    };
    (0..count).map(|_| draw()).collect()
}

/// Half-planes whose lines go through two records of the private distribution.
fn asked(rng: &mut ChaCha20Rng) -> Vec<(Linear, HalfPlane)> {
    let names = ["x", "y"].map(str::to_owned);
    let mut one = || {
        let ends = points(0.0, 2, rng);
        let sign = if rng.random() { 1.0 } else { -1.0 };
        let [a, b] = [sign * (ends[0][1] - ends[1][1]), sign * (ends[1][0] - ends[0][0])];
        let most = a * ends[0][0] + b * ends[0][1];
        let query = Linear::new([a, b].into_iter().zip(names.clone()), most).unwrap();
        let half = query.half_plane(&names).unwrap();
        (query, half)
    };
    (0..ASKED).map(|_| one()).collect()
}

fn share(half: &HalfPlane, points: &[[f64; 2]]) -> f64 {
    points.iter().filter(|[x, y]| half.holds(*x, *y)).count() as f64 / points.len() as f64
}

/// One row of the table: mean and largest error of the release, and of the public points alone; the width of brackets; and how
/// many of the releases have one that fails.
fn row(m: usize, place: f64) -> ([(f64, f64); 5], usize) {
    let budget = Budget::approximate(1.0, (RECORDS as f64).powi(-2)).unwrap();
    let (mut found, mut failures) = ([[0.0; 5]; 5], 0);
    for (seed, at) in (0..).zip(0..5) {
        let mut rng = ChaCha20Rng::seed_from_u64(200 + seed);
        let private = points(0.0, RECORDS, &mut rng);
        let public = points(place, m, &mut rng);
        let planes = HalfPlanes::new(["x", "y"], &public).unwrap();
        let records = private.iter().map(|point| point.map(Some));
        let counts = planes.sides().unwrap().count(records).unwrap();
        let mut curator = budget.curator(&counts, ReplaceOne, NoiseSeed::Fixed(seed)).unwrap();
        let release = planes.run(&mut curator).unwrap();
        let mut has_failed = false;
        for (place, (query, half)) in asked(&mut rng).into_iter().enumerate() {
            let truth = share(&half, &private);
            let error = (release.nearest(&half) - truth).abs();
            let alone = (share(&half, &public) - truth).abs();
            found[0][at] += error / ASKED as f64;
            found[1][at] = found[1][at].max(error);
            found[2][at] += alone / ASKED as f64;
            found[3][at] = found[3][at].max(alone);
            if place < BRACKETS {
                let answer = release.answer(&query).unwrap();
                found[4][at] += (answer.high - answer.low) / BRACKETS as f64;
                has_failed |= !(answer.low..=answer.high).contains(&truth);
            }
        }
        failures += usize::from(has_failed);
    }
    (found.map(over_seeds), failures)
}

#[test]
#[ignore = "shows the table of docs/results/pap.md; a minute"]
fn half_planes_through_public_points() {
    let mut means = Vec::new();
    for (m, place, name) in [
        (8, 0.0, "same"),
        (8, 1.0, "other"),
        (16, 0.0, "same"),
        (16, 1.0, "other"),
        (32, 0.0, "same"),
        (32, 1.0, "other"),
    ] {
        let mut rng = ChaCha20Rng::seed_from_u64(200);
        let planes = HalfPlanes::new(["x", "y"], &points(place, m, &mut rng)).unwrap();
        let (lines, cells) = (planes.lines().len(), Cells::new(planes.lines()).count);
        let (found, failures) = row(m, place);
        let text = found.map(|(mean, spread)| format!("{mean:.3} ± {spread:.3}")).join(" | ");
        println!("| {m} | {name} | {lines} | {cells} | {text} | {failures} of 5 |");
        means.push(found[0].0);
        assert!(found[0].0 < found[2].0, "{m}, {name}: no better than the public points alone");
    }
    assert!(means[4] < means[0], "more public points help: {means:?}");
}
