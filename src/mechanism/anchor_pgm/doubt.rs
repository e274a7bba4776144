//! The contradiction test of the reweighted public records: where a measurement shows that they are wrong, they lose their
//! weight.

use std::collections::BTreeMap;

use crate::domain::Clique;
use crate::estimation::SquaredLoss;
use crate::measurement::Measurement;
use crate::mechanism::anchor_pgm::constants::MOST_QUARTERED;
use crate::mechanism::contradiction::is_contradiction;
use crate::table::Marginals;

/// How often the κ of each clique was quartered, because its measurement contradicts the public tables.
#[derive(Clone, Debug, Default)]
pub(super) struct Doubts(BTreeMap<Clique, u32>);

impl Doubts {
    /// The measurements with less noise where the public tables are doubted: that is the same as less κ there.
    pub(super) fn believed<'m>(
        &self,
        measurements: impl IntoIterator<Item = &'m Measurement>,
    ) -> Vec<Measurement> {
        let believe = |measurement: &Measurement| {
            let stddev = measurement.stddev / f64::from(1_u32 << self.times(&measurement.clique));
            Measurement { stddev, ..measurement.clone() }
        };
        measurements.into_iter().map(believe).collect()
    }

    /// Tests a fit of `believed` measurements, and quarters κ where they contradict it. Returns whether any did.
    pub(super) fn grow(&mut self, loss: &SquaredLoss, fitted: &Marginals) -> bool {
        let mut any = false;
        let shares = loss.of_cliques(fitted);
        for (index, (clique, share)) in loss.layout().cliques().iter().zip(shares).enumerate() {
            let times = self.times(clique);
            let squares = 2.0 * share / f64::from(4_u32.pow(times));
            let cells = loss.layout().range(index).len();
            if is_contradiction(squares, cells) && times < MOST_QUARTERED {
                self.0.insert(clique.clone(), times + 1);
                any = true;
            }
        }
        any
    }

    fn times(&self, clique: &Clique) -> u32 {
        self.0.get(clique).copied().unwrap_or(0)
    }
}
