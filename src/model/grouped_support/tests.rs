use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::*;

/// Groups in the middle of the domain, as an ordinary support over all records beside it.
fn models() -> (GroupedSupport, crate::model::WeightedSupport) {
    let domain = Domain::new([("b", 3), ("puma", 3), ("a", 2), ("state", 2)]).unwrap();
    let rows = [[0, 0], [0, 1], [1, 0], [2, 1]];
    let listed = Dataset::from_rows(Domain::new([("b", 3), ("a", 2)]).unwrap(), &rows).unwrap();
    let group = |codes: [u32; 2], size, weights: [f64; 4]| Group {
        codes: codes.to_vec(),
        size,
        weights: Arc::new(weights.to_vec()),
    };
    let groups = vec![
        group([0, 1], 30.0, [1.0, 2.0, 3.0, 4.0]),
        group([0, 0], 50.0, [1.0, 0.0, 0.0, 1.0]),
        group([1, 2], 0.0, [0.0; 4]),
        group([1, 1], 20.0, [0.0, 1.0, 3.0, 0.0]),
    ];
    let (mut all, mut weights) = (Vec::new(), Vec::new());
    for Group { codes, size, weights: own } in &groups {
        let sum = own.iter().sum::<f64>().max(1.0);
        for (row, weight) in rows.iter().zip(own.iter()) {
            all.push([row[0], codes[1], row[1], codes[0]]);
            weights.push(size * weight / sum);
        }
    }
    let grouped = GroupedSupport::new(&domain, &[3, 1], listed, groups).unwrap();
    let all = Dataset::from_rows(domain, &all).unwrap();
    (grouped, crate::model::WeightedSupport::new(&all, weights, 100.0).unwrap())
}

#[test]
fn marginals_are_those_of_the_support_that_lists_all_groups() {
    let (grouped, listed) = models();
    let cliques = grouped.domain().everything().subsets();
    let (found, expected) =
        (grouped.marginals(&cliques).unwrap(), listed.marginals(&cliques).unwrap());
    for (found, expected) in found.iter().zip(&expected) {
        for (x, y) in found.values().iter().zip(expected.values()) {
            assert!((x - y).abs() < 1e-9, "{found:?}, {expected:?}");
        }
    }
    assert!(grouped.marginals(&[Clique::new([4])]).is_err());
}

#[test]
fn drawn_groups_have_their_sizes_and_drawn_records_their_weights() {
    let (grouped, listed) = models();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let everything = [grouped.domain().everything()];
    let expected = listed.marginals(&everything).unwrap().swap_remove(0);
    for records in [100, 1000, 12_345] {
        let drawn = grouped.draw(records, Sampling::Rounded, &mut rng).unwrap();
        let counts = drawn.weighted_marginals(&vec![1.0; records], &everything).unwrap();
        for (count, mean) in counts[0].iter().zip(expected.values()) {
            // A group's rounding, and the record's own.
            assert!((count - mean * records as f64 / 100.0).abs() < 2.0);
        }
    }
    let drawn = grouped.draw(500, Sampling::Independent, &mut rng).unwrap();
    assert_eq!(drawn.records(), 500);
    assert!(grouped.draw(0, Sampling::Rounded, &mut rng).is_err());
}

#[test]
fn groups_that_make_no_sense_are_refused() {
    let (grouped, _) = models();
    let refuse = |change: &dyn Fn(&mut Vec<Group>)| {
        let mut groups = grouped.groups().to_vec();
        change(&mut groups);
        let rows = grouped.rows().clone();
        assert!(GroupedSupport::new(grouped.domain(), &[3, 1], rows, groups).is_err());
    };
    refuse(&|groups| groups[0].codes = vec![0, 0]);
    refuse(&|groups| groups[0].codes = vec![0, 3]);
    refuse(&|groups| groups[0].size = -1.0);
    refuse(&|groups| groups[0].size = f64::NAN);
    refuse(&|groups| groups[2].size = 1.0);
    refuse(&|groups| groups[1].weights = Arc::new(vec![1.0]));
    refuse(&|groups| groups.iter_mut().for_each(|group| group.size = 0.0));
    let rows = grouped.rows().clone();
    assert!(GroupedSupport::new(grouped.domain(), &[3], rows, vec![]).is_err());
}
