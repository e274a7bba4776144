//! The cover: one half-plane for every way in which half-planes divide some public points.

use std::collections::HashSet;

use crate::data::HalfPlane;
use crate::error::Result;

/// How a half-plane labels at most 32 points: bit i is set if it holds the i-th.
pub(super) fn labels(half: &HalfPlane, points: &[[f64; 2]]) -> u32 {
    let bit = |(place, [x, y]): (usize, &[f64; 2])| u32::from(half.holds(*x, *y)) << place;
    points.iter().enumerate().map(bit).fold(0, |all, bit| all | bit)
}

/// The labels of all points.
pub(super) fn everything(points: usize) -> u32 {
    (0..points).fold(0, |all, place| all | 1 << place)
}

/// One half-plane for each division of distinct points into two parts by a line, m (m − 1)/2 of them in general position.
/// Its line has both: the half-plane, and its outside. The division into all points and none has no line.
///
/// A line that divides points can be moved until it goes through two of them. So the lines through two points, tilted in four
/// ways, divide them in every possible way: the two are on one side or the other, or one is on each. They are tilted and moved
/// by half of what would reach the nearest other point.
///
/// # Errors
/// Points whose lines have no finite numbers.
pub(super) fn cover(points: &[[f64; 2]]) -> Result<Vec<HalfPlane>> {
    let (origin, scale) = frame(points);
    let inside: Vec<[f64; 2]> =
        points.iter().map(|p| [0, 1].map(|i| (p[i] - origin[i]) / scale[i])).collect();
    let all = everything(points.len());
    let mut seen = HashSet::from([0]);
    let mut found = Vec::new();
    for (i, p) in inside.iter().enumerate() {
        for q in &inside[i + 1..] {
            for (direction, pivot) in tilted(*p, *q, &inside) {
                let half = through(direction, pivot, origin, scale)?;
                let own = labels(&half, points);
                if seen.insert(own.min(all & !own)) {
                    found.push(half);
                }
            }
        }
    }
    Ok(found)
}

/// The half-plane of the points themselves, from that of the points moved to an origin and scaled. Its direction is rounded to 24
/// bits, so that lines of one direction have it exactly, and products of two are exact.
#[expect(clippy::cast_possible_truncation, reason = "rounded")]
fn through(
    direction: [f64; 2],
    pivot: [f64; 2],
    origin: [f64; 2],
    scale: [f64; 2],
) -> Result<HalfPlane> {
    let raw = [0, 1].map(|i| direction[i] / scale[i]);
    let largest = raw[0].abs().max(raw[1].abs());
    let [a, b] = raw.map(|number| f64::from((number / largest) as f32));
    let [x, y] = [0, 1].map(|i| origin[i] + scale[i] * pivot[i]);
    HalfPlane::new(a, b, a * x + b * y)
}

/// The least numbers of points, and how far they go from there; 1 where all are equal.
fn frame(points: &[[f64; 2]]) -> ([f64; 2], [f64; 2]) {
    let ends = [0, 1].map(|i| {
        let numbers = points.iter().map(|point| point[i]);
        numbers.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)])
    });
    (ends.map(|[low, _]| low), ends.map(|[low, high]| if high > low { high - low } else { 1.0 }))
}

/// Distances from a line below this part of the points' own are those of points on it.
const ON_LINE: f64 = 1e-10;

/// The line through p and q in four ways, each with its direction and a point on it: p and q on one side, on the other, and one
/// on each. All other points stay on their sides.
fn tilted(p: [f64; 2], q: [f64; 2], points: &[[f64; 2]]) -> [([f64; 2], [f64; 2]); 4] {
    let dot = |u: [f64; 2], v: [f64; 2]| u[0] * v[0] + u[1] * v[1];
    let along = [q[0] - p[0], q[1] - p[1]];
    let across = [-along[1], along[0]];
    let middle = [f64::midpoint(p[0], q[0]), f64::midpoint(p[1], q[1])];
    // How far the line can move, and turn around the middle, until it reaches another point.
    let square = dot(along, along);
    let (mut shift, mut turn) = (1.0_f64, 1.0_f64);
    for point in points {
        let from = [point[0] - middle[0], point[1] - middle[1]];
        let distance = dot(across, from).abs();
        if distance > ON_LINE * (square * dot(from, from)).sqrt() {
            shift = shift.min(distance / square);
            turn = turn.min(distance / dot(along, from).abs());
        }
    }
    let moved = |part: f64| [middle[0] + part * across[0], middle[1] + part * across[1]];
    let turned = |part: f64| [across[0] + part * along[0], across[1] + part * along[1]];
    [
        (across, moved(shift / 2.0)),
        (across, moved(-shift / 2.0)),
        (turned(turn / 2.0), middle),
        (turned(-turn / 2.0), middle),
    ]
}
