//! Replicates of a released table: the mechanism once more, on the released records.

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use crate::data::{Dataset, PublicData};
use crate::error::Result;
use crate::mechanism::{Mechanism, Task};
use crate::model::Drawing;
use crate::observe::Observer;
use crate::privacy::{Budget, LedgerFile, NoiseSeed, PrivacyUnit};
use crate::query::Workload;

/// How to run a mechanism again on the records that it has released, as if they were private: with the same budget, the
/// same public tables and fresh noise. How far the results lie from the released table shows how far that table may lie
/// from the private one.
///
/// It costs no privacy: nothing here holds private records, and the ledger of such a run is its own. Its noise has the
/// same law as that of a private run, as the same curator draws it.
#[derive(Clone, Copy)]
pub struct Replication<'a> {
    /// The mechanism of the release, with its parameters.
    pub mechanism: &'a dyn Mechanism,
    /// The workload of the release.
    pub workload: &'a Workload,
    /// The public tables of the release.
    pub public: &'a [PublicData],
    /// The budget of the release.
    pub budget: Budget,
    /// The share of it that measured the errors of the released table. A replicate's errors are not measured.
    pub error_share: Option<f64>,
    /// The ledger that counted against the budget.
    pub earlier: Option<&'a LedgerFile>,
    /// What differs between neighboring tables.
    pub unit: &'a PrivacyUnit,
    /// How the released records were drawn.
    pub drawing: Drawing,
}

impl Replication<'_> {
    /// Draws a replicate with as many records as the released table.
    ///
    /// `released`: the released records. `noise`: not the seed of the release, nor that of another replicate. `row_seed`:
    /// for the records.
    ///
    /// # Errors
    /// As a run of the mechanism.
    ///
    /// ```
    /// use jointly::{Budget, Drawing, JamPgm, Mechanism, NeighboringRelation, NoiseSeed, Silent, Task, Workload,
    ///               demo::Generator, mechanism::Replication, privacy::PrivacyUnit};
    /// use jointly::rand::{SeedableRng, rngs::ChaCha20Rng};
    /// let private = Generator { records: 2_000, seed: 1, drift: 0.0 }.generate()?;
    /// let workload = Workload::all_k_way(private.domain(), 2)?;
    /// let budget = Budget::approximate(1.0, 1e-9)?;
    /// let unit = PrivacyUnit::of_record(NeighboringRelation::ReplaceOne);
    /// let mut curator = budget.curator(&private, unit.relation(), NoiseSeed::System)?;
    /// let mechanism = JamPgm { rounds: Some(3), ..JamPgm::default() };
    /// let release = mechanism.run(&mut curator, &Task::new(&workload, &[]), &mut Silent)?;
    /// let released = release.rows(2_000, Drawing::Refined, &mut ChaCha20Rng::seed_from_u64(1))?;
    /// let replication = Replication {
    ///     mechanism: &mechanism, workload: &workload, public: &[], budget, error_share: None, earlier: None,
    ///     unit: &unit, drawing: Drawing::Refined,
    /// };
    /// let replicate = replication.draw(&released, NoiseSeed::System, 2, &mut Silent)?;
    /// assert_eq!(replicate.records(), 2_000);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn draw(
        &self,
        released: &Dataset,
        noise: NoiseSeed,
        row_seed: u64,
        observer: &mut dyn Observer,
    ) -> Result<Dataset> {
        let mut curator =
            self.budget.curator_following(released, self.unit, noise, self.earlier)?;
        if let Some(share) = self.error_share {
            curator.set_aside(share)?;
        }
        let task = Task::new(self.workload, self.public);
        let release = self.mechanism.run(&mut curator, &task, observer)?;
        let mut rng = ChaCha20Rng::seed_from_u64(row_seed);
        release.rows(released.records(), self.drawing, &mut rng)
    }
}
