use super::*;
use crate::data::Projectable;
use crate::domain::Clique;

fn domain() -> Domain {
    Domain::new([("size", 3), ("a.1", 2), ("a.2", 3), ("a.3", 3)]).unwrap()
}

fn ones() -> Tally {
    Tally { name: "a=1".into(), of: vec![(1, vec![1]), (2, vec![1]), (3, vec![1])] }
}

#[test]
fn what_is_outside_the_domain_is_refused() {
    let new =
        |kept: &[usize], tally: Tally| Tallies::new(domain(), kept.iter().copied(), vec![tally]);
    assert!(new(&[0], ones()).is_ok());
    assert!(new(&[4], ones()).is_err());
    for of in [vec![(4, vec![0])], vec![(1, vec![2])], vec![(1, vec![0]), (1, vec![1])]] {
        assert!(new(&[0], Tally { name: "t".into(), of }).is_err());
    }
    assert!(new(&[0], Tally { name: "size".into(), ..ones() }).is_err());
    let other = Dataset::from_rows(Domain::new([("size", 3)]).unwrap(), &[[0]]).unwrap();
    assert!(other.tallied(&new(&[0], ones()).unwrap()).is_err());
}

#[test]
fn a_record_more_is_a_record_more() {
    let tallies = Tallies::new(domain(), [0], vec![ones()]).unwrap();
    let rows = [[0, 1, 2, 2], [1, 1, 1, 2], [2, 0, 0, 1], [2, 1, 1, 1]];
    let all = Clique::new([0, 1]);
    let count = |rows: &[[u32; 4]]| {
        Dataset::from_rows(domain(), rows)
            .unwrap()
            .tallied(&tallies)
            .unwrap()
            .project(&all)
            .unwrap()
    };
    assert_eq!(count(&rows), [0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1]);
    for without in 0..rows.len() {
        let mut fewer = rows.to_vec();
        fewer.remove(without);
        let change = count(&rows).iter().zip(count(&fewer)).map(|(a, b)| a - b).sum::<u32>();
        assert_eq!(change, 1);
    }
}
