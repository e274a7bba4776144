use super::*;

fn homes(most: u32) -> Units {
    let units = Units::new("h", most).unwrap().linked(["t", "u"]).unwrap();
    units.with_members(["a", "s"], "o").unwrap()
}

fn domain(most: u32) -> Domain {
    let shared = [("t".to_owned(), 2), ("u".to_owned(), 40), ("h.records".to_owned(), most)];
    let own = (1..=most).flat_map(|member| {
        [("a", 4), ("s", 2)]
            .map(|(name, values)| (Members::name_of(name, member), values + u32::from(member > 1)))
    });
    Domain::new(shared.into_iter().chain(own)).unwrap()
}

fn named(workload: &Workload, domain: &Domain) -> Vec<String> {
    workload.cliques().iter().map(|clique| domain.describe(clique)).collect()
}

#[test]
fn columns_of_a_unit_come_once_and_those_of_a_member_for_each() {
    let domain = domain(2);
    let singles = Workload::of_units(&domain, &homes(2), 1).unwrap();
    assert_eq!(named(&singles, &domain), ["t", "u", "h.records", "a.1", "a.2", "s.1", "s.2"]);
    let triples = Workload::of_units(&domain, &homes(2), 3).unwrap();
    let names = named(&triples, &domain);
    for expected in
        ["t x u x h.records", "t x u x a.2", "h.records x a.1 x s.1", "a.1 x s.1 x a.2 x s.2"]
    {
        assert!(names.iter().any(|name| name == expected), "{expected}: {names:?}");
    }
    // Of more cells than all of the triples.
    assert!(!names.iter().any(|name| name == "a.1 x s.1 x a.3 x s.3"));
    // Nothing mixes two members but their pairs, and two columns of both.
    assert!(!names.iter().any(|name| name == "a.1 x s.2 x t" || name == "t x a.1 x s.2"));
}

#[test]
fn both_parts_matter_as_much() {
    let domain = domain(3);
    let workload = Workload::of_units(&domain, &homes(3), 3).unwrap();
    let is_across = |clique: &Clique| {
        let names: Vec<&str> = clique.iter().map(|at| domain.name(at)).collect();
        let member = |name: &&str| name.rsplit_once('.').and_then(|(_, j)| j.parse::<u32>().ok());
        let mut members: Vec<u32> = names.iter().filter_map(member).collect();
        members.sort_unstable();
        members.dedup();
        members.len() > 1
    };
    let sum = |across: bool| -> f64 {
        let cliques = workload.weighted_cliques().iter();
        cliques.filter(|c| is_across(&c.clique) == across).map(|c| c.weight).sum()
    };
    assert!((sum(true) - sum(false)).abs() < 1e-9, "{} {}", sum(true), sum(false));
}

#[test]
fn small_domains_and_single_members_have_a_workload_too() {
    let units = Units::new("h", 1).unwrap().with_members(["a"], "o").unwrap();
    let domain = Domain::new([("h.records", 1), ("a.1", 4)]).unwrap();
    let workload = Workload::of_units(&domain, &units, 3).unwrap();
    assert_eq!(named(&workload, &domain), ["h.records x a.1"]);
    assert!(Workload::of_units(&domain, &units, 0).is_err());
    assert!(Workload::of_units(&domain, &Units::new("h", 1).unwrap(), 1).is_err());
    assert!(Workload::of_units(&domain, &homes(1), 1).is_err(), "columns that the domain lacks");
}
