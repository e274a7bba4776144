#![allow(clippy::all, clippy::pedantic, clippy::restriction, missing_docs)]
use jointly::domain::{Clique, Domain};
use jointly::inference::{BeliefPropagation, MarginalOracle};
use jointly::table::{CliqueLayout, Marginals, Potentials};
use std::time::Instant;
fn main() {
    let text = std::fs::read_to_string("../shared/reference/engine-cases.json").unwrap();
    let v: serde_json::Value = serde_json::from_str(&text).unwrap();
    let only = std::env::args().nth(1).unwrap_or_default();
    for (name, d) in v.as_object().unwrap() {
        let dom: Vec<(String, u32)> = d["domain"].as_object().unwrap().iter().map(|(k, x)| (k.clone(), x.as_u64().unwrap() as u32)).collect();
        let domain = Domain::new(dom).unwrap();
        for (case, c) in d["cases"].as_object().unwrap() {
            let label = format!("{name}/{case}");
            if !label.contains(&only) { continue; }
            let cl = c["cliques"].as_array().unwrap_or_else(|| panic!("{c}")).iter().map(|q| domain.clique(&q.as_array().unwrap().iter().map(|s| s.as_str().unwrap()).collect::<Vec<_>>()).unwrap()).collect::<Vec<Clique>>();
            let layout = CliqueLayout::new(&domain, cl).unwrap();
            let t0 = Instant::now();
            let oracle = BeliefPropagation::new(&domain, &layout);
            let built = t0.elapsed();
            let mut theta = Potentials::zeros(&layout);
            let mut s = 12345_u64;
            for x in theta.values_mut() { s = s.wrapping_mul(6364136223846793005).wrapping_add(1); *x = (s >> 33) as f64 / 2f64.powi(31) - 0.5; }
            let mut w = oracle.workspace();
            let mut mu = Marginals::zeros(&layout);
            let mut best = f64::INFINITY;
            let start = Instant::now();
            let mut n = 0;
            while start.elapsed().as_secs_f64() < 1.5 {
                let t = Instant::now();
                oracle.marginals(&theta, 1000.0, &mut w, &mut mu).unwrap();
                best = best.min(t.elapsed().as_secs_f64());
                n += 1;
            }
            println!("{label:<28} build {:>8.2} ms  best {:>9.4} ms  mean {:>9.4}  cells {} work {} layout {} ns/cell {:.3} nodes",
                built.as_secs_f64() * 1e3, best * 1e3, start.elapsed().as_secs_f64() * 1e3 / n as f64, oracle.model_cells(), oracle.work_cells(), layout.cells(), best * 1e9 / oracle.model_cells() as f64);
        }
    }
}
