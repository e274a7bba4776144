use super::*;
use crate::demo::Generator;
use crate::observe::Silent;

fn budget() -> Budget {
    Budget::approximate(1.0, 1e-6).unwrap()
}

fn tuning(mechanism: &str, grids: &[&str]) -> Tuning {
    let grids = grids.iter().map(|grid| grid.parse().unwrap()).collect();
    Tuning { grids, seeds: 2, ..Tuning::new(mechanism, budget()) }
}

fn tables() -> (Dataset, Vec<PublicData>, Workload) {
    let stand_in = Generator { records: 400, seed: 1, drift: 0.0 }.generate().unwrap();
    let other = Generator { records: 400, seed: 2, drift: 0.3 }.generate().unwrap();
    let public = vec![PublicData::new("other", other, stand_in.domain()).unwrap()];
    let workload = Workload::all_k_way(stand_in.domain(), 1).unwrap();
    (stand_in, public, workload)
}

#[test]
fn a_grid_is_a_name_and_its_numbers() {
    let grid: Grid = "measure_share = 0.5, 0.8".parse().unwrap();
    assert_eq!((grid.name, grid.values), ("measure-share", vec![0.5.into(), 0.8.into()]));
    for (text, part) in [
        ("rounds", "'rounds', expected NAME=VALUE,..."),
        ("turns=3", "'turns' in 'turns=3', expected the name of a numeric parameter"),
        ("noise=laplace", "expected the name of a numeric parameter"),
        ("rounds=", "'' in 'rounds=', expected a whole number"),
        ("rounds=5,1.5", "'1.5' in 'rounds=5,1.5', expected a whole number"),
        ("rounds=-5", "expected a whole number"),
        ("rounds=5,5", "'5' twice"),
        ("measure-share=NaN", "expected a finite number"),
    ] {
        let message = text.parse::<Grid>().unwrap_err().to_string();
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn what_no_table_can_make_right_is_refused_first() {
    let refused = |tuning: &Tuning, part: &str| {
        let message = tuning.check().unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    };
    refused(&tuning("magic", &["rounds=2"]), "'magic'");
    refused(&tuning("public-only", &["iterations=2"]), "spends budget");
    refused(
        &tuning("independent", &["rounds=2"]),
        "rounds is of no use with mechanism independent",
    );
    refused(&tuning("jam-pgm", &["rounds=2", "rounds=3"]), "'rounds', which has values already");
    refused(&tuning("jam-pgm", &[]), "candidates is 0 combinations");
    refused(&Tuning { seeds: 0, ..tuning("jam-pgm", &["rounds=2"]) }, "seeds is 0");
    refused(&Tuning { records: Some(0), ..tuning("jam-pgm", &["rounds=2"]) }, "records is 0");
    let many: Vec<String> = (1..=1001).map(|value| value.to_string()).collect();
    refused(&tuning("jam-pgm", &[&format!("rounds={}", many.join(","))]), "1001 combinations");
    let mut given = tuning("jam-pgm", &["rounds=2"]);
    given.parameters.insert("rounds".into(), 3.into());
    refused(&given, "'rounds', which has values already");
}

#[test]
fn all_combinations_are_tried_and_the_least_mean_error_is_chosen() {
    let (stand_in, public, workload) = tables();
    let mut tuning = tuning("jam-pgm", &["rounds=1,12", "measure-share=0.5,0.9"]);
    tuning.parameters.insert("iterations".into(), 50.into());
    let mut heard = 0;
    let tuned =
        tuning.run(&stand_in, &public, &workload, &mut Silent, &mut |_| heard += 1).unwrap();
    assert_eq!((heard, tuned.candidates.len()), (4, 4));
    let described: Vec<String> = tuned.candidates.iter().map(Candidate::described).collect();
    assert_eq!(described[1], "measure-share=0.9, rounds=1");
    let means: Vec<f64> = tuned.candidates.iter().map(|c| c.mean().unwrap()).collect();
    assert!(means.iter().all(|mean| *mean >= means[tuned.best]), "{means:?}");
    // One measurement of nine single attributes cannot do what twelve can.
    assert!(tuned.candidates[tuned.best].parameters["rounds"] == 12, "{means:?}");
    assert_eq!(
        (&tuned.parameters["iterations"], &tuned.parameters["rounds"]),
        (&50.into(), &12.into())
    );
    let again = tuning.run(&stand_in, &public, &workload, &mut Silent, &mut |_| ()).unwrap();
    assert_eq!(tuned, again, "seeds are fixed");
}

#[test]
fn values_that_the_mechanism_refuses_are_left_out_with_the_reason() {
    let (stand_in, public, workload) = tables();
    let mut some = tuning("jam-pgm", &["rounds=0,2"]);
    some.seeds = 1;
    let tuned = some.run(&stand_in, &public, &workload, &mut Silent, &mut |_| ()).unwrap();
    assert_eq!(tuned.best, 1);
    assert!(tuned.candidates[0].refused.as_ref().unwrap().contains("rounds is 0"));
    let none = tuning("jam-pgm", &["rounds=0"]);
    let error = none.run(&stand_in, &public, &workload, &mut Silent, &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("rounds is 0"), "{error}");
}

#[test]
fn noise_is_scaled_to_the_number_of_private_records() {
    let (stand_in, public, workload) = tables();
    let rho = |records| {
        let tuning = Tuning { records, seeds: 1, ..tuning("independent", &["iterations=50"]) };
        tuning.run(&stand_in, &public, &workload, &mut Silent, &mut |_| ()).unwrap().rho
    };
    let own = budget().rho().to_f64();
    assert!((rho(None) - own).abs() < 1e-12);
    assert!(
        (rho(Some(800)) / own - 4.0).abs() < 1e-6 && (rho(Some(200)) / own - 0.25).abs() < 1e-6
    );
}
