//! Fits a model to noisy marginals of some records, answers a marginal that nobody measured, and draws new records.
//! The noise is that of a simulation; for private records use `jointly`, which draws exact noise and keeps a ledger.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use jointly_pgm::data::Projectable;
use jointly_pgm::rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};
use jointly_pgm::{Clique, Dataset, Domain, MarkovRandomField, Measurement, Result, Sampling};
use rand_distr::{Distribution, Normal};

fn main() -> Result<()> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let domain = Domain::new([("age", 10), ("job", 6), ("income", 8)])?;
    let person = |_| {
        let age = rng.random_range(0..10);
        let job = (age / 2 + rng.random_range(0..2)) % 6;
        vec![age, job, (job + rng.random_range(0..3)) % 8]
    };
    let people: Vec<Vec<u32>> = (0..20_000).map(person).collect();
    let people = Dataset::from_rows(domain.clone(), &people)?;

    let noise = Normal::new(0.0, 20.0).unwrap_or_else(|_| unreachable!("20 is positive"));
    let mut measure = |clique: Clique| -> Result<Measurement> {
        let counts = people.project(&clique)?.into_iter();
        let noisy = counts.map(|count| f64::from(count) + noise.sample(&mut rng)).collect();
        Ok(Measurement::new(clique, noisy, 20.0))
    };
    let measurements =
        [measure(domain.clique(&["age", "job"])?)?, measure(domain.clique(&["job", "income"])?)?];
    let model = MarkovRandomField::fit(&domain, &measurements, 20_000.0)?;

    let unmeasured = domain.clique(&["age", "income"])?;
    let (fitted, real) =
        (&model.marginals(std::slice::from_ref(&unmeasured))?[0], people.project(&unmeasured)?);
    let off = |(a, b): (&f64, &u32)| (a - f64::from(*b)).abs();
    let error: f64 = fitted.values().iter().zip(&real).map(off).sum::<f64>() / 20_000.0;
    println!("L1 error of age x income, of 2: {error:.3}");
    let synthetic = model.sample(20_000, Sampling::Rounded, &mut rng)?;
    println!("{} synthetic people, the first: {:?}", synthetic.records(), synthetic.row(0));
    Ok(())
}
