use super::*;
use crate::data::Projectable;
use crate::table::{CliqueLayout, Potentials};

/// A chain a - b - c - d, with two values that go together at each link, and e alone.
fn chain() -> MarkovRandomField {
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 4), ("d", 3), ("e", 5)]).expect("a domain");
    let links = [[0, 1], [1, 2], [2, 3]].map(Clique::new);
    let layout = CliqueLayout::new(&domain, links).expect("three cliques");
    let mut potentials = Potentials::zeros(&layout);
    for link in 0..3 {
        potentials.table_mut(link)[1] = 2.0;
        potentials.table_mut(link)[3] = -1.0;
    }
    MarkovRandomField::new(&domain, potentials, 1.0).expect("a model")
}

#[test]
fn records_for_marginals_have_those_of_the_model_and_zeros_elsewhere() {
    let model = chain();
    // b and c lie between; e is not asked for.
    let asked = [Clique::new([0, 3])];
    let rows = model.sample_for(&asked, 80_000, 3).expect("records");
    let expected = model.marginals(&asked).expect("a marginal");
    let found = rows.project(&asked[0]).expect("counts");
    for (share, count) in expected[0].values().iter().zip(found) {
        let error = f64::from(count) / 80_000.0 - share;
        assert!(error.abs() < 0.006, "{count} of {share}: four standard deviations at least");
    }
    let e = rows.column(4).expect("a column");
    assert!(e.len() == 80_000 && e.iter().all(|code| code == 0));
    let other = model.sample_for(&asked, 80_000, 4).expect("records");
    assert_ne!(rows, other, "another seed");
}

#[test]
fn records_for_marginals_do_not_depend_on_threads() {
    let model = chain();
    let asked = [Clique::new([0, 2]), Clique::new([4])];
    for records in [1, 5, 1_001] {
        let drawn = [1, 2, 5].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let rows = pool.expect("threads").install(|| model.sample_for(&asked, records, 1));
            rows.expect("records")
        });
        assert_eq!(drawn[0].records(), records);
        assert!(drawn[0] == drawn[1] && drawn[1] == drawn[2]);
    }
}

#[test]
fn records_for_marginals_keep_to_the_rules_of_draws() {
    let domain = Domain::new([("a", 2), ("b", 3)]).expect("a domain");
    let domain = domain.forbid([vec![("a", vec![1]), ("b", vec![2])]]).expect("a rule");
    let domain = domain.leaving(|_| true);
    let model = MarkovRandomField::uniform(&domain, 10.0).expect("a model");
    let rows = model.sample_for(&[Clique::new([0, 1])], 600, 1).expect("records");
    let counts = rows.project(&Clique::new([0, 1])).expect("counts");
    assert!(counts[5] == 0 && counts[..5].iter().all(|count| *count > 40), "{counts:?}");
}
