use super::*;

const PAIRS: usize = 40;

/// `½ Σ h x² + ½ (Σ x)²`, whose Hessian is `diag(h) + 1 1'`.
fn gradient(hessian: &[f64], x: &[f64]) -> Vec<f64> {
    let sum: f64 = x.iter().sum();
    hessian.iter().zip(x).map(|(h, x)| h * x + sum).collect()
}

#[test]
fn a_quadratic_is_solved_in_a_few_steps_and_old_pairs_make_room() {
    let hessian: Vec<f64> = (0..60).map(|i| 1.0 + f64::from(i)).collect();
    let mut x: Vec<f64> = (0..60).map(|i| f64::from(i % 7) - 3.0).collect();
    let mut memory = Memory::new(PAIRS);
    for _ in 0..2 * PAIRS {
        let before = gradient(&hessian, &x);
        let mut direction = before.clone();
        memory.precondition(&hessian, &mut direction);
        let curved = gradient(&hessian, &direction);
        let length = dot(&direction, &before) / dot(&direction, &curved).max(1e-300);
        let mut next = x.clone();
        add(&mut next, -length, &direction);
        memory.learn([&x, &next], [&before, &gradient(&hessian, &next)]);
        x = next;
    }
    assert!(x.iter().all(|x| x.abs() < 1e-9), "{x:?}");
    assert!(memory.pairs.len() <= PAIRS);
}

#[test]
fn the_newest_pair_is_met_exactly() {
    let mut memory = Memory::new(PAIRS);
    let zeros = [0.0; 3];
    for pair in 0..PAIRS + 3 {
        let step = [1.0 + pair as f64, 2.0, -1.0];
        let change = [2.0, 1.0 + pair as f64, -3.0];
        memory.learn([&zeros, &step], [&zeros, &change]);
        let mut found = change;
        memory.precondition(&[1.0; 3], &mut found);
        found.iter().zip(step).for_each(|(f, s)| assert!((f - s).abs() < 1e-9, "{pair}"));
    }
}
