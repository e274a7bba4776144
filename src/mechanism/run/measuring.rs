//! The measurements of a round.

use crate::data::Tallies;
use crate::domain::Clique;
use crate::error::Result;
use crate::measurement::Measurement;
use crate::mechanism::Run;
use crate::mechanism::run::progress::TalliedMeasurement;
use crate::privacy::{Ratio, Rho};

impl Run<'_, '_> {
    /// Measures a marginal with discrete Gaussian noise.
    ///
    /// # Errors
    /// As [`Curator::measure`](crate::privacy::Curator::measure).
    pub fn measure(&mut self, clique: &Clique, rho: Rho) -> Result<()> {
        self.check()?;
        let noisy = self.curator.measure(clique, rho)?;
        self.take(noisy.into());
        Ok(())
    }

    /// Measures a marginal of tallies of the records, with discrete Gaussian noise. It is kept beside the measurements, as no
    /// model of the records' attributes has it.
    ///
    /// # Errors
    /// As [`Curator::measure_tallied`](crate::privacy::Curator::measure_tallied).
    pub fn measure_tallied(&mut self, tallies: &Tallies, clique: &Clique, rho: Rho) -> Result<()> {
        self.check()?;
        let round = self.current_round().round;
        let noisy = self.curator.measure_tallied(tallies, clique, rho)?;
        let names = clique.iter().map(|a| tallies.domain().name(a).to_owned()).collect();
        self.progress.tallied.push(TalliedMeasurement { round, names, measurement: noisy.into() });
        Ok(())
    }

    /// The measured marginals of tallies.
    pub fn tallied(&self) -> impl ExactSizeIterator<Item = &Measurement> {
        self.progress.tallied.iter().map(|tallied| &tallied.measurement)
    }

    /// Measures one cell of a marginal, row-major over the clique, with discrete Gaussian noise.
    ///
    /// # Errors
    /// As [`Curator::measure_cell`](crate::privacy::Curator::measure_cell).
    pub fn measure_cell(&mut self, clique: &Clique, cell: usize, rho: Rho) -> Result<()> {
        self.check()?;
        let noisy = self.curator.measure_cell(clique, cell, rho)?;
        self.take(noisy.into());
        Ok(())
    }

    /// Measures a marginal with discrete Laplace noise, at a cost of pure ε.
    ///
    /// # Errors
    /// As [`Curator::measure_laplace`](crate::privacy::Curator::measure_laplace).
    pub fn measure_laplace(&mut self, clique: &Clique, epsilon: Ratio) -> Result<()> {
        self.check()?;
        let noisy = self.curator.measure_laplace(clique, epsilon)?;
        self.take(noisy.into());
        Ok(())
    }
}
