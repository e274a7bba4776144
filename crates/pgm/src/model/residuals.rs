//! Tables that are read for all values of one attribute at a time: residuals of marginals, and log-potentials.

#![expect(
    clippy::inline_always,
    reason = "the loops must be compiled inside the function that enables vector instructions"
)]

use crate::data::{Dataset, Projectable};
use crate::domain::{Clique, Domain, StructuralZero};
use crate::error::Result;
use crate::model::MarkovRandomField;
use crate::table::{Projection, row_major_strides};

/// Expected records below which an empty cell stays empty.
const CLOSED: f64 = 0.01;

/// Passes over all attributes of a table without its unlikely cells: it need not be exact.
const RAKINGS: usize = 20;

/// The table of one clique, with one of its attributes as the last axis: the entries of all values of that attribute
/// lie side by side.
pub(super) struct Side {
    clique: usize,
    /// The other attributes, with their strides.
    others: Vec<(usize, usize)>,
    table: Vec<f32>,
}

impl Side {
    /// The table of clique number `index` with an attribute's axis moved to the end.
    ///
    /// `table`: row-major, the clique's attributes in order.
    fn new(
        domain: &Domain,
        index: usize,
        clique: &Clique,
        attribute: usize,
        table: &[f32],
    ) -> Self {
        let others = clique.iter().filter(|a| *a != attribute);
        let axes: Vec<usize> = others.chain([attribute]).collect();
        let shape: Vec<usize> = axes.iter().map(|a| domain.cardinality(*a)).collect();
        let strides = row_major_strides(&shape);
        let stride_of = |a: usize| axes.iter().position(|x| *x == a).map_or(0, |at| strides[at]);
        let own: Vec<(usize, usize)> =
            clique.iter().map(|a| (domain.cardinality(a), stride_of(a))).collect();
        let mut moved = vec![0.0; table.len()];
        for (cell, value) in table.iter().enumerate() {
            let (mut rest, mut at) = (cell, 0);
            for (extent, stride) in own.iter().rev() {
                at += rest % extent * stride;
                rest /= extent;
            }
            moved[at] = *value;
        }
        let others = axes.iter().zip(&strides).filter(|(a, _)| **a != attribute);
        let others = others.map(|(a, stride)| (*a, *stride)).collect();
        Self { clique: index, others, table: moved }
    }

    /// Position where the entries of the attribute's values start, for the other values of a row.
    #[inline(always)]
    fn start(&self, row: &[u32]) -> usize {
        self.others.iter().map(|(attribute, stride)| stride * row[*attribute] as usize).sum()
    }
}

/// For each value of an attribute, the sum over its sides of the entries for the other values of a row.
#[inline(always)]
pub(super) fn sum_sides(sides: &[Side], row: &[u32], sums: &mut [f32]) {
    sums.fill(0.0);
    for side in sides {
        let start = side.start(row);
        for (sum, entry) in sums.iter_mut().zip(&side.table[start..]) {
            *sum += *entry;
        }
    }
}

/// By attribute, the log-potentials of the cliques that contain it. Their sums are the model's log-probabilities of the
/// attribute's values given the rest of a row, up to a constant.
pub(super) fn log_potentials(model: &MarkovRandomField) -> Vec<Vec<Side>> {
    let domain = model.domain();
    let mut sides: Vec<Vec<Side>> = (0..domain.len()).map(|_| Vec::new()).collect();
    for (index, clique) in model.potentials().layout().cliques().iter().enumerate() {
        #[expect(clippy::cast_possible_truncation, reason = "a few digits are enough")]
        let table: Vec<f32> = model.potentials().table(index).iter().map(|x| *x as f32).collect();
        for attribute in clique.iter() {
            sides[attribute].push(Side::new(domain, index, clique, attribute, &table));
        }
    }
    sides
}

/// Records minus expected records on all cliques, one table for each attribute of a clique; infinite where no record
/// may be added.
pub(super) struct Residuals {
    /// By attribute.
    sides: Vec<Vec<Side>>,
    /// For each clique, the positions of its tables: attribute and position among its sides.
    places: Vec<Vec<(usize, usize)>>,
}

impl Residuals {
    pub(super) fn new(
        model: &MarkovRandomField,
        records: &Dataset,
        cliques: &[Clique],
        unlikely: &[StructuralZero],
    ) -> Result<Self> {
        let domain = model.domain();
        let scale = records.records() as f64 / model.total();
        let mut found =
            Self { sides: (0..domain.len()).map(|_| Vec::new()).collect(), places: Vec::new() };
        let expected = model.marginals(cliques)?;
        // Where marginals would take too long, records are as near as they are now: only the unlikely cells are closed.
        let others = unlikely.iter().map(StructuralZero::clique);
        let others: Vec<&Clique> = others.filter(|clique| !cliques.contains(clique)).collect();
        let all: Vec<Clique> = cliques.iter().chain(others).cloned().collect();
        let counts = records.project_many(&all)?;
        for (index, (clique, counts)) in all.iter().zip(&counts).enumerate() {
            let mut expected = match expected.get(index) {
                Some(expected) => expected.values().to_vec(),
                None => counts.iter().map(|count| f64::from(*count) / scale).collect(),
            };
            let unlikely = unlikely.iter().find(|zero| zero.clique() == clique);
            if let Some(unlikely) = unlikely.filter(|_| index < cliques.len()) {
                without(&mut expected, domain, unlikely);
            }
            let is_unlikely = |cell: usize| unlikely.is_some_and(|zero| zero.forbidden()[cell]);
            let residual = |(cell, (count, expected)): (usize, (&u32, &f64))| {
                let expected = scale * expected;
                let is_rare = index < cliques.len() && *count == 0 && expected < CLOSED;
                let closed = is_rare || is_unlikely(cell);
                #[expect(clippy::cast_possible_truncation, reason = "a few digits are enough")]
                let residual = (f64::from(*count) - expected) as f32;
                if closed { f32::INFINITY } else { residual }
            };
            let cells = counts.iter().zip(&expected).enumerate();
            let table: Vec<f32> = cells.map(residual).collect();
            let mut places = Vec::with_capacity(clique.len());
            for attribute in clique.iter() {
                places.push((attribute, found.sides[attribute].len()));
                let side = Side::new(domain, index, clique, attribute, &table);
                found.sides[attribute].push(side);
            }
            found.places.push(places);
        }
        Ok(found)
    }

    /// The residuals of the cliques that contain an attribute.
    pub(super) fn of(&self, attribute: usize) -> &[Side] {
        &self.sides[attribute]
    }

    /// Gives a row another value, if that still reduces the sum of squares.
    pub(super) fn change(&mut self, row: &mut [u32], attribute: usize, value: u32) {
        let old = row[attribute];
        let sides = &self.sides[attribute];
        let difference: f32 = sides
            .iter()
            .map(|side| {
                let start = side.start(row);
                side.table[start + value as usize] - side.table[start + old as usize] + 1.0
            })
            .sum();
        if difference >= 0.0 || old == value {
            return;
        }
        for position in 0..self.sides[attribute].len() {
            let clique = self.sides[attribute][position].clique;
            for &(axis, at) in &self.places[clique] {
                let side = &mut self.sides[axis][at];
                row[attribute] = old;
                let from = side.start(row) + row[axis] as usize;
                row[attribute] = value;
                let to = side.start(row) + row[axis] as usize;
                side.table[from] -= 1.0;
                side.table[to] += 1.0;
            }
        }
        row[attribute] = value;
    }
}

/// Empties the unlikely cells of a table, and gives the others about as much more as single attributes lose: the nearest table, in
/// relative entropy, with the same marginals of single attributes, as far as there is one.
fn without(table: &mut [f64], domain: &Domain, unlikely: &StructuralZero) {
    let clique = unlikely.clique();
    let shape = domain.shape(clique);
    let singles = clique.iter().map(|attribute| {
        let walk = Projection::between(clique, &shape, &Clique::new([attribute]));
        let mut wanted = vec![0.0; domain.cardinality(attribute)];
        walk.add_into(table, &mut wanted);
        (walk, wanted)
    });
    let singles: Vec<(Projection, Vec<f64>)> = singles.collect();
    let cells = table.iter_mut().zip(unlikely.forbidden());
    cells.filter(|(_, forbidden)| **forbidden).for_each(|(cell, _)| *cell = 0.0);
    for _ in 0..RAKINGS {
        for (walk, wanted) in &singles {
            let mut factors = vec![0.0; wanted.len()];
            walk.add_into(table, &mut factors);
            for (factor, wanted) in factors.iter_mut().zip(wanted) {
                *factor = if *factor > 0.0 { wanted / *factor } else { 0.0 };
            }
            walk.zip_from(&factors, table, |cell, factor| *cell *= factor);
        }
    }
}
