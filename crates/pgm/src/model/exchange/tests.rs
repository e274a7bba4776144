use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::*;
use crate::domain::StructuralZero;

/// 600 different records of four attributes, with random weights from 1 to 13.
fn list() -> (Dataset, Vec<f64>) {
    let domain = Domain::new([("a", 5), ("b", 5), ("c", 6), ("d", 4)]).unwrap();
    let rows: Vec<[u32; 4]> = (0..600).map(|i| [i % 5, i / 5 % 5, i / 25 % 6, i / 150]).collect();
    let mut rng = ChaCha20Rng::seed_from_u64(0);
    let weights = (0..600).map(|_| f64::from(rng.random_range(1..=13))).collect();
    (Dataset::from_rows(domain, &rows).unwrap(), weights)
}

fn triples() -> Vec<Clique> {
    [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]].map(Clique::new).to_vec()
}

fn drawn(records: usize, refinement: &Refinement, seed: u64) -> Vec<u32> {
    let (rows, weights) = list();
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    refined_list(&rows, &weights, records, refinement, &mut rng).unwrap()
}

/// `Σ J²`, with new targets.
fn distance(drawn: &[u32], cliques: &[Clique]) -> i32 {
    let (rows, weights) = list();
    let mut rng = ChaCha20Rng::seed_from_u64(10);
    let excess = Exchange::new(&rows, &weights, drawn, cliques, &mut rng).unwrap().excess;
    excess.iter().map(|j| j * j).sum()
}

#[test]
fn marginals_come_near_those_of_the_list() {
    // Four attributes, six pairs, four triples.
    assert_eq!(within_reach(list().0.domain(), &triples(), 100, 600).unwrap().len(), 14);
    for (records, seed) in [(100, 1), (250, 2), (1000, 3), (5000, 4)] {
        let rounded = drawn(records, &Refinement::default(), seed);
        let refined = drawn(records, &triples().into(), seed);
        let (before, after) = (distance(&rounded, &triples()), distance(&refined, &triples()));
        assert!(5 * after < 3 * before, "{records} records: {before} and {after}");
    }
}

#[test]
fn every_record_is_drawn_its_expected_number_of_times_rounded() {
    let (rows, weights) = list();
    let sum: f64 = weights.iter().sum();
    for records in [50, 500, 5000] {
        let mut copies = vec![0_u32; rows.records()];
        drawn(records, &triples().into(), 5).into_iter().for_each(|at| copies[at as usize] += 1);
        assert_eq!(copies.iter().sum::<u32>(), u32::try_from(records).unwrap());
        for (copies, weight) in copies.iter().zip(&weights) {
            let expected = records as f64 * weight / sum;
            assert!((f64::from(*copies) - expected).abs() < 1.0, "{copies} for {expected}");
        }
    }
}

/// Over many tables records are there about as often as their weights say, though tables are so small that most cells expect few
/// records: exchanges hardly prefer the heavy ones, which lie in cells that expect more.
#[test]
fn records_keep_their_expected_numbers() {
    let (rows, weights) = list();
    let (tables, records, sum) = (4000_u32, 60, weights.iter().sum::<f64>());
    let pairs: Vec<Clique> = [[0, 1], [0, 2], [1, 2], [2, 3]].map(Clique::new).to_vec();
    let mut copies = vec![0_u32; rows.records()];
    for seed in 0..tables {
        let positions = drawn(records, &pairs.clone().into(), u64::from(seed));
        positions.into_iter().for_each(|at| copies[at as usize] += 1);
    }
    // Of records with the same weight the mean, which leaves out most of what is random.
    for weight in 1..=13 {
        let own = || {
            weights.iter().zip(&copies).filter(move |(w, _)| (**w - f64::from(weight)).abs() < 0.5)
        };
        let number = own().count() as f64;
        let mean = own().map(|(_, k)| f64::from(*k)).sum::<f64>() / number;
        let expected = f64::from(tables) * records as f64 * f64::from(weight) / sum;
        assert!((mean / expected - 1.0).abs() < 0.08, "weight {weight}: {mean} for {expected}");
    }
}

#[test]
fn excesses_stay_those_of_the_drawn_records() {
    let (rows, weights) = list();
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let mut drawn = deal_records(&weights, 300, Sampling::Rounded, &mut rng).unwrap();
    let new = |drawn: &[u32]| {
        let mut rng = ChaCha20Rng::seed_from_u64(11);
        Exchange::new(&rows, &weights, drawn, &triples(), &mut rng).unwrap()
    };
    let mut exchange = new(&drawn);
    exchange.run(&mut drawn, &mut rng);
    let recounted = new(&drawn);
    assert_eq!(recounted.is_upper, exchange.is_upper);
    assert_eq!(recounted.excess, exchange.excess);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| drawn(2000, &triples().into(), 7))
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn unlikely_records_are_not_drawn_while_there_are_others() {
    let (rows, _) = list();
    let without =
        |codes: Vec<u32>| StructuralZero::of(rows.domain(), [vec![("a", codes)]]).unwrap();
    let refinement = Refinement { cliques: triples(), unlikely: without(vec![0, 2, 4]) };
    let table = rows.take(&drawn(200, &refinement, 8));
    let codes: Vec<u32> = table.column(0).unwrap().iter().collect();
    assert!(codes.len() == 200 && codes.iter().all(|code| code % 2 == 1));
    // Where all are unlikely, they stay.
    let refinement = Refinement { cliques: triples(), unlikely: without((0..5).collect()) };
    assert_eq!(drawn(200, &refinement, 8).len(), 200);
}

#[test]
fn what_is_wrong_is_refused() {
    let (rows, weights) = list();
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let mut refused = |weights: &[f64], records, clique: Clique| {
        refined_list(&rows, weights, records, &vec![clique].into(), &mut rng).is_err()
    };
    assert!(refused(&weights[1..], 10, Clique::new([0])));
    assert!(refused(&weights, 0, Clique::new([0])));
    assert!(refused(&weights, 10, Clique::new([4])));
    assert!(!refused(&weights, 10, Clique::new([0])));
}

#[test]
fn targets_are_rounded_and_right_on_average() {
    // In eighths.
    let eighths = [2, 12, 24, 0, 1, 1, 62];
    let numbers = eighths.map(|eighths| f64::from(eighths) / 8.0);
    let mut sums = [0; 7];
    for offset in 0..8 {
        let targets: Vec<i64> = rounded(&numbers, f64::from(offset) / 8.0).collect();
        for ((sum, target), number) in sums.iter_mut().zip(&targets).zip(numbers) {
            assert!((*target as f64 - number).abs() < 1.0, "{target} for {number}");
            *sum += target;
        }
        assert!((12..=13).contains(&targets.iter().sum::<i64>()));
    }
    // Each of eight offsets once: the sum over them is eight times the number.
    assert_eq!(sums, eighths.map(i64::from));
}
