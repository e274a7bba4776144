use super::*;

#[test]
fn a_table_that_does_not_fit_its_domain_is_refused() {
    let domain = Domain::new([("a", 2), ("b", 300)]).unwrap();
    let column = |codes: &[u32], k| Column::from_codes(codes.iter().copied(), k).unwrap();
    let (a, b) = (column(&[0, 1], 2), column(&[299, 0], 300));
    let good = Dataset::new(domain.clone(), vec![a.clone(), b.clone()]).unwrap();
    assert_eq!(good.row(0), [0, 299]);
    assert!(matches!(b, Column::U16(_)));
    assert!(Dataset::new(domain.clone(), vec![a.clone()]).is_err());
    assert!(Dataset::new(domain.clone(), vec![a, column(&[0], 300)]).is_err());
    let error = Dataset::new(domain.clone(), vec![column(&[2, 0], 3), b]).unwrap_err();
    assert_eq!(error.to_string(), "table, column 'a': code 2, expected codes below 2");
    assert!(Dataset::from_rows(domain, &[[0, 300]]).is_err());
    assert!(Column::from_codes([5], 5).is_err());
}

#[test]
fn distinct_records_stand_for_all_of_them() {
    let domain = Domain::new([("a", 2), ("b", 300), ("c", 3)]).unwrap();
    let mut rows: Vec<[u32; 3]> = (0..500_u32).map(|i| [i % 2, i * i % 7 * 40, i % 3]).collect();
    let data = Dataset::from_rows(domain.clone(), &rows).unwrap();
    let (distinct, counts) = data.distinct();
    rows.sort_unstable();
    let all = rows.chunk_by(|a, b| a == b);
    let expected: Vec<(Vec<u32>, u32)> =
        all.map(|same| (same[0].to_vec(), u32::try_from(same.len()).unwrap())).collect();
    let found: Vec<(Vec<u32>, u32)> =
        counts.iter().enumerate().map(|(i, n)| (distinct.row(i), *n)).collect();
    assert_eq!(found, expected);
    let (none, counts) = Dataset::from_rows::<[u32; 3]>(domain, &[]).unwrap().distinct();
    assert_eq!((none.records(), counts.len()), (0, 0));
}

#[test]
fn weighted_marginals_add_up_the_weights_of_the_records_in_a_cell() {
    let domain = Domain::new([("a", 3), ("b", 300), ("c", 300)]).unwrap();
    let rows: Vec<[u32; 3]> = (0..5003_u32).map(|i| [i % 3, i * i % 300, i % 291]).collect();
    let data = Dataset::from_rows(domain, &rows).unwrap();
    let weights: Vec<f64> = (0..5003_u32).map(|i| f64::from(i % 17)).collect();
    let cliques = [Clique::new([0, 1]), Clique::new([1, 2]), Clique::new([]), Clique::new([0])];
    let found = data.weighted_marginals(&weights, &cliques).unwrap();
    for (clique, table) in cliques.iter().zip(found) {
        let mut expected = vec![0.0; table.len()];
        let cells = data.cells(clique).unwrap();
        cells.iter().zip(&weights).for_each(|(cell, w)| expected[*cell as usize] += w);
        assert_eq!(table, expected, "{clique}");
    }
    assert_eq!(data.cells(&cliques[1]).unwrap()[7], 49 * 300 + 7);
    assert!(data.weighted_marginals(&weights[1..], &cliques).is_err());
}

#[test]
fn selecting_reorders_columns() {
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 4)]).unwrap();
    let data = Dataset::from_rows(domain, &[[1, 2, 3], [0, 0, 0]]).unwrap();
    let some = data.select(&[2, 0]).unwrap();
    assert_eq!((some.domain().name(0), some.row(0)), ("c", vec![3, 1]));
    assert!(data.select(&[3]).is_err());
    assert!(data.select(&[0, 0]).is_err());
}
