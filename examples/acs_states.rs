//! Census rows, Pennsylvania private, Ohio and Hawaii public: `JOINTLY_DATA=... cargo run --example acs_states`. Errors
//! against private rows may be shown because these rows are published. With real private rows, such errors are not
//! private.
#![expect(clippy::print_stdout, reason = "an example shows its results")]
use std::path::{Path, PathBuf};

use jointly::data::{Dataset, Projectable, PublicData, read_csv};
use jointly::domain::Schema;
use jointly::mechanism::{AnchorPgm, Mechanism, Task};
use jointly::model::Drawing;
use jointly::observe::Silent;
use jointly::privacy::NeighboringRelation::ReplaceOne;
use jointly::privacy::{Curator, Delta, Epsilon, NoiseSeed, rho_from_epsilon_delta};
use jointly::query::Workload;
use rand::{SeedableRng, rngs::ChaCha20Rng};

const NAMES: [&str; 12] = [
    "AGEP", "SEX", "RAC1P", "NATIVITY", "MAR", "ESR", "COW", "PINCP", "HICOV", "DIS", "TEN", "BLD",
];

/// Mean over the cliques of the L1 distance of frequencies.
fn error(truth: &Dataset, other: &Dataset, workload: &Workload) -> jointly::Result<f64> {
    let cliques = workload.cliques();
    let (a, b) = (truth.project_many(&cliques)?, other.project_many(&cliques)?);
    let (n, m) = (truth.records() as f64, other.records() as f64);
    let cells = a.iter().flatten().zip(b.iter().flatten());
    let sum: f64 = cells.map(|(a, b)| (f64::from(*a) / n - f64::from(*b) / m).abs()).sum();
    Ok(sum / cliques.len() as f64)
}

fn main() -> jointly::Result<()> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let data = std::env::var_os("JOINTLY_DATA").map_or_else(default, PathBuf::from);
    let folder = data.join("acs2024-person-household");
    if !folder.is_dir() {
        println!("SKIPPED: no {}, set JOINTLY_DATA", folder.display());
        return Ok(());
    }
    let schema = Schema::read(&folder.join("schema.json"))?.select(&NAMES)?;
    let state = |name: &str| read_csv(&folder.join(format!("{name}.csv.gz")), &schema);
    let private = state("pa")?;
    let workload = Workload::all_k_way(private.domain(), 3)?;
    let limit = rho_from_epsilon_delta(Epsilon::new(1.0)?, Delta::new(1e-9)?)?;
    for names in [&["oh"][..], &["hi"], &["oh", "hi"]] {
        let table = |name: &&str| PublicData::new(*name, state(name)?, private.domain());
        let public = names.iter().map(table).collect::<jointly::Result<Vec<_>>>()?;
        let mut curator = Curator::new(&private, ReplaceOne, limit, NoiseSeed::System)?;
        let mechanism = AnchorPgm { size_limit_mib: 2.0, ..AnchorPgm::default() };
        let task = &Task::new(&workload, &public);
        let release = mechanism.run(&mut curator, task, &mut Silent)?;
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let rows = release.rows(private.records(), Drawing::Refined, &mut rng)?;
        let ours = error(&private, &rows, &workload)?;
        let alone = error(&private, public[0].table()?, &workload)?;
        println!("{names:?}: error {ours:.3}, {} alone {alone:.3}", names[0]);
    }
    Ok(())
}
