use super::*;

fn pairs_of(cardinalities: &[u32]) -> (Domain, Vec<Clique>) {
    let named = cardinalities.iter().enumerate().map(|(i, k)| (format!("x{i}"), *k));
    let n = cardinalities.len();
    let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| Clique::new([a, b])));
    (Domain::new(named).unwrap(), pairs.collect())
}

#[test]
fn every_clique_is_covered_once_by_a_table_that_holds_it() {
    let (domain, mut cliques) = pairs_of(&[32, 9, 32, 16, 16, 7, 15, 6, 5, 2, 1, 300, 2]);
    cliques.extend([Clique::default(), cliques[3].clone(), Clique::new([0, 5, 9])]);
    for records in [0, 1000, 50_000, 1_000_000] {
        let covers = cover(&domain, &cliques, records);
        let mut places: Vec<usize> = covers.iter().flat_map(|c| c.members.clone()).collect();
        places.sort_unstable();
        assert_eq!(places, (0..cliques.len()).collect::<Vec<_>>());
        for cover in covers {
            assert!(cover.members.iter().all(|place| cliques[*place].is_subset(&cover.clique)));
            let joined = cover.members.iter().any(|place| cliques[*place] != cover.clique);
            let cells = domain.cells(&cover.clique).unwrap();
            assert!(!joined || cells <= (records as u64 / RECORDS_A_CELL).min(MOST_CELLS));
        }
    }
}

#[test]
fn few_records_are_counted_clique_by_clique_and_many_together() {
    let (domain, cliques) = pairs_of(&[4; 10]);
    assert_eq!(cover(&domain, &cliques, 200).len(), cliques.len());
    assert!(cover(&domain, &cliques, 1 << 20).len() < cliques.len() / 3);
}
