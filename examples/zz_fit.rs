use jointly::domain::*; use jointly::inference::*; use jointly::estimation::*; use jointly::measurement::*;
use std::io::Read;
fn main(){
 for f in ["10","100"] {
 let mut t=String::new(); flate2::read::GzDecoder::new(std::fs::File::open(format!("/work/shared/reference/adult-convergence-sigma{f}.json.gz")).unwrap()).read_to_string(&mut t).unwrap();
 let v: serde_json::Value = serde_json::from_str(&t).unwrap();
 let order=["age","workclass","fnlwgt","education-num","marital-status","occupation","relationship","race","sex","capital-gain","capital-loss","hours-per-week","native-country","income>50K"];
 let domain=Domain::new(order.iter().map(|k|(k.to_string(), v["domain"][*k].as_u64().unwrap() as u32))).unwrap();
 let sigma=v["sigma"].as_f64().unwrap(); let total=v["total"].as_f64().unwrap();
 let ms: Vec<Measurement> = v["measurements"].as_array().unwrap().iter().map(|m| { let names: Vec<&str> = m["clique"].as_array().unwrap().iter().map(|x|x.as_str().unwrap()).collect(); Measurement{clique: domain.clique(&names).unwrap(), values: m["values"].as_array().unwrap().iter().map(|x|x.as_f64().unwrap()).collect(), stddev: sigma, provenance: Provenance::Private}}).collect();
 let loss=SquaredLoss::new(&domain,&ms,Weighting::InverseVariance).unwrap();
 let o=BeliefPropagation::new(&domain,loss.layout());
 println!("model cells {}", o.model_cells());
 for n in [100u32,200,300,500,1000,1350,2000] {
  let s=Stopping::after(n);
  let t=std::time::Instant::now(); let a=AcceleratedBregman{stopping:s}.estimate(&o,&loss,total,None).unwrap(); let ta=t.elapsed();
  println!("sigma {f} calls {n}: accelerated {:.2} {:?} th {:?}", a.loss, ta, a.potentials.values().iter().fold((0.0f64,0.0f64),|m,x|(m.0.min(*x),m.1.max(*x))));
 }}
}
