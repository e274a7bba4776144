use super::*;
use crate::data::Projectable;
use crate::demo::Generator;
use crate::domain::Clique;
use crate::model::{MarkovRandomField, WeightedSupport};

fn generator() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(5)
}

/// A model over three attributes, in which the third is even.
fn model() -> Model {
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 5)]).unwrap();
    MarkovRandomField::uniform(&domain, 100.0).unwrap().into()
}

fn drawn(model: &Model, records: u64, drawing: Drawing, block_values: u64) -> Vec<Dataset> {
    let refinement = Refinement::from(vec![Clique::new([0, 1])]);
    let mut rng = generator();
    let blocks = Blocks::new(model, records, drawing, &refinement, &mut rng, block_values).unwrap();
    blocks.collect::<Result<_>>().unwrap()
}

#[test]
fn few_records_are_one_block_drawn_as_ever() {
    let (model, refinement) = (model(), Refinement::from(vec![Clique::new([0, 1])]));
    for drawing in [Drawing::Refined, Drawing::Independent] {
        let (mut rng, mut same) = (generator(), generator());
        let blocks = model.blocks(1000, drawing, &refinement, &mut rng).unwrap();
        let blocks = blocks.collect::<Result<Vec<_>>>().unwrap();
        let mut by_hand = match drawing {
            Drawing::Refined => model.sample(1000, Sampling::Rounded, &mut same).unwrap(),
            Drawing::Independent => model.sample(1000, Sampling::Independent, &mut same).unwrap(),
        };
        if drawing == Drawing::Refined {
            let graphical = model.as_markov_random_field().unwrap();
            by_hand = graphical.refine(&by_hand, &refinement).unwrap();
        }
        assert_eq!(blocks, [by_hand]);
        // Nothing else was taken from the generator.
        assert_eq!(rng.next_u64(), same.next_u64());
    }
}

#[test]
fn blocks_are_as_large_as_allowed_and_differ_by_one_record() {
    let model = model();
    for (records, block_values, sizes) in [
        (10, 30, vec![10]),
        (10, 29, vec![5, 5]),
        (10, 9, vec![2, 3, 2, 3]),
        (3, 1, vec![1, 1, 1]),
        (1, 0, vec![1]),
    ] {
        let blocks = drawn(&model, records, Drawing::Refined, block_values);
        assert_eq!(blocks.iter().map(Dataset::records).collect::<Vec<_>>(), sizes);
    }
}

#[test]
fn blocks_differ_and_the_same_seed_repeats_them() {
    let model = model();
    for drawing in [Drawing::Refined, Drawing::Independent] {
        let blocks = drawn(&model, 400, drawing, 300);
        assert_eq!(blocks.len(), 4);
        assert_eq!(blocks, drawn(&model, 400, drawing, 300));
        for (i, block) in blocks.iter().enumerate() {
            assert!(blocks[..i].iter().all(|earlier| earlier != block));
        }
    }
}

#[test]
fn joined_blocks_are_the_records_one_after_another() {
    let model = model();
    let (mut rng, refinement) = (generator(), Refinement::from(vec![Clique::new([0, 1])]));
    let blocks = drawn(&model, 100, Drawing::Refined, 60);
    let joined = Blocks::new(&model, 100, Drawing::Refined, &refinement, &mut rng, 60).unwrap();
    let joined = joined.joined().unwrap();
    let rows = |table: &Dataset| (0..table.records()).map(|r| table.row(r)).collect::<Vec<_>>();
    assert_eq!(rows(&joined), blocks.iter().flat_map(rows).collect::<Vec<_>>());
    assert_eq!(joined.records(), 100);
}

/// Each block is off by rounding, so m blocks are off by at most m times that.
#[test]
fn the_marginals_of_many_blocks_are_near_the_models() {
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 5)]).unwrap();
    let models = [model(), WeightedSupport::all_cells(&domain, 100.0).unwrap().into()];
    for model in models {
        let blocks = drawn(&model, 6000, Drawing::Refined, 1800);
        let mut counts = [0; 6];
        for block in &blocks {
            let own = block.project(&Clique::new([0, 1])).unwrap();
            counts.iter_mut().zip(own).for_each(|(count, own)| *count += own);
        }
        assert_eq!(blocks.len(), 10);
        for count in counts {
            assert!(count.abs_diff(1000) <= 20, "{counts:?}");
        }
    }
}

#[test]
fn a_table_that_memory_cannot_hold_is_refused_before_it_is_drawn() {
    let model = model();
    let error = model
        .rows(3_000_000_000, Drawing::Refined, &Refinement::default(), &mut generator())
        .unwrap_err();
    let expected =
        "the synthetic table would take 3000000000 records, the limit is 2863311530 records";
    assert_eq!(error.to_string(), expected);
    let domain = Domain::new([("a", 300), ("b", 70_000), ("c", 2)]).unwrap();
    assert!(check_rows(&domain, (1 << 33) / 7).is_ok());
    assert!(check_rows(&domain, (1 << 33) / 7 + 1).is_err());
    let few = Generator { records: 10, seed: 1, drift: 0.0 }.generate().unwrap();
    assert!(check_rows(few.select(&[0]).unwrap().domain(), 1 << 32).is_err());
    assert!(model.blocks(0, Drawing::Refined, &Refinement::default(), &mut generator()).is_err());
}
