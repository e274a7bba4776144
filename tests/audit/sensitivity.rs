//! Every stated sensitivity, against all neighbors of small random tables.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::own;
use jointly::data::Projectable;
use jointly::domain::{Clique, Domain};
use jointly::privacy::NeighboringRelation::{AddRemoveOne, AddRemoveUnit, ReplaceOne};
use jointly::privacy::{
    CellSet, Curator, LedgerFile, MarginalSensitivity, NeighboringRelation, NoiseSeed, Ratio,
    RecordsPerUnit, ResidualQuery, Rho, ScoreSensitivity, StatisticSensitivity, residual_cost,
};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

const CARDINALITIES: [u32; 3] = [2, 3, 2];
/// Most records of a household.
const UNIT: u32 = 3;

fn relations() -> [NeighboringRelation; 3] {
    [ReplaceOne, AddRemoveOne, AddRemoveUnit(RecordsPerUnit::new(UNIT).unwrap())]
}

/// All sorted lists of this many numbers below `below`, repetitions included.
pub(crate) fn choices(below: usize, length: usize) -> Vec<Vec<usize>> {
    (0..length).fold(vec![vec![]], |lists, _| {
        let longer = |list: Vec<usize>| {
            let first = list.last().copied().unwrap_or(0);
            (first..below).map(move |next| [&list[..], &[next]].concat()).collect::<Vec<_>>()
        };
        lists.into_iter().flat_map(longer).collect()
    })
}

/// A table that can be read by anyone.
#[derive(Clone)]
struct Table {
    domain: Domain,
    records: Vec<[u32; 3]>,
}

impl Table {
    fn new(records: Vec<[u32; 3]>) -> Self {
        let names = ["a", "b", "c"];
        Self { domain: Domain::new(names.into_iter().zip(CARDINALITIES)).unwrap(), records }
    }

    fn random(rows: usize, rng: &mut ChaCha20Rng) -> Self {
        Self::new((0..rows).map(|_| CARDINALITIES.map(|k| rng.random_range(0..k))).collect())
    }

    /// All tables that differ from this one as the relation allows.
    fn neighbors(&self, relation: NeighboringRelation) -> Vec<Self> {
        let mut neighbors = Vec::new();
        let mut push = |records| neighbors.push(Self { domain: self.domain.clone(), records });
        let [a, b, c] = CARDINALITIES;
        let values = || (0..a * b * c).map(move |code| [code / (b * c), code / c % b, code % c]);
        match relation {
            ReplaceOne => {
                for row in 0..self.records.len() {
                    for value in values() {
                        let mut records = self.records.clone();
                        records[row] = value;
                        push(records);
                    }
                }
            }
            AddRemoveOne => {
                for row in 0..self.records.len() {
                    let mut records = self.records.clone();
                    records.remove(row);
                    push(records);
                }
                for value in values() {
                    let mut records = self.records.clone();
                    records.push(value);
                    push(records);
                }
            }
            AddRemoveUnit(most) => {
                // Any records may be a household, and one more may have any values.
                let all: Vec<[u32; 3]> = values().collect();
                for size in 1..=usize::try_from(most.get()).unwrap() {
                    for kept in choices(self.records.len(), self.records.len().saturating_sub(size))
                    {
                        let is_whole =
                            self.records.len() >= size && kept.windows(2).all(|w| w[0] < w[1]);
                        if is_whole {
                            push(kept.iter().map(|row| self.records[*row]).collect());
                        }
                    }
                    for household in choices(all.len(), size) {
                        let more = household.iter().map(|value| all[*value]);
                        push(self.records.iter().copied().chain(more).collect());
                    }
                }
            }
        }
        neighbors
    }

    fn marginal(&self, clique: &Clique) -> Vec<f64> {
        let counts = self.project_many(std::slice::from_ref(clique)).unwrap().swap_remove(0);
        counts.into_iter().map(f64::from).collect()
    }
}

impl Projectable for Table {
    fn domain(&self) -> &Domain {
        &self.domain
    }
    fn records(&self) -> u64 {
        self.records.len() as u64
    }
    fn project_many(
        &self,
        cliques: &[Clique],
    ) -> std::result::Result<Vec<Vec<u32>>, jointly::CommonError> {
        let project = |clique: &Clique| {
            let shape = self.domain.shape(clique);
            let mut counts = vec![0; shape.iter().product()];
            for record in &self.records {
                let cell = clique
                    .iter()
                    .zip(&shape)
                    .fold(0, |cell, (a, k)| cell * k + usize::try_from(record[a]).unwrap());
                counts[cell] += 1;
            }
            counts
        };
        Ok(cliques.iter().map(project).collect())
    }
}

fn l1(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum()
}

/// Random tables of 1 to 4 rows, and each of their neighbors.
fn pairs(relation: NeighboringRelation) -> impl Iterator<Item = (Table, Table)> {
    (0..40).flat_map(move |seed| {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let rows = rng.random_range(1..=4);
        let table = Table::random(rows, &mut rng);
        let neighbors = table.neighbors(relation);
        neighbors.into_iter().map(move |neighbor| (table.clone(), neighbor))
    })
}

/// The bound holds, and is met to 10 %.
fn assert_tight(what: &str, bound: f64, largest: f64) {
    assert!(largest <= bound + 1e-9, "{what}: {largest} exceeds {bound}");
    assert!(largest >= 0.9 * bound, "{what}: only {largest} of {bound} was found");
}

#[test]
fn marginal_counts_change_by_no_more_than_stated() {
    for relation in relations() {
        let stated = MarginalSensitivity::of(relation);
        let (mut largest_l1, mut largest_squared) = (0.0_f64, 0.0_f64);
        for (table, neighbor) in pairs(relation) {
            for clique in table.domain.everything().subsets() {
                let (a, b) = (table.marginal(&clique), neighbor.marginal(&clique));
                largest_l1 = largest_l1.max(l1(&a, &b));
                let squared = a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
                largest_squared = largest_squared.max(squared);
            }
        }
        assert_tight("L1 of a marginal", f64::from(stated.l1()), largest_l1);
        assert_tight("squared L2 of a marginal", f64::from(stated.squared_l2()), largest_squared);
    }
}

#[test]
fn the_number_of_records_changes_by_one_or_a_unit_or_not_at_all() {
    for (relation, stated) in relations().into_iter().zip([0, 1, u64::from(UNIT)]) {
        let largest = pairs(relation).map(|(a, b)| a.records().abs_diff(b.records())).max();
        assert_eq!(largest, Some(stated));
    }
}

#[test]
fn one_count_changes_by_no_more_than_one_or_a_unit() {
    for (relation, stated) in relations().into_iter().zip([1, 1, UNIT]) {
        let mut largest = 0.0_f64;
        for (table, neighbor) in pairs(relation) {
            for clique in table.domain.everything().subsets() {
                let cells = table.marginal(&clique).into_iter().zip(neighbor.marginal(&clique));
                largest = cells.map(|(a, b)| (a - b).abs()).fold(largest, f64::max);
            }
        }
        assert_tight("one cell", f64::from(stated), largest);
    }
}

/// The number of records in a box of cells, of any marginal of small tables, as a score or measured.
#[test]
fn a_sum_of_cells_changes_by_no_more_than_one_or_a_unit() {
    let mut rng = ChaCha20Rng::seed_from_u64(91);
    for (relation, stated) in relations().into_iter().zip([1, 1, UNIT]) {
        assert_eq!(MarginalSensitivity::one_cell(relation).squared_l2(), stated * stated);
        assert_eq!(ScoreSensitivity::cell_error(relation).counts(), stated);
        let mut largest = 0.0_f64;
        for (table, neighbor) in pairs(relation) {
            for clique in table.domain.everything().subsets() {
                let shape = table.domain.shape(&clique);
                let [own, other] = [&table, &neighbor].map(|table| table.marginal(&clique));
                for _ in 0..5 {
                    let range = |values: &usize| {
                        let values = u32::try_from(*values).unwrap();
                        let from = rng.random_range(0..values);
                        from..rng.random_range(from + 1..=values)
                    };
                    let set = CellSet::new(shape.iter().map(range)).unwrap();
                    let of = |counts: &[f64]| -> f64 {
                        set.cells(&shape).into_iter().map(|cell| counts[cell]).sum()
                    };
                    largest = largest.max((of(&own) - of(&other)).abs());
                }
            }
        }
        assert_tight("sum of cells", f64::from(stated), largest);
    }
}

#[test]
fn a_sum_of_cells_is_charged_with_its_cells_and_continued_only_with_them() {
    let mut rng = ChaCha20Rng::seed_from_u64(92);
    for (relation, changed) in relations().into_iter().zip([1, 1, u64::from(UNIT)]) {
        let table = Table::random(9, &mut rng);
        let limit = Rho::from_f64(1.0).unwrap();
        let mut curator = Curator::new(&table, relation, limit, NoiseSeed::Fixed(1)).unwrap();
        let (clique, quarter) = (Clique::new([0, 1]), Rho::from_f64(0.25).unwrap());
        let set = |ranges: &[(u32, u32)]| CellSet::try_from(ranges.to_vec()).unwrap();
        for wrong in [set(&[(0, 1)]), set(&[(0, 1), (0, 99)]), set(&[])] {
            assert!(curator.measure_sum(&clique, &wrong, quarter).is_err());
        }
        let cells = set(&[(0, 1), (1, 2)]);
        assert!(curator.measure_sum(&Clique::new([9]), &set(&[(0, 1)]), quarter).is_err());
        assert_eq!(curator.spent(), Rho::ZERO);
        let noisy = curator.measure_sum(&clique, &cells, quarter).unwrap();
        assert_eq!(noisy.variance, Ratio::new(2 * changed * changed, 1).unwrap());
        let entry = &curator.ledger().entries()[0];
        assert_eq!((entry.cells.as_ref(), entry.cell, entry.rho), (Some(&cells), None, quarter));
        let written = serde_json::to_value(curator.ledger()).unwrap();
        let mut whole = written.clone();
        whole["entries"][0].as_object_mut().unwrap().remove("cells");
        for (ledger, fits) in [(written, true), (whole, relation != ReplaceOne)] {
            let ledger: jointly::privacy::Ledger = serde_json::from_value(ledger).unwrap();
            let mut other = Curator::new(&table, relation, limit, NoiseSeed::Fixed(1)).unwrap();
            assert_eq!(other.resume(ledger.entries()).is_ok(), fits, "{relation}");
        }
    }
}

/// The scores of FEM and DualQuery, in both signs, against records drawn from anywhere.
#[test]
fn the_signed_error_of_a_query_changes_by_no_more_than_stated() {
    let mut rng = ChaCha20Rng::seed_from_u64(81);
    for relation in relations() {
        let stated = ScoreSensitivity::signed_cell_error(relation).value();
        let (mut largest, mut range) = (0.0_f64, 0.0_f64);
        for (table, neighbor) in pairs(relation) {
            for clique in table.domain.everything().subsets() {
                // Under add-remove-one the total is an estimate, the same for both tables.
                let model = reference(&table, &clique, table.records.len() as f64, &mut rng);
                let scores = |t: &Table| -> Vec<f64> {
                    let errors = t.marginal(&clique).into_iter().zip(&model).map(|(m, v)| m - v);
                    errors.flat_map(|error| [error, -error]).collect()
                };
                let pairs = scores(&table).into_iter().zip(scores(&neighbor));
                let changes: Vec<f64> = pairs.map(|(a, b)| a - b).collect();
                largest = changes.iter().map(|change| change.abs()).fold(largest, f64::max);
                let fold = |f: fn(f64, f64) -> f64| changes.iter().copied().reduce(f).unwrap();
                range = range.max(fold(f64::max) - fold(f64::min));
            }
        }
        assert_tight("signed error of a query", stated, largest);
        // What the cost of the exponential mechanism, ε²/8, assumes.
        assert_tight("range of all changes", 2.0 * stated, range);
    }
}

/// The scores of mechanisms that hold a weighted support: of single queries, and of whole marginals.
#[test]
fn the_error_of_a_query_and_the_worst_of_a_marginal_change_by_no_more_than_stated() {
    let mut rng = ChaCha20Rng::seed_from_u64(76);
    for relation in relations() {
        let stated = ScoreSensitivity::cell_error(relation).value();
        let (mut single, mut worst) = (0.0_f64, 0.0_f64);
        for (table, neighbor) in pairs(relation) {
            for clique in table.domain.everything().subsets() {
                // Under add-remove-one the total is an estimate, the same for both tables.
                let rows = table.records.len() as f64;
                let model = reference(&table, &clique, rows, &mut rng);
                let errors = |t: &Table| -> Vec<f64> {
                    t.marginal(&clique).iter().zip(&model).map(|(m, v)| (m - v).abs()).collect()
                };
                let (a, b) = (errors(&table), errors(&neighbor));
                single = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(single, f64::max);
                let max = |errors: &[f64]| errors.iter().copied().fold(0.0, f64::max);
                worst = worst.max((max(&a) - max(&b)).abs());
            }
        }
        assert_tight("error of a query", stated, single);
        assert_tight("largest error of a marginal", stated, worst);
    }
}

#[test]
fn the_noise_of_one_cell_is_that_of_its_cost_under_both_relations() {
    let mut rng = ChaCha20Rng::seed_from_u64(77);
    for (relation, changed) in relations().into_iter().zip([1, 1, u64::from(UNIT)]) {
        let table = Table::random(9, &mut rng);
        let limit = Rho::from_f64(1.0).unwrap();
        let mut curator = Curator::new(&table, relation, limit, NoiseSeed::Fixed(1)).unwrap();
        let clique = Clique::new([0, 1]);
        let quarter = Rho::from_f64(0.25).unwrap();
        assert!(curator.measure_cell(&clique, 6, quarter).is_err());
        assert!(curator.measure_cell(&Clique::new([9]), 0, quarter).is_err());
        assert_eq!(curator.spent(), Rho::ZERO);
        let noisy = curator.measure_cell(&clique, 4, quarter).unwrap();
        assert_eq!(
            (noisy.cell, noisy.variance),
            (4, Ratio::new(2 * changed * changed, 1).unwrap())
        );
        let entry = &curator.ledger().entries()[0];
        assert_eq!((entry.cell, entry.rho), (Some(4), quarter));
        // A ledger with it can be continued; one with this sensitivity for a whole marginal cannot, under replace-one.
        let written = serde_json::to_value(curator.ledger()).unwrap();
        let mut whole = written.clone();
        whole["entries"][0].as_object_mut().unwrap().remove("cell");
        for (ledger, fits) in [(written, true), (whole, relation != ReplaceOne)] {
            let ledger: jointly::privacy::Ledger = serde_json::from_value(ledger).unwrap();
            let mut other = Curator::new(&table, relation, limit, NoiseSeed::Fixed(1)).unwrap();
            assert_eq!(other.resume(ledger.entries()).is_ok(), fits, "{relation}");
        }
    }
}

/// A vector to compare a marginal with, as a model or a scaled public table would give it: random values, or the
/// marginal of a random table scaled to another number of rows.
fn reference(table: &Table, clique: &Clique, rows: f64, rng: &mut ChaCha20Rng) -> Vec<f64> {
    let public_rows = rng.random_range(1..=9_usize);
    let mut values = Table::random(public_rows, rng).marginal(clique);
    if rng.random::<bool>() {
        values = table.marginal(clique); // near the records: errors can only grow
    }
    if rng.random::<bool>() {
        for value in &mut values {
            *value += rng.random_range(0.0..1.0);
        }
    }
    let scale = rows / values.iter().sum::<f64>().max(1.0);
    values.into_iter().map(|value| value * scale).collect()
}

#[test]
fn the_error_of_a_marginal_changes_by_no_more_than_stated() {
    let mut rng = ChaCha20Rng::seed_from_u64(71);
    for relation in relations() {
        for weight in [1.0, 2.5] {
            let mut largest = 0.0_f64;
            for (table, neighbor) in pairs(relation) {
                for clique in table.domain.everything().subsets() {
                    // Under add-remove-one the model's total is an estimate, the same for both tables.
                    let rows = table.records.len() as f64;
                    let model = reference(&table, &clique, rows, &mut rng);
                    let score = |t: &Table| weight * (l1(&t.marginal(&clique), &model) - 0.3);
                    largest = largest.max((score(&table) - score(&neighbor)).abs());
                }
            }
            let stated = ScoreSensitivity::l1_error(relation).weighted(weight).unwrap();
            assert_tight("L1 error", stated.value(), largest);
        }
    }
}

/// The errors of a released table on all marginals of a workload, as one vector, and their mean.
#[test]
fn the_errors_of_a_released_table_change_together_by_no_more_than_stated() {
    let mut rng = ChaCha20Rng::seed_from_u64(83);
    for relation in relations() {
        let cliques: Vec<Clique> = Table::new(Vec::new())
            .domain
            .everything()
            .subsets()
            .into_iter()
            .filter(|c| !c.is_empty())
            .collect();
        let stated = StatisticSensitivity::l1_errors(relation, cliques.len()).unwrap();
        let of_mean = StatisticSensitivity::mean_l1_error(relation).unwrap();
        // Without the steps that cover rounding.
        let one = f64::from(stated.steps() - 2) * StatisticSensitivity::GRID;
        assert_eq!(of_mean.steps(), stated.steps(), "a mean changes as one of its numbers");
        let (mut joint, mut each, mut mean) = (0.0_f64, 0.0_f64, 0.0_f64);
        for (table, neighbor) in pairs(relation) {
            // The released records: those of the model that knows the records, or others, of another number. N is a
            // constant of both tables, the number of records only where it is public.
            let drawn = Table::random(rng.random_range(1..=9), &mut rng);
            let drawn = if rng.random::<bool>() { &table } else { &drawn };
            let records = table.records.len() as f64;
            let noisy: f64 = records + rng.random_range(-2.0..3.0);
            let is_public = relation.has_public_total() || rng.random::<bool>();
            let total = if is_public { records } else { noisy.max(1.0) };
            let errors = |t: &Table| -> Vec<f64> {
                let scale = total / drawn.records.len().max(1) as f64;
                let error = |clique: &Clique| {
                    let v: Vec<f64> = drawn.marginal(clique).iter().map(|x| scale * x).collect();
                    l1(&t.marginal(clique), &v)
                };
                cliques.iter().map(error).collect()
            };
            let (a, b) = (errors(&table), errors(&neighbor));
            let changes: Vec<f64> = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).collect();
            joint = joint.max(changes.iter().map(|x| x * x).sum::<f64>().sqrt());
            each = changes.iter().copied().fold(each, f64::max);
            mean = mean.max((a.iter().sum::<f64>() - b.iter().sum::<f64>()).abs() / a.len() as f64);
        }
        assert_tight("L2 of all errors", one * (cliques.len() as f64).sqrt(), joint);
        assert_tight("one error", one, each);
        assert_tight("mean error", one, mean);
    }
}

/// The errors of a released table for a population: private records count by the weight of their third value, as a share of the
/// largest, and a neighbor may change that too.
#[test]
fn weighted_errors_change_together_by_no_more_than_those_of_counts() {
    let mut rng = ChaCha20Rng::seed_from_u64(84);
    let cliques = [Clique::new([0]), Clique::new([1]), Clique::new([0, 1])];
    for relation in relations() {
        let stated = StatisticSensitivity::l1_errors(relation, cliques.len()).unwrap();
        let one = f64::from(stated.steps() - 2) * StatisticSensitivity::GRID;
        let (mut joint, mut each) = (0.0_f64, 0.0_f64);
        for (table, neighbor) in pairs(relation) {
            let weights: Vec<f64> = (0..CARDINALITIES[2])
                .map(|value| if value == 0 { 1.0 } else { rng.random::<f64>() })
                .collect();
            let weighted = |t: &Table, clique: &Clique| -> Vec<f64> {
                let with = t.marginal(&clique.union(&Clique::new([2])));
                let bins = with.chunks(weights.len());
                bins.map(|bins| bins.iter().zip(&weights).map(|(n, u)| n * u).sum()).collect()
            };
            // The released table knows the records, or does not; its size is a constant of both.
            let drawn = Table::random(rng.random_range(1..=9), &mut rng);
            let (drawn, scale) =
                if rng.random::<bool>() { (&table, 1.0) } else { (&drawn, rng.random::<f64>()) };
            let errors = |t: &Table| -> Vec<f64> {
                let error = |clique: &Clique| {
                    let v: Vec<f64> = weighted(drawn, clique).iter().map(|x| scale * x).collect();
                    l1(&weighted(t, clique), &v)
                };
                cliques.iter().map(error).collect()
            };
            let (a, b) = (errors(&table), errors(&neighbor));
            let changes: Vec<f64> = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).collect();
            joint = joint.max(changes.iter().map(|x| x * x).sum::<f64>().sqrt());
            each = changes.iter().copied().fold(each, f64::max);
        }
        assert_tight("L2 of all weighted errors", one * (cliques.len() as f64).sqrt(), joint);
        assert_tight("one weighted error", one, each);
    }
}

/// The score of a whole model: the mean of its errors on a workload, however many marginals it has.
#[test]
fn the_mean_error_of_a_model_changes_by_no_more_than_that_of_one_marginal() {
    let mut rng = ChaCha20Rng::seed_from_u64(79);
    for relation in relations() {
        let stated = ScoreSensitivity::mean_workload_error(relation).value();
        let mut largest = 0.0_f64;
        for (table, neighbor) in pairs(relation) {
            let rows = table.records.len() as f64;
            // A model of the records, or one of a few public records: one table for all marginals, as models are.
            let public = Table::random(rng.random_range(1..=9), &mut rng);
            let model = if rng.random::<bool>() { &table } else { &public };
            let scale = rows / model.records.len() as f64;
            let cliques = table.domain.everything().subsets();
            let weights: Vec<f64> =
                cliques.iter().map(|_| f64::from(rng.random_range(0..4_u8))).collect();
            let sum: f64 = weights.iter().sum::<f64>().max(1.0);
            let score = |t: &Table| -> f64 {
                let error = |clique: &Clique| {
                    let v: Vec<f64> = model.marginal(clique).iter().map(|x| scale * x).collect();
                    l1(&t.marginal(clique), &v)
                };
                cliques.iter().zip(&weights).map(|(c, weight)| weight / sum * error(c)).sum()
            };
            largest = largest.max((score(&table) - score(&neighbor)).abs());
        }
        assert_tight("mean workload error", stated, largest);
    }
}

/// The score of fits that shrink noise: `w e (1 - a/√(e² + a²))`, in a list with plain errors.
#[test]
fn the_gain_of_a_fit_that_shrinks_noise_changes_by_no_more_than_stated() {
    let mut rng = ChaCha20Rng::seed_from_u64(80);
    for relation in relations() {
        let stated = ScoreSensitivity::l1_error(relation).weighted(2.5).unwrap().value();
        for noise in [0.0, 0.05, 0.7, 10.0] {
            let mut largest = 0.0_f64;
            for (table, neighbor) in pairs(relation) {
                for clique in table.domain.everything().subsets() {
                    let rows = table.records.len() as f64;
                    let model = reference(&table, &clique, rows, &mut rng);
                    let weight = if clique.len() == 2 { 2.5 } else { 1.0 };
                    let gain = |t: &Table| {
                        let error = l1(&t.marginal(&clique), &model);
                        let both = error.hypot(noise);
                        let cut = if both > 0.0 { 1.0 - noise / both } else { 1.0 };
                        // Both ways to compute it.
                        if both > 0.0 {
                            let same = error * (error / (both + noise)) * (error / both);
                            assert!((error * cut - same).abs() <= 1e-14 * rows.max(1.0));
                        }
                        weight * error * cut
                    };
                    largest = largest.max((gain(&table) - gain(&neighbor)).abs());
                }
            }
            // Noise far above the errors leaves little of the bound.
            if noise < 0.1 {
                assert_tight("gain of a shrunk fit", stated, largest);
            }
            assert!(largest <= stated * (1.0 + 1e-12), "{relation}, {noise}: {largest}");
        }
    }
}

/// Lists of scores as the mechanisms without public tables make them, all cliques of a table in one list.
#[test]
fn the_scores_of_aim_mst_and_mwem_change_by_no_more_than_stated() {
    let mut rng = ChaCha20Rng::seed_from_u64(73);
    let sigma = 1.7_f64;
    for relation in relations() {
        let plain = ScoreSensitivity::l1_error(relation);
        // w_r = Σ_s c_s |r ∩ s| for the workload {a, b} of weight 2 and {b, c} of weight 1: by attribute 2, 3, 1.
        let weight = |clique: &Clique| clique.iter().map(|a| [2.0, 3.0, 1.0][a]).sum::<f64>();
        let (mut aim, mut mst, mut mwem) = (0.0_f64, 0.0_f64, 0.0_f64);
        for (table, neighbor) in pairs(relation) {
            for clique in table.domain.everything().subsets() {
                let rows = table.records.len() as f64;
                let model = reference(&table, &clique, rows, &mut rng);
                let cells = model.len() as f64;
                let error = |t: &Table| l1(&t.marginal(&clique), &model);
                let noise = (2.0 / std::f64::consts::PI).sqrt() * sigma * cells;
                let change =
                    |score: &dyn Fn(&Table) -> f64| (score(&table) - score(&neighbor)).abs();
                aim = aim.max(change(&|t| weight(&clique) * (error(t) - noise)));
                mwem = mwem.max(change(&|t| error(t) - cells));
                if clique.len() == 2 {
                    mst = mst.max(change(&error));
                }
            }
        }
        // All three attributes together have the largest weight, 6.
        assert_tight("AIM's score", plain.weighted(6.0).unwrap().value(), aim);
        assert_tight("MST's score", plain.value(), mst);
        assert_tight("MWEM+PGM's score", plain.value(), mwem);
    }
}

#[test]
fn the_score_of_a_public_candidate_changes_by_no_more_than_stated() {
    let mut rng = ChaCha20Rng::seed_from_u64(72);
    for relation in relations() {
        let mut largest = 0.0_f64;
        for (table, neighbor) in pairs(relation) {
            for clique in table.domain.everything().subsets() {
                let rows = table.records.len() as f64;
                let model = reference(&table, &clique, rows, &mut rng);
                // (n/m) M(P): the public marginal scaled to n rows, public or estimated once for both tables.
                let public = reference(&neighbor, &clique, rows, &mut rng);
                let score = |t: &Table| {
                    let exact = t.marginal(&clique);
                    l1(&exact, &model) - l1(&exact, &public)
                };
                largest = largest.max((score(&table) - score(&neighbor)).abs());
            }
        }
        let stated = ScoreSensitivity::l1_error_difference(relation).value();
        assert_tight("difference of L1 errors", stated, largest);
    }
}

#[test]
fn two_is_not_a_bound_for_the_public_score_under_replace_one() {
    // Three records, one of which moves from the first cell to the second. The model was fitted to where it is, the
    // public table (of 6 rows, n/m = 1/2) looks like where it goes.
    let clique = Clique::new([0]);
    let table = Table::new(vec![[0, 0, 0], [0, 0, 0], [1, 0, 0]]);
    let neighbor = Table::new(vec![[0, 0, 0], [1, 0, 0], [1, 0, 0]]);
    let model = [2.0, 1.0];
    let public = [2.0, 4.0].map(|count: f64| count * 3.0 / 6.0);
    let score = |t: &Table| {
        let exact = t.marginal(&clique);
        l1(&exact, &model) - l1(&exact, &public)
    };
    assert_eq!(score(&neighbor).to_bits(), 2.0_f64.to_bits());
    assert_eq!(score(&table).to_bits(), (-2.0_f64).to_bits());
}

/// `⊗ T_i M_A(D)` from its definition: entry (x, y) of the matrix is the product over the attributes of `k − 1` or `−1`
/// where centered, 1 or 0 elsewhere.
fn residual(table: &Table, clique: &Clique, centered: &Clique) -> Vec<f64> {
    let shape = table.domain.shape(clique);
    let counts = table.marginal(clique);
    let code =
        |cell: usize, axis: usize| cell / shape[axis + 1..].iter().product::<usize>() % shape[axis];
    let entry = |x: usize, y: usize| -> f64 {
        let factor = |(axis, attribute)| {
            let same = f64::from(u8::from(code(x, axis) == code(y, axis)));
            let k = shape[axis] as f64;
            if centered.contains(attribute) { k * same - 1.0 } else { same }
        };
        clique.iter().enumerate().map(factor).product()
    };
    let row = |x| counts.iter().enumerate().map(|(y, count)| entry(x, y) * count).sum();
    (0..counts.len()).map(row).collect()
}

/// Some or all residuals of a table of three attributes, with any variances.
fn residual_queries(domain: &Domain, rng: &mut ChaCha20Rng) -> Vec<ResidualQuery> {
    let mut queries = Vec::new();
    for clique in std::iter::once(Clique::default()).chain(domain.everything().subsets()) {
        let centered = Clique::new(clique.iter().filter(|_| rng.random::<f64>() < 0.8));
        let variance =
            Ratio::new(rng.random_range(1..1 << 20), rng.random_range(1..1 << 9)).unwrap();
        if rng.random::<f64>() < 0.8 {
            queries.push(ResidualQuery::new(domain, clique, centered, variance).unwrap());
        }
    }
    queries
}

#[test]
fn residuals_cost_what_their_worst_neighbors_cost_together() {
    let mut rng = ChaCha20Rng::seed_from_u64(74);
    for relation in relations() {
        // Households are many more neighbors.
        for _ in 0..if relation.unit().is_some() { 1 } else { 20 } {
            let (mut largest, mut stated) = (0.0_f64, 0.0);
            let mut queries = Vec::new();
            for (table, neighbor) in pairs(relation) {
                if queries.is_empty() {
                    queries = residual_queries(&table.domain, &mut rng);
                    stated = residual_cost(&table.domain, &queries, relation).unwrap().to_f64();
                }
                let cost = |query: &ResidualQuery| -> f64 {
                    let v = |t: &Table| residual(t, query.clique(), query.centered());
                    let squares =
                        v(&table).into_iter().zip(v(&neighbor)).map(|(a, b)| (a - b).powi(2));
                    squares.sum::<f64>() / (2.0 * query.variance().to_f64())
                };
                largest = largest.max(queries.iter().map(cost).sum());
            }
            // Some pair of records differs in every set of attributes, so the bound is met, but for rounding to units.
            assert!(largest <= stated * (1.0 + 1e-12), "{relation}: {largest} exceeds {stated}");
            assert!(stated <= largest * (1.0 + 1e-9) + 1e-11, "{relation}: {largest} of {stated}");
        }
    }
}

#[test]
fn the_bound_for_many_attributes_is_the_sum_of_the_worst_of_every_residual() {
    // 2^21 sets times 22 queries are too many to go through.
    let names = (0..21).map(|i| (format!("a{i}"), 2 + i % 3));
    let domain = Domain::new(names).unwrap();
    let variance = Ratio::new(1000, 1).unwrap();
    let queries: Vec<ResidualQuery> = domain
        .everything()
        .iter()
        .map(|a| Clique::new([a]))
        .chain([Clique::new([0, 1])])
        .map(|clique| ResidualQuery::new(&domain, clique.clone(), clique, variance).unwrap())
        .collect();
    let whole = residual_cost(&domain, &queries, ReplaceOne).unwrap().units();
    let each = queries.chunks(1).map(|q| residual_cost(&domain, q, ReplaceOne).unwrap().units());
    assert!(whole.abs_diff(each.sum()) <= 22);
    let few = residual_cost(&domain, &queries[..4], ReplaceOne).unwrap().units();
    let each =
        queries[..4].chunks(1).map(|q| residual_cost(&domain, q, ReplaceOne).unwrap().units());
    assert!(few.abs_diff(each.sum()) <= 4, "single attributes are worst together");
}

#[test]
fn the_curator_measures_the_residuals_whose_cost_is_stated() {
    let mut rng = ChaCha20Rng::seed_from_u64(75);
    let noiseless = Ratio::new(1, 1 << 11).unwrap(); // exp(-1024) is the chance of any noise
    for relation in relations() {
        let table = Table::random(9, &mut rng);
        let queries: Vec<ResidualQuery> = residual_queries(&table.domain, &mut rng)
            .into_iter()
            .map(|q| {
                let (clique, centered) = (q.clique().clone(), q.centered().clone());
                ResidualQuery::new(&table.domain, clique, centered, noiseless).unwrap()
            })
            .collect();
        let cost = residual_cost(&table.domain, &queries, relation).unwrap();
        let limit = cost.checked_add(cost).unwrap();
        let mut curator = Curator::new(&table, relation, limit, NoiseSeed::Fixed(1)).unwrap();
        let measured = curator.measure_residuals(&queries, cost).unwrap();
        assert_eq!(curator.spent(), cost);
        for noisy in measured {
            let exact = residual(&table, noisy.query.clique(), noisy.query.centered());
            let found: Vec<f64> = noisy.values.iter().map(|v| *v as f64).collect();
            assert_eq!(found, exact);
        }
        let less = Rho::from_units(cost.units() - 1);
        assert!(curator.measure_residuals(&queries, less).is_err(), "noise for more than is paid");
        assert!(curator.measure_residuals(&[], cost).is_err());
        let more = Rho::from_units(cost.units() + 1);
        assert!(curator.measure_residuals(&queries, more).is_err(), "more than is left");
        let other = Domain::new([("a", 7), ("b", 3), ("c", 2)]).unwrap();
        let pair = Clique::new([0, 1]);
        let foreign = ResidualQuery::new(&other, pair.clone(), pair, noiseless).unwrap();
        assert!(curator.measure_residuals(&[foreign], Rho::from_units(u64::MAX)).is_err());
        assert_eq!(curator.spent(), cost);
        let seen = curator.ledger().clone();
        let mut again = Curator::new(&table, relation, limit, NoiseSeed::Fixed(1)).unwrap();
        again.resume(seen.entries()).unwrap();
        let swapped = relations().into_iter().find(|r| *r != relation).unwrap();
        let mut swapped = Curator::new(&table, swapped, limit, NoiseSeed::Fixed(1)).unwrap();
        assert!(swapped.resume(seen.entries()).is_err(), "the ledger of the other relation");
    }
}

/// What a household changes is what it would change record by record, K times; the ledger says whose guarantee it is.
#[test]
fn a_ledger_of_households_goes_on_for_households_of_that_size_only() {
    let table = Table::random(9, &mut ChaCha20Rng::seed_from_u64(78));
    let limit = Rho::from_f64(4.0).unwrap();
    let unit = |most| AddRemoveUnit(RecordsPerUnit::new(most).unwrap());
    let mut curator = Curator::new(&table, unit(UNIT), limit, NoiseSeed::Fixed(1)).unwrap();
    assert_eq!(curator.records(), None);
    curator.measure_total(Rho::from_f64(0.5).unwrap()).unwrap();
    let clique = Clique::new([0, 1]);
    let noisy = curator.measure(&clique, Rho::from_f64(0.5).unwrap()).unwrap();
    assert_eq!(noisy.variance, Ratio::new(u64::from(UNIT * UNIT), 1).unwrap());
    let noisy = curator.measure_laplace(&clique, Ratio::new(1, 2).unwrap()).unwrap();
    assert_eq!(noisy.scale, Ratio::new(2 * u64::from(UNIT), 1).unwrap());
    let score = ScoreSensitivity::cell_error(curator.relation());
    let cost = Rho::from_f64(0.1).unwrap();
    let how = jointly::privacy::Selection::PermuteAndFlip;
    let cells = table.domain().cells(&clique).unwrap();
    let cells = usize::try_from(cells).unwrap();
    let scores = own::scores(&curator, &clique, cells, score, own::counts);
    curator.select(how, scores, cost, "x").unwrap();
    let written = serde_json::to_value(curator.ledger()).unwrap();
    assert_eq!(written["records_per_unit"], UNIT);
    let selection = &written["entries"][3]["mechanism"];
    assert_eq!(selection["sensitivity"].as_f64(), Some(f64::from(UNIT)));
    let mut of_records = written.clone();
    of_records.as_object_mut().unwrap().remove("records_per_unit");
    for (ledger, fits) in [(&written, [true, false, false, false]), (&of_records, [false; 4])] {
        let ledger: jointly::privacy::Ledger = serde_json::from_value(ledger.clone()).unwrap();
        let relations = [unit(UNIT), unit(UNIT + 1), AddRemoveOne, ReplaceOne];
        for (relation, fits) in relations.into_iter().zip(fits) {
            let curator = || Curator::new(&table, relation, limit, NoiseSeed::Fixed(1)).unwrap();
            let goes_on = curator().resume(ledger.entries()).is_ok();
            assert_eq!(goes_on, relation == unit(UNIT), "{relation}");
            let file = LedgerFile::of_release("x", None, curator().unit(), true, &ledger);
            assert_eq!(curator().charge_earlier(&file).is_ok(), fits, "{relation}");
        }
    }
}

/// Another command may count another number of records of a unit: its entries say so where they are carried on, and none may
/// have the noise of fewer.
#[test]
fn a_ledger_of_units_is_carried_on_with_the_number_of_records_that_it_counted() {
    let table = Table::random(9, &mut ChaCha20Rng::seed_from_u64(79));
    let limit = Rho::from_f64(4.0).unwrap();
    let new = |most| {
        let units = jointly::data::Units::new("h", most).unwrap();
        let unit = jointly::privacy::PrivacyUnit::of_units(units).unwrap();
        let curator = Curator::new(&table, unit.relation(), limit, NoiseSeed::Fixed(1)).unwrap();
        curator.with_unit(unit).unwrap()
    };
    let cost = Rho::from_f64(0.5).unwrap();
    let mut first = new(1);
    first.measure(&Clique::new([0]), cost).unwrap();
    let file = LedgerFile::new("first", None, &first);
    let mut second = new(UNIT);
    second.charge_earlier(&file).unwrap();
    assert_eq!(second.spent(), cost);
    second.measure(&Clique::new([0]), cost).unwrap();
    let both = LedgerFile::new("second", None, &second);
    let said = |file: &LedgerFile| -> Vec<Option<u32>> {
        let entries = file.ledger.entries().iter();
        entries.map(|entry| entry.records_per_unit.map(RecordsPerUnit::get)).collect()
    };
    assert_eq!(said(&both), [Some(1), None]);
    // Written, read, and carried on by either.
    let text = serde_json::to_string(&both).unwrap();
    let both = LedgerFile::from_json(&text, "both").unwrap();
    for (most, expected) in
        [(1, [None, Some(UNIT)]), (UNIT, [Some(1), None]), (2, [Some(1), Some(UNIT)])]
    {
        let mut third = new(most);
        third.charge_earlier(&both).unwrap();
        assert_eq!(said(&LedgerFile::new("third", None, &third)), expected);
    }
    // An entry with the noise of one record that says nothing, or says more; and a relation of single records.
    let mut written: serde_json::Value = serde_json::from_str(&text).unwrap();
    for claim in [serde_json::Value::Null, 2.into()] {
        written["ledger"]["entries"][0]["records_per_unit"] = claim;
        let file = LedgerFile::from_json(&written.to_string(), "changed").unwrap();
        assert!(new(UNIT).charge_earlier(&file).is_err());
    }
    // A step of this run has no entries of others.
    assert!(new(UNIT).resume(both.ledger.entries()).is_err());
    let mut of_records = Curator::new(&table, AddRemoveOne, limit, NoiseSeed::Fixed(1)).unwrap();
    assert!(of_records.charge_earlier(&both).is_err());
}
