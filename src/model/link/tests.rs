use super::*;
use crate::domain::Domain;
use crate::model::{Drawing, MarkovRandomField, Products, Refinement, WeightedSupport};
use crate::table::{CliqueLayout, Potentials};

const MOST: usize = 4;

fn domain() -> Domain {
    Domain::new([("type", 3), ("age", 5), ("income", 4), ("home.records", 4)]).unwrap()
}

fn units() -> Units {
    Units::new("home", 4).unwrap().linked(["income", "type"]).unwrap()
}

/// A graphical model in which every attribute depends on others.
fn field(total: f64) -> Model {
    let domain = domain();
    let cliques = [[0, 3], [0, 2], [1, 3]].map(Clique::new).to_vec();
    let layout = CliqueLayout::new(&domain, cliques).unwrap();
    let mut potentials = Potentials::zeros(&layout);
    for (i, value) in potentials.values_mut().iter_mut().enumerate() {
        *value = ((i * 7919) % 11) as f64 / 5.0;
    }
    MarkovRandomField::new(&domain, potentials, total).unwrap().into()
}

fn check(linked: &LinkedRows, units: &Units) {
    let domain = linked.rows.domain();
    let shared = domain.clique(units.agree().unwrap()).unwrap();
    let size = domain.position(&units.size_name()).unwrap();
    assert_eq!(linked.numbers.len(), linked.rows.records());
    assert_eq!(linked.numbers[0], 0);
    assert!(linked.numbers.windows(2).all(|w| w[1] == w[0] || w[1] == w[0] + 1));
    let mut start = 0;
    while start < linked.numbers.len() {
        let length = linked.numbers[start..].iter().take_while(|n| **n == linked.numbers[start]);
        let length = length.count();
        let first = linked.rows.row(start);
        for row in (start..start + length).map(|record| linked.rows.row(record)) {
            assert_eq!(row[size] as usize + 1, length);
            assert!(shared.iter().all(|a| row[a] == first[a]));
        }
        start += length;
    }
}

#[test]
fn units_of_every_kind_of_model_agree_and_have_their_size() {
    let domain = domain();
    let support = WeightedSupport::all_cells(&domain, 500.0).unwrap();
    let support = Model::from(support);
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let rows = support.sample(40, Sampling::Independent, &mut rng).unwrap();
    let few = WeightedSupport::new(&rows, vec![1.0; 40], 500.0).unwrap();
    let halves = [vec![0.5, 0.3, 0.2], vec![0.2; 5], vec![0.25; 4], vec![0.4, 0.3, 0.2, 0.1]];
    let other = [vec![0.1, 0.0, 0.9], vec![0.2; 5], vec![0.25; 4], vec![0.1, 0.2, 0.3, 0.4]];
    let components = [halves.concat(), other.concat()];
    let products = Products::new(domain, &components, 500.0).unwrap();
    let models: [Model; 4] = [field(500.0), support, few.into(), products.into()];
    for (seed, model) in (0..).zip(models) {
        for drawing in [Drawing::Refined, Drawing::Independent] {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            let pairs = Clique::new(0..4).subsets();
            let pairs: Vec<Clique> = pairs.into_iter().filter(|c| c.len() == 2).collect();
            let drawn = model.rows(500, drawing, &pairs.into(), &mut rng).unwrap();
            let linked = model.link(&drawn, &units(), &mut rng).unwrap();
            check(&linked, &units());
            assert!(linked.rows.records().abs_diff(500) < 2 * MOST);
        }
    }
}

/// Of 300 linked tables, the mean count of every cell of the drawn table. Its standard error is below 0.06 records per
/// cell, where a cell has 240 · 1/240 of the records; a false alarm of one of 240 cells beyond 6 of them is below 10⁻⁶.
#[test]
fn linking_leaves_the_expected_counts_as_they_are() {
    let (domain, repeats, records) = (domain(), 300, 240);
    let model: Model = WeightedSupport::all_cells(&domain, 240.0).unwrap().into();
    let mut sums = vec![0.0; 240];
    let everything = Clique::new(0..4);
    let mut rng = ChaCha20Rng::seed_from_u64(11);
    for _ in 0..repeats {
        let drawn =
            model.rows(records, Drawing::Independent, &Refinement::default(), &mut rng).unwrap();
        let linked = model.link(&drawn, &units(), &mut rng).unwrap();
        for cell in linked.rows.cells(&everything).unwrap() {
            sums[cell as usize] += 1.0;
        }
    }
    let means: Vec<f64> = sums.iter().map(|sum| sum / f64::from(repeats)).collect();
    // A unit brings up to four records of one group at once: the variance of a cell is at most about 4 times Poisson's.
    let error = (4.0 / f64::from(repeats)).sqrt();
    let worst = means.iter().map(|mean| (mean - 1.0).abs()).fold(0.0, f64::max);
    assert!(worst < 6.0 * error, "{worst} of {error}");
    let total = means.iter().sum::<f64>();
    assert!((total - 240.0).abs() < 1.0, "{total}");
}

#[test]
fn numbers_of_units_and_of_records_are_off_by_rounding_only() {
    let model = field(4_000.0);
    for seed in 0..20 {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let drawn = model.rows(4_000, Drawing::Refined, &Refinement::default(), &mut rng).unwrap();
        let size = |rows: &Dataset| {
            let mut counts = [0.0_f64; MOST];
            rows.columns()[3].iter().for_each(|code| counts[code as usize] += 1.0);
            counts
        };
        let linked = model.link(&drawn, &units(), &mut rng).unwrap();
        for (code, (own, before)) in size(&linked.rows).iter().zip(size(&drawn)).enumerate() {
            let records = (code + 1) as f64;
            assert!((own - before).abs() < 2.0 * records, "size {records}: {own} of {before}");
        }
        assert!(linked.rows.records().abs_diff(4_000) < 2 * MOST);
    }
}

#[test]
fn the_smallest_tables_are_one_unit() {
    let model = field(1.0);
    for seed in 0..30 {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let drawn = model.rows(1, Drawing::Refined, &Refinement::default(), &mut rng).unwrap();
        let linked = model.link(&drawn, &units(), &mut rng).unwrap();
        check(&linked, &units());
        assert_eq!(linked.numbers.last(), Some(&0));
    }
}

#[test]
fn same_seed_same_units_and_other_domains_are_refused() {
    let model = field(300.0);
    let link = |seed| {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let drawn = model.rows(300, Drawing::Refined, &Refinement::default(), &mut rng).unwrap();
        model.link(&drawn, &units(), &mut rng).unwrap()
    };
    assert_eq!(link(1), link(1));
    assert_ne!(link(1), link(2));
    let other = Domain::new([("type", 3), ("home.records", 4)]).unwrap();
    let rows = Dataset::from_rows(other, &[[0, 0]]).unwrap();
    assert!(model.link(&rows, &units(), &mut ChaCha20Rng::seed_from_u64(1)).is_err());
    let rows = link(1).rows;
    let unknown = Units::new("house", 4).unwrap().linked(["type"]).unwrap();
    assert!(model.link(&rows, &unknown, &mut ChaCha20Rng::seed_from_u64(1)).is_err());
}
