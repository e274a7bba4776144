//! The least and the largest share of records in a half-plane that the measured sides allow.

use super::release::{MeasuredSide, Side};
use crate::data::HalfPlane;
use crate::program::{Comparison, Constraint, LinearProgram};

/// The measured lines that are used, the first ones, which had the largest errors: they cut the plane into 529 parts.
const MOST: usize = 32;

/// Bounds on the share of records in a half-plane, whatever the records are, if all measured shares are in their brackets.
///
/// The measured lines and that of the half-plane cut the plane into parts. The shares of records in the parts, and of those
/// that lack a number, are not negative and sum to 1. So their least and largest sum over the half-plane is a linear program.
pub(super) fn bracket(
    half: &HalfPlane,
    lines: &[HalfPlane],
    measured: &[MeasuredSide],
) -> [f64; 2] {
    let (mut used, mut cut_by) = (Vec::new(), vec![*half]);
    let mut found = parts(&cut_by);
    for line in measured.iter().map(|measured| measured.side.line) {
        if used.len() == MOST || used.contains(&line) {
            continue;
        }
        let smaller = cut(&found, &cut_by, &lines[line]);
        if smaller.len() <= MOST_PARTS {
            found = smaller;
            used.push(line);
            cut_by.push(lines[line]);
        }
    }
    let mut constraints = Vec::new();
    for MeasuredSide { side, share } in measured {
        let Some(place) = used.iter().position(|line| *line == side.line) else { continue };
        let there = || {
            let is_there = |part: &Vec<bool>| part[place + 1] == (side.side == Side::Inside);
            (0..).zip(&found).filter(move |(_, part)| is_there(part)).map(|(at, _)| at)
        };
        constraints.push((there().collect::<Vec<usize>>(), 1.0, share.high));
        constraints.push((there().collect(), -1.0, -share.low));
    }
    let inside = |part: &Vec<bool>| f64::from(part[0]);
    // The last variable is the share of records that lack a number.
    let gains: Vec<f64> = found.iter().map(inside).chain([0.0]).collect();
    let losses: Vec<f64> = gains.iter().map(|gain| -gain).collect();
    [least(&gains, &constraints).clamp(0.0, 1.0), (-least(&losses, &constraints)).clamp(0.0, 1.0)]
}

/// A constraint: the sum of some variables, times a sign, is at most a number.
type AtMost = (Vec<usize>, f64, f64);

/// A lower bound on `c · x` over `x ≥ 0` with `Σ x = 1` and some constraints `A x ≤ b`.
///
/// For every `y ≥ 0`, `c · x ≥ c · x + y · (A x − b) ≥ min_j (c + Aᵀ y)_j − y · b`. So the bound holds for whatever the solver
/// calls the dual, and is the optimum where that is.
fn least(costs: &[f64], constraints: &[AtMost]) -> f64 {
    let terms = |(members, sign, _): &AtMost| members.iter().map(|at| (*at, *sign)).collect();
    let at_most = constraints.iter().map(|constraint| Constraint {
        terms: terms(constraint),
        comparison: Comparison::AtMost,
        bound: constraint.2,
    });
    let all = Constraint {
        terms: (0..costs.len()).map(|at| (at, 1.0)).collect(),
        comparison: Comparison::Equal,
        bound: 1.0,
    };
    let program =
        LinearProgram { objective: costs.to_vec(), constraints: at_most.chain([all]).collect() };
    let duals = program.solve().map_or_else(|_| Vec::new(), |solution| solution.duals);
    let mut reduced = costs.to_vec();
    let mut paid = 0.0;
    for ((members, sign, bound), dual) in constraints.iter().zip(duals) {
        let dual = if dual.is_finite() { dual.max(0.0) } else { 0.0 };
        members.iter().for_each(|at| reduced[*at] += dual * sign);
        paid += dual * bound;
    }
    let found = reduced.iter().copied().fold(f64::INFINITY, f64::min) - paid;
    let trivial = costs.iter().copied().fold(f64::INFINITY, f64::min);
    // Sums of a few hundred numbers of at most about 1.
    (found - 1e-9).max(trivial)
}

/// Most parts: where rounding leaves more of them open, lines are left out.
const MOST_PARTS: usize = 1024;

/// All parts that lines cut the plane into, each with the half-planes that it is in; a few more where rounding leaves it open
/// whether there is such a part, and never one less.
///
/// Half-planes have a common point if every three of them have (Helly). So a part is left out only if two or three of its
/// sides are proved to have none.
fn parts(lines: &[HalfPlane]) -> Vec<Vec<bool>> {
    lines
        .iter()
        .enumerate()
        .fold(vec![Vec::new()], |parts, (k, line)| cut(&parts, &lines[..k], line))
}

/// The parts of parts on both sides of one more line.
fn cut(parts: &[Vec<bool>], lines: &[HalfPlane], line: &HalfPlane) -> Vec<Vec<bool>> {
    let mut smaller = Vec::with_capacity(2 * parts.len());
    for part in parts {
        let own: Vec<Sided> =
            part.iter().zip(lines).map(|(side, line)| Sided::new(line, *side)).collect();
        for is_inside in [true, false] {
            if !is_empty_with(&Sided::new(line, is_inside), &own) {
                smaller.push([&part[..], &[is_inside]].concat());
            }
        }
    }
    smaller
}

/// `a x + b y ≤ c`, a half-plane, or `a x + b y < c`, its outside with turned signs.
#[derive(Clone, Copy)]
struct Sided {
    a: f64,
    b: f64,
    c: f64,
    is_open: bool,
}

impl Sided {
    fn new(half: &HalfPlane, is_inside: bool) -> Self {
        let sign = if is_inside { 1.0 } else { -1.0 };
        let [a, b] = half.direction();
        Self { a: sign * a, b: sign * b, c: sign * half.bound(), is_open: !is_inside }
    }

    /// Whether it is proved to have no point with another one, of exactly the opposite direction. Numbers of one direction
    /// have equal rounded sums.
    #[expect(clippy::float_cmp, reason = "exactly")]
    fn is_apart(&self, other: &Self) -> bool {
        let is_opposite = self.a == -other.a && self.b == -other.b;
        let is_touching = self.c == -other.c && (self.is_open || other.is_open);
        is_opposite && (self.c < -other.c || is_touching)
    }

    /// `a b' − b a'`, and a bound on its parts.
    fn cross(&self, other: &Self) -> (f64, f64) {
        let (one, two) = (self.a * other.b, self.b * other.a);
        (one - two, one.abs() + two.abs())
    }
}

/// Rounding of a sum of products, relative to its parts, several times over.
const ROUNDING: f64 = 32.0 * f64::EPSILON;

/// Whether one half-plane is proved to have no point with one or two of the others.
fn is_empty_with(new: &Sided, others: &[Sided]) -> bool {
    (0..).zip(others).any(|(at, one)| {
        new.is_apart(one) || others[..at].iter().any(|other| has_none(new, one, other))
    })
}

/// Whether three half-planes, with their lines, are proved to have no common point.
///
/// With λ the cross products of the others' directions, `Σ λ_i (a_i, b_i) = 0` for any three. If all λ are above 0 and
/// `Σ λ_i c_i < 0`, a common point would have `0 = Σ λ_i (a_i x + b_i y) ≤ Σ λ_i c_i < 0`; likewise if all are below 0. Signs
/// count only where they are beyond rounding.
fn has_none(p: &Sided, q: &Sided, r: &Sided) -> bool {
    let lambdas = [q.cross(r), r.cross(p), p.cross(q)];
    let is_sure = |(value, parts): &(f64, f64)| value.abs() > ROUNDING * parts;
    let sign = lambdas[0].0.signum();
    if !lambdas.iter().all(|lambda| is_sure(lambda) && lambda.0 * sign > 0.0) {
        return false;
    }
    let bounds = [p.c, q.c, r.c];
    let sum: f64 = lambdas.iter().zip(bounds).map(|((value, _), c)| sign * value * c).sum();
    let parts: f64 = lambdas.iter().zip(bounds).map(|((_, parts), c)| parts * c.abs()).sum();
    sum < -ROUNDING * parts
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

    use super::{bracket, parts};
    use crate::data::HalfPlane;
    use crate::pap::Answer;
    use crate::pap::half_planes::{MeasuredSide, PlaneSide, Side};

    fn half([a, b, c]: [f64; 3]) -> HalfPlane {
        HalfPlane::new(a, b, c).unwrap()
    }

    fn measured(line: usize, side: Side, low: f64, high: f64) -> MeasuredSide {
        let share = Answer { value: low, low, high };
        MeasuredSide { side: PlaneSide { line, side }, share }
    }

    fn near([low, high]: [f64; 2], expected: [f64; 2]) {
        let off = (low - expected[0]).abs().max((high - expected[1]).abs());
        assert!(off < 1e-6, "{low}, {high}, not {expected:?}");
        assert!(low <= expected[0] && expected[1] <= high, "{low}, {high} is inside {expected:?}");
    }

    #[test]
    fn parts_are_those_of_the_plane_and_none_is_missing() {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        for count in 0..12_usize {
            let lines: Vec<HalfPlane> =
                (0..count).map(|_| half([0; 3].map(|_| rng.random_range(-1.0..1.0)))).collect();
            let found = parts(&lines);
            assert_eq!(found.len(), 1 + count + count * count.saturating_sub(1) / 2);
            for _ in 0..2000 {
                let [x, y] = [0; 2].map(|_| rng.random_range(-3.0..3.0));
                let own: Vec<bool> = lines.iter().map(|line| line.holds(x, y)).collect();
                assert!(found.contains(&own), "{x}, {y}");
            }
        }
        // Parallel ones, and three through one point: rounding leaves one part more open.
        let parallel = [[1.0, 2.0, 0.0], [1.0, 2.0, 1.0], [-1.0, -2.0, 5.0]].map(half);
        assert_eq!(parts(&parallel).len(), 4);
        let pencil = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]].map(half);
        assert!((6..=8).contains(&parts(&pencil).len()));
    }

    #[test]
    fn brackets_are_what_measured_sides_allow() {
        let lines = [[1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]].map(half);
        let known = [
            measured(0, Side::Inside, 0.3, 0.4),
            measured(1, Side::Outside, 0.2, 0.25),
            measured(2, Side::Inside, 0.9, 1.0),
        ];
        let ask = |asked: [f64; 3]| bracket(&half(asked), &lines, &known);
        // x <= 0.5 has x <= 0, and not x > 1.
        near(ask([1.0, 0.0, 0.5]), [0.3, 0.8]);
        near(ask([1.0, 0.0, 0.0]), [0.3, 0.4]);
        near(ask([-1.0, 0.0, 0.0]), [0.5, 1.0]); // records may be on the line
        near(ask([-1.0, 0.0, 3.0]), [0.5, 1.0]);
        near(ask([0.0, 1.0, 1.0]), [0.9, 1.0]);
        // x + y <= 0.5 has all of x <= 0 and y <= 0: at least 0.3 + 0.9 - 1.
        near(ask([1.0, 1.0, 0.5]), [0.2, 1.0]);
        // Lines of almost one direction, whose crossings rounding leaves open, do not make parts without end.
        let third = |i: u32| f64::from_bits((1.0_f64 / 3.0).to_bits() + u64::from(i));
        let fan: Vec<HalfPlane> =
            (0..30).map(|i| half([1.0, third(i), f64::from(i) / 30.0])).collect();
        let all: Vec<MeasuredSide> =
            (0..30).map(|i| measured(i, Side::Inside, i as f64 / 30.0, i as f64 / 30.0)).collect();
        let [low, high] = bracket(&half([1.0, third(0), 0.5]), &fan, &all);
        assert!(low <= 0.5 && 0.5 <= high);
        // Without any measurement nothing is known; contradicting ones leave what is trivial.
        assert_eq!(
            bracket(&half([1.0, 1.0, 0.0]), &lines, &[]).map(f64::to_bits),
            [0.0, 1.0].map(f64::to_bits)
        );
        let wrong = [measured(0, Side::Inside, 0.8, 0.9), measured(1, Side::Outside, 0.5, 0.6)];
        let [low, high] = bracket(&half([1.0, 1.0, 0.0]), &lines, &wrong);
        assert!((0.0..=1.0).contains(&low) && (0.0..=1.0).contains(&high));
    }
}
