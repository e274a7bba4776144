//! Order: nothing is computed from the records before the charge is accepted, and nothing is charged that was refused.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::cast_possible_truncation, reason = "roots of small numbers")]

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::own;
use jointly::data::{Dataset, Projectable, Tallies, Tally};
use jointly::domain::{Clique, Domain};
use jointly::privacy::{
    Curator, NeighboringRelation, NoiseForm, NoiseMechanism, NoiseSeed, Ratio, ResidualQuery, Rho,
    ScoreSensitivity, Selection, StatisticSensitivity,
};

use crate::statistics::relations;

/// A table that counts how often it is read.
struct Watched {
    domain: Domain,
    reads: AtomicUsize,
}

impl Watched {
    fn new() -> Self {
        let domain = Domain::new([("a", 2), ("b", 3)]).unwrap();
        Self { domain, reads: AtomicUsize::new(0) }
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }
}

impl Projectable for Watched {
    fn domain(&self) -> &Domain {
        &self.domain
    }
    fn records(&self) -> u64 {
        self.reads.fetch_add(1, Ordering::SeqCst);
        6
    }
    fn project_many(
        &self,
        cliques: &[Clique],
    ) -> std::result::Result<Vec<Vec<u32>>, jointly::CommonError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let cells = |c: &Clique| self.domain.shape(c).iter().product::<usize>();
        Ok(cliques.iter().map(|c| vec![1; cells(c)]).collect())
    }
    fn tally(
        &self,
        tallies: &Tallies,
    ) -> std::result::Result<Box<dyn Projectable>, jointly::CommonError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let kinds = (0..6).map(|i| [i % 2, i / 2]).collect::<Vec<[u32; 2]>>();
        Dataset::from_rows(self.domain.clone(), &kinds)?.tally(tallies)
    }
}

type Attempt = Box<dyn Fn(&mut Curator<'_>, Rho) -> bool>;

/// Every access that reads the records after its charge, and whether it succeeded at a cost.
fn accesses(domain: &Domain, relation: NeighboringRelation) -> Vec<(&'static str, Attempt)> {
    let clique = || Clique::new([0, 1]);
    let epsilon = |rho: Rho| Ratio::new((2 * u128::from(rho.units())).isqrt() as u64, 1 << 20);
    let query = ResidualQuery::new(domain, clique(), clique(), Ratio::new(1 << 12, 1).unwrap());
    let query = query.unwrap();
    let ones = Tally { name: "ones".into(), of: vec![(0, vec![1]), (1, vec![1])] };
    let ones = Tallies::new(domain.clone(), [0], vec![ones]).unwrap();
    let mut accesses: Vec<(&str, Attempt)> = vec![
        ("marginal", Box::new(move |c, rho| c.measure(&clique(), rho).is_ok())),
        (
            "tallies",
            Box::new(move |c, rho| c.measure_tallied(&ones, &Clique::new([1]), rho).is_ok()),
        ),
        ("cell", Box::new(move |c, rho| c.measure_cell(&clique(), 1, rho).is_ok())),
        (
            "Laplace marginal",
            Box::new(move |c, rho| {
                epsilon(rho).is_ok_and(|epsilon| c.measure_laplace(&clique(), epsilon).is_ok())
            }),
        ),
        (
            "residuals",
            Box::new(move |c, rho| c.measure_residuals(std::slice::from_ref(&query), rho).is_ok()),
        ),
    ];
    if !relation.has_public_total() {
        accesses.push(("records", Box::new(|c, rho| c.measure_total(rho).is_ok())));
    }
    accesses
}

#[test]
fn a_refused_charge_reads_nothing_and_spends_nothing() {
    for relation in relations() {
        let table = Watched::new();
        for (name, access) in accesses(&table.domain, relation) {
            let limit = Rho::from_f64(1.0).unwrap();
            let more = Rho::from_f64(1.5).unwrap();
            let mut curator = Curator::new(&table, relation, limit, NoiseSeed::System).unwrap();
            let before = table.reads();
            assert!(!access(&mut curator, more), "{name}, {relation}: more than the limit");
            assert!(!access(&mut curator, Rho::ZERO), "{name}, {relation}: for nothing");
            assert_eq!(table.reads(), before, "{name}, {relation}: read before it was charged");
            assert!(curator.spent().is_zero() && curator.ledger().entries().is_empty(), "{name}");

            assert!(access(&mut curator, limit), "{name}, {relation}: within the limit");
            assert!(table.reads() > before, "{name}: the watch works");
            assert_eq!(curator.ledger().entries().len(), 1, "{name}, {relation}");
            assert_eq!(curator.spent(), curator.ledger().entries()[0].rho, "{name}, {relation}");
            let (spent, before) = (curator.spent(), table.reads());
            assert!(!access(&mut curator, limit), "{name}, {relation}: a second time");
            assert_eq!((curator.spent(), table.reads()), (spent, before), "{name}, {relation}");

            // After resuming, a round must begin before anything is drawn.
            let mut resumed = Curator::new(&table, relation, limit, NoiseSeed::System).unwrap();
            let empty = resumed.ledger().clone();
            resumed.resume(empty.entries()).unwrap();
            let before = table.reads();
            assert!(!access(&mut resumed, limit), "{name}, {relation}: before a round begins");
            assert_eq!((resumed.spent(), table.reads()), (Rho::ZERO, before), "{name}, {relation}");
            resumed.begin_round(1).unwrap();
            assert!(access(&mut resumed, limit), "{name}, {relation}: in a round");
        }
    }
}

#[test]
fn sealed_values_are_charged_before_anything_is_drawn_from_them() {
    for relation in relations() {
        let table = Watched::new();
        let limit = Rho::from_f64(1.0).unwrap();
        let more = Rho::from_f64(1.5).unwrap();
        let mut curator = Curator::new(&table, relation, limit, NoiseSeed::System).unwrap();
        let (score, clique) = (ScoreSensitivity::l1_error(relation), Clique::new([0]));
        let sealed = |curator: &Curator<'_>, candidates| {
            own::scores(curator, &clique, candidates, score, own::counts)
        };
        let select_among = |curator: &mut Curator<'_>, candidates, rho| {
            let scores = sealed(curator, candidates);
            curator.select(Selection::Exponential, scores, rho, "choose").is_ok()
        };
        let select = |curator: &mut Curator<'_>, rho| select_among(curator, 2, rho);
        let select_times = |curator: &mut Curator<'_>, rho, times| {
            let scores = sealed(curator, 2);
            curator.select_times(scores, rho, times, "choose").is_ok()
        };
        let statistic = StatisticSensitivity::l1_errors(relation, 2).unwrap();
        let measure = |curator: &mut Curator<'_>, form, rho| {
            own::measure(curator, &clique, statistic, own::counts, (form, rho)).is_ok()
        };
        for cost in [more, Rho::ZERO] {
            assert!(!select(&mut curator, cost));
            assert!(!select_times(&mut curator, cost, 3));
            assert!(!measure(&mut curator, NoiseForm::Gaussian, cost));
            assert!(!measure(&mut curator, NoiseForm::Laplace, cost));
        }
        assert!(curator.spent().is_zero(), "what was refused is not spent");
        let third = Rho::from_f64(0.3).unwrap();
        assert!(!select_times(&mut curator, third, 0));
        assert!(curator.spent().is_zero(), "no draw costs nothing");
        assert!(select(&mut curator, third));
        assert_eq!(curator.spent(), third);
        assert!(measure(&mut curator, NoiseForm::Gaussian, third));
        assert!(measure(&mut curator, NoiseForm::Laplace, third));
        assert_eq!(curator.spent(), Rho::from_units(3 * third.units()));
        assert_eq!(curator.ledger().entries().len(), 3);
        // What is opened was paid for, even where it turns out to have another length than was stated.
        let mut curator = Curator::new(&table, relation, limit, NoiseSeed::System).unwrap();
        let tenth = Rho::from_f64(0.1).unwrap();
        assert!(!select_among(&mut curator, 3, tenth));
        let one = sealed(&curator, 1);
        assert!(curator.select_times(one, tenth, 2, "choose").is_err());
        let statistic = StatisticSensitivity::l1_errors(relation, 3).unwrap();
        let at = (NoiseForm::Gaussian, tenth);
        assert!(own::measure(&mut curator, &clique, statistic, own::counts, at).is_err());
        assert_eq!(curator.spent(), Rho::from_units(3 * tenth.units()));
        let stated = &curator.ledger().entries()[0].mechanism;
        let is_stated =
            matches!(stated, NoiseMechanism::ExponentialMechanism { candidates: 3, .. });
        assert!(is_stated, "the ledger has the stated number");
        assert!(!select_among(&mut curator, 0, tenth));
        assert_eq!(curator.ledger().entries().len(), 3, "no candidate costs nothing");
        let mut curator = Curator::new(&table, relation, limit, NoiseSeed::System).unwrap();
        assert!(select(&mut curator, Rho::from_f64(0.9).unwrap()));
        assert!(!select(&mut curator, third), "one tenth is left");
        assert!(!select_times(&mut curator, third, 2), "one tenth is left");
    }
}

#[test]
fn sealed_values_of_another_curator_are_refused_and_cost_nothing() {
    let (table, clique) = (Watched::new(), Clique::new([0]));
    for relation in relations() {
        let limit = Rho::from_f64(1.0).unwrap();
        let new = || Curator::new(&table, relation, limit, NoiseSeed::System).unwrap();
        let (mut curator, other) = (new(), new());
        let score = ScoreSensitivity::l1_error(relation);
        let foreign = || own::scores(&other, &clique, 2, score, own::counts);
        let errors = || other.marginals(std::slice::from_ref(&clique)).unwrap().l1_errors();
        assert!(curator.select(Selection::Exponential, foreign(), limit, "choose").is_err());
        assert!(curator.select_times(foreign(), limit, 2, "choose").is_err());
        let form = NoiseForm::Gaussian;
        assert!(curator.measure_l1_errors(errors(), form, limit, "errors").is_err());
        assert!(curator.measure_mean_l1_error(&errors(), &[1.0], form, limit, "mean").is_err());
        assert_eq!(curator.spent(), Rho::ZERO);
        let own = own::scores(&curator, &clique, 2, score, own::counts);
        assert!(curator.select(Selection::Exponential, own, limit, "choose").is_ok());
    }
}

#[test]
fn a_pure_budget_refuses_every_gaussian_access() {
    for relation in relations() {
        let table = Watched::new();
        let epsilon = jointly::privacy::Epsilon::new(2.0).unwrap();
        let mut curator = Curator::pure(&table, relation, epsilon, NoiseSeed::System).unwrap();
        let before = table.reads();
        let small = Rho::from_f64(0.01).unwrap();
        for (name, access) in accesses(&table.domain, relation) {
            if name != "Laplace marginal" {
                assert!(!access(&mut curator, small), "{name}, {relation}");
            }
        }
        assert_eq!((table.reads(), curator.spent()), (before, Rho::ZERO));
        // ε 2 buys two measurements at ε 1, and no third at any ε.
        let one = Ratio::new(1, 1).unwrap();
        let clique = Clique::new([0]);
        assert!(curator.measure_laplace(&clique, one).is_ok());
        assert!(curator.measure_laplace(&clique, one).is_ok());
        assert!(curator.measure_laplace(&clique, Ratio::new(1, 1 << 19).unwrap()).is_err());
    }
}
