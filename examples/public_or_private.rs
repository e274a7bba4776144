//! Which marginals JAM-PGM takes from which table, and why: `cargo run --release --example public_or_private`.
//!
//! A private state of invented people, and two public ones: one close, one distant. A private marginal costs noise,
//! about `√(2/π) σ` per cell; a public one costs its bias. The mechanism compares the two with a noisy selection. The
//! output may be published: it has choices, noise and the model, but no error against the private records.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use jointly::data::{Dataset, PublicData};
use jointly::demo::Generator;
use jointly::measurement::Provenance;
use jointly::mechanism::{JamPgm, Mechanism, Task};
use jointly::observe::Silent;
use jointly::privacy::{
    Curator, Delta, Epsilon, NeighboringRelation, NoiseSeed, rho_from_epsilon_delta,
};
use jointly::query::Workload;

/// Ten attributes of the demo, for speed.
const NAMES: [&str; 10] =
    ["AGEP", "SEX", "RAC", "SCH", "SCHL", "MAR", "ESR", "PINCP", "TEN", "PRIVCOV"];

fn people(records: usize, seed: u64, drift: f64) -> jointly::Result<Dataset> {
    let table = Generator { records, seed, drift }.generate()?;
    let clique = NAMES.iter().filter_map(|name| table.domain().position(name));
    Ok(table.select(&clique.collect::<Vec<_>>())?)
}

fn main() -> jointly::Result<()> {
    let private = people(20_000, 1, 0.0)?;
    let domain = private.domain().clone();
    let public = [
        PublicData::new("near", people(20_000, 2, 0.1)?, &domain)?,
        PublicData::new("far", people(20_000, 3, 1.0)?, &domain)?,
    ];
    let workload = Workload::all_k_way(&domain, 3)?;
    let limit = rho_from_epsilon_delta(Epsilon::new(1.0)?, Delta::new(1e-9)?)?;
    // A fixed seed makes this output repeatable; a real release uses NoiseSeed::System.
    let seed = NoiseSeed::Fixed(4);
    let mut curator = Curator::new(&private, NeighboringRelation::ReplaceOne, limit, seed)?;
    let mechanism = JamPgm { rounds: Some(15), iterations: 300, ..JamPgm::default() };
    let task = Task::new(&workload, &public);
    let release = mechanism.run(&mut curator, &task, &mut Silent)?;
    println!("round, marginal, cells, distance of the last model in records, source");
    for (round, m) in (1..).zip(&release.measurements) {
        let fitted = &release.model.marginals(std::slice::from_ref(&m.clique))?[0];
        let off: f64 = m.values.iter().zip(fitted.values()).map(|(y, f)| (y - f).abs()).sum();
        let cells = m.values.len();
        let noise = (2.0 / std::f64::consts::PI).sqrt() * m.stddev * cells as f64;
        let why = match &m.provenance {
            Provenance::Private => format!("private, with noise of about {noise:.0} records"),
            Provenance::Public { source } => format!("public '{source}', free but biased"),
        };
        println!("{round:>2}  {:<24} {cells:>5} {off:>6.0}  {why}", domain.describe(&m.clique));
    }
    println!("spent rho {} of {limit}", release.ledger.spent());
    Ok(())
}
