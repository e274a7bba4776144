//! The records of a release for a population.

use std::collections::HashMap;

use rand::Rng;

use crate::data::{Column, Dataset};
use crate::domain::{Bins, Clique, Kind, Piece, Schema, SchemaColumn};
use crate::error::{Error, Result};
use crate::estimation::raked_weights;
use crate::model::{Drawing, Model, Refinement, WeightedSupport};
use crate::survey::rows::with_every_cell;
use crate::survey::{Emission, Population, Weight, with_totals};

/// The column of weights where the sample has none.
const WEIGHT: &str = "weight";

/// Records, and how they are written.
#[derive(Clone, Debug)]
pub struct Released {
    /// The records.
    pub rows: Dataset,
    /// Their schema. The weights of weighted records are the values of its numeric column, one for each record.
    pub schema: Schema,
    /// The weights, as they are written; `None` if records count the same.
    pub weights: Option<Vec<f64>>,
    /// The largest difference between a total, scaled to the number of records, and the records, or their weights, in its cell;
    /// `None` without totals.
    pub largest_difference: Option<f64>,
}

/// How the records of a release are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Draw<'a> {
    /// How many.
    pub records: usize,
    /// How.
    pub drawing: Drawing,
    /// What refined ones are brought near to.
    pub refinement: &'a Refinement,
    /// The schema of the model.
    pub schema: &'a Schema,
}

impl Population {
    /// Draws records for the population.
    ///
    /// `sample`, `population`: the models of the sample and of the population ([`Population::of`]).
    ///
    /// # Errors
    /// No record asked for, or a table of more than 8 GiB; more than 2²⁴ different weights.
    pub fn rows<R: Rng + ?Sized>(
        &self,
        (sample, population): (&Model, &Model),
        emission: Emission,
        draw: Draw<'_>,
        rng: &mut R,
    ) -> Result<Released> {
        match emission {
            Emission::Population => self.members(population, draw, rng),
            Emission::Weighted => self.weighted(sample, population, draw, rng),
        }
    }

    /// Records of the population, without the weight. Totals hold in them.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    pub fn members<R: Rng + ?Sized>(
        &self,
        population: &Model,
        draw: Draw<'_>,
        rng: &mut R,
    ) -> Result<Released> {
        let mut rows = population.rows(draw.records, draw.drawing, draw.refinement, rng)?;
        let mut largest_difference = None;
        if let Some(totals) = &self.totals {
            let adjusted = with_totals(&rows, totals, rng)?;
            (rows, largest_difference) = (adjusted.rows, Some(adjusted.largest_difference));
        }
        let (rows, schema) = self.without_weight(rows, draw.schema)?;
        Ok(Released { rows, schema, weights: None, largest_difference })
    }

    /// Records of a domain without its weight, with their schema.
    ///
    /// # Errors
    /// Records over another domain than the schema's.
    pub fn without_weight(&self, rows: Dataset, schema: &Schema) -> Result<(Dataset, Schema)> {
        let Some(weight) = &self.weight else { return Ok((rows, schema.clone())) };
        let others: Vec<usize> =
            (0..rows.domain().len()).filter(|at| *at != weight.attribute).collect();
        let names: Vec<&str> = others.iter().map(|at| rows.domain().name(*at)).collect();
        let schema = schema.select(&names)?;
        Ok((rows.into_selected(&others)?, schema))
    }

    /// Records of the sample, with weights for which totals hold.
    fn weighted<R: Rng + ?Sized>(
        &self,
        sample: &Model,
        population: &Model,
        draw: Draw<'_>,
        rng: &mut R,
    ) -> Result<Released> {
        let mut rows = sample.rows(draw.records, draw.drawing, draw.refinement, rng)?;
        let mut weights = self.ratios(sample, population, &rows)?;
        let mut largest_difference = None;
        match &self.totals {
            None => {
                let scale = population.total() / weights.iter().sum::<f64>();
                weights.iter_mut().for_each(|weight| *weight *= scale);
            }
            Some(totals) => {
                rows = with_every_cell(rows, totals, rng)?;
                weights = raked_weights(&rows, &weights, totals)?;
                let cliques = totals.layout().cliques();
                let found = rows.weighted_marginals(&weights, cliques)?;
                let pairs = found.iter().flatten().zip(totals.values());
                let largest = pairs.map(|(found, total)| (found - total).abs()).fold(0.0, f64::max);
                largest_difference = Some(largest);
            }
        }
        weights.iter_mut().for_each(|weight| *weight = rounded(*weight));
        let (rows, schema) = self.with_weights(&rows, &weights, draw.schema)?;
        Ok(Released { rows, schema, weights: Some(weights), largest_difference })
    }

    /// How many times as likely a record is in the population as in the sample, but for a common factor. Of a graphical model it
    /// is the mean weight of its bin; totals come after.
    fn ratios(&self, sample: &Model, population: &Model, rows: &Dataset) -> Result<Vec<f64>> {
        if let (Some(sample), Some(population)) =
            (sample.as_weighted_support(), population.as_weighted_support())
        {
            let listed = |support: &WeightedSupport| {
                let weights = support.weights().iter().enumerate();
                let of = |(at, weight): (usize, &f64)| (support.rows().row(at), *weight);
                weights.map(of).collect::<HashMap<Vec<u32>, f64>>()
            };
            let (before, after) = (listed(sample), listed(population));
            let ratio = |record: usize| {
                let row = rows.row(record);
                let of = |weights: &HashMap<Vec<u32>, f64>| weights.get(&row).copied();
                of(&after).unwrap_or(0.0) / of(&before).unwrap_or(1.0)
            };
            return Ok((0..rows.records()).map(ratio).collect());
        }
        let Some(Weight { attribute, means }) = &self.weight else {
            return Ok(vec![1.0; rows.records()]);
        };
        let codes = rows.cells(&Clique::new([*attribute]))?;
        Ok(codes.into_iter().map(|code| means[code as usize]).collect())
    }

    /// The records with a column of their weights, in the place of the sample's weight or the last one.
    pub(crate) fn with_weights(
        &self,
        rows: &Dataset,
        weights: &[f64],
        schema: &Schema,
    ) -> Result<(Dataset, Schema)> {
        let mut distinct: Vec<f64> = weights.iter().map(|weight| rounded(*weight)).collect();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        let end = distinct.last().map_or(1.0, |last| last * 2.0 + 1.0);
        let edges = distinct.iter().copied().chain([end]).collect();
        let point = |weight: &f64| Piece { from: *weight, below: *weight, rows: 1, step: None };
        let bins = Bins::new(edges, Some(false), WEIGHT)?;
        let bins = bins.with_pieces(distinct.iter().map(point).collect(), WEIGHT)?;
        let code = |weight: &f64| {
            let at = distinct.partition_point(|other| *other < rounded(*weight));
            u32::try_from(at).unwrap_or(u32::MAX)
        };
        let own = Column::from_codes(weights.iter().map(code), distinct.len())?;
        let mut described: Vec<SchemaColumn> = schema.attributes().cloned().collect();
        let mut columns = rows.columns().to_vec();
        match &self.weight {
            Some(weight) => {
                described[weight.attribute].kind = Some(Kind::Numeric(bins));
                columns[weight.attribute] = own;
            }
            None if rows.domain().position(WEIGHT).is_some() => {
                let found = format!("an attribute '{WEIGHT}'");
                let expected = "no attribute of that name, as the weights of the records have it";
                return Err(Error::invalid_specification("the schema", found, expected));
            }
            None => {
                described.push(SchemaColumn::attribute(WEIGHT, Kind::Numeric(bins)));
                columns.push(own);
            }
        }
        let schema = schema.for_writing(described)?;
        Ok((Dataset::new(schema.domain(), columns)?, schema))
    }
}

/// A weight to nine digits: as exact as totals are, and short.
fn rounded(weight: f64) -> f64 {
    format!("{weight:.8e}").parse().unwrap_or(weight)
}

#[cfg(test)]
mod tests;
