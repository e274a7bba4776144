//! The samplers against the probabilities they name, by chi-square tests.
//!
//! Each test has a false-alarm rate of 10⁻⁶ and a fixed seed: a failure is a fault.

use crate::sampler::{DiscreteGaussian, DiscreteLaplace, bernoulli_exp};
use crate::{
    Curator, NeighboringRelation, NoiseSeed, Ratio, Rho, ScoreSensitivity, Scores, Selection,
    Sensitive,
};
use jointly_pgm::data::Projectable;
use jointly_pgm::domain::{Clique, Domain};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

fn ratio(numerator: u64, denominator: u64) -> Ratio {
    Ratio::new(numerator, denominator).unwrap()
}

/// The value that a chi-square variable exceeds with probability about 10⁻⁶ (Wilson & Hilferty 1931).
fn critical(degrees: usize) -> f64 {
    const NORMAL_QUANTILE: f64 = 4.7534;
    let (k, spread) = (degrees as f64, 2.0 / (9.0 * degrees as f64));
    k * (1.0 - spread + NORMAL_QUANTILE * spread.sqrt()).powi(3)
}

/// Compares counts with expected counts in bins, neighboring bins pooled until 20 are expected in each.
fn assert_chi_square(what: &str, bins: &[(f64, f64)]) {
    let mut pooled: Vec<(f64, f64)> = vec![(0.0, 0.0)];
    for &(found, expected) in bins {
        let last = pooled.last_mut().unwrap();
        *last = (last.0 + found, last.1 + expected);
        if last.1 >= 20.0 {
            pooled.push((0.0, 0.0));
        }
    }
    let crumb = pooled.pop().unwrap();
    let last = pooled.last_mut().unwrap();
    *last = (last.0 + crumb.0, last.1 + crumb.1);
    let statistic: f64 = pooled.iter().map(|(o, e)| (o - e).powi(2) / e).sum();
    let limit = critical(pooled.len() - 1);
    assert!(statistic < limit, "{what}: {statistic} in {} bins, limit {limit}", pooled.len());
}

/// Draws integers and compares them with `weight(x)`, normalized by direct summation over `−reach..=reach`, which
/// must hold all but a negligible share; values are joined in groups of `width`.
fn assert_distribution(
    what: &str,
    reach: i64,
    width: i64,
    draws: u32,
    weight: impl Fn(f64) -> f64,
    mut draw: impl FnMut() -> i64,
) {
    let groups = usize::try_from(2 * reach / width + 1).unwrap();
    let mut bins = vec![(0.0, 0.0); groups];
    let group = |x: i64| usize::try_from((x + reach) / width).unwrap();
    let total: f64 = (-reach..=reach).map(|x| weight(x as f64)).sum();
    for x in -reach..=reach {
        bins[group(x)].1 += weight(x as f64) / total * f64::from(draws);
    }
    for _ in 0..draws {
        let x = draw();
        assert!(x.abs() <= reach, "{what}: {x} is beyond reach");
        bins[group(x)].0 += 1.0;
    }
    assert_chi_square(what, &bins);
}

#[test]
fn discrete_gaussian_draws_have_the_probabilities_they_should() {
    // σ² as a fraction, σ = 0.3, 0.5, 3, 50, 10⁴; widths that give at most a few hundred bins.
    let cases = [(9, 100, 1), (1, 4, 1), (9, 1, 1), (2500, 1, 1), (100_000_000, 1, 500)];
    for (case, (numerator, denominator, width)) in (0..).zip(cases) {
        let variance = ratio(numerator, denominator);
        let noise = DiscreteGaussian::new(variance).unwrap();
        let sigma2 = variance.to_f64();
        #[expect(clippy::cast_possible_truncation, reason = "a small number")]
        let reach = (10.0 * sigma2.sqrt()).ceil() as i64 + 2;
        let mut rng = ChaCha20Rng::seed_from_u64(100 + case);
        assert_distribution(
            &format!("variance {variance}"),
            reach,
            width,
            2_000_000,
            |x| (-x * x / (2.0 * sigma2)).exp(),
            || noise.sample(&mut rng),
        );
    }
}

#[test]
fn discrete_gaussian_draws_at_the_finest_budgets_have_the_probabilities_they_should() {
    // σ² = 2⁴⁰/units for one unit of ρ, for a prime number of units, and for a budget far above 1.
    let cases = [(1 << 40, 1, 50_000), (1 << 40, 999_999_937, 2), (1 << 40, (1 << 41) + 1, 1)];
    for (case, (numerator, denominator, width)) in (0..).zip(cases) {
        let variance = ratio(numerator, denominator);
        let noise = DiscreteGaussian::new(variance).unwrap();
        let sigma2 = variance.to_f64();
        #[expect(clippy::cast_possible_truncation, reason = "at most 10^7")]
        let reach = (8.0 * sigma2.sqrt()).ceil() as i64 + 2;
        let mut rng = ChaCha20Rng::seed_from_u64(200 + case);
        assert_distribution(
            &format!("variance {variance}"),
            reach,
            width,
            500_000,
            |x| (-x * x / (2.0 * sigma2)).exp(),
            || noise.sample(&mut rng),
        );
    }
}

#[test]
fn discrete_laplace_draws_have_the_probabilities_they_should() {
    for (case, (numerator, denominator)) in (0..).zip([(1, 3), (1, 1), (5, 2), (40, 1)]) {
        let scale = ratio(numerator, denominator);
        let noise = DiscreteLaplace::new(scale).unwrap();
        let b = scale.to_f64();
        #[expect(clippy::cast_possible_truncation, reason = "at most 1400")]
        let reach = (34.0 * b).ceil() as i64 + 2;
        let mut rng = ChaCha20Rng::seed_from_u64(300 + case);
        assert_distribution(
            &format!("scale {scale}"),
            reach,
            1,
            1_000_000,
            |x| (-x.abs() / b).exp(),
            || noise.sample(&mut rng),
        );
    }
}

#[test]
fn coins_of_probability_exp_minus_gamma_fall_as_often_as_they_should() {
    let draws = 1_000_000;
    for (case, (numerator, denominator)) in
        (0..).zip([(1, 7), (2, 3), (1, 1), (9, 4), (u64::MAX, u64::MAX - 1), (1, 20_000)])
    {
        let gamma = ratio(numerator, denominator);
        let mut rng = ChaCha20Rng::seed_from_u64(400 + case);
        let heads = f64::from(draws) * (-gamma.to_f64()).exp();
        let found = (0..draws).filter(|_| bernoulli_exp(gamma, &mut rng)).count() as f64;
        let draws = f64::from(draws);
        assert_chi_square(&gamma.to_string(), &[(found, heads), (draws - found, draws - heads)]);
    }
}

/// Three records in one cell of a one-attribute domain.
struct Three(Domain);

impl Projectable for Three {
    fn domain(&self) -> &Domain {
        &self.0
    }
    fn records(&self) -> u64 {
        3
    }
    fn project_many(&self, cliques: &[Clique]) -> jointly_pgm::Result<Vec<Vec<u32>>> {
        Ok(cliques.iter().map(|_| vec![3, 0]).collect())
    }
}

/// The chance of each candidate under permute-and-flip: by the probability that exactly the candidates of a set were
/// refused so far, for all sets.
fn permute_and_flip(accepted: &[f64]) -> Vec<f64> {
    let n = accepted.len();
    let mut reached = vec![0.0; 1 << n];
    reached[0] = 1.0;
    let mut chance = vec![0.0; n];
    for refused in 0..1_usize << n {
        let left: Vec<usize> = (0..n).filter(|i| refused >> i & 1 == 0).collect();
        for &next in &left {
            let tried = reached[refused] / left.len() as f64;
            chance[next] += tried * accepted[next];
            reached[refused | 1 << next] += tried * (1.0 - accepted[next]);
        }
    }
    chance
}

#[test]
fn candidates_are_selected_with_the_probabilities_they_should() {
    let data = Three(Domain::new([("x", 2)]).unwrap());
    let scores = [0.0, -3.5, 12.0, 11.0, 12.0, 4.25, 7.0, -40.0];
    let sensitivities = [
        ScoreSensitivity::l1_error_difference(NeighboringRelation::ReplaceOne),
        ScoreSensitivity::cell_error(NeighboringRelation::ReplaceOne),
    ];
    let rhos = [0.005, 0.1, 0.7];
    let budgets = rhos.into_iter().flat_map(|rho| sensitivities.map(|s| (rho, s)));
    for (case, (rho, sensitivity)) in (0..).zip(budgets) {
        for (selection, factor) in [(Selection::Exponential, 8.0), (Selection::PermuteAndFlip, 2.0)]
        {
            let rho = Rho::from_f64(rho).unwrap();
            let (limit, seed) = (Rho::from_units(u64::MAX), NoiseSeed::Fixed(500 + case));
            let draws = 200_000;
            let mut curator =
                Curator::new(&data, NeighboringRelation::ReplaceOne, limit, seed).unwrap();
            let mut bins = scores.map(|_| (0.0, 0.0));
            for _ in 0..draws {
                let sealed = Sensitive::new(scores.to_vec());
                let marginals = curator.marginals(&[]).unwrap();
                let source = marginals.source();
                let sealed = Scores::new(source, scores.len(), sensitivity, 0.0, sealed);
                let chosen = curator.select(selection, sealed, rho, "test").unwrap();
                bins[chosen].0 += 1.0;
            }
            // exp(ε (score - best) / (2 (s + 2 · 2⁻¹⁶ s))), ε = √(8ρ) or √(2ρ).
            let scale = 2.0 * sensitivity.value() * (1.0 + 2.0 / 65536.0);
            let epsilon = (factor * rho.to_f64()).sqrt();
            let accepted = scores.map(|score| (epsilon * (score - 12.0) / scale).exp());
            let expected = match selection {
                Selection::Exponential => {
                    let total: f64 = accepted.iter().sum();
                    accepted.iter().map(|weight| weight / total).collect()
                }
                Selection::PermuteAndFlip => permute_and_flip(&accepted),
            };
            for (bin, chance) in bins.iter_mut().zip(expected) {
                bin.1 = f64::from(draws) * chance;
            }
            assert_chi_square(&format!("{selection:?} at rho {rho}"), &bins);
        }
    }
}

#[test]
fn fixed_seeds_give_the_same_draws_on_every_platform() {
    let mut rng = ChaCha20Rng::seed_from_u64(17);
    let noise = DiscreteGaussian::new(ratio(2500, 1)).unwrap();
    let draws: Vec<i64> = (0..6).map(|_| noise.sample(&mut rng)).collect();
    assert_eq!(draws, [62, 24, 27, 85, -38, 30]);
}
