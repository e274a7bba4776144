//! Small tables and whole runs, shared by the tests of mechanisms.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::path::PathBuf;

use jointly::data::{Dataset, Projectable, PublicData};
use jointly::demo::Generator;
use jointly::domain::{Clique, Domain};
use jointly::mechanism::{FitRecord, JamPgm, Mechanism, Release, RoundRecord, Task};
use jointly::model::{Model, Sampling};
use jointly::observe::{Event, Observer};
use jointly::privacy::{
    Checkpoint, Curator, Delta, Epsilon, NeighboringRelation, NoiseSeed, Rho,
    rho_from_epsilon_delta,
};
use jointly::query::Workload;
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

/// Six attributes of the demo, 2,000 cells in all.
pub(crate) const NAMES: [&str; 6] = ["SEX", "SCH", "MAR", "ESR", "PRIVCOV", "TEN"];

/// A table of the demo's people; another seed or drift is another state.
pub(crate) fn people(records: usize, seed: u64, drift: f64) -> Dataset {
    let table = Generator { records, seed, drift }.generate().unwrap();
    select(&table, &NAMES)
}

/// The columns of these names, in this order.
pub(crate) fn select(table: &Dataset, names: &[&str]) -> Dataset {
    let positions: Vec<usize> =
        names.iter().map(|name| table.domain().position(name).unwrap()).collect();
    table.select(&positions).unwrap()
}

/// The same records with every code turned round: a public table that misleads.
pub(crate) fn turned_round(table: &Dataset) -> Dataset {
    let domain = table.domain().clone();
    let turn = |(a, code): (usize, u32)| u32::try_from(domain.cardinality(a)).unwrap() - 1 - code;
    let rows: Vec<Vec<u32>> = (0..table.records())
        .map(|r| table.row(r).into_iter().enumerate().map(turn).collect())
        .collect();
    Dataset::from_rows(domain.clone(), &rows).unwrap()
}

/// The table with one attribute's codes turned round, and all others as they are.
pub(crate) fn one_turned(table: &Dataset, attribute: usize) -> Dataset {
    let turned = turned_round(table);
    let rows: Vec<Vec<u32>> = (0..table.records())
        .map(|r| {
            let (mut row, other) = (table.row(r), turned.row(r));
            row[attribute] = other[attribute];
            row
        })
        .collect();
    Dataset::from_rows(table.domain().clone(), &rows).unwrap()
}

/// The budget of an epsilon at delta 10⁻⁹.
pub(crate) fn budget(epsilon: f64) -> Rho {
    rho_from_epsilon_delta(Epsilon::new(epsilon).unwrap(), Delta::new(1e-9).unwrap()).unwrap()
}

/// JAM-PGM with this number of rounds and fits short enough for tests.
pub(crate) fn jam(rounds: u32) -> JamPgm {
    JamPgm { rounds: Some(rounds), iterations: 200, ..JamPgm::default() }
}

/// One run: everything that shapes it, save the mechanism.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) private: Dataset,
    pub(crate) public: Vec<PublicData>,
    pub(crate) workload: Workload,
    pub(crate) epsilon: f64,
    pub(crate) relation: NeighboringRelation,
    pub(crate) seed: NoiseSeed,
    /// A folder, and the label of the private table there.
    pub(crate) checkpoint: Option<(PathBuf, &'static str)>,
}

impl Run {
    /// All 3-way marginals at epsilon 1, with these public tables by name.
    pub(crate) fn new(private: &Dataset, public: &[(&str, &Dataset)]) -> Self {
        let domain = private.domain();
        let public = public
            .iter()
            .map(|(name, table)| PublicData::new(*name, (*table).clone(), domain).unwrap())
            .collect();
        Self {
            private: private.clone(),
            public,
            workload: Workload::all_k_way(domain, 3.min(domain.len())).unwrap(),
            epsilon: 1.0,
            relation: NeighboringRelation::ReplaceOne,
            seed: NoiseSeed::Fixed(1),
            checkpoint: None,
        }
    }

    pub(crate) fn domain(&self) -> &Domain {
        self.private.domain()
    }

    pub(crate) fn with(
        &self,
        mechanism: &dyn Mechanism,
        observer: &mut dyn Observer,
    ) -> jointly::Result<Release> {
        let limit = budget(self.epsilon);
        let mut curator = Curator::new(&self.private, self.relation, limit, self.seed)?;
        if let Some((folder, label)) = &self.checkpoint {
            curator = curator.with_checkpoint(Checkpoint::open(folder, label)?);
        }
        mechanism.run(&mut curator, &Task::new(&self.workload, &self.public), observer)
    }

    /// The release of a run that must succeed.
    pub(crate) fn release(&self, mechanism: &dyn Mechanism) -> Release {
        self.with(mechanism, &mut jointly::observe::Silent).unwrap()
    }

    /// Mean L1 distance of frequencies between a model and the private table, over the workload: for tests only.
    pub(crate) fn error(&self, model: &Model) -> f64 {
        let cliques = self.workload.cliques();
        let truth = Projectable::project_many(&self.private, &cliques).unwrap();
        let found = model.marginals(&cliques).unwrap();
        let n = self.private.records() as f64;
        let distance = |(truth, found): (&Vec<u32>, &jointly::table::Factor)| -> f64 {
            let cells = truth.iter().zip(found.values());
            cells.map(|(t, f)| (f64::from(*t) / n - f / model.total()).abs()).sum()
        };
        truth.iter().zip(&found).map(distance).sum::<f64>() / cliques.len() as f64
    }
}

/// Everything that a release says, records included, as text.
pub(crate) fn bytes(release: &Release) -> String {
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let rows = release.model.sample(1000, Sampling::Rounded, &mut rng).unwrap();
    let rows: Vec<Vec<u32>> = (0..rows.records()).map(|r| rows.row(r)).collect();
    let model = &release.model;
    let (cliques, numbers): (&[Clique], Vec<f64>) =
        if let Some(model) = model.as_markov_random_field() {
            (model.potentials().layout().cliques(), model.potentials().values().to_vec())
        } else if let Some(model) = model.as_weighted_support() {
            (&[], model.weights().to_vec())
        } else if let Some(model) = model.as_grouped_support() {
            let groups = model.groups().iter();
            let numbers = groups.flat_map(|g| [g.size].into_iter().chain(g.weights.to_vec()));
            (&[], numbers.collect())
        } else if let Some(mixture) = model.as_products() {
            let blocks = (0..model.domain().len()).flat_map(|attribute| {
                (0..mixture.components()).flat_map(move |b| mixture.distribution(b, attribute))
            });
            (&[], blocks.map(f64::from).collect())
        } else {
            panic!("a model that this test does not know: {model:?}")
        };
    let bits: Vec<u64> = numbers.iter().map(|x| x.to_bits()).collect();
    let parts = (
        &release.measurements,
        &release.rounds,
        &release.ledger,
        release.model.total().to_bits(),
        cliques,
        bits,
        rows,
    );
    serde_json::to_string(&parts).unwrap()
}

/// The candidates of the only choice of a round; 0 where it made none.
pub(crate) fn candidates(record: &RoundRecord) -> usize {
    assert!(record.choices.len() <= 1, "{record:?}");
    record.choices.first().map_or(0, |n| usize::try_from(*n).unwrap())
}

/// Loss, or largest error, of the fit after a round; and its effort, oracle calls or queries.
pub(crate) fn fitted(record: &RoundRecord) -> (f64, u32) {
    match record.fit.unwrap() {
        FitRecord::GraphicalModel { loss, oracle_calls, .. } => (loss, oracle_calls),
        FitRecord::WeightedSupport { largest_error, queries, .. } => (largest_error, queries),
        other => panic!("a fit that this test does not know: {other:?}"),
    }
}

/// Keeps all events.
#[derive(Debug, Default)]
pub(crate) struct Recorder(pub(crate) Vec<Event>);

impl Observer for Recorder {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}
