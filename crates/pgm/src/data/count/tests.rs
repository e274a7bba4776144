use proptest::prelude::*;

use super::*;
use crate::data::{Dataset, Projectable};

/// The definition, record by record.
fn naive(data: &Dataset, clique: &Clique) -> Vec<u32> {
    let shape = data.domain().shape(clique);
    let mut table = vec![0; shape.iter().product()];
    for record in 0..data.records() {
        let row = data.row(record);
        let cell = clique.iter().zip(&shape).fold(0, |i, (a, k)| i * k + row[a] as usize);
        table[cell] += 1;
    }
    table
}

fn pseudo_random_table(shape: &[u32], records: usize) -> Dataset {
    let domain = Domain::new(shape.iter().enumerate().map(|(i, k)| (format!("a{i}"), *k))).unwrap();
    let mut state = 1_u64;
    let rows: Vec<Vec<u32>> = (0..records)
        .map(|_| {
            shape
                .iter()
                .map(|k| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    u32::try_from((state >> 33) % u64::from(*k)).unwrap()
                })
                .collect()
        })
        .collect();
    Dataset::from_rows(domain, &rows).unwrap()
}

#[test]
fn every_width_of_index_and_column_agrees_with_the_definition() {
    let data = pseudo_random_table(&[3, 300, 70_000, 1, 256, 5], 3001);
    let mut cliques = Clique::new([0, 1, 3, 4]).subsets();
    cliques.extend([[2, 3], [1, 2], [0, 2], [2, 5]].map(Clique::new));
    cliques.extend([Clique::new([2]), Clique::new([0, 5, 2]), Clique::default()]);
    cliques.push(cliques[0].clone());
    let tables = data.project_many(&cliques).unwrap();
    for (clique, table) in cliques.iter().zip(&tables) {
        assert_eq!(*table, naive(&data, clique), "{clique}");
    }
}

#[test]
fn marginals_counted_together_agree_with_the_definition() {
    let data = pseudo_random_table(&[3, 300, 2, 1, 16, 5], 40_000);
    let cliques = Clique::new([0, 1, 2, 3, 4, 5]).subsets();
    let cliques: Vec<Clique> = cliques.into_iter().filter(|c| c.len() <= 3).collect();
    let tables = data.project_many(&cliques).unwrap();
    for (clique, table) in cliques.iter().zip(&tables) {
        assert_eq!(*table, naive(&data, clique), "{clique}");
    }
}

#[test]
fn several_blocks_add_up() {
    let data = pseudo_random_table(&[2, 3, 400], 2 * BLOCK + 17);
    let clique = Clique::new([0, 1, 2]);
    assert_eq!(data.project(&clique).unwrap(), naive(&data, &clique));
    assert_eq!(data.project(&Clique::new([1])).unwrap(), naive(&data, &Clique::new([1])));
}

#[test]
fn a_clique_outside_the_domain_or_too_large_is_an_error() {
    let data = pseudo_random_table(&[2, 1 << 20, 1 << 20, 1 << 20, 1 << 20], 3);
    let error = data.project(&Clique::new([0, 5])).unwrap_err().to_string();
    assert!(error.contains("#5") && error.contains("{0, 5}"), "{error}");
    let error = data.project(&Clique::new([1, 2])).unwrap_err().to_string();
    assert!(error.contains("1099511627776 cells"), "{error}");
    let error = data.project(&Clique::new([1, 2, 3, 4])).unwrap_err().to_string();
    assert!(error.contains("would take more cells"), "{error}");
}

#[test]
fn no_record_gives_tables_of_zeros() {
    let data = Dataset::from_rows::<[u32; 2]>(Domain::new([("a", 2), ("b", 2)]).unwrap(), &[]);
    assert_eq!(data.unwrap().project(&Clique::new([0, 1])).unwrap(), [0; 4]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn summing_out_a_projection_is_the_smaller_projection(
        shape in prop::collection::vec(1_u32..9, 3), records in 1_usize..200,
    ) {
        let data = pseudo_random_table(&shape, records);
        let all = data.project(&Clique::new([0, 1, 2])).unwrap();
        let pair = data.project(&Clique::new([0, 1])).unwrap();
        let summed: Vec<u32> =
            all.chunks(shape[2] as usize).map(|cells| cells.iter().sum()).collect();
        prop_assert_eq!(summed, pair);
    }
}
