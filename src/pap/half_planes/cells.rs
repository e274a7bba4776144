//! The cells that lines cut a plane into.

use std::collections::HashSet;

use crate::data::HalfPlane;

/// Some cells of a plane, each with the half-planes that it is in.
pub(in crate::pap) struct Cells {
    /// Number of cells.
    pub(in crate::pap) count: usize,
    /// For each half-plane, one bit per cell: whether the cell lies in it.
    inside: Vec<Vec<u64>>,
}

impl Cells {
    /// The cells that have a corner, where two lines cross, and those along a line that crosses no other. They are all cells
    /// but for rounding, 1 + M + M(M − 1)/2 for M lines in general position.
    ///
    /// A cell's half-planes are found without a point in it: at a corner, other lines have that on one of their sides, and
    /// the two that cross have four cells around it.
    pub(in crate::pap) fn new(lines: &[HalfPlane]) -> Self {
        let words = lines.len().div_ceil(64);
        let mut found = HashSet::new();
        let mut ordered: Vec<Vec<u64>> = Vec::new();
        let mut add = |mut own: Vec<u64>, free: &[usize]| {
            for choice in 0..1_usize << free.len() {
                for (place, line) in free.iter().enumerate() {
                    set(&mut own, *line, choice >> place & 1 == 1);
                }
                if found.insert(own.clone()) {
                    ordered.push(own.clone());
                }
            }
        };
        for (i, one) in lines.iter().enumerate() {
            for end in [1.0, -1.0] {
                let mut own = vec![0; words];
                (0..).zip(lines).for_each(|(k, line)| set(&mut own, k, holds_far(line, one, end)));
                add(own, &[i]);
            }
            for (j, other) in (0..i).zip(lines) {
                let Some([x, y]) = crossing(one, other) else { continue };
                let mut own = vec![0; words];
                (0..).zip(lines).for_each(|(k, line)| set(&mut own, k, line.holds(x, y)));
                add(own, &[i, j]);
            }
        }
        let count = ordered.len();
        let mut inside = vec![vec![0; count.div_ceil(64)]; lines.len()];
        for (cell, own) in ordered.iter().enumerate() {
            for (line, row) in inside.iter_mut().enumerate() {
                set(row, cell, has(own, line));
            }
        }
        Self { count, inside }
    }

    /// Whether a cell is in a half-plane.
    pub(super) fn is_inside(&self, line: usize, cell: usize) -> bool {
        has(&self.inside[line], cell)
    }

    /// The sum of some numbers, one a cell, over the cells in a half-plane.
    pub(super) fn sum_inside(&self, line: usize, numbers: &[f64]) -> f64 {
        let word = |(word, numbers): (&u64, &[f64])| {
            let (mut rest, mut sum) = (*word, 0.0);
            while rest != 0 {
                sum += numbers[rest.trailing_zeros() as usize];
                rest &= rest - 1;
            }
            sum
        };
        self.inside[line].iter().zip(numbers.chunks(64)).map(word).sum()
    }
}

fn has(bits: &[u64], place: usize) -> bool {
    bits[place / 64] >> (place % 64) & 1 == 1
}

fn set(bits: &mut [u64], place: usize, is_set: bool) {
    let bit = 1 << (place % 64);
    if is_set { bits[place / 64] |= bit } else { bits[place / 64] &= !bit }
}

/// Where two lines cross; `None` if they are parallel.
fn crossing(one: &HalfPlane, other: &HalfPlane) -> Option<[f64; 2]> {
    let ([a, b], [p, q]) = (one.direction(), other.direction());
    let determinant = a * q - b * p;
    let point = [one.bound() * q - b * other.bound(), a * other.bound() - one.bound() * p];
    let point = point.map(|number| number / determinant);
    (determinant != 0.0 && point.iter().all(|number| number.is_finite())).then_some(point)
}

/// Whether a half-plane has the end of another one's line, in one direction.
fn holds_far(half: &HalfPlane, line: &HalfPlane, end: f64) -> bool {
    let ([a, b], [p, q]) = (half.direction(), line.direction());
    let growth = end * (b * p - a * q);
    if growth != 0.0 {
        return growth < 0.0;
    }
    // Parallel: any point of the line decides.
    let square = p * p + q * q;
    half.holds(line.bound() * p / square, line.bound() * q / square)
}

#[cfg(test)]
mod tests {
    use super::Cells;
    use crate::data::HalfPlane;

    fn lines(lines: &[[f64; 3]]) -> Vec<HalfPlane> {
        lines.iter().map(|[a, b, c]| HalfPlane::new(*a, *b, *c).unwrap()).collect()
    }

    #[test]
    fn cells_are_those_of_the_plane() {
        // Three lines in general position; three parallel ones; two and one across; one.
        let triangle = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]];
        let parallel = [[1.0, 2.0, 0.0], [1.0, 2.0, 1.0], [-2.0, -4.0, 5.0]];
        let across = [[1.0, 2.0, 0.0], [1.0, 2.0, 1.0], [1.0, 0.0, 0.0]];
        for (given, count) in [(&triangle[..], 7), (&parallel, 4), (&across, 6), (&across[..1], 2)]
        {
            let lines = lines(given);
            let cells = Cells::new(&lines);
            assert_eq!(cells.count, count, "{given:?}");
            // Every point of a grid is in a listed cell.
            for (x, y) in (-30..30).flat_map(|x| (-30..30).map(move |y| (x, y))) {
                let (x, y) = (f64::from(x) / 7.0 + 0.01, f64::from(y) / 7.0 + 0.003);
                let is_own = |cell: &usize| {
                    (0..).zip(&lines).all(|(k, line)| cells.is_inside(k, *cell) == line.holds(x, y))
                };
                assert_eq!((0..cells.count).filter(is_own).count(), 1, "{given:?}: {x}, {y}");
            }
            let ones = vec![1.0; count];
            for (k, _) in lines.iter().enumerate() {
                let inside = (0..count).filter(|cell| cells.is_inside(k, *cell)).count();
                assert!((cells.sum_inside(k, &ones) - inside as f64).abs() < 1e-12);
            }
        }
    }
}
