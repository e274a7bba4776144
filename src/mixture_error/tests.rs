//! The best mixture error against its definition, its reference values, and what one record changes.

use std::path::{Path, PathBuf};

use crate::data::{Dataset, Projectable, PublicData, read_csv};
use crate::domain::{Clique, Domain, Schema};
use crate::mixture_error::{MixtureBracket, MixtureError, MixtureMethod, ScoredCells};
use crate::privacy::NeighboringRelation::{AddRemoveOne, AddRemoveUnit, ReplaceOne};
use crate::privacy::{Curator, NoiseForm, NoiseMechanism, NoiseSeed, Rho, StatisticSensitivity};
use crate::program::{Comparison, Constraint, LinearProgram};
use crate::query::{WeightedClique, Workload};
use crate::trust::MixtureRelease;
use flate2::read::GzDecoder;
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

const FORMS: [ScoredCells; 2] = [ScoredCells::All, ScoredCells::Supported];

fn domain() -> Domain {
    Domain::new([("a", 2), ("b", 3), ("c", 4)]).unwrap()
}

/// Random records, the first values of each attribute more often than the last.
fn table(records: usize, rng: &mut ChaCha20Rng) -> Dataset {
    let mut code = |k: u32| rng.random_range(0..k).min(rng.random_range(0..k));
    let rows: Vec<[u32; 3]> = (0..records).map(|_| [code(2), code(3), code(4)]).collect();
    Dataset::from_rows(domain(), &rows).unwrap()
}

fn pairs() -> Workload {
    Workload::all_k_way(&domain(), 2).unwrap()
}

/// The largest error of a weighted table on a workload, cell by cell.
fn error(rows: &Dataset, weights: &[f64], real: &Dataset, reached: Option<&Dataset>) -> f64 {
    let cliques = pairs().cliques();
    let masses = rows.weighted_marginals(weights, &cliques).unwrap();
    let answers = real.project_many(&cliques).unwrap();
    let reached = reached.map(|public| public.project_many(&cliques).unwrap());
    let n = real.records() as f64;
    let mut worst = 0.0_f64;
    for (c, (mass, answer)) in masses.iter().zip(&answers).enumerate() {
        for (cell, (m, a)) in mass.iter().zip(answer).enumerate() {
            if reached.as_ref().is_none_or(|reached| reached[c][cell] > 0) {
                worst = worst.max((m - f64::from(*a) / n).abs());
            }
        }
    }
    worst
}

/// The definition as one linear program over all rows and cells.
fn by_one_program(public: &Dataset, real: &Dataset, cells: ScoredCells) -> f64 {
    let (rows, _) = public.distinct();
    let cliques = pairs().cliques();
    let answers = real.project_many(&cliques).unwrap();
    let mut constraints = Vec::new();
    for (clique, answers) in cliques.iter().zip(&answers) {
        let places = rows.cells(clique).unwrap();
        for (cell, answer) in (0_u32..).zip(answers) {
            let hit: Vec<usize> = (0..rows.records()).filter(|row| places[*row] == cell).collect();
            if hit.is_empty() && cells == ScoredCells::Supported {
                continue;
            }
            for sign in [1.0, -1.0] {
                let terms = hit.iter().map(|row| (row + 1, sign)).chain([(0, -1.0)]).collect();
                let bound = sign * f64::from(*answer) / real.records() as f64;
                constraints.push(Constraint { terms, comparison: Comparison::AtMost, bound });
            }
        }
    }
    let terms = (1..=rows.records()).map(|row| (row, 1.0)).collect();
    constraints.push(Constraint { terms, comparison: Comparison::Equal, bound: 1.0 });
    let mut objective = vec![0.0; rows.records() + 1];
    objective[0] = 1.0;
    LinearProgram { objective, constraints }.solve().unwrap().values[0]
}

#[test]
fn brackets_hold_the_value_that_one_linear_program_gives() {
    for seed in 0..25 {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (private, public) = (60 + rng.random_range(0..60), 1 + rng.random_range(0..12));
        let (real, public) = (table(private, &mut rng), table(public, &mut rng));
        for cells in FORMS {
            let solver = MixtureError { cells, ..MixtureError::default() };
            let found = solver.solve(&public, &real, &pairs()).unwrap();
            let expected = by_one_program(&public, &real, cells);
            assert!(found.gap() <= 1e-6, "seed {seed}, {cells:?}: {found:?}");
            let inside = found.lower - 1e-7..=found.upper + 1e-7;
            assert!(inside.contains(&expected), "seed {seed}, {cells:?}: {expected}, {found:?}");
            let reached = (cells == ScoredCells::Supported).then_some(&public);
            let own = error(&found.rows, &found.weights, &real, reached);
            assert!((own - found.upper).abs() < 1e-12, "{own} against {found:?}");
            assert!((found.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn linear_programs_finish_what_few_iterations_leave_open() {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let (real, public) = (table(300, &mut rng), table(40, &mut rng));
    let solver = MixtureError { tolerance: 1e-8, cells: ScoredCells::Supported, iterations: 10 };
    let found = solver.solve(&public, &real, &pairs()).unwrap();
    assert_eq!(found.method, MixtureMethod::LinearPrograms);
    assert!(found.gap() <= 1e-8 && found.iterations <= 10 && found.programs > 0, "{found:?}");
}

#[test]
fn what_cannot_be_solved_is_refused() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let real = table(9, &mut rng);
    let none = Dataset::from_rows::<[u32; 3]>(domain(), &[]).unwrap();
    let other = real.select(&[0, 1]).unwrap();
    let solver = MixtureError::default();
    for (public, real, part) in [
        (&none, &real, "no record"),
        (&real, &none, "no record"),
        (&other, &real, "as in the real table"),
    ] {
        let message = solver.solve(public, real, &pairs()).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
    for solver in [
        MixtureError { tolerance: 0.0, ..MixtureError::default() },
        MixtureError { tolerance: f64::NAN, ..MixtureError::default() },
        MixtureError { iterations: 0, ..MixtureError::default() },
    ] {
        assert!(solver.solve(&real, &real, &pairs()).is_err());
    }
}

/// Counts of a table in the place of its frequencies: n is said to be `total`.
struct FixedCounts<'d>(&'d Dataset, u64);

impl Projectable for FixedCounts<'_> {
    fn domain(&self) -> &Domain {
        self.0.domain()
    }
    fn records(&self) -> u64 {
        self.1
    }
    fn project_many(&self, cliques: &[Clique]) -> jointly_pgm::Result<Vec<Vec<u32>>> {
        self.0.project_many(cliques)
    }
}

#[test]
fn one_record_changes_the_error_times_n_by_at_most_one() {
    let solve = |public: &Dataset, real: &Dataset, total: u64, cells| {
        let solver = MixtureError { tolerance: 1e-9, cells, ..MixtureError::default() };
        let found = solver.solve(public, &FixedCounts(real, total), &pairs()).unwrap();
        assert!(found.gap() <= 1e-9, "{found:?}");
        found.value() * total as f64
    };
    let values: Vec<[u32; 3]> = (0..24).map(|i| [i / 12, i / 4 % 3, i % 4]).collect();
    for relation in [ReplaceOne, AddRemoveOne] {
        let mut largest = 0.0_f64;
        for seed in 0..6 {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            let rows = 2 + rng.random_range(0..4_usize);
            let (real, public) = (table(rows, &mut rng), table(3, &mut rng));
            // Under add-remove-one counts are divided by what was measured for n, the same for neighbors.
            let total = if relation == ReplaceOne { rows as u64 } else { rng.random_range(2..9) };
            let own: Vec<Vec<u32>> = (0..rows).map(|row| real.row(row)).collect();
            let neighbors: Vec<Vec<Vec<u32>>> = match relation {
                ReplaceOne => {
                    values.iter().map(|value| [&own[1..], &[value.to_vec()]].concat()).collect()
                }
                AddRemoveOne | AddRemoveUnit(_) => {
                    let added = values.iter().map(|value| [&own[..], &[value.to_vec()]].concat());
                    added.chain([own[1..].to_vec()]).collect()
                }
            };
            for cells in FORMS {
                let value = solve(&public, &real, total, cells);
                for rows in &neighbors {
                    let neighbor = Dataset::from_rows(domain(), rows).unwrap();
                    let change = (value - solve(&public, &neighbor, total, cells)).abs();
                    largest = largest.max(change);
                    let steps = (1.0 + 1e-6) / StatisticSensitivity::GRID;
                    let stated = StatisticSensitivity::mixture_error(relation, 1e-6).unwrap();
                    assert!(change / StatisticSensitivity::GRID <= steps, "{change}");
                    assert!(f64::from(stated.steps()) >= steps);
                }
            }
        }
        assert!(largest > 0.9, "{relation}: only {largest} of 1 was found");
    }
}

#[test]
fn a_release_is_the_value_with_the_noise_that_its_ledger_names() {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let (real, public) = (table(500, &mut rng), table(6, &mut rng));
    let exact = MixtureError::default().solve(&public, &real, &pairs()).unwrap().value();
    let public = PublicData::new("p", public, real.domain()).unwrap();
    let (rho, total) = (Rho::from_f64(0.5).unwrap(), 500.0);
    let release = MixtureRelease { tolerance: 1e-3, ..MixtureRelease::default() };
    for (form, relation) in [(NoiseForm::Gaussian, ReplaceOne), (NoiseForm::Laplace, AddRemoveOne)]
    {
        let draws = 400;
        let (mut sum, mut squares, mut inside, mut stddev) = (0.0, 0.0, 0, 0.0);
        for seed in 0..draws {
            let seed = NoiseSeed::Fixed(seed);
            let mut curator = Curator::new(&real, relation, rho, seed).unwrap();
            let noisy = release.run(&mut curator, &public, &pairs(), total, form, rho).unwrap();
            let off = noisy.value - exact;
            (sum, squares) = (sum + off, squares + off * off);
            inside += u32::from(off.abs() <= noisy.half_width);
            stddev = noisy.stddev;
            let entry = &curator.ledger().entries()[0];
            assert_eq!((curator.spent(), entry.purpose.as_str()), (rho, "best mixture error of p"));
            let expected = match form {
                NoiseForm::Gaussian => {
                    matches!(entry.mechanism, NoiseMechanism::GridGaussian { .. })
                }
                NoiseForm::Laplace => matches!(entry.mechanism, NoiseMechanism::GridLaplace { .. }),
            };
            assert!(expected && !curator.is_private());
        }
        // A sensitivity of 1.25 counts and the grid's two steps: sigma = Delta / sqrt(2 rho), or sqrt(2) Delta / epsilon.
        let delta = (1.25 + 2.0 / 256.0) / total;
        let stated = if form == NoiseForm::Gaussian { delta } else { 2.0_f64.sqrt() * delta };
        assert!((stddev / stated - 1.0).abs() < 1e-3, "{stddev} against {stated}");
        // FixedCounts seeds: 5 standard errors of the mean and of the variance (kurtosis 3 and 6), below 1e-6 each.
        let n = f64::from(u32::try_from(draws).unwrap());
        assert!((sum / n).abs() < 5.0 * stddev / n.sqrt() + 0.125 / total + 1e-3, "{}", sum / n);
        let spread = (squares / n).sqrt() / stddev;
        assert!((0.7..1.35).contains(&spread), "{spread}");
        assert!(inside >= 366, "95 % intervals held {inside} of {draws} times");
    }
}

#[test]
fn a_release_that_cannot_be_paid_spends_nothing() {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let real = table(50, &mut rng);
    let public = PublicData::new("p", table(6, &mut rng), real.domain()).unwrap();
    let limit = Rho::from_f64(0.1).unwrap();
    let mut curator = Curator::new(&real, ReplaceOne, limit, NoiseSeed::System).unwrap();
    let mut release = |tolerance, rho| {
        let release = MixtureRelease { tolerance, ..MixtureRelease::default() };
        let (form, rho) = (NoiseForm::Gaussian, Rho::from_f64(rho).unwrap());
        let found = release.run(&mut curator, &public, &pairs(), 50.0, form, rho);
        (found.is_ok(), curator.spent())
    };
    assert_eq!(release(0.01, 0.2), (false, Rho::ZERO));
    assert_eq!(release(0.01, 0.0), (false, Rho::ZERO));
    assert_eq!(release(100.0, 0.1), (false, Rho::ZERO));
    assert_eq!(release(0.01, 0.1), (true, limit));
}

/// A folder beside the real tables; `None`, said loudly, where it is missing.
fn folder(name: &str) -> Option<PathBuf> {
    let data = std::env::var_os("JOINTLY_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    let folder = data.join(name);
    if folder.exists() {
        return Some(folder);
    }
    eprintln!("SKIPPED: no {}, set JOINTLY_DATA to test against it", folder.display());
    None
}

fn assert_reference(name: &str, found: &MixtureBracket, value: f64) {
    assert!(found.gap() <= 1e-6, "{name}: {:?}", (found.lower, found.upper));
    assert!((found.value() - value).abs() <= 1e-6, "{name}: {} against {value}", found.value());
    let inside = found.lower - 1e-11..=found.upper + 1e-11;
    assert!(inside.contains(&value), "{name}: {:?} against {value}", (found.lower, found.upper));
}

#[test]
fn real_splits_have_their_reference_values_in_both_forms() {
    let references = [
        ("jam-adult", "pub025", 0.001_791_007_905, Some(0.001_760_128_458)),
        ("jam-adult", "pub050", 0.001_945_405_138, Some(0.001_713_809_289)),
        ("jam-adult", "pub075", 0.002_933_547_431, Some(0.002_438_088_444)),
        ("jam-adult", "pub100", 0.710_721_343_874, Some(0.467_257_493_412)),
        ("jam-titanic", "pub", 0.021_912_350_598, None),
    ];
    for (set, public, all, supported) in references {
        let Some(folder) = folder(set) else { return };
        let schema = Schema::read(&folder.join("domain.json")).unwrap();
        let read = |name: &str| {
            let plain = folder.join(format!("{name}.csv"));
            let packed = folder.join(format!("{name}.csv.gz"));
            read_csv(if plain.exists() { &plain } else { &packed }, &schema).unwrap()
        };
        let (real, support) = (read("priv"), read(public));
        let workload = Workload::all_k_way(real.domain(), 2).unwrap();
        for (cells, value) in FORMS.into_iter().zip([Some(all), supported]) {
            let Some(value) = value else { continue };
            let solver = MixtureError { cells, ..MixtureError::default() };
            let found = solver.solve(&support, &real, &workload).unwrap();
            assert_reference(&format!("{set}/{public}, {cells:?}"), &found, value);
        }
    }
}

/// A table of which only some marginals are known.
struct KnownMarginals {
    domain: Domain,
    records: u64,
    tables: Vec<(Clique, Vec<u32>)>,
}

impl Projectable for KnownMarginals {
    fn domain(&self) -> &Domain {
        &self.domain
    }
    fn records(&self) -> u64 {
        self.records
    }
    fn project_many(&self, cliques: &[Clique]) -> jointly_pgm::Result<Vec<Vec<u32>>> {
        let table =
            |clique: &Clique| self.tables.iter().find(|(own, _)| own == clique).unwrap().1.clone();
        Ok(cliques.iter().map(table).collect())
    }
}

#[derive(serde::Deserialize)]
struct Instance {
    attributes: Vec<String>,
    domain_sizes: Vec<u32>,
    private_rows: u64,
    workload: Vec<Clique>,
    support: Vec<Vec<u32>>,
    answer_index: Vec<usize>,
    answer_count: Vec<u32>,
}

#[test]
fn stored_instances_have_their_reference_values() {
    let references = [
        ("best-mixture-adult-2way.json.gz", 9_190, 0.001_228_836_701),
        ("best-mixture-adult-3way-256.json.gz", 282_986, 0.002_958_310_577),
    ];
    for (name, queries, value) in references {
        let Some(file) = folder("../reference").map(|folder| folder.join(name)) else { return };
        let file = std::fs::File::open(file).unwrap();
        let instance: Instance = serde_json::from_reader(GzDecoder::new(file)).unwrap();
        let named = instance.attributes.iter().cloned().zip(instance.domain_sizes);
        let domain = Domain::new(named).unwrap();
        let mut counts = vec![0_u32; queries];
        for (cell, count) in instance.answer_index.iter().zip(&instance.answer_count) {
            counts[*cell] = *count;
        }
        let mut counts = counts.into_iter();
        let mut tables = Vec::new();
        for clique in &instance.workload {
            let cells = usize::try_from(domain.cells(clique).unwrap()).unwrap();
            tables.push((clique.clone(), counts.by_ref().take(cells).collect()));
        }
        let cliques = instance.workload.into_iter();
        let cliques = cliques.map(|clique| WeightedClique { clique, weight: 1.0 });
        let workload = Workload::new(cliques, &domain).unwrap();
        let support = Dataset::from_rows(domain.clone(), &instance.support).unwrap();
        let real = KnownMarginals { domain, records: instance.private_rows, tables };
        let found = MixtureError::default().solve(&support, &real, &workload).unwrap();
        assert_eq!((found.queries, found.support), (queries as u64, 4076));
        assert_reference(name, &found, value);
    }
}
