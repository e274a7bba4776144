use crate::domain::{Clique, Domain};
use crate::model::MarkovRandomField;
use crate::table::{CliqueLayout, Potentials};

/// A chain of five triangles, a separate pair, and an attribute that is in no clique.
fn model() -> (MarkovRandomField, Vec<Clique>) {
    let sizes = [2_u32, 3, 4, 2, 3, 5, 2, 3, 2, 4];
    let names = (0_u32..).map(|i| format!("a{i}"));
    let domain = Domain::new(names.zip(sizes)).unwrap();
    let mut cliques: Vec<Clique> = (0..5).map(|i| Clique::new([i, i + 1, i + 2])).collect();
    cliques.push(Clique::new([7, 8]));
    let layout = CliqueLayout::new(&domain, cliques).unwrap();
    let mut theta = Potentials::zeros(&layout);
    let waves = (0_u32..).map(|i| 1.5 * f64::from(i * i % 29).sin());
    theta.values_mut().iter_mut().zip(waves).for_each(|(x, wave)| *x = wave);
    let asked = (0..sizes.len()).flat_map(|a| {
        (a + 1..sizes.len())
            .flat_map(move |b| (b + 1..sizes.len()).map(move |c| Clique::new([a, b, c])))
    });
    let asked = asked.collect();
    (MarkovRandomField::new(&domain, theta, 1_000.0).unwrap(), asked)
}

#[test]
fn shared_products_give_what_single_eliminations_give() {
    let (model, asked) = model();
    let (within, others) = model.affordable(&asked, u64::MAX);
    assert!(others.is_empty());
    let mut places = within.clone();
    places.sort_unstable();
    assert_eq!(places, (0..asked.len()).collect::<Vec<_>>());
    let ordered: Vec<Clique> = within.iter().map(|place| asked[*place].clone()).collect();
    for (clique, found) in ordered.iter().zip(model.marginals(&ordered).unwrap()) {
        let alone = &model.marginals(std::slice::from_ref(clique)).unwrap()[0];
        for (one, other) in found.values().iter().zip(alone.values()) {
            assert!((one - other).abs() < 1e-9, "{clique}: {one} and {other}");
        }
    }
}

#[test]
fn more_work_affords_more_marginals() {
    let (model, asked) = model();
    let apart: u64 = asked.iter().map(|clique| model.marginal_work(clique)).sum();
    let mut before = 0;
    for cells in [0, 100, 400, 1_600, apart / 3, apart] {
        let (within, others) = model.affordable(&asked, cells);
        assert_eq!(within.len() + others.len(), asked.len());
        assert!(within.len() >= before, "{cells}");
        assert!(others.is_sorted());
        before = within.len();
    }
    assert!(model.affordable(&asked, 0).0.is_empty());
}

#[test]
fn messages_of_one_product_cost_as_much_as_one_of_them() {
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 4), ("d", 2), ("e", 3)]).unwrap();
    let large = Clique::new([0, 1, 2, 3]);
    let cliques = [large.clone(), Clique::new([3, 4])];
    let theta = Potentials::zeros(&CliqueLayout::new(&domain, cliques).unwrap());
    let model = MarkovRandomField::new(&domain, theta, 100.0).unwrap();
    // Each takes a message from the large clique, with two of its attributes.
    let asked = [[0, 1, 4], [0, 2, 4], [1, 2, 4]].map(Clique::new);
    let apart: u64 = asked.iter().map(|clique| model.marginal_work(clique)).sum();
    let together = apart - 2 * domain.cells(&large).unwrap();
    assert_eq!(model.affordable(&asked, together), (vec![0, 1, 2], vec![]));
    assert_eq!(model.affordable(&asked, together - 1).0.len(), 2);
}
