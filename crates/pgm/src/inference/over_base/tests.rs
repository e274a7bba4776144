//! Potentials over a base are those of the sum.

use crate::domain::Clique;
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use super::*;

const TOTAL: f64 = 1234.5;

fn domain(with_zeros: bool) -> Domain {
    let domain = Domain::new([("a", 3), ("b", 4), ("c", 2), ("d", 3), ("e", 2)]).unwrap();
    if !with_zeros {
        return domain;
    }
    let never = [
        vec![("a", vec![0]), ("b", vec![1, 2])],
        vec![("c", vec![1]), ("d", vec![0]), ("e", vec![0])],
    ];
    domain.forbid(never).unwrap()
}

fn layout(domain: &Domain, cliques: &[&[usize]]) -> Arc<CliqueLayout> {
    CliqueLayout::new(domain, cliques.iter().map(|c| Clique::new(c.iter().copied()))).unwrap()
}

fn random(layout: &Arc<CliqueLayout>, forbidden: f64, rng: &mut ChaCha20Rng) -> Potentials {
    let mut theta = Potentials::zeros(layout);
    for value in theta.values_mut() {
        let is_forbidden = rng.random::<f64>() < forbidden;
        *value = if is_forbidden { f64::NEG_INFINITY } else { rng.random_range(-3.0..3.0) };
    }
    theta
}

type Cliques = &'static [&'static [usize]];

/// Cliques of the base and measured ones: equal, contained, overlapping, and apart.
const CASES: [(Cliques, Cliques); 4] = [
    (&[&[0, 1], &[1, 2]], &[&[0, 1], &[2]]),
    (&[&[0, 1, 2]], &[&[2, 3], &[3, 4], &[0]]),
    (&[&[0], &[1], &[2]], &[&[0, 1], &[1, 2], &[0, 2], &[3, 4]]),
    (&[&[3, 4], &[0, 3]], &[&[1], &[0, 2]]),
];

#[test]
fn it_equals_belief_propagation_with_the_sum_of_the_potentials() {
    for (seed, with_zeros) in (0..20).flat_map(|seed| [(seed, false), (seed, true)]) {
        let domain = domain(with_zeros);
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        for (of_base, measured) in CASES {
            let (of_base, measured) = (layout(&domain, of_base), layout(&domain, measured));
            let forbidden = if seed % 2 == 0 { 0.05 } else { 0.0 };
            let base = random(&of_base, forbidden, &mut rng);
            let theta = random(&measured, 0.0, &mut rng);
            let over = OverBase::new(&domain, &base, &measured).unwrap();
            let mut found = Marginals::zeros(&measured);
            let mut workspace = over.workspace();
            let mut a = |theta: &Potentials| {
                over.marginals(theta, TOTAL, &mut workspace, &mut found).unwrap()
            };
            let (at_theta, at_zero) = (a(&theta), a(&Potentials::zeros(&measured)));
            assert!(at_zero.abs() < 1e-12, "A(0) = {at_zero}");
            assert_eq!(a(&theta).to_bits(), at_theta.to_bits(), "the workspace remembers");

            // The sum of both, on the cliques of both, built by hand.
            let cliques = of_base.cliques().iter().chain(measured.cliques());
            let all = CliqueLayout::new(&domain, cliques.cloned()).unwrap();
            let mut sum = base.expand(&all).unwrap();
            for (index, clique) in measured.cliques().iter().enumerate() {
                let table = sum.table_mut(all.position(clique).unwrap());
                table.iter_mut().zip(theta.table(index)).for_each(|(sum, theta)| *sum += theta);
            }
            let plain = BeliefPropagation::new(&domain, &all);
            let mut expected = Marginals::zeros(&all);
            let mut of = |theta: &Potentials| {
                plain.marginals(theta, TOTAL, &mut plain.workspace(), &mut expected).unwrap()
            };
            let difference = -of(&base.expand(&all).unwrap()) + of(&sum);
            assert!((at_theta - difference).abs() < 1e-10, "{at_theta}, expected {difference}");
            for (index, clique) in measured.cliques().iter().enumerate() {
                let table = expected.table(all.position(clique).unwrap());
                for (found, expected) in found.table(index).iter().zip(table) {
                    assert!((found - expected).abs() < 1e-9 * TOTAL, "{found}, not {expected}");
                }
            }
            let written = over.potentials(&theta).expand(over.inner().layout()).unwrap();
            assert_eq!(written.values(), sum.expand(over.inner().layout()).unwrap().values());

            // The same after an oracle for fewer cliques.
            let fewer = layout(&domain, &[&[0]]);
            let earlier = OverBase::new(&domain, &base, &fewer).unwrap();
            let next = OverBase::following(&domain, &base, &measured, &earlier).unwrap();
            let mut again = Marginals::zeros(&measured);
            let a = next.marginals(&theta, TOTAL, &mut next.workspace(), &mut again).unwrap();
            assert!((a - at_theta).abs() < 1e-10);
            for (again, found) in again.values().iter().zip(found.values()) {
                assert!((again - found).abs() < 1e-9 * TOTAL);
            }
        }
    }
}

#[test]
fn potentials_on_other_cliques_and_bases_without_records_are_errors() {
    let domain = domain(false);
    let (of_base, measured) = (layout(&domain, &[&[0, 1]]), layout(&domain, &[&[1], &[2]]));
    let mut base = Potentials::zeros(&of_base);
    let over = OverBase::new(&domain, &base, &measured).unwrap();
    let mut mu = Marginals::zeros(&measured);
    for others in [&[&[2_usize][..], &[1]][..], &[&[1]], &[&[1], &[2], &[3]]] {
        let theta = Potentials::zeros(&layout(&domain, others));
        assert!(over.marginals(&theta, 1.0, &mut over.workspace(), &mut mu).is_err());
    }
    let mut theta = Potentials::zeros(&measured);
    theta.table_mut(1)[0] = f64::NAN;
    assert!(over.marginals(&theta, 1.0, &mut over.workspace(), &mut mu).is_err());
    base.values_mut().fill(f64::NEG_INFINITY);
    assert!(OverBase::new(&domain, &base, &measured).is_err());
}
