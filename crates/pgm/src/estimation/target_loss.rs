//! The loss of noisy counts and of counts that lie in intervals.

use std::sync::Arc;

use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::estimation::{MarginalLoss, Misfit, Target};
use crate::measurement::Measurement;
use crate::table::{CliqueLayout, cell_name};

/// A count is inside its interval if it is off by no more than this share of the interval's width.
const INSIDE: f64 = 0.01;

/// The loss of noisy counts and intervals,
///
/// ```text
/// L(μ) = ½ Σ_r Σ_c (μ_rc − y_rc)²/σ_r²  +  ½ Σ_e Σ_c e_ec d(μ_ec, [l_ec, u_ec])²
/// ```
///
/// where d is the distance from an interval. The weight of its ends is inversely proportional to the counts there, as large as
/// that of the most precise noisy counts in this geometry; [`Targets`](crate::estimation::Targets) moves the ends until intervals hold.
#[derive(Clone, Debug)]
pub struct TargetLoss {
    layout: Arc<CliqueLayout>,
    /// What is known of each cell.
    cells: Vec<Cell>,
    /// The largest curvature of each table.
    curvatures: Vec<f64>,
    /// The sum of the largest curvatures relative to the entropy, about, for one record.
    relative: f64,
    /// Differences between noisy counts of the same cell.
    constant: f64,
    noise: f64,
}

/// What is known of a cell.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// The mean of its noisy counts, weighted by their precision, ...
    mean: f64,
    /// ... and its precision, ...
    precision: f64,
    /// ... and the part of it that is of counts with noise.
    noisy: f64,
    least: f64,
    most: f64,
    /// Precision of the interval's ends.
    edge: f64,
    /// By how much the interval is moved: the multiplier of the ends, divided by their precision.
    moved: f64,
}

impl Cell {
    const UNKNOWN: Self = Self {
        mean: 0.0,
        precision: 0.0,
        noisy: 0.0,
        least: f64::NEG_INFINITY,
        most: f64::INFINITY,
        edge: 0.0,
        moved: 0.0,
    };

    /// How far a count is outside the moved interval.
    fn outside(&self, mu: f64) -> f64 {
        let at = mu + self.moved;
        at - at.clamp(self.least, self.most)
    }

    /// A count that agrees with all that is known, about.
    fn expected(&self) -> f64 {
        if self.precision > 0.0 {
            return self.mean.max(1.0);
        }
        let middle = 0.5 * (self.least + self.most);
        if middle.is_finite() { middle.max(1.0) } else { self.least.max(1.0) }
    }

    /// The part of a slope g that is of the noisy counts, at the count where the cell's loss has this slope.
    fn noisy_part(&self, g: f64) -> f64 {
        if self.precision == 0.0 {
            return 0.0;
        }
        let inside = self.mean + g / self.precision;
        let off = self.outside(inside);
        if off == 0.0 {
            return g;
        }
        let end = inside - off;
        let count =
            (g + self.precision * self.mean + self.edge * end) / (self.precision + self.edge);
        self.precision * (count - self.mean)
    }
}

impl TargetLoss {
    /// The loss of targets that are not exact; its cliques are theirs.
    ///
    /// # Errors
    /// As [`Targets::new`].
    pub(super) fn new(domain: &Domain, targets: &[Target]) -> Result<Self> {
        let layout =
            CliqueLayout::new(domain, targets.iter().map(|target| target.clique().clone()))?;
        let mut cells = vec![Cell::UNKNOWN; layout.cells()];
        let (mut constant, mut noise_variance) = (0.0, 0.0);
        for target in targets {
            let clique = target.clique();
            let index = layout.position(clique).unwrap_or(0);
            let own = &mut cells[layout.range(index)];
            let size = own.len();
            let checked = |found: usize, expected: usize| {
                let clique = domain.describe(clique);
                if found == expected {
                    Ok(())
                } else {
                    Err(Error::ShapeMismatch { clique, expected, found })
                }
            };
            let name = |cell: usize| cell_name(domain, clique, layout.shape(index), cell);
            let place = || format!("the counts of {}", domain.describe(clique));
            match target {
                Target::Noisy(Measurement { cell, values, stddev, .. }) => {
                    checked(values.len(), if cell.is_some() { 1 } else { size })?;
                    if cell.is_some_and(|cell| cell >= size) {
                        return Err(Error::invalid_specification(
                            place(),
                            "a cell outside the table",
                            "a cell",
                        ));
                    }
                    let precision = if *stddev > 0.0 { 1.0 / (stddev * stddev) } else { 1.0 };
                    if !(precision.is_finite() && values.iter().all(|value| value.is_finite())) {
                        return Err(Error::invalid_specification(
                            place(),
                            "numbers that are not finite",
                            "finite counts",
                        ));
                    }
                    for (own, value) in own[cell.unwrap_or(0)..].iter_mut().zip(values) {
                        let together = own.precision + precision;
                        let off = value - own.mean;
                        // What two noisy counts of a cell differ by is no model's fault.
                        constant += 0.5 * precision * own.precision / together * off * off;
                        own.mean += precision / together * off;
                        let with_noise = if *stddev > 0.0 { precision } else { 0.0 };
                        own.noisy = (own.noisy * own.precision + with_noise) / together;
                        own.precision = together;
                    }
                    if *stddev > 0.0 {
                        noise_variance += 0.5 * values.len() as f64;
                    }
                }
                Target::Between { least, most, .. } => {
                    checked(least.len(), size)?;
                    checked(most.len(), size)?;
                    for (cell, (own, (least, most))) in
                        own.iter_mut().zip(least.iter().zip(most)).enumerate()
                    {
                        let (low, high) = (own.least.max(*least), own.most.min(*most));
                        if low.is_nan() || high.is_nan() || low > high {
                            let found = format!("{least} to {most} in {}", name(cell));
                            let expected = format!(
                                "some of {} to {}, as another table says",
                                own.least, own.most
                            );
                            return Err(Error::invalid_specification(place(), found, expected));
                        }
                        (own.least, own.most) = (low, high);
                        own.edge = 1.0;
                    }
                }
                Target::Exact { .. } => {}
            }
        }
        // Relative to the entropy, a cell's curvature is its weight times its count: the same for all ends, and no less than that
        // of any noisy count.
        let of_noise = |cell: &Cell| cell.precision * cell.expected();
        let largest = cells.iter().map(of_noise).fold(0.0, f64::max);
        let largest = if largest > 0.0 { largest } else { 1.0 };
        for cell in cells.iter_mut().filter(|cell| cell.edge > 0.0) {
            cell.edge = largest / cell.expected();
        }
        let curvature = |of_cell: &dyn Fn(&Cell) -> f64| -> Vec<f64> {
            let of_table =
                |index: usize| cells[layout.range(index)].iter().map(of_cell).fold(0.0, f64::max);
            (0..layout.cliques().len()).map(of_table).collect()
        };
        let curvatures = curvature(&|cell| cell.precision + cell.edge);
        let relative =
            curvature(&|cell| (cell.precision + cell.edge) * cell.expected()).iter().sum();
        Ok(Self { layout, cells, curvatures, relative, constant, noise: noise_variance.sqrt() })
    }

    /// The least that each count of a table may be, at least 0.
    pub(super) fn least(&self, table: usize) -> Vec<f64> {
        self.cells[self.layout.range(table)].iter().map(|cell| cell.least.max(0.0)).collect()
    }

    /// Whether all counts are inside their intervals, but for a small share of the width.
    pub(super) fn is_inside(&self, mu: &[f64]) -> bool {
        let is_inside = |(cell, mu): (&Cell, &f64)| {
            let width = (cell.most - cell.least).min(*mu) + 1.0;
            (mu - mu.clamp(cell.least, cell.most)).abs() <= INSIDE * width
        };
        self.cells.iter().zip(mu).all(is_inside)
    }

    /// Moves the ends that counts are outside of by as much.
    pub(super) fn move_ends(&mut self, mu: &[f64]) {
        self.cells.iter_mut().zip(mu).for_each(|(cell, mu)| cell.moved = cell.outside(*mu));
    }

    /// By how many standard deviations the noisy counts of the worst table are further away than their noise explains, as
    /// [`SquaredLoss::excess`]: a cell's share of the loss has the mean v/2 and the variance v²/2 at the true counts, with
    /// v the part of its precision that has noise.
    ///
    /// [`SquaredLoss::excess`]: crate::estimation::SquaredLoss::excess
    fn excess(&self, mu: &[f64]) -> f64 {
        let of_table = |table: usize| {
            let range = self.layout.range(table);
            let (mut above, mut variance) = (0.0, 0.0);
            for (cell, mu) in self.cells[range.clone()].iter().zip(&mu[range]) {
                let off = mu - cell.mean;
                above += 0.5 * (cell.precision * off * off - cell.noisy);
                variance += 0.5 * cell.noisy * cell.noisy;
            }
            if variance > 0.0 { above / variance.sqrt() } else { 0.0 }
        };
        (0..self.layout.cliques().len()).map(of_table).fold(0.0, f64::max)
    }

    /// `½ Σ e s²` of the moves s: a fit inside all intervals has no more than this of the loss with moved ends.
    pub(super) fn of_moves(&self) -> f64 {
        self.cells.iter().map(|cell| 0.5 * cell.edge * cell.moved * cell.moved).sum()
    }
}

impl MarginalLoss for TargetLoss {
    fn layout(&self) -> &Arc<CliqueLayout> {
        &self.layout
    }

    fn misfit(&self, mu: &[f64]) -> Misfit {
        let of_cell = |(cell, mu): (&Cell, &f64)| {
            let (off, outside) = (mu - cell.mean, cell.outside(*mu));
            cell.precision * off * off + cell.edge * outside * outside
        };
        let value = self.constant + 0.5 * self.cells.iter().zip(mu).map(of_cell).sum::<f64>();
        Misfit { value, excess: self.excess(mu) }
    }

    fn gradient(&self, mu: &[f64], gradient: &mut [f64]) {
        for ((g, cell), mu) in gradient.iter_mut().zip(&self.cells).zip(mu) {
            *g = cell.precision * (mu - cell.mean) + cell.edge * cell.outside(*mu);
        }
    }

    fn smoothness(&self) -> f64 {
        self.curvatures.iter().sum()
    }

    fn first_smoothness(&self, total: f64) -> f64 {
        total * self.relative
    }

    fn largest_weight(&self) -> f64 {
        self.curvatures.iter().copied().fold(0.0, f64::max)
    }

    fn noise(&self) -> f64 {
        self.noise
    }

    fn floor(&self) -> f64 {
        self.constant
    }

    /// Of a cell with an interval the conjugate is `max {g μ: l <= μ + s <= u} + g²/(2 e)`, with ends moved by s. A cell with both is a sum, for which any
    /// division of g between them gives a bound: it is divided as at the count where g is the slope, which is the best for
    /// this length of g.
    fn dual_parts(&self, g: &[f64]) -> Option<(f64, f64)> {
        let (mut along, mut squares) = (0.0, 0.0);
        for (g, cell) in g.iter().zip(&self.cells).filter(|(g, _)| **g != 0.0) {
            let noisy = cell.noisy_part(*g);
            if noisy != 0.0 {
                along += noisy * cell.mean;
                squares += noisy * noisy / cell.precision;
            }
            let rest = g - noisy;
            if rest != 0.0 {
                along += rest * (if rest > 0.0 { cell.most } else { cell.least } - cell.moved);
                squares += rest * rest / cell.edge;
            }
        }
        (along.is_finite() && squares.is_finite()).then_some((along, squares))
    }
}
