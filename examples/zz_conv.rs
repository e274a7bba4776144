#![allow(clippy::all, clippy::pedantic, clippy::restriction, missing_docs)]
use jointly::domain::*; use jointly::estimation::*; use jointly::inference::*; use jointly::measurement::*;
use std::io::Read;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let sigma = &a[1]; let calls: u32 = a[2].parse().unwrap();
    let mut t = String::new();
    let f = std::fs::File::open(format!("../shared/reference/adult-convergence-sigma{sigma}.json.gz")).unwrap();
    flate2::read::GzDecoder::new(f).read_to_string(&mut t).unwrap();
    let v: serde_json::Value = serde_json::from_str(&t).unwrap();
    let domain = Domain::new(["age","workclass","fnlwgt","education-num","marital-status","occupation","relationship","race","sex","capital-gain","capital-loss","hours-per-week","native-country","income>50K"].map(|k| (k.to_string(), v["domain"][k].as_u64().unwrap() as u32))).unwrap();
    let s: f64 = v["sigma"].as_f64().unwrap();
    let m: Vec<Measurement> = v["measurements"].as_array().unwrap().iter().map(|m| Measurement {
        clique: domain.clique(&m["clique"].as_array().unwrap().iter().map(|s| s.as_str().unwrap()).collect::<Vec<_>>()).unwrap(),
        values: m["values"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect(), stddev: s, provenance: Provenance::Private }).collect();
    let loss = SquaredLoss::new(&domain, &m, Weighting::InverseVariance).unwrap();
    let oracle = BeliefPropagation::new(&domain, loss.layout());
    let start = std::time::Instant::now();
    let e = AcceleratedBregman { stopping: Stopping::certified(a[3].parse().unwrap(), calls), patience: a[4].parse().unwrap() }.estimate(&oracle, &loss, v["total"].as_f64().unwrap(), None).unwrap();
    println!("gap {} {}% loss {} calls {} time {:?}", e.certified_gap(), 100.0 * e.certified_gap() / e.loss, e.loss, e.oracle_calls, start.elapsed()); let _ = (v["reference"]);
}
