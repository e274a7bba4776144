//! Fits noisy marginals under totals that an office has published, and makes records from the published tables alone.
//! The noise is that of a simulation; for private records use `jointly`, which draws exact noise and keeps a ledger.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use jointly_pgm::data::Projectable;
use jointly_pgm::estimation::{Target, Targets};
use jointly_pgm::rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};
use jointly_pgm::{Clique, Dataset, Domain, MarkovRandomField, Measurement, Result, Sampling};
use rand_distr::{Distribution, Normal};

const PEOPLE: u32 = 20_000;

fn main() -> Result<()> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let domain = Domain::new([("age", 10), ("sex", 2), ("job", 6), ("income", 8)])?;
    let person = |_| {
        let (age, sex) = (rng.random_range(0..10), rng.random_range(0..2));
        let job = (age / 2 + sex + rng.random_range(0..2)) % 6;
        vec![age, sex, job, (job + rng.random_range(0..3)) % 8]
    };
    let people: Vec<Vec<u32>> = (0..PEOPLE).map(person).collect();
    let people = Dataset::from_rows(domain.clone(), &people)?;
    let counts = |clique: &Clique| -> Result<Vec<f64>> {
        Ok(people.project(clique)?.into_iter().map(f64::from).collect())
    };

    // The office has published people by age and sex.
    let age_sex = domain.clique(&["age", "sex"])?;
    let published = Target::Exact { clique: age_sex.clone(), values: counts(&age_sex)? };
    let noise = Normal::new(0.0, 60.0).unwrap_or_else(|_| unreachable!("60 is positive"));
    let mut measure = |names: &[&str]| -> Result<Measurement> {
        let clique = domain.clique(names)?;
        let noisy =
            counts(&clique)?.into_iter().map(|count| count + noise.sample(&mut rng)).collect();
        Ok(Measurement::new(clique, noisy, 60.0))
    };
    let noisy =
        [measure(&["age", "job"])?, measure(&["sex", "job"])?, measure(&["job", "income"])?];

    let alone = MarkovRandomField::fit(&domain, &noisy, f64::from(PEOPLE))?;
    let both = noisy.into_iter().map(Target::Noisy).chain([published.clone()]);
    let (under, _) = MarkovRandomField::fit_to(&Targets::new(&domain, both, None)?)?;
    let (no_one, _) = MarkovRandomField::fit_to(&Targets::new(&domain, [published], None)?)?;
    for names in [["age", "sex"], ["age", "job"], ["age", "income"]] {
        let clique = domain.clique(&names)?;
        let real = counts(&clique)?;
        let error = |model: &MarkovRandomField| -> Result<f64> {
            let fitted = model.marginals(std::slice::from_ref(&clique))?;
            let off = fitted[0].values().iter().zip(&real).map(|(a, b)| (a - b).abs());
            Ok(off.sum::<f64>() / f64::from(PEOPLE))
        };
        println!(
            "{}: L1 error {:.3} by noisy tables, {:.3} under the published one, {:.3} by that alone",
            names.join(" x "),
            error(&alone)?,
            error(&under)?,
            error(&no_one)?,
        );
    }
    let synthetic = under.sample(PEOPLE as usize, Sampling::Rounded, &mut rng)?;
    println!("{} synthetic people, the first: {:?}", synthetic.records(), synthetic.row(0));
    Ok(())
}
