use crate::query::WorkloadSource;

use super::*;

fn domain() -> Domain {
    Domain::new([("A", 2), ("B", 3), ("C", 4), ("D, E", 5)]).unwrap()
}

#[test]
fn all_k_way_lists_every_clique_once_in_order() {
    let workload = Workload::all_k_way(&domain(), 2).unwrap();
    let pairs: Vec<Vec<usize>> =
        workload.cliques().iter().map(|c| c.attributes().to_vec()).collect();
    assert_eq!(pairs, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]);
    assert_eq!(Workload::all_k_way(&domain(), 4).unwrap().len(), 1);
    let large = Domain::new((0..52).map(|i| (i.to_string(), 2))).unwrap();
    assert_eq!(Workload::parse("all-3-way", &large).unwrap().len(), 22_100);
}

#[test]
fn wrong_names_of_workloads_are_refused() {
    for (name, part) in [
        ("all-5-way", "from 1 to 4 attributes"),
        ("all-0-way", "from 1 to 4 attributes"),
        ("some", "all-K-way"),
        ("all--1-way", "all-K-way"),
    ] {
        let message = Workload::parse(name, &domain()).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
    let large = Domain::new((0..200).map(|i| (i.to_string(), 2))).unwrap();
    let message = Workload::all_k_way(&large, 12).unwrap_err().to_string();
    assert!(message.contains("would take more cliques"), "{message}");
    let message = Workload::all_k_way(&large, 200).unwrap_err().to_string();
    assert!(message.contains("the limit is 16 attributes"), "{message}");
}

#[test]
fn files_of_both_forms_give_the_same_cliques() {
    let json = r#"{"cliques": [["B", "A"], {"clique": ["C", "D, E"], "weight": 2.5}, ["A","B"]]}"#;
    let json = Workload::from_text(json, "w.json", &domain()).unwrap();
    let text = Workload::from_text("# x\nA,B\n\n C ,\"D, E\"\r\n", "w.txt", &domain()).unwrap();
    assert_eq!(json.cliques(), text.cliques());
    let weights: Vec<f64> = json.weighted_cliques().iter().map(|c| c.weight).collect();
    assert_eq!(weights, [2.0, 2.5]);
}

#[test]
fn a_wrong_file_is_refused_with_its_place() {
    for (text, part) in [
        ("A,B\nA,X\n", "unknown attribute 'X' in w, line 2, expected one of: A, B"),
        ("{\"cliques\": [[\"A\"],\n [\"X\"]]}", "unknown attribute 'X' in w, line 2, clique 2"),
        ("A,A\n", "attribute 'A' occurs twice in w, line 1"),
        ("{\"cliques\": []}", "w: no clique"),
        ("", "w: no clique"),
        ("{\"cliques\": [[]]}", "without attributes"),
        ("{\"cliques\": 3}", "expected {\"cliques\""),
        ("{\"cliques\"", "expected {\"cliques\""),
        (
            "{\"cliques\": [{\"clique\": [\"A\"], \"weight\": -1}]}",
            "w, workload, clique A: weight -1",
        ),
        (
            "[{\"clique\": [\"A\"], \"weight\": 1e308}, {\"clique\": [\"A\"], \"weight\": 1e308}]",
            "add up to more",
        ),
    ] {
        let message = Workload::from_text(text, "w", &domain()).unwrap_err().to_string();
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn the_downward_closure_holds_every_subset_once_smallest_first() {
    let workload = Workload::from_text("A,B,C\nB,C\nC,\"D, E\"", "w", &domain()).unwrap();
    let closure: Vec<Vec<usize>> =
        workload.downward_closure().iter().map(|c| c.attributes().to_vec()).collect();
    let expected: [&[usize]; 9] =
        [&[0], &[1], &[2], &[3], &[0, 1], &[0, 2], &[1, 2], &[2, 3], &[0, 1, 2]];
    assert_eq!(closure, expected);
}

#[test]
fn restricting_reports_what_was_left_out() {
    let (kept, left_out) =
        Workload::all_k_way(&domain(), 2).unwrap().restrict(&domain(), 10).unwrap();
    assert_eq!((kept.len(), left_out), (3, 3));
    assert!(Workload::all_k_way(&domain(), 2).unwrap().restrict(&domain(), 1).is_err());
}

#[test]
fn a_sampled_workload_is_a_part_of_the_whole_and_repeats() {
    let domain = Domain::new((0..12).map(|i| (i.to_string(), 2))).unwrap();
    let whole = Workload::all_k_way(&domain, 3).unwrap().cliques();
    let sampled = |name: &str| Workload::parse(name, &domain).unwrap().cliques();
    let some = sampled("all-3-way:40@7");
    assert_eq!(some.len(), 40);
    let mut rest = whole.iter();
    assert!(some.iter().all(|clique| rest.any(|own| own == clique)), "in their order");
    assert_eq!(some, sampled("all-3-way:40@7"));
    assert_ne!(some, sampled("all-3-way:40@8"));
    assert_eq!(sampled("all-3-way:100000@0"), whole);
    let domain = Domain::new((0..12).map(|i| (i.to_string(), 2 + i % 2))).unwrap();
    let source = WorkloadSource { name: "all-3-way:40@7".into(), max_cells: Some(12) };
    let (small, left_out) = source.read(&domain).unwrap();
    assert_eq!((small.len(), left_out), (40, 110), "drawn from those that are small enough");
    assert!(small.cliques().iter().all(|clique| domain.cells(clique).unwrap() <= 12));
    for wrong in ["all-3-way:", "all-3-way:40", "all-3-way:@1", "all-3-way:0@1", "all-3-way:4@x"] {
        assert!(Workload::parse(wrong, &domain).is_err(), "{wrong}");
    }
}
