//! Moves shared means from one table of potentials to another, without changing the distribution.
//!
//! Noisy measurements of overlapping cliques disagree on their shared attributes. Fitting them drives one table up and
//! the other down on these attributes, without bound and without effect on the product, until exponentials underflow.
//! Moving the shared means into one of the two undoes this: afterwards potentials are near zero wherever there are
//! records.

use crate::estimation::DEAD_CELL;
use crate::table::{CliqueLayout, Marginals, Potentials, Projection};

/// The moves of one pass over all pairs of overlapping cliques.
#[derive(Clone, Debug)]
pub(super) struct Gauge {
    moves: Vec<Move>,
}

#[derive(Clone, Debug)]
struct Move {
    from: usize,
    to: usize,
    from_walk: Projection,
    to_walk: Projection,
    cells: usize,
}

/// Oracle calls between two checks of the drift.
pub(super) const RECENTER: u32 = 32;
/// Potentials beyond this (in either direction) trigger a pass.
const FAR: f64 = 50.0;

impl Gauge {
    pub(super) fn new(layout: &CliqueLayout) -> Self {
        let cliques = layout.cliques();
        let mut moves = Vec::new();
        for (from, a) in cliques.iter().enumerate() {
            for (to, b) in cliques.iter().enumerate().skip(from + 1) {
                let shared = a.intersection(b);
                if shared.is_empty() {
                    continue;
                }
                let from_walk = Projection::between(a, layout.shape(from), &shared);
                let to_walk = Projection::between(b, layout.shape(to), &shared);
                let cells = a
                    .iter()
                    .zip(layout.shape(from))
                    .filter(|(attribute, _)| shared.contains(*attribute))
                    .map(|(_, k)| k)
                    .product();
                moves.push(Move { from, to, from_walk, to_walk, cells });
            }
        }
        Self { moves }
    }

    /// Whether potentials have drifted so far that a pass is due.
    pub(super) fn is_due(theta: &Potentials) -> bool {
        theta.values().iter().any(|x| x.is_finite() && x.abs() > FAR)
    }

    /// Subtracts from each table its mean under the current marginals, first given the attributes shared with each
    /// later table (which receives it), then as a constant (which changes only A(θ)). Between the two, cells with
    /// nearly no records lose positive potentials, and with them these records.
    pub(super) fn recenter(&self, theta: &mut Potentials, mu: &Marginals) {
        let layout = std::sync::Arc::clone(theta.layout());
        for m in &self.moves {
            let weights = mu.table(m.from);
            let table = theta.table(m.from);
            let weighted: Vec<f64> = table
                .iter()
                .zip(weights)
                .map(|(t, w)| if t.is_finite() { t * w } else { 0.0 })
                .collect();
            let mut means = vec![0.0; m.cells];
            let mut mass = vec![0.0; m.cells];
            m.from_walk.add_into(&weighted, &mut means);
            m.from_walk.add_into(weights, &mut mass);
            for (mean, mass) in means.iter_mut().zip(&mass) {
                *mean = if *mass > 0.0 { *mean / mass } else { 0.0 };
            }
            m.from_walk.zip_from(&means, theta.table_mut(m.from), |x, s| *x -= s);
            m.to_walk.zip_from(&means, theta.table_mut(m.to), |x, s| *x += s);
        }
        // Other tables rule out a cell that is empty despite its potential, so the potential can be dropped.
        for (t, m) in theta.values_mut().iter_mut().zip(mu.values()) {
            if *m < DEAD_CELL && *t > 0.0 {
                *t = 0.0;
            }
        }
        for index in 0..layout.cliques().len() {
            let (mut mean, mut mass) = (0.0, 0.0);
            for (t, w) in theta.table(index).iter().zip(mu.table(index)) {
                if t.is_finite() {
                    mean += t * w;
                    mass += w;
                }
            }
            if mass > 0.0 {
                theta.table_mut(index).iter_mut().for_each(|x| *x -= mean / mass);
            }
        }
    }

    /// Brings potentials near zero where the distribution is largest, and changes it by nothing: moves half the difference
    /// of two tables' largest values, given what they share, from one to the other, in this number of passes over all pairs
    /// (max-sum diffusion), and takes its largest value off each table.
    pub(super) fn level(&self, theta: &mut Potentials, passes: u32) {
        for _ in 0..passes {
            for m in &self.moves {
                let mut half = largest(&m.from_walk, theta.table(m.from), m.cells);
                let other = largest(&m.to_walk, theta.table(m.to), m.cells);
                half.iter_mut().zip(other).for_each(|(h, other)| *h = 0.5 * (*h - other));
                m.from_walk.zip_from(&half, theta.table_mut(m.from), |x, s| *x -= s);
                m.to_walk.zip_from(&half, theta.table_mut(m.to), |x, s| *x += s);
            }
        }
        let tables = theta.layout().cliques().len();
        for index in 0..tables {
            let table = theta.table_mut(index);
            let top = table.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            table.iter_mut().for_each(|x| *x -= top);
        }
    }
}

/// A table's largest values, given the cells of its projection.
fn largest(walk: &Projection, table: &[f64], cells: usize) -> Vec<f64> {
    let mut found = vec![f64::NEG_INFINITY; cells];
    walk.fold_into(table, &mut found, f64::max);
    found
}
