//! Two demonstrations of `docs/results/pap.md`: numbers of many bits, and who can be traced in released means.
//! `--nocapture` shows their tables.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

use crate::data::{Column, Dataset};
use crate::domain::{Clique, Domain};
use crate::pap::tree::isotonic;
use crate::pap::{Cuts, Pap, RangeClass};
use crate::privacy::NeighboringRelation::ReplaceOne;
use crate::privacy::{Budget, Curator, NoiseSeed, Rho};

/// A whole number of many bits, the highest first.
type Number = Vec<bool>;

const RECORDS: usize = 10_000;
const PUBLIC: usize = 200;

/// Numbers that follow a path of bits up to a level drawn evenly, leave it there, and are random from there on.
fn numbers(path: &[bool], count: usize, rng: &mut ChaCha20Rng) -> Vec<Number> {
    let mut draw = || {
        let leaves = rng.random_range(0..path.len());
        let bit = |(level, bit): (usize, &bool)| match level.cmp(&leaves) {
            Ordering::Less => *bit,
            Ordering::Equal => !*bit,
            Ordering::Greater => rng.random(),
        };
        path.iter().enumerate().map(bit).collect()
    };
    (0..count).map(|_| draw()).collect()
}

/// The largest error over all numbers t of the answer for the last cut at or below t. `answers`: increasing cuts with the
/// share at or below each.
fn largest_error(sorted: &[Number], answers: &[(Number, f64)]) -> f64 {
    let share = |count: usize| count as f64 / sorted.len() as f64;
    let at = |cut: &Number| share(sorted.partition_point(|x| x <= cut));
    let before =
        |cut: Option<&Number>| cut.map_or(1.0, |cut| share(sorted.partition_point(|x| x < cut)));
    let first = before(answers.first().map(|(cut, _)| cut));
    let errors = answers.iter().enumerate().map(|(j, (cut, answer))| {
        let next = before(answers.get(j + 1).map(|(next, _)| next));
        (at(cut) - answer).abs().max((next - answer).abs())
    });
    errors.fold(first, f64::max)
}

/// The answers of a tree over cuts that are given by their order alone: `rank` is the number of cuts below a number.
fn by_tree(
    private: &[Number],
    cuts: &[Number],
    rank: impl Fn(&Number) -> usize,
    rho: Rho,
    seed: u64,
) -> Vec<(Number, f64)> {
    let ranks = [Cuts::new("x", (0..cuts.len()).map(|rank| rank as f64)).unwrap()];
    let values = private.iter().map(|x| Some(rank(x) as f64)).collect();
    let data = Cuts::encode(&ranks, &[values]).unwrap();
    let mut curator = Curator::new(&data, ReplaceOne, rho, NoiseSeed::Fixed(seed)).unwrap();
    let release = Pap::new(ranks).run(&mut curator).unwrap();
    cuts.iter().cloned().zip(release.columns[0].shares.iter().map(|share| share.value)).collect()
}

/// Without public data: at each of b levels, for ρ/b, the records of all prefixes that had enough of them are counted with
/// one more bit, and so are those between such prefixes. A cut that several levels counted gets their mean.
fn by_descent(private: &[Number], rho: Rho, seed: u64) -> Vec<(Number, f64)> {
    let bits = private[0].len();
    // Prefixes that are followed, and last numbers of what is between them, in order; and the cell of each record.
    let mut cells: Vec<(Number, bool)> = vec![(Vec::new(), true)];
    let mut own = vec![0; private.len()];
    let mut answers: BTreeMap<Number, Vec<f64>> = BTreeMap::new();
    let mut rest = rho;
    for level in 0..bits {
        let (budget, after) = rest.split(1, (bits - level) as u64).unwrap();
        rest = after;
        let (mut longer, mut first, mut is_open) = (Vec::new(), Vec::new(), Vec::new());
        for (number, open) in cells {
            first.push(longer.len());
            is_open.push(open);
            let bits = if open { &[Some(false), Some(true)][..] } else { &[None] };
            longer.extend(bits.iter().map(|bit| ([&number[..], bit.as_slice()].concat(), open)));
        }
        for (own, x) in own.iter_mut().zip(private) {
            *own = first[*own] + usize::from(is_open[*own] && x[level]);
        }
        let domain = Domain::new([("cell", u32::try_from(longer.len()).unwrap())]).unwrap();
        let codes = own.iter().map(|own| u32::try_from(*own).unwrap());
        let column = Column::from_codes(codes, longer.len()).unwrap();
        let data = Dataset::new(domain, vec![column]).unwrap();
        let noise = NoiseSeed::Fixed(seed * 10_000 + level as u64);
        let mut curator = Curator::new(&data, ReplaceOne, budget, noise).unwrap();
        let counts = curator.measure(&Clique::new([0]), budget).unwrap();
        let (mut next, mut place, mut sum): (Vec<(Number, bool)>, _, _) =
            (Vec::new(), Vec::new(), 0.0);
        for ((number, open), count) in longer.into_iter().zip(&counts.values) {
            let end = [&number[..], &vec![true; bits - number.len()]].concat();
            sum += *count as f64 / private.len() as f64;
            answers.entry(end.clone()).or_default().push(sum);
            let open = open && *count as f64 > 4.0 * counts.stddev();
            match next.last_mut().filter(|(_, is_open)| !open && !is_open) {
                Some((last, _)) => *last = end,
                None => next.push(if open { (number, true) } else { (end, false) }),
            }
            place.push(next.len() - 1);
        }
        own.iter_mut().for_each(|own| *own = place[*own]);
        cells = next;
    }
    let mean = |sums: &Vec<f64>| sums.iter().sum::<f64>() / sums.len() as f64;
    let shares = isotonic(&answers.values().map(mean).collect::<Vec<f64>>());
    answers.into_keys().zip(shares.into_iter().map(|share| share.clamp(0.0, 1.0))).collect()
}

fn mean_and_spread(numbers: &[f64]) -> (f64, f64) {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let square = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>();
    (mean, (square / (count - 1.0)).sqrt())
}

#[test]
fn thresholds_of_numbers_of_many_bits_need_public_ones() {
    let rho = Budget::approximate(1.0, (RECORDS as f64).powi(-2)).unwrap().rho();
    let mut descents = Vec::new();
    for bits in [8, 16, 64, 2048] {
        let mut found = [const { Vec::new() }; 3];
        for seed in 0..5 {
            let mut rng = ChaCha20Rng::seed_from_u64(200 + seed);
            let path: Number = (0..bits).map(|_| rng.random()).collect();
            let mut private = numbers(&path, RECORDS, &mut rng);
            let mut public = numbers(&path, PUBLIC, &mut rng);
            private.sort();
            public.sort();
            public.dedup();
            let high = |x: &Number| x[..8].iter().fold(0, |all, bit| 2 * all + usize::from(*bit));
            let end = |high: usize| -> Number {
                (0..bits).map(|bit| bit >= 8 || high >> (7 - bit) & 1 == 1).collect()
            };
            let grid: Vec<Number> = (0..256).map(end).collect();
            let answers = [
                by_tree(&private, &grid, high, rho, seed),
                by_descent(&private, rho, seed),
                by_tree(&private, &public, |x| public.partition_point(|cut| cut < x), rho, seed),
            ];
            for (errors, answers) in found.iter_mut().zip(answers) {
                errors.push(largest_error(&private, &answers));
            }
        }
        let cells = found.map(|errors| mean_and_spread(&errors));
        let [grid, descent, pap] = cells.map(|(mean, _)| mean);
        println!("| 2^{bits} | {} |", cells.map(|(m, s)| format!("{m:.3} ± {s:.3}")).join(" | "));
        assert!(pap < 0.045, "{bits} bits: {pap}");
        // The grid cannot tell records apart that share eight bits: (b − 8)/b of them are on the path so far.
        let blind = (f64::from(bits) - 8.0) / f64::from(bits);
        assert!((grid - blind).abs() < 0.03, "{bits} bits: {grid}");
        descents.push(descent);
    }
    assert!(descents[3] > 2.0 * descents[1], "{descents:?}");
}

/// The score of a record by the attack on means: large for records that the means are of.
fn score(record: &[bool], answers: &[f64], means: &[f64], alpha: f64) -> f64 {
    let of_column = |((value, answer), mean): ((&bool, &f64), &f64)| {
        let value = if *value { 1.0 } else { -1.0 };
        (value - mean) * (answer - mean).clamp(-2.0 * alpha, 2.0 * alpha)
    };
    record.iter().zip(answers).zip(means).map(of_column).sum()
}

#[test]
fn exact_means_of_many_columns_are_traced_and_private_ones_are_not() {
    const COLUMNS: usize = 20_000;
    const MEMBERS: usize = 50;
    let alpha = 0.1;
    let mut rng = ChaCha20Rng::seed_from_u64(300);
    let means: Vec<f64> = (0..COLUMNS).map(|_| rng.random::<f64>() - 0.5).collect();
    let mut people = |count: usize| -> Vec<Vec<bool>> {
        let mut draw = |mean: &f64| rng.random::<f64>() < f64::midpoint(1.0, *mean);
        (0..count).map(|_| means.iter().map(&mut draw).collect()).collect()
    };
    let (members, outsiders) = (people(MEMBERS), people(300));
    let column = |j: usize| members.iter().map(move |person| if person[j] { 1.0 } else { -1.0 });
    let exact: Vec<f64> = (0..COLUMNS).map(|j| column(j).sum::<f64>() / MEMBERS as f64).collect();

    let cuts: Vec<Cuts> =
        (0..COLUMNS).map(|j| Cuts::new(format!("c{j}"), [0.0]).unwrap()).collect();
    let values: Vec<Vec<Option<f64>>> =
        (0..COLUMNS).map(|j| column(j).map(Some).collect()).collect();
    let data = Cuts::encode(&cuts, &values).unwrap();
    let budget = Budget::approximate(1.0, 1.0 / (4.0 * MEMBERS as f64)).unwrap();
    let mut curator = budget.curator(&data, ReplaceOne, NoiseSeed::Fixed(1)).unwrap();
    let class = RangeClass::Stumps { columns: u32::try_from(COLUMNS).unwrap() };
    let release = Pap { class, ..Pap::new(cuts) }.run(&mut curator).unwrap();
    let private: Vec<f64> =
        release.columns.iter().map(|column| 1.0 - 2.0 * column.shares[0].value).collect();

    // False alarms: at most one in n + m people, by Hoeffding's bound.
    let threshold = (8.0 * COLUMNS as f64 * (MEMBERS as f64).ln()).sqrt() * alpha;
    let attack = |answers: &[f64]| {
        let scores = |people: &[Vec<bool>]| {
            people.iter().map(|person| score(person, answers, &means, alpha)).collect::<Vec<f64>>()
        };
        let (inside, outside) = (scores(&members), scores(&outsiders));
        let found = |scores: &[f64]| scores.iter().filter(|score| **score > threshold).count();
        let least = inside.iter().copied().fold(f64::INFINITY, f64::min);
        let most = outside.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let error = answers.iter().zip(&exact).map(|(a, b)| (a - b).abs()).sum::<f64>();
        let error = error / COLUMNS as f64;
        println!(
            "threshold {threshold:.0}: members at least {least:.0}, outsiders at most {most:.0}; found {} of {MEMBERS}, \
             {} of 300; mean error {error:.2}",
            found(&inside),
            found(&outside)
        );
        (found(&inside), found(&outside), error)
    };
    assert_eq!(attack(&exact), (MEMBERS, 0, 0.0));
    let (traced, accused, error) = attack(&private);
    assert!(traced <= 3 && accused <= 6 && error > 0.5, "{traced}, {accused}, {error}");
}
