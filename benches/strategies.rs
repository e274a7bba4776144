//! Expected and actual errors of strategies for workloads of marginals.
//!
//! `cargo bench --bench strategies -- [EPSILON] [WAYS]`: for Adult (`adult-pgm`, `jam-adult`), both relations and all
//! K-way workloads (WAYS, by default `2`; several with commas), the root mean squared error of a cell in counts at δ =
//! 10⁻⁹: expected, for `ResidualPlanner`, HDMM with marginals of the closure, HDMM with all of up to three attributes,
//! and equal noise on every marginal; then the error of one run of `ResidualPlanner` and HDMM on the real table.

#![expect(clippy::print_stdout, reason = "a report of measurements")]

#[allow(dead_code, reason = "each bench uses a part of it")]
mod support;

use std::time::Instant;

use jointly::data::{Projectable, read_csv};
use jointly::domain::Schema;
use jointly::mechanism::{AnswerWorkload, Hdmm, ResidualPlanner};
use jointly::privacy::{
    Curator, Delta, Epsilon, MarginalSensitivity, NeighboringRelation, NoiseSeed,
    rho_from_epsilon_delta,
};
use jointly::query::Workload;
use jointly::strategy::{MarginalPlan, Objective, ResidualPlan, ResidualVariances};

use support::Failure;

const DATA: [(&str, &str, &str); 2] =
    [("adult-pgm", "data.csv.gz", "domain.json"), ("jam-adult", "priv.csv.gz", "domain.json")];

fn main() -> Result<(), Failure> {
    let Some(root) = support::folder("JOINTLY_DATA", "../shared/data") else { return Ok(()) };
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let epsilon: f64 = args.first().map_or(Ok(1.0), |text| text.parse())?;
    let ways = args.get(1).map_or("2", String::as_str);
    let rho = rho_from_epsilon_delta(Epsilon::new(epsilon)?, Delta::new(1e-9)?)?;
    println!(
        "| data | workload | relation | ResidualPlanner | seconds | HDMM | seconds | HDMM, 3-way | seconds | equal noise | made: ResidualPlanner | made: HDMM |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for (name, file, schema) in DATA {
        let folder = root.join(name);
        let schema = Schema::read(&folder.join(schema))?;
        let domain = schema.domain();
        let private = read_csv(&folder.join(file), &schema)?;
        for way in ways.split(',') {
            let way: usize = way.parse()?;
            let workload = Workload::all_k_way(&domain, way)?;
            for relation in [NeighboringRelation::AddRemoveOne, NeighboringRelation::ReplaceOne] {
                let timed = |plan: &dyn Fn() -> jointly::Result<ResidualVariances>| {
                    let start = Instant::now();
                    let rmse = plan()?.workload_rmse(&workload);
                    Ok::<_, Failure>(format!("{rmse:.3} | {:.2}", start.elapsed().as_secs_f64()))
                };
                let planner = timed(&|| {
                    let sum = Objective::SumOfVariances;
                    Ok(ResidualPlan::new(&domain, &workload, sum, relation, rho)?.variances())
                })?;
                let hdmm = |widest| {
                    timed(&|| {
                        let plan = MarginalPlan::new(&domain, &workload, widest, relation, rho)?;
                        Ok(plan.variances())
                    })
                };
                let (hdmm, wide) = (hdmm(0)?, hdmm(3)?);
                let squared_l2 = f64::from(MarginalSensitivity::of(relation).squared_l2());
                let equal = (workload.len() as f64 * squared_l2 / (2.0 * rho.to_f64())).sqrt();
                let made = |answerer: &dyn AnswerWorkload| -> Result<String, Failure> {
                    if way > 2 {
                        return Ok(String::new());
                    }
                    let mut curator = Curator::new(&private, relation, rho, NoiseSeed::Fixed(1))?;
                    let answers = answerer.answer(&mut curator, &workload)?;
                    let (mut squares, mut cells) = (0.0, 0.0);
                    for clique in &answers.cliques {
                        let exact = private.project(clique)?;
                        let found = answers.marginal(clique)?.values;
                        let errors = exact.iter().zip(&found).map(|(m, y)| y - f64::from(*m));
                        squares += errors.map(|error| error * error).sum::<f64>();
                        cells += found.len() as f64;
                    }
                    Ok(format!("{:.3}", (squares / cells).sqrt()))
                };
                println!(
                    "| {name} | all-{way}-way | {relation} | {planner} | {hdmm} | {wide} | {equal:.3} | {} | {} |",
                    made(&ResidualPlanner::default())?,
                    made(&Hdmm::default())?,
                );
            }
        }
    }
    Ok(())
}
