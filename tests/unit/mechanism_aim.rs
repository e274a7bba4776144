//! Unit tests of `src/mechanism/aim.rs`.

use super::*;

#[test]
fn weights_count_the_attributes_shared_with_the_workload() {
    let domain = Domain::new([("a", 2), ("b", 2), ("c", 2), ("d", 2)]).unwrap();
    let text = r#"[{"clique": ["a", "b", "c"], "weight": 2.0}, ["c", "d"], ["a", "d"]]"#;
    let workload = Workload::from_text(text, "w", &domain).unwrap();
    let cliques = workload.downward_closure();
    let found = relevance(&workload, &cliques, &domain);
    for (r, weight) in cliques.iter().zip(found) {
        let overlap = |s: &Clique| s.iter().filter(|a| r.iter().any(|b| b == *a)).count();
        let all = workload.weighted_cliques().iter();
        let expected: f64 = all.map(|s| s.weight * overlap(&s.clique) as f64).sum();
        assert!((weight - expected).abs() < 1e-12, "{r}: {weight}, expected {expected}");
    }
}
