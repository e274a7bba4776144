use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::*;
use crate::data::Projectable;
use crate::measurement::Measurement;
use crate::model::Refinement;

fn domain() -> Domain {
    Domain::new([("age", 4), ("sex", 2), ("child", 3), ("work", 3), ("job", 5)]).unwrap()
}

/// Attributes that are independent but for age and work; men have no child, the young no work, who does not work has no job.
fn model() -> MarkovRandomField {
    let measured = [
        (vec![0], vec![200.0, 300.0, 300.0, 200.0]),
        (vec![1], vec![450.0, 550.0]),
        // Not asked, no, yes.
        (vec![2], vec![600.0, 250.0, 150.0]),
        (
            vec![0, 3],
            vec![180.0, 15.0, 5.0, 60.0, 40.0, 200.0, 50.0, 50.0, 200.0, 170.0, 10.0, 20.0],
        ),
        (vec![4], vec![460.0, 140.0, 140.0, 130.0, 130.0]),
    ];
    let measured =
        measured.map(|(clique, values)| Measurement::new(Clique::new(clique), values, 1e-3));
    MarkovRandomField::fit(&domain(), &measured, 1000.0).unwrap()
}

fn unlikely() -> Vec<StructuralZero> {
    StructuralZero::of(
        &domain(),
        [
            vec![("sex", vec![0]), ("child", vec![1, 2])],
            vec![("age", vec![0]), ("work", vec![1, 2])],
            vec![("work", vec![0]), ("job", vec![1, 2, 3, 4])],
            vec![("work", vec![1, 2]), ("job", vec![0])],
        ],
    )
    .unwrap()
}

fn violations(rows: &Dataset) -> usize {
    let any = |row: &Vec<u32>| unlikely().iter().any(|zero| zero.forbids(&domain(), |a| row[a]));
    (0..rows.records()).map(|record| rows.row(record)).filter(any).count()
}

/// The largest difference of a marginal of the rows from the model's, in records.
fn off(model: &MarkovRandomField, rows: &Dataset, clique: &[usize]) -> f64 {
    let clique = Clique::new(clique.iter().copied());
    let expected = &model.marginals(std::slice::from_ref(&clique)).unwrap()[0];
    let scale = rows.records() as f64 / model.total();
    let counts = rows.project(&clique).unwrap();
    let pairs = counts.iter().zip(expected.values());
    pairs.map(|(count, expected)| (f64::from(*count) - scale * expected).abs()).fold(0.0, f64::max)
}

#[test]
fn records_have_no_unlikely_combination_and_the_models_single_attributes() {
    let model = model();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let free = model.sample(10_000, Sampling::Rounded, &mut rng).unwrap();
    assert!(violations(&free) > 4_000, "{}", violations(&free));
    let rows = model.sample_without(10_000, &unlikely(), &mut rng).unwrap();
    assert_eq!(violations(&rows), 0);
    // 460 of 1,000 have no work and no job; of the young, 20 would have work in the model.
    for attribute in [1, 2, 4] {
        assert!(
            off(&model, &rows, &[attribute]) < 30.0,
            "{attribute}: {}",
            off(&model, &rows, &[attribute])
        );
    }
    let women_asked = rows.project(&Clique::new([1, 2])).unwrap();
    assert!(
        women_asked[4].abs_diff(2_500) < 30 && women_asked[5].abs_diff(1_500) < 30,
        "{women_asked:?}"
    );
    assert!(
        women_asked[3].abs_diff(1_500) < 60,
        "women who were not asked make up for the men: {women_asked:?}"
    );
}

#[test]
fn refining_keeps_unlikely_combinations_out_and_mends_those_it_is_given() {
    let model = model();
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let cliques = Clique::new(0..5).subsets().into_iter().filter(|clique| clique.len() == 2);
    let refinement = Refinement { cliques: cliques.collect(), unlikely: unlikely() };
    for rows in [
        model.sample(5_000, Sampling::Rounded, &mut rng).unwrap(),
        model.sample_without(5_000, &unlikely(), &mut rng).unwrap(),
    ] {
        let refined = model.refine(&rows, &refinement).unwrap();
        assert_eq!(violations(&refined), 0);
        assert!(off(&model, &refined, &[1]) < 60.0, "{}", off(&model, &refined, &[1]));
    }
    // Without rules nothing changes: the same records as ever.
    let (mut one, mut other) = (ChaCha20Rng::seed_from_u64(3), ChaCha20Rng::seed_from_u64(3));
    let plain = model.sample(500, Sampling::Rounded, &mut one).unwrap();
    assert_eq!(model.sample_without(500, &[], &mut other).unwrap(), plain);
}

#[test]
fn rules_that_leave_a_record_no_value_do_not_end_the_drawing() {
    let domain = Domain::new([("a", 2), ("b", 2)]).unwrap();
    let model = MarkovRandomField::uniform(&domain, 100.0).unwrap();
    let none = [vec![("a", vec![0]), ("b", vec![0, 1])]];
    let unlikely = StructuralZero::of(&domain, none.clone()).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let rows = model.sample_without(100, &unlikely, &mut rng).unwrap();
    assert_eq!(rows.records(), 100);
    // Refined records are copies of possible ones, if there are any.
    let refined = model.refine(&rows, &Refinement { cliques: Vec::new(), unlikely }).unwrap();
    assert_eq!(refined.project(&Clique::new([0])).unwrap(), [0, 100]);
    let all = StructuralZero::of(&domain, none.into_iter().chain([vec![("a", vec![1])]])).unwrap();
    let kept = model.refine(&rows, &Refinement { cliques: Vec::new(), unlikely: all }).unwrap();
    assert_eq!(kept.records(), 100);
}

#[test]
fn combinations_of_another_domain_are_refused() {
    let other = Domain::new([("a", 2), ("b", 7)]).unwrap();
    let unlikely = StructuralZero::of(&other, [vec![("a", vec![0]), ("b", vec![6])]]).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let error = model().sample_without(10, &unlikely, &mut rng).unwrap_err().to_string();
    assert!(error.contains("14 cells"), "{error}");
    let rows = model().sample(10, Sampling::Rounded, &mut rng).unwrap();
    let refinement = Refinement { cliques: Vec::new(), unlikely };
    assert!(model().refine(&rows, &refinement).is_err());
}

#[test]
fn the_attribute_that_decides_about_most_others_is_drawn_first() {
    // A disability of any kind is one: were it drawn last, too many would have one.
    let names = ["any", "ear", "eye", "leg"];
    let domain = Domain::new(names.map(|name| (name, 2))).unwrap();
    let rules = names[1..].iter().map(|name| vec![("any", vec![0]), (*name, vec![1])]);
    let unlikely = StructuralZero::of(&domain, rules).unwrap();
    let single =
        |a: usize, yes: f64| Measurement::new(Clique::new([a]), vec![1000.0 - yes, yes], 1e-3);
    let measured = [single(0, 120.0), single(1, 50.0), single(2, 40.0), single(3, 60.0)];
    let model = MarkovRandomField::fit(&domain, &measured, 1000.0).unwrap();
    assert_eq!(model.drawing_order(&unlikely).unwrap()[0].0, 0);
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let rows = model.sample_without(10_000, &unlikely, &mut rng).unwrap();
    for attribute in 0..4 {
        assert!(off(&model, &rows, &[attribute]) < 10.0, "{attribute}");
    }
}

/// Seven tenths are married. Nothing is known of the others: drawn first, four tenths of the ages would be children's.
#[test]
fn attributes_of_which_nothing_is_known_give_way() {
    let names = [("age", 5), ("income", 5), ("married", 2), ("school", 2)];
    let domain = Domain::new(names).unwrap();
    let unlikely = [
        vec![("age", vec![0, 1]), ("married", vec![1])],
        vec![("age", vec![0, 1]), ("income", vec![1, 2, 3, 4])],
        vec![("age", vec![2, 3, 4]), ("income", vec![0])],
        vec![("income", vec![0]), ("married", vec![1])],
    ];
    let unlikely = StructuralZero::of(&domain, unlikely).unwrap();
    let measured = Measurement::new(Clique::new([2, 3]), vec![200.0, 100.0, 600.0, 100.0], 1e-3);
    let model = MarkovRandomField::fit(&domain, &[measured], 1000.0).unwrap();
    let order = model.drawing_order(&unlikely).unwrap();
    assert_eq!(order.iter().map(|(attribute, _)| *attribute).collect::<Vec<_>>(), [2, 3, 0, 1]);
    for seed in 0..5 {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let drawn = model.sample_without(1000, &unlikely, &mut rng).unwrap();
        let cliques = vec![Clique::new([2, 3])];
        let refined = model.refine(&drawn, &Refinement { cliques, unlikely: unlikely.clone() });
        for rows in [drawn, refined.unwrap()] {
            assert!(holding(&rows, &unlikely).unwrap().iter().all(|is| !is));
            assert!(off(&model, &rows, &[2, 3]) <= 1.0, "{:?}", rows.project(&Clique::new([2, 3])));
        }
    }
}

#[test]
fn a_record_is_rather_unlikely_than_impossible() {
    let domain = Domain::new([("a", 2), ("b", 2), ("c", 2)]).unwrap();
    let domain = domain.forbid([vec![("a", vec![0]), ("b", vec![1])]]).unwrap();
    let model = MarkovRandomField::uniform(&domain, 100.0).unwrap();
    // Of those with the first a, there is none left.
    let unlikely = StructuralZero::of(&domain, [vec![("a", vec![0]), ("b", vec![0])]]).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let rows = model.sample_without(300, &unlikely, &mut rng).unwrap();
    let pairs = rows.project(&Clique::new([0, 1])).unwrap();
    assert!(pairs[0] > 50 && pairs[1] == 0, "{pairs:?}");
    let refinement = Refinement { cliques: vec![Clique::new([0, 1, 2])], unlikely };
    let refined = model.refine(&rows, &refinement).unwrap().project(&Clique::new([0, 1])).unwrap();
    assert_eq!(refined[..2], [0, 0]);
}

/// Pairs of attributes of 4 values, of which no two are the same, with a pair that fits leave to draws.
fn partly_left() -> Domain {
    let domain = Domain::new([("a", 4), ("b", 4), ("c", 4)]).unwrap();
    let same = |names: [&'static str; 2]| {
        (0..4_u32).map(move |code| names.map(|name| (name, vec![code])).to_vec())
    };
    let domain = domain.forbid(same(["a", "b"]).chain(same(["b", "c"]))).unwrap();
    let domain = domain.with_fits_within(20);
    assert_eq!(domain.zeros_of_draws().count(), 1);
    domain
}

#[test]
fn no_record_has_what_fits_leave_to_draws() {
    let domain = partly_left();
    let fitted: Vec<bool> =
        domain.structural_zeros().iter().map(|zero| !zero.is_left_to_draws()).collect();
    assert_eq!(fitted, [true, false]);
    let model = MarkovRandomField::uniform(&domain, 1200.0).unwrap();
    // The model does not know them.
    let expected = model.marginals(&[Clique::new([1, 2])]).unwrap();
    assert!(expected[0].values()[0] > 70.0);
    let mut rng = ChaCha20Rng::seed_from_u64(8);
    let (first, last) = (Clique::new([0, 1]), Clique::new([1, 2]));
    for method in [Sampling::Rounded, Sampling::Independent] {
        let rows = model.sample(1200, method, &mut rng).unwrap();
        let refined = model.refine(&rows, &vec![first.clone(), last.clone()].into()).unwrap();
        for rows in [rows, refined] {
            for clique in [&first, &last] {
                let counts = rows.project(clique).unwrap();
                assert_eq!(counts.iter().step_by(5).sum::<u32>(), 0, "{method:?} {clique}");
                // The others share what these would have had.
                assert!(counts.iter().enumerate().all(|(cell, n)| cell % 5 == 0 || *n > 60));
            }
        }
    }
}

#[test]
fn rules_of_draws_that_forbid_all_records_are_an_error() {
    let domain = Domain::new([("a", 2), ("b", 2)]).unwrap();
    let domain = domain.forbid([vec![("a", vec![0, 1]), ("b", vec![0, 1])]]).unwrap();
    let model = MarkovRandomField::uniform(&domain.with_fits_within(1), 10.0).unwrap();
    for method in [Sampling::Rounded, Sampling::Independent] {
        let error = model.sample(10, method, &mut ChaCha20Rng::seed_from_u64(9)).unwrap_err();
        assert!(error.to_string().contains("each record drawn has a forbidden"), "{error}");
    }
}

#[test]
fn independent_records_that_are_nearly_all_forbidden_are_drawn_without() {
    // Only one pair of 10,000 is allowed.
    let domain = Domain::new([("a", 100), ("b", 100)]).unwrap();
    let others: Vec<u32> = (1..100).collect();
    let all: Vec<u32> = (0..100).collect();
    let rules = [vec![("a", others.clone()), ("b", all)], vec![("a", vec![0]), ("b", others)]];
    let domain = domain.forbid(rules).unwrap().with_fits_within(200);
    assert_eq!(domain.zeros_of_draws().count(), 1);
    let model = MarkovRandomField::uniform(&domain, 30.0).unwrap();
    let rows = model.sample(30, Sampling::Independent, &mut ChaCha20Rng::seed_from_u64(10));
    assert_eq!(rows.unwrap().project(&Clique::new([0, 1])).unwrap()[0], 30);
}
