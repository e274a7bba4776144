//! Vectors that are released together: the change of the whole vector in L1 and L2, over all neighbors of small tables,
//! against what the ledger's entry of the release states.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use jointly::data::{Dataset, Projectable, PublicData};
use jointly::domain::{Clique, Domain};
use jointly::mixture_error::MixtureError;
use jointly::privacy::{
    Curator, LedgerEntry, NeighboringRelation, NoiseForm, NoiseMechanism, NoiseSeed, Rho,
};
use jointly::query::Workload;
use jointly::trust::{MixtureRelease, Trust};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use crate::statistics::relations;

const SIZES: [u32; 2] = [2, 3];

fn domain() -> Domain {
    Domain::new([("a", SIZES[0]), ("b", SIZES[1])]).unwrap()
}

fn table(rows: &[[u32; 2]]) -> Dataset {
    Dataset::from_rows(domain(), rows).unwrap()
}

fn random_rows(rows: usize, rng: &mut ChaCha20Rng) -> Vec<[u32; 2]> {
    (0..rows).map(|_| SIZES.map(|size| rng.random_range(0..size))).collect()
}

fn values() -> Vec<[u32; 2]> {
    (0..SIZES[0]).flat_map(|a| (0..SIZES[1]).map(move |b| [a, b])).collect()
}

/// All tables that differ from `rows` by a replaced record, an added one, or an added unit of equal records, which is
/// the worst unit for sums of absolute values.
fn neighbors(rows: &[[u32; 2]], relation: NeighboringRelation) -> Vec<Vec<[u32; 2]>> {
    let with = |more: &[[u32; 2]]| [rows, more].concat();
    match relation {
        NeighboringRelation::ReplaceOne => (0..rows.len())
            .flat_map(|i| {
                values().into_iter().map(move |value| {
                    let mut other = rows.to_vec();
                    other[i] = value;
                    other
                })
            })
            .collect(),
        NeighboringRelation::AddRemoveOne => values().iter().map(|v| with(&[*v])).collect(),
        NeighboringRelation::AddRemoveUnit(most) => {
            let most = most.get() as usize;
            values().iter().map(|v| with(&vec![*v; most])).collect()
        }
    }
}

/// The L1 and squared L2 norm of a difference.
fn norms(one: &[f64], other: &[f64]) -> (f64, f64) {
    let differences = one.iter().zip(other).map(|(a, b)| (a - b).abs());
    differences.fold((0.0, 0.0), |(l1, l2), d| (l1 + d, l2 + d * d))
}

/// L1 and squared L2 sensitivity that an entry states, in counts, and the length of its vector.
fn stated(entry: &LedgerEntry) -> (f64, f64, u64) {
    match &entry.mechanism {
        NoiseMechanism::GridGaussian { squared_sensitivity, numbers, grid, .. } => {
            (f64::INFINITY, *squared_sensitivity as f64 * grid * grid, *numbers)
        }
        NoiseMechanism::GridLaplace { sensitivity, numbers, grid, .. } => {
            (*sensitivity as f64 * grid, f64::INFINITY, *numbers)
        }
        other => panic!("another entry: {other:?}"),
    }
}

fn entry<'c>(curator: &'c Curator<'_>, purpose: &str) -> &'c LedgerEntry {
    let mut entries = curator.ledger().entries().iter();
    entries.find(|entry| entry.purpose.starts_with(purpose)).unwrap()
}

#[test]
fn the_errors_of_public_marginals_change_by_no_more_than_their_entry_states() {
    let mut rng = ChaCha20Rng::seed_from_u64(301);
    let cliques = [Clique::new([0]), Clique::new([1]), Clique::new([0, 1])];
    for relation in relations() {
        let mut largest: f64 = 0.0;
        for _ in 0..20 {
            let rows = random_rows(6, &mut rng);
            let publics = [table(&random_rows(7, &mut rng)), table(&random_rows(11, &mut rng))];
            let total = 6.0;
            let vector = |rows: &[[u32; 2]]| -> Vec<f64> {
                let private = table(rows);
                let of = |public: &Dataset, clique: &Clique| -> f64 {
                    let scale = total / public.records() as f64;
                    let (d, p) =
                        (private.project(clique).unwrap(), public.project(clique).unwrap());
                    let cells = d.iter().zip(&p);
                    cells.map(|(d, p)| (f64::from(*d) - scale * f64::from(*p)).abs()).sum()
                };
                publics.iter().flat_map(|p| cliques.iter().map(move |c| of(p, c))).collect()
            };
            let own = vector(&rows);
            let worst =
                neighbors(&rows, relation).iter().fold((0.0, 0.0), |worst: (f64, f64), other| {
                    let found = norms(&own, &vector(other));
                    (worst.0.max(found.0), worst.1.max(found.1))
                });
            let private = table(&rows);
            let limit = Rho::from_f64(1e6).unwrap();
            let mut curator = Curator::new(&private, relation, limit, NoiseSeed::System).unwrap();
            let named = |(i, t): (usize, &Dataset)| {
                PublicData::new(format!("p{i}"), t.clone(), &domain()).unwrap()
            };
            let public: Vec<PublicData> = publics.iter().enumerate().map(named).collect();
            let workload = Workload::all_k_way(&domain(), 2).unwrap();
            Trust::default().run(&mut curator, &public, &workload).unwrap();
            let entry = entry(&curator, "errors of public marginals");
            let (_, squared, numbers) = stated(entry);
            assert_eq!(numbers, 6, "two tables, three marginals");
            assert!(worst.1 <= squared, "{relation}: {} > {squared}", worst.1);
            largest = largest.max(worst.1 / squared);
        }
        assert!(largest > 0.5, "{relation}: the neighbors reach {largest} of the bound only");
    }
}

#[test]
fn the_best_mixture_error_changes_by_no_more_than_its_entry_states() {
    let mut rng = ChaCha20Rng::seed_from_u64(302);
    let workload = Workload::all_k_way(&domain(), 2).unwrap();
    let solver = MixtureError { tolerance: 1e-6, ..MixtureError::default() };
    for _ in 0..12 {
        let rows = random_rows(6, &mut rng);
        let support = table(&random_rows(4, &mut rng));
        let error = |rows: &[[u32; 2]]| {
            rows.len() as f64 * solver.solve(&support, &table(rows), &workload).unwrap().value()
        };
        let own = error(&rows);
        let changed = neighbors(&rows, NeighboringRelation::ReplaceOne);
        let worst = changed.iter().map(|other| (own - error(other)).abs()).fold(0.0, f64::max);
        for (form, relation) in [
            (NoiseForm::Gaussian, NeighboringRelation::ReplaceOne),
            (NoiseForm::Laplace, NeighboringRelation::ReplaceOne),
        ] {
            let private = table(&rows);
            let limit = Rho::from_f64(1e3).unwrap();
            let mut curator = Curator::new(&private, relation, limit, NoiseSeed::System).unwrap();
            let public = PublicData::new("p", support.clone(), &domain()).unwrap();
            let cost = Rho::from_f64(1.0).unwrap();
            let release = MixtureRelease::default();
            release.run(&mut curator, &public, &workload, 6.0, form, cost).unwrap();
            let (l1, squared, numbers) = stated(entry(&curator, "best mixture error"));
            // The bracket's width, a quarter of a count, is part of what is stated.
            assert_eq!(numbers, 1);
            assert!(worst + 0.25 <= l1 && (worst + 0.25).powi(2) <= squared, "{worst}");
        }
        assert!(worst <= 1.0 + 1e-5);
    }
}

/// One fixed law: all counts of all marginals of a workload as one vector, whose cost a residual planner pays jointly.
#[test]
fn marginals_released_one_by_one_cost_what_their_vector_does() {
    let mut rng = ChaCha20Rng::seed_from_u64(303);
    let cliques = [Clique::new([0]), Clique::new([1]), Clique::new([0, 1])];
    for relation in relations() {
        let rows = random_rows(5, &mut rng);
        let vector = |rows: &[[u32; 2]]| -> Vec<f64> {
            let tables = table(rows).project_many(&cliques).unwrap();
            tables.into_iter().flatten().map(f64::from).collect()
        };
        let own = vector(&rows);
        let worst = neighbors(&rows, relation);
        let worst = worst.iter().map(|other| norms(&own, &vector(other)).1).fold(0.0, f64::max);
        // Three marginals at rho 1/6 each: σ² = Δ₂²/(2/6) for each; jointly 1/2 = Σ Δ₂² / (2σ²).
        let private = table(&rows);
        let limit = Rho::from_f64(0.5).unwrap();
        let mut curator = Curator::new(&private, relation, limit, NoiseSeed::System).unwrap();
        let part = limit.split(1, 3).unwrap().0;
        let variance = cliques
            .iter()
            .map(|c| curator.measure(c, part).unwrap().variance.to_f64())
            .fold(f64::MAX, f64::min);
        assert!(worst / (2.0 * variance) <= 0.5 + 1e-9, "{relation}");
        assert!(worst / (2.0 * variance) >= 0.5 - 1e-6, "{relation}: the bound is attained");
    }
}
