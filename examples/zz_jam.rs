#![allow(clippy::all, clippy::pedantic, clippy::restriction, missing_docs)]
use jointly::data::*; use jointly::domain::*; use jointly::estimation::*; use jointly::inference::*; use jointly::mechanism::*; use jointly::model::*; use jointly::observe::*; use jointly::privacy::*; use jointly::query::*;
use rand::SeedableRng; use rand::rngs::ChaCha20Rng; use std::time::Instant;
fn err(truth: &[Vec<u32>], model: &MarkovRandomField, cl: &[Clique]) -> f64 {
    let rows = model.sample(model.total() as usize, Sampling::Rounded, &mut ChaCha20Rng::seed_from_u64(5)).unwrap();
    let f = Projectable::project_many(&rows, cl).unwrap();
    let m = rows.records() as f64;
    truth.iter().zip(&f).map(|(a, b)| { let n: f64 = a.iter().map(|x| *x as f64).sum(); a.iter().zip(b).map(|(x, y)| (*x as f64 / n - *y as f64 / m).abs()).sum::<f64>() }).sum::<f64>() / cl.len() as f64
}
struct Quiet; impl Observer for Quiet { fn event(&mut self, e: &Event) { if std::env::var("TR").is_ok() { println!("{e:?}"); } } }
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let root = std::path::PathBuf::from("../shared/data/").join(&a[1]);
    let schema = Schema::read(&root.join(&a[2])).unwrap();
    let domain = schema.domain();
    let private = read_csv(&root.join(&a[3]), &schema).unwrap();
    let table = read_public_csv(&root.join(&a[4]), &schema).unwrap();
    let public = vec![PublicData::new("p", table, &domain).unwrap()];
    let eps: f64 = a[5].parse().unwrap();
    let seed: u64 = a[6].parse().unwrap();
    let workload = Workload::all_k_way(&domain, 3).unwrap();
    let cl = workload.cliques();
    let truth = Projectable::project_many(&private, &cl).unwrap();
    let limit = rho_from_epsilon_delta(Epsilon::new(eps).unwrap(), Delta::new(1e-9).unwrap()).unwrap();
    let mut curator = Curator::new(&private, NeighboringRelation::ReplaceOne, limit, NoiseSeed::Fixed(seed)).unwrap();
    let t = Instant::now();
    let rel = JamPgm::default().run(&mut curator, &Task { workload: &workload, public: &public }, &mut Quiet).unwrap();
    println!("run {:?} calls {} err {:.4} loss {} mib {:.1}", t.elapsed(), rel.rounds.iter().map(|r| r.oracle_calls).sum::<u32>(), err(&truth, &rel.model, &cl), rel.rounds.last().unwrap().loss, rel.model.size_mib());
    let loss = SquaredLoss::new(&domain, &rel.measurements, Weighting::Equal).unwrap();
    println!("noise {:.4e} cells {}", loss.noise(), loss.layout().cells());
    let oracle = std::sync::Arc::new(BeliefPropagation::new(&domain, loss.layout()));
    let total = rel.model.total();
    for (what, warm, stop) in [("warm default", true, Stopping::default()), ("warm certified .1", true, Stopping::certified(0.1, 1000)), ("cold certified 1", false, Stopping::certified(1.0, 1000)), ("cold certified .1", false, Stopping::certified(0.1, 3000))] {
        for pat in [10, 40] {
        let t = Instant::now();
        let e = AcceleratedBregman { stopping: stop, patience: pat }.estimate(&oracle, &loss, total, if warm { Some(rel.model.potentials()) } else { None }).unwrap();
        let el = t.elapsed();
        let m = MarkovRandomField::with_oracle(oracle.clone(), e.potentials.clone(), total).unwrap();
        println!("{what} pat {pat}: loss {:.5e} gap {:.3e} = {:.3} noise ({:.3}%) calls {} {:?} err {:.4}", e.loss, e.certified_gap(), e.certified_gap() / loss.noise(), 100.0 * e.certified_gap() / e.loss, e.oracle_calls, el, err(&truth, &m, &cl));
        }
    }
}
