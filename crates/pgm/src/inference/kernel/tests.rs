use super::*;
use crate::domain::{Clique, Domain};
use crate::inference::choices::Choices;
use crate::inference::semiring::{MaxSum, SumProduct};
use crate::table::{row_major_strides, strides_within};

const SIZES: [u32; 5] = [6, 9, 16, 12, 16];

/// The contraction by one loop over all cells of the clique.
fn one_by_one<R: Semiring>(
    domain: &Domain,
    inputs: &[(Clique, Vec<f64>)],
    output: &Clique,
) -> Vec<f64> {
    let everything = domain.everything();
    let axes: Vec<usize> = everything.iter().collect();
    let strides = row_major_strides(&domain.shape(&everything));
    let place = |clique: &Clique, cell: usize| -> usize {
        let own = strides_within(&axes, clique, &domain.shape(clique));
        let codes = axes.iter().map(|a| cell / strides[*a] % domain.cardinality(*a));
        codes.zip(own).map(|(code, stride)| code * stride).sum()
    };
    let mut sums = vec![R::ZERO; domain.shape(output).iter().product()];
    for cell in 0..domain.shape(&everything).iter().product() {
        let product = inputs
            .iter()
            .fold(R::ONE, |product, (clique, table)| R::times(product, table[place(clique, cell)]));
        let sum = &mut sums[place(output, cell)];
        *sum = R::plus(*sum, product);
    }
    sums
}

fn check<R: Semiring>(outputs: &[&[usize]], is_cut: impl Fn(&Contraction) -> bool) {
    let sizes = SIZES.iter().enumerate().map(|(i, size)| (format!("x{i}"), *size));
    let domain = Domain::new(sizes).expect("a domain");
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 24)
    };
    let cliques: [&[usize]; 4] = [&[0, 1], &[2, 3], &[1, 3, 4], &[0, 4]];
    let inputs = cliques.map(|attributes| {
        let clique = Clique::new(attributes.iter().copied());
        let cells: usize = domain.shape(&clique).iter().product();
        let table: Vec<f64> = (0..cells).map(|_| next()).collect();
        (clique, table)
    });
    let outputs: Vec<Clique> =
        outputs.iter().map(|output| Clique::new(output.iter().copied())).collect();
    let factors = inputs.each_ref().map(|(clique, _)| clique.clone());
    let plan =
        Contraction::new(&Choices::default(), &domain, &domain.everything(), &factors, &outputs);
    assert!(plan.blocks > 1 && is_cut(&plan), "{} blocks of {}", plan.blocks, plan.cut);
    let mut workspace = ContractionWorkspace::new(&plan);
    let tables = inputs.each_ref().map(|(_, table)| &table[..]);
    // Twice, to check that leftovers of the first run do not matter.
    for _ in 0..2 {
        plan.run::<R>(&tables, &mut workspace);
    }
    for (index, output) in outputs.iter().enumerate() {
        let expected = one_by_one::<R>(&domain, &inputs, output);
        for (found, expected) in workspace.output(index).iter().zip(&expected) {
            assert!((found - expected).abs() <= 1e-11 * expected.abs(), "{found} {expected}");
        }
    }
}

#[test]
fn blocks_put_together_are_the_whole() {
    let small: [&[usize]; 3] = [&[0, 2], &[1], &[]];
    check::<SumProduct>(&small, |_| true);
    check::<MaxSum>(&small, |_| true);
}

#[test]
fn the_axis_that_large_outputs_have_is_cut() {
    let large: [&[usize]; 4] = [&[1, 2, 3, 4], &[0, 2], &[4], &[]];
    let small_axis_is_whole = |plan: &Contraction| plan.extents[plan.cut] != 6;
    check::<SumProduct>(&large, small_axis_is_whole);
    check::<MaxSum>(&large, small_axis_is_whole);
}
