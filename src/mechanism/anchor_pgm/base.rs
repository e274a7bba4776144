//! Step 0, free: the public base measure.

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

use crate::data::PublicData;
use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::estimation::{AcceleratedBregman, Estimator, SquaredLoss, Stopping, Weighting};
use crate::graph::{self, Extensions, JunctionTree};
use crate::inference::{Interruptible, OverBase};
use crate::measurement::{Measurement, Provenance};
use crate::mechanism::anchor_pgm::base::fitted::{Fitted, FittedBase};
use crate::mechanism::anchor_pgm::constants::{
    BASE_CALLS, EXACT, EXACT_CALLS, GROWTH_MIB, LEAST_SCORE, MOVED, OF_LARGEST, SCORED_AGAIN,
    SINGLE_ERROR, SMALL_GROWTH, UNSEEN,
};
use crate::mechanism::anchor_pgm::trust::Trust;
use crate::mechanism::graphical::table_distances;
use crate::model::MarkovRandomField;
use crate::observe::Checks;
use crate::table::{CliqueLayout, Potentials};

/// The marginals of all public tables together, as frequencies, on the cliques that some table has.
#[derive(Debug)]
pub(super) struct PublicMarginals {
    /// Position among all cliques.
    pub(super) positions: Vec<usize>,
    pub(super) cliques: Vec<Clique>,
    /// Counts, pooled over the tables that have the clique.
    pub(super) counts: Vec<Vec<u32>>,
    /// m, the number of records of those tables.
    pub(super) records: Vec<u64>,
}

impl PublicMarginals {
    pub(super) fn count(tables: &[PublicData], cliques: &[Clique]) -> Result<Self> {
        let is_covered = |i: &usize| tables.iter().any(|table| table.covers(&cliques[*i]));
        let positions: Vec<usize> = (0..cliques.len()).filter(is_covered).collect();
        let covered: Vec<Clique> = positions.iter().map(|i| cliques[*i].clone()).collect();
        let mut counts: Vec<Vec<u32>> = vec![Vec::new(); covered.len()];
        let mut records = vec![0; covered.len()];
        for table in tables {
            let own: Vec<usize> =
                (0..covered.len()).filter(|i| table.covers(&covered[*i])).collect();
            let asked: Vec<Clique> = own.iter().map(|i| covered[*i].clone()).collect();
            for (i, found) in own.into_iter().zip(table.project_many(&asked)?) {
                records[i] += table.records();
                if counts[i].is_empty() {
                    counts[i] = found;
                } else {
                    let sums = counts[i].iter_mut().zip(found);
                    sums.for_each(|(sum, count)| *sum = sum.saturating_add(count));
                }
            }
        }
        Ok(Self { positions, cliques: covered, counts, records })
    }

    /// m: the largest number of records behind a marginal; 0 without tables.
    pub(super) fn total(&self) -> f64 {
        self.records.iter().copied().max().unwrap_or(0) as f64
    }

    /// The expected sampling error of a marginal's frequencies: `Σ √(2k/π)/m` over its counts k.
    fn sampling_error(&self, clique: usize) -> f64 {
        let of_cell = |count: &u32| match count {
            0 => 0.0,
            1 => SINGLE_ERROR,
            k => (2.0 * f64::from(*k) / std::f64::consts::PI).sqrt(),
        };
        self.counts[clique].iter().map(of_cell).sum::<f64>() / self.records[clique] as f64
    }

    /// The marginal as a measurement of `total` records, with the mean sampling variance of its cells as noise. A value that
    /// no record has gets [`UNSEEN`] records, distributed over the other attributes as all records are.
    fn measurement(&self, domain: &Domain, clique: usize, total: f64) -> Measurement {
        let records = self.records[clique] as f64;
        let scale = total / records;
        let cells = self.counts[clique].len() as f64;
        let mut values: Vec<f64> =
            self.counts[clique].iter().map(|count| scale * f64::from(*count)).collect();
        spread_unseen(&mut values, &domain.shape(&self.cliques[clique]), UNSEEN / records);
        Measurement {
            clique: self.cliques[clique].clone(),
            cell: None,
            values,
            stddev: scale * (records / cells).sqrt(),
            provenance: Provenance::Public { source: String::new() },
        }
    }
}

/// Gives every slice of a table that is zero a share of the sum over the slices along the same axis.
fn spread_unseen(table: &mut [f64], shape: &[usize], share: f64) {
    let mut inner = table.len();
    for size in shape {
        let outer = inner;
        inner /= size;
        let mut sums = vec![0.0; table.len() / size];
        let mut seen = vec![false; *size];
        let place = |cell: usize| (cell / outer * inner + cell % inner, cell / inner % size);
        for (cell, value) in table.iter().enumerate() {
            let (rest, code) = place(cell);
            sums[rest] += value;
            seen[code] |= *value > 0.0;
        }
        for (cell, value) in table.iter_mut().enumerate() {
            let (rest, code) = place(cell);
            if !seen[code] {
                *value = share * sums[rest];
            }
        }
    }
}

/// `p_pub`: the model of the public tables that measurements of the private table correct.
#[derive(Clone, Debug)]
pub(super) struct Base {
    /// Its potentials.
    pub(super) potentials: Arc<Potentials>,
    /// The distribution, standing for the private number of records.
    pub(super) model: MarkovRandomField,
}

impl Base {
    /// A base without public tables: the uniform distribution, which becomes that of independent attributes once it moves to
    /// what is measured of these.
    pub(super) fn uniform(domain: &Domain, total: f64) -> Result<Self> {
        let singles = (0..domain.len()).map(|i| Clique::new([i]));
        let potentials = Potentials::zeros(&CliqueLayout::new(domain, singles)?);
        let model = MarkovRandomField::new(domain, potentials.clone(), total)?;
        Ok(Self { potentials: Arc::new(potentials), model })
    }

    /// Chooses marginals of the public tables greedily, within the size limit, and fits them. Of large and small steps of the
    /// limit, those are taken whose model misses the public pairs by less.
    ///
    /// `relevance`: `w_r` of all cliques. `total`: the private number of records.
    pub(super) fn build(
        domain: &Domain,
        public: &PublicMarginals,
        relevance: &[f64],
        limit_mib: f64,
        total: f64,
        checks: &dyn Checks,
    ) -> Result<Self> {
        let choice = Choice::new(domain, public, relevance, limit_mib, checks);
        let mut fit = choice.run(GROWTH_MIB)?;
        let small = SMALL_GROWTH.0.max(SMALL_GROWTH.1 * limit_mib);
        if small < GROWTH_MIB.min(limit_mib) {
            let other = choice.run(small)?;
            if choice.excess(&other)? < choice.excess(&fit)? {
                fit = other;
            }
        }
        let potentials = fit.model.potentials().clone();
        let model = MarkovRandomField::new(domain, potentials.clone(), total)?;
        Ok(Self { potentials: Arc::new(potentials), model })
    }

    /// The base whose single attributes are what their measurements and the public tables together say of them: the
    /// distribution nearest to this one, in relative entropy, with these marginals. Attributes that no public table has stay as
    /// they are. Also returns the share of κ that was left to the public tables at each attribute.
    ///
    /// `singles`: measurements of single attributes. `trust`: before anything was learned.
    pub(super) fn moved(
        &self,
        singles: &[Measurement],
        mut trust: Trust,
        checks: &dyn Checks,
    ) -> Result<(Self, Vec<(Clique, f64)>)> {
        let domain = self.model.domain();
        let is_public = |single: &&Measurement| self.covers(&single.clique);
        let singles: Vec<Measurement> = singles.iter().filter(is_public).cloned().collect();
        if singles.is_empty() {
            return Ok((self.clone(), Vec::new()));
        }
        let cliques: Vec<Clique> = singles.iter().map(|single| single.clique.clone()).collect();
        let expected = self.model.marginals(&cliques)?.into_iter().enumerate();
        let expected: Vec<(usize, Vec<f64>)> =
            expected.map(|(i, table)| (i, self.before_anything(table.values()))).collect();
        trust.learn(&singles, &expected);
        let wanted = |i: usize| Measurement {
            values: trust.mean(i, &singles[i]),
            stddev: MOVED.0 * singles[i].stddev,
            ..singles[i].clone()
        };
        let wanted: Vec<Measurement> = (0..singles.len()).map(wanted).collect();

        let loss = SquaredLoss::new(domain, &wanted, Weighting::InverseVariance)?;
        let oracle = OverBase::new(domain, &self.potentials, loss.layout())?;
        let stopping = Stopping::default().at_most(MOVED.1);
        let method = AcceleratedBregman { stopping, ..AcceleratedBregman::default() };
        let total = self.model.total();
        let estimate =
            method.estimate(&Interruptible { oracle: &oracle, checks }, &loss, total, None)?;
        let potentials = oracle.potentials(&estimate.potentials);
        let model = MarkovRandomField::new(domain, potentials.clone(), total)?;
        let shares = trust.shares().map(|(clique, share)| (clique.clone(), share)).collect();
        Ok((Self { potentials: Arc::new(potentials), model }, shares))
    }

    /// What the base says of a single attribute before anything is measured. Where it knows nothing, all values are equally
    /// likely, whatever the rules of the domain leave of their combinations: of households of at most seven, nearly all that can
    /// be told apart are of seven.
    fn before_anything(&self, of_model: &[f64]) -> Vec<f64> {
        let knows_nothing = self.potentials.values().iter().all(|potential| *potential == 0.0);
        if knows_nothing {
            return vec![self.model.total() / of_model.len() as f64; of_model.len()];
        }
        of_model.to_vec()
    }

    /// A model of the same marginals of other public records, from the start: what a fit knows of the records that it began with does not
    /// count against those that are held out.
    pub(super) fn refitted(
        &self,
        table: &PublicData,
        checks: &dyn Checks,
    ) -> Result<MarkovRandomField> {
        let domain = self.model.domain();
        let public = PublicMarginals::count(std::slice::from_ref(table), self.cliques())?;
        let mut fit = FittedBase::start(domain, &public)?;
        let all: Vec<usize> = (0..public.cliques.len()).collect();
        fit.refit(domain, &public, &all, public.total(), Fitted::Dual(BASE_CALLS.1), checks)?;
        Ok(fit.model)
    }

    /// Whether one of its cliques has all attributes of another.
    pub(super) fn covers(&self, clique: &Clique) -> bool {
        self.cliques().iter().any(|own| clique.is_subset(own))
    }

    /// Its cliques.
    pub(super) fn cliques(&self) -> &[Clique] {
        self.potentials.layout().cliques()
    }
}

/// Up to this many times the current limit, the cells of a model with one more marginal are counted. One that needs more is
/// tried again when the limit has grown so far. Decision 56: without such an end, errors on salary and Titanic are the same.
const COUNTED: u64 = 4;

/// The greedy choice of the base's marginals.
#[derive(Clone)]
struct Choice<'a> {
    domain: &'a Domain,
    public: &'a PublicMarginals,
    /// `w_r` of the public marginals, at most 1.
    relevance: Vec<f64>,
    /// `s_r` of the public marginals.
    sampling: Vec<f64>,
    limit_mib: f64,
    care: Care,
    checks: &'a dyn Checks,
}

/// How closely the greedy choice follows the public marginals.
#[derive(Clone, Copy)]
struct Care {
    /// The fit after each step.
    steps: Fitted,
    /// The last fit.
    last: Fitted,
    /// The share of the largest score that the other marginals of a step have, at least.
    of_largest: f64,
}

impl Care {
    /// Where public marginals are rough: to follow them closely is to follow what they are by chance.
    fn little() -> Self {
        let (steps, last) = BASE_CALLS;
        Self { steps: Fitted::Primal(steps), last: Fitted::Primal(last), of_largest: 0.0 }
    }

    /// Where they are exact, and what counts is how many of them a model of limited size can have.
    fn much() -> Self {
        let last = Fitted::Dual(BASE_CALLS.1);
        Self { steps: Fitted::Dual(EXACT_CALLS), last, of_largest: OF_LARGEST }
    }
}

/// A marginal that may join the base. The best one has the highest last score, and of these comes first.
#[derive(PartialEq)]
struct Candidate {
    score: f64,
    /// The position of the marginal.
    place: usize,
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(other.place.cmp(&self.place))
    }
}

impl<'a> Choice<'a> {
    fn new(
        domain: &'a Domain,
        public: &'a PublicMarginals,
        relevance: &[f64],
        limit_mib: f64,
        checks: &'a dyn Checks,
    ) -> Self {
        let largest = relevance.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let relevance = public.positions.iter().map(|i| relevance[*i] / largest).collect();
        let sampling = (0..public.cliques.len()).map(|i| public.sampling_error(i)).collect();
        let mut found =
            Self { domain, public, relevance, sampling, limit_mib, care: Care::little(), checks };
        if found.mean_sampling_error() < EXACT {
            found.care = Care::much();
        }
        found
    }

    /// The mean of the sampling errors of all public marginals, weighted by relevance.
    fn mean_sampling_error(&self) -> f64 {
        let weights: f64 = self.relevance.iter().sum();
        let weighted = self.relevance.iter().zip(&self.sampling).map(|(w, s)| w * s);
        weighted.sum::<f64>() / weights.max(f64::MIN_POSITIVE)
    }

    /// Adds the marginals with the largest `w_r (‖q_r - M_r p‖₁ - s_r)`, at most one of each attribute at a time, and none whose score is
    /// too far below the largest. `growth`: by how many MiB the size limit grows each time.
    fn run(&self, growth: f64) -> Result<FittedBase> {
        let Self { domain, public, limit_mib, care, checks, .. } = *self;
        let records = public.total().max(1.0);
        let is_single = |i: &usize| public.cliques[*i].len() == 1;
        let mut chosen: Vec<usize> = (0..public.cliques.len()).filter(is_single).collect();
        let mut is_chosen = vec![false; public.cliques.len()];
        chosen.iter().for_each(|i| is_chosen[*i] = true);
        // The last score of every marginal. Scores fall as the model improves, so old ones are mostly too high.
        let mut known = vec![f64::INFINITY; public.cliques.len()];
        // The cells of the model with every marginal, when it was last too large; more as the model grows.
        let mut needed = vec![0; public.cliques.len()];
        let mut fit = FittedBase::start(domain, public)?;
        // Whether the last step added a marginal.
        let mut grew = true;
        for pass in 1.. {
            if grew {
                fit.refit(domain, public, &chosen, records, care.steps, checks)?;
            }
            let cliques: Vec<Clique> = chosen.iter().map(|i| public.cliques[*i].clone()).collect();
            let grown = (growth * f64::from(pass)).min(limit_mib);
            let limit = graph::cells_within_mib(grown);
            // Those that were too large are not tried again before the limit has grown to them.
            let open = |i: &usize| !is_chosen[*i] && needed[*i] <= limit;
            let candidates = (0..public.cliques.len()).filter(open);
            let order = candidates.map(|place| Candidate { score: known[place], place }).collect();
            let most = if pass > 1 { SCORED_AGAIN } else { public.cliques.len() };
            let mut wanted = self.first_within(limit, &cliques, order, most, &mut needed);
            wanted.sort_unstable();
            let is_due = |i: &usize| grew || known[*i].is_infinite();
            let due: Vec<usize> = wanted.iter().copied().filter(is_due).collect();
            for (i, score) in self.scores(&fit, &due, pass)? {
                known[i] = score;
            }
            wanted.retain(|i| known[*i] > LEAST_SCORE);
            wanted.sort_by(|i, j| known[*j].total_cmp(&known[*i]).then(i.cmp(j)));
            let largest = wanted.first().map_or(0.0, |i| known[*i]);
            wanted.retain(|i| known[*i] >= care.of_largest * largest);
            let (mut cliques, mut taken, before) = (cliques, Clique::default(), chosen.len());
            for i in wanted {
                let clique = &public.cliques[i];
                if !clique.intersection(&taken).is_empty() {
                    continue;
                }
                cliques.push(clique.clone());
                if JunctionTree::new(domain, &cliques).cells() > limit {
                    cliques.pop();
                    continue;
                }
                taken = taken.union(clique);
                chosen.push(i);
                is_chosen[i] = true;
            }
            grew = chosen.len() > before;
            if !grew && grown >= limit_mib {
                break;
            }
        }
        fit.refit(domain, public, &chosen, records, care.last, checks)?;
        Ok(fit)
    }

    /// The best `most` candidates that leave the model of the chosen ones within a limit. `needed`: gets the cells
    /// of the models with those that were tried.
    fn first_within(
        &self,
        limit: u64,
        chosen: &[Clique],
        mut order: BinaryHeap<Candidate>,
        most: usize,
        needed: &mut [u64],
    ) -> Vec<usize> {
        let tree = JunctionTree::new(self.domain, chosen);
        let last = graph::cells_within_mib(self.limit_mib);
        let counted = limit.saturating_mul(COUNTED).min(last);
        let extensions = Extensions::new(self.domain, chosen, counted);
        let mut found = Vec::new();
        while found.len() < most && !order.is_empty() {
            let best = std::iter::from_fn(|| order.pop()).take(most);
            let part: Vec<usize> = best.map(|candidate| candidate.place).collect();
            let asked: Vec<Clique> = part.iter().map(|i| self.public.cliques[*i].clone()).collect();
            for (i, cells) in part.into_iter().zip(extensions.cells_with(&tree, &asked, limit)) {
                needed[i] = cells;
                if cells <= limit {
                    found.push(i);
                }
            }
        }
        found.truncate(most);
        found
    }

    /// By how much a model misses the public pairs beyond their sampling error, weighted by relevance.
    fn excess(&self, fit: &FittedBase) -> Result<f64> {
        let is_small = |i: &usize| self.public.cliques[*i].len() <= 2;
        let pairs: Vec<usize> = (0..self.public.cliques.len()).filter(is_small).collect();
        let scores = self.scores(fit, &pairs, 1)?;
        Ok(scores.iter().map(|(_, score)| score.max(0.0)).sum())
    }

    /// `w_r (‖q_r - M_r p‖₁ - s_r)` of some marginals, by their position. `pass`: the seed for estimates.
    fn scores(&self, fit: &FittedBase, wanted: &[usize], pass: u32) -> Result<Vec<(usize, f64)>> {
        let (public, total) = (self.public, fit.model.total());
        let mut found = Vec::with_capacity(wanted.len());
        // Tables that lack attributes have other numbers of records.
        let sizes: BTreeSet<u64> = wanted.iter().map(|i| public.records[*i]).collect();
        for size in sizes {
            let own: Vec<usize> =
                wanted.iter().copied().filter(|i| public.records[*i] == size).collect();
            let (cliques, counts) = (&public.cliques, &public.counts);
            let scale = total / size as f64;
            let distances =
                table_distances(&fit.model, cliques, &own, counts, scale, pass, self.checks)?;
            let score = |(i, distance): (usize, f64)| {
                (i, self.relevance[i] * (distance / total - self.sampling[i]))
            };
            found.extend(own.into_iter().zip(distances).map(score));
        }
        Ok(found)
    }
}

mod fitted;
#[cfg(test)]
mod tests;
