//! Errors of MWEM, PMW^Pub, PEP and PEP^Pub on Adult. `docs/results/weighted-supports.md` compares them with published
//! figures.
//!
//! `cargo bench --bench query_release -- [SEEDS]` (by default 5): all 3-way queries of `adult-gem-reduced` (all 336,000
//! cells) and of `adult-gem`'s split90 (4,080 public records) at δ = 1/n², replace-one, with both selections. Errors
//! are those of the model, as probabilities: mean and standard deviation over the seeds 0, 1, .... Reads
//! `JOINTLY_DATA`.

#![expect(clippy::print_stdout, reason = "a report of measurements")]

#[allow(dead_code, reason = "each bench uses a part of it")]
mod support;

use std::path::Path;
use std::time::Instant;

use jointly::data::{Dataset, Projectable, PublicData, read_csv, read_public_csv};
use jointly::domain::Schema;
use jointly::evaluation::WorkloadError;
use jointly::mechanism::{Mechanism, Mwem, Pep, PepPub, PmwPub, QueryRelease, Task};
use jointly::model::WeightedSupport;
use jointly::observe::Silent;
use jointly::privacy::{
    Curator, Delta, Epsilon, NeighboringRelation, NoiseSeed, Selection, rho_from_epsilon_delta,
};
use jointly::query::Workload;

use support::Failure;

/// A private table with or without public records.
struct Case {
    name: &'static str,
    private: Dataset,
    public: Vec<PublicData>,
    workload: Workload,
    epsilons: &'static [f64],
}

fn main() -> Result<(), Failure> {
    let Some(root) = support::folder("JOINTLY_DATA", "../shared/data") else { return Ok(()) };
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let seeds: u64 = args.first().map_or(Ok(5), |text| text.parse())?;
    println!("| data | method | selection | epsilon | max | mean | RMSE | seconds |");
    println!("|---|---|---|---|---|---|---|---|");
    for case in [Case::reduced(&root)?, Case::split(&root)?] {
        if !case.public.is_empty() {
            let domain = case.private.domain();
            let public = WeightedSupport::from_public(domain, &case.public, 1.0)?;
            let error = WorkloadError::of_model(&case.private, &public.into(), &case.workload, 0)?;
            let WorkloadError { max_query, mean_query, rmse_query, .. } = error;
            let name = case.name;
            println!(
                "| {name} | public rows alone | | | {max_query:.4} | {mean_query:.3e} | {rmse_query:.3e} | |"
            );
        }
        for selection in [Selection::PermuteAndFlip, Selection::Exponential] {
            for mechanism in case.mechanisms(selection) {
                for epsilon in case.epsilons {
                    case.report(&*mechanism, selection, *epsilon, seeds)?;
                }
            }
        }
    }
    Ok(())
}

impl Case {
    fn reduced(root: &Path) -> Result<Self, Failure> {
        let folder = root.join("adult-gem-reduced");
        let schema = Schema::read(&folder.join("domain.json"))?;
        Ok(Self {
            name: "adult-gem-reduced",
            private: read_csv(&folder.join("data.csv.gz"), &schema)?,
            public: Vec::new(),
            workload: Workload::all_k_way(&schema.domain(), 3)?,
            epsilons: &[0.1, 0.25, 1.0],
        })
    }

    fn split(root: &Path) -> Result<Self, Failure> {
        let folder = root.join("adult-gem");
        let schema = Schema::read(&folder.join("domain.json"))?;
        let domain = schema.domain();
        let public = read_public_csv(&folder.join("split90-pub.csv.gz"), &schema)?;
        Ok(Self {
            name: "adult-gem split90",
            private: read_csv(&folder.join("split90-priv.csv.gz"), &schema)?,
            public: vec![PublicData::new("split90-pub", public, &domain)?],
            workload: Workload::all_k_way(&domain, 3)?,
            epsilons: &[0.1, 1.0],
        })
    }

    /// The mechanisms with their defaults, except the selection.
    fn mechanisms(&self, selection: Selection) -> [Box<dyn Mechanism>; 2] {
        let with = |release: QueryRelease| QueryRelease { selection, ..release };
        if self.public.is_empty() {
            let (mwem, pep) = (Mwem::default().release, Pep::default());
            return [
                Box::new(Mwem { release: with(mwem) }),
                Box::new(Pep { release: with(pep.release), projections: pep.projections }),
            ];
        }
        let (pmw, pep) = (PmwPub::default().release, PepPub::default());
        [
            Box::new(PmwPub { release: with(pmw) }),
            Box::new(PepPub { release: with(pep.release), projections: pep.projections }),
        ]
    }

    fn report(
        &self,
        mechanism: &dyn Mechanism,
        selection: Selection,
        epsilon: f64,
        seeds: u64,
    ) -> Result<(), Failure> {
        let n = self.private.records() as f64;
        let limit = rho_from_epsilon_delta(Epsilon::new(epsilon)?, Delta::new(n.powi(-2))?)?;
        let task = Task::new(&self.workload, &self.public);
        let (mut errors, start) = (Vec::new(), Instant::now());
        for seed in 0..seeds {
            let (relation, seed) = (NeighboringRelation::ReplaceOne, NoiseSeed::Fixed(seed));
            let private: &dyn Projectable = &self.private;
            let mut curator = Curator::new(private, relation, limit, seed)?;
            let release = mechanism.run(&mut curator, &task, &mut Silent)?;
            let error = WorkloadError::of_model(private, &release.model, &self.workload, 0)?;
            errors.push([error.max_query, error.mean_query, error.rmse_query]);
        }
        let seconds = start.elapsed().as_secs_f64() / seeds as f64;
        let k = errors.len() as f64;
        let of = |i: usize| {
            let mean = errors.iter().map(|e| e[i]).sum::<f64>() / k;
            let squares = errors.iter().map(|e| (e[i] - mean).powi(2)).sum::<f64>();
            (mean, (squares / (k - 1.0).max(1.0)).sqrt())
        };
        let [max, mean, rmse] = [of(0), of(1), of(2)];
        println!(
            "| {} | {} | {selection:?} | {epsilon} | {:.4} ± {:.4} | {:.3e} ± {:.0e} | {:.3e} ± {:.0e} | {seconds:.2} |",
            self.name,
            mechanism.name(),
            max.0,
            max.1,
            mean.0,
            mean.1,
            rmse.0,
            rmse.1,
        );
        Ok(())
    }
}
