//! What goes beyond the papers in JAM-PGM and AIM: off by default, and what each option does.

use jointly::estimation::Weighting;
use jointly::measurement::Provenance;
use jointly::mechanism::{
    Aim, Contradicted, Gain, JamPgm, Leftover, Mechanism, Release, Shrinkage,
};
use jointly::privacy::NoiseSeed;

use crate::support::{Run, budget, bytes, jam, one_turned, people};

const SEEDS: std::ops::Range<u64> = 0..4;

fn with_seed(run: &Run, seed: u64) -> Run {
    Run { seed: NoiseSeed::Fixed(seed), ..run.clone() }
}

fn mean_error(run: &Run, mechanism: &dyn Mechanism) -> f64 {
    let error = |seed| run.error(&with_seed(run, seed).release(mechanism).model);
    SEEDS.map(error).sum::<f64>() / 4.0
}

fn is_public(release: &Release, index: usize) -> bool {
    release.measurements[index].provenance != Provenance::Private
}

#[test]
fn what_is_left_is_spent_on_a_private_round() {
    let (private, near) = (people(3_000, 1, 0.0), people(3_000, 2, 0.0));
    let run = Run { epsilon: 0.3, ..Run::new(&private, &[("near", &near)]) };
    let spending = JamPgm { leftover: Leftover::Spend, ..jam(6) };
    let mut had_leftover = 0;
    for seed in SEEDS {
        let run = with_seed(&run, seed);
        let (kept, spent) = (run.release(&jam(6)), run.release(&spending));
        assert_eq!(
            spent.measurements[..6],
            kept.measurements[..],
            "the planned rounds are the same"
        );
        assert_eq!(spent.ledger.spent(), budget(0.3));
        let is_left = kept.ledger.spent() < budget(0.3);
        assert_eq!(
            is_left,
            is_public(&kept, 5),
            "a last public choice leaves its measurement's share"
        );
        assert_eq!(spent.measurements.len(), if is_left { 7 } else { 6 });
        if is_left {
            assert!(!is_public(&spent, 6));
            had_leftover += 1;
        }
    }
    assert!(had_leftover > 0, "no run had anything left");
}

#[test]
fn contradicted_public_marginals_are_dropped_and_fair_ones_are_kept() {
    let (private, near) = (people(20_000, 1, 0.0), people(20_000, 2, 0.0));
    let wrong = one_turned(&near, 2);
    let dropping = JamPgm { contradicted: Contradicted::Drop, ..jam(12) };
    // With a fair table nothing changes.
    let fair = Run { epsilon: 1.0, ..Run::new(&private, &[("near", &near)]) };
    for seed in SEEDS {
        let run = with_seed(&fair, seed);
        assert_eq!(run.release(&dropping).measurements, run.release(&jam(12)).measurements);
    }
    // With a wrong attribute the error falls, and no marginal with it is taken once it was found to be wrong.
    let run = Run { epsilon: 1.0, ..Run::new(&private, &[("near", &wrong)]) };
    let (kept, dropped) = (mean_error(&run, &jam(12)), mean_error(&run, &dropping));
    eprintln!("contradicted marginals: kept {kept:.4}, dropped {dropped:.4}");
    assert!(dropped < kept * 1.02, "{dropped} against {kept}");
    let release = run.release(&dropping);
    let mut is_known = false;
    for (i, measurement) in release.measurements.iter().enumerate() {
        let has_wrong = measurement.clique.contains(2);
        assert!(!(is_known && has_wrong && is_public(&release, i)), "{i}: {}", measurement.clique);
        is_known |= has_wrong && !is_public(&release, i);
    }
    assert!(is_known, "the wrong attribute was never measured");
}

#[test]
fn weights_by_sampling_error_and_noise_help_a_small_public_table() {
    let (private, few) = (people(30_000, 1, 0.0), people(200, 2, 0.0));
    let run = Run { epsilon: 3.0, ..Run::new(&private, &[("few", &few)]) };
    let weighting = JamPgm { weighting: Weighting::InverseVariance, ..jam(12) };
    let (equal, weighted) = (mean_error(&run, &jam(12)), mean_error(&run, &weighting));
    eprintln!("weights: equal {equal:.4}, inverse variance {weighted:.4}");
    assert!(weighted < equal * 1.05, "{weighted} against {equal}");
}

/// On so small a table either rule may win (`docs/adr/0020-options-beyond-the-papers.md`).
#[test]
fn options_of_aim_change_what_follows_the_single_attributes() {
    let run = Run::new(&people(3_000, 1, 0.0), &[]);
    let plain = Aim { iterations: 200, rounds: Some(20), ..Aim::default() };
    let expected = (run.release(&plain), mean_error(&run, &plain));
    let (score, shrinkage) = (Gain::Shrunk, Shrinkage::JamesStein);
    let shrunk = Aim { shrinkage, ..plain.clone() };
    for aim in [Aim { score, ..plain.clone() }, Aim { score, ..shrunk.clone() }, shrunk] {
        let (release, error) = (run.release(&aim), mean_error(&run, &aim));
        assert_eq!(release.measurements[..6], expected.0.measurements[..6], "{aim:?}");
        assert_ne!(bytes(&release), bytes(&expected.0), "{aim:?}");
        assert_eq!(release.ledger.spent(), budget(1.0), "{aim:?}");
        eprintln!(
            "{:?}, {:?}: {error:.4}, as published {:.4}",
            aim.score, aim.shrinkage, expected.1
        );
        assert!(error < 1.25 * expected.1, "{aim:?}: {error}, as published {}", expected.1);
    }
}
