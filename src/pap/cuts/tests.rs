use std::fmt::Write;

use super::Cuts;
use crate::data::{AbsentColumns, Projectable, read_csv_from};
use crate::domain::{Clique, Kind, Schema, TableFormat};
use crate::mechanism::{Gem, JamPgm, Mechanism, Queries, QueryRelease, Task};
use crate::observe::Silent;
use crate::privacy::NeighboringRelation::ReplaceOne;
use crate::privacy::{Curator, NoiseSeed, Rho};
use crate::query::Workload;

#[test]
fn a_cut_belongs_to_the_cell_below_it() {
    let cuts = Cuts::new("x", [0.5, -2.0, 7.0]).unwrap();
    let near = [-2.0_f64, 0.5, 7.0];
    for (j, cut) in (0_u32..).zip(near) {
        assert_eq!(cuts.cell(Some(cut)), j);
        assert_eq!(cuts.cell(Some(cut.next_down())), j);
        assert_eq!(cuts.cell(Some(cut.next_up())), j + 1);
    }
    assert_eq!((cuts.cell(Some(f64::NEG_INFINITY)), cuts.cell(Some(f64::INFINITY))), (0, 3));
    assert_eq!((cuts.cell(None), cuts.cell(Some(f64::NAN))), (4, 4));
}

#[test]
fn a_schema_codes_numbers_into_the_same_cells() {
    let cuts = [
        Cuts::new("x", [0.1, -0.0, 0.1_f64.next_up(), 1e300, -5.0]).unwrap(),
        Cuts::new("y", [3.0]).unwrap(),
    ];
    let schema = Cuts::schema(&cuts, TableFormat::default()).unwrap();
    let Some(Kind::Numeric(bins)) = &schema.columns()[0].kind else { panic!("numbers") };
    let tests = [0.0, -0.0, 0.1, 0.1_f64.next_down(), 0.1_f64.next_up(), 0.2, -5.0, -6.0, 1e300];
    let far = [f64::MAX, f64::MIN, 2e300, f64::MIN_POSITIVE, -f64::MIN_POSITIVE, 5e-324, -5e-324];
    for x in tests.into_iter().chain(far) {
        assert_eq!(bins.code(x), Some(cuts[0].cell(Some(x))), "{x}");
    }
    let text = b"y,other,x\n3,a,0.1\n3.0001,b,\n?,c,1e305\nNA,d,-1e308\n";
    let table = read_csv_from(&text[..], "p.csv", &schema, AbsentColumns::Refuse).unwrap();
    let values = |cells: [Option<f64>; 4]| cells.to_vec();
    let columns = [
        values([Some(0.1), None, Some(1e305), Some(-1e308)]),
        values([Some(3.0), Some(3.0001), None, None]),
    ];
    assert_eq!(table, Cuts::encode(&cuts, &columns).unwrap());
}

#[test]
fn too_many_public_values_become_even_quantiles() {
    let cuts = Cuts::from_public("x", (0..1000).map(f64::from), 4).unwrap();
    assert_eq!(cuts.points(), [125.0, 375.0, 625.0, 875.0]);
    let cuts = Cuts::from_public("x", (0..30_000).map(f64::from), usize::MAX).unwrap();
    assert_eq!(cuts.points().len(), Cuts::MOST);
    let few = Cuts::from_public("x", [2.0, 1.0, 2.0], 5).unwrap();
    assert_eq!(few.points(), [1.0, 2.0]);
}

#[test]
fn a_grid_reaches_both_ends() {
    let cuts = Cuts::new("x", [0.3]).unwrap().with_grid(0.0, 1.0, 5).unwrap();
    assert_eq!(cuts.points(), [0.0, 0.25, 0.3, 0.5, 0.75, 1.0]);
}

#[test]
fn wrong_cuts_are_refused() {
    for points in [vec![], vec![f64::NAN], vec![1.0, f64::INFINITY], vec![f64::MIN]] {
        assert!(Cuts::new("x", points).is_err());
    }
    assert!(Cuts::new("x", (0..=Cuts::MOST).map(|i| i as f64)).is_err());
    assert!(Cuts::from_public("x", [1.0], 0).is_err());
    let cuts = || Cuts::new("x", [1.0]).unwrap();
    for (low, high, count) in [(1.0, 1.0, 3), (2.0, 1.0, 3), (f64::MIN, f64::MAX, 3), (0.0, 1.0, 1)]
    {
        assert!(cuts().with_grid(low, high, count).is_err());
    }
    assert!(Cuts::encode(&[cuts()], &[]).is_err());
    assert!(Cuts::schema(&[cuts(), cuts()], TableFormat::default()).is_err());
    assert!(serde_json::from_str::<Cuts>(r#"{"name": "x", "points": []}"#).is_err());
}

#[test]
fn a_schema_with_cuts_codes_values_left_open_and_keeps_the_rest() {
    let text = r#"{"na_token": "NA", "missing": ["?"], "note": "n", "dataset": "d", "columns": [
        {"name": "pay", "kind": "numeric", "edges": [0, 1], "integer": false, "na": true},
        {"name": "sex", "kind": "categorical", "codes": ["f", "m"]},
        {"name": "age", "kind": "numeric", "edges": [0, 10, 100], "integer": true}]}"#;
    let schema = Schema::from_json(text, "schema.json").unwrap();
    let cuts = [
        Cuts::new("age", [17.5, 17.9, 30.0]).unwrap(),
        Cuts::new("pay", [0.1, 1e9, 20.0]).unwrap(),
    ];
    let schema = schema.with_cuts(&cuts).unwrap();
    // Ages between the same whole numbers are one cut.
    let domain = schema.domain();
    assert_eq!([0, 1, 2].map(|a| domain.cardinality(a)), [5, 2, 3]);
    let text =
        b"pay,sex,age\n0.1,f,17\n0.10000001,m,18\nNA,f,30\n?,f,31\n-1e300,m,-5\n1e300,m,1000000\n";
    let table = read_csv_from(&text[..], "p.csv", &schema, AbsentColumns::Refuse).unwrap();
    let codes =
        |a: usize| (0..6).map(|i| table.column(a).unwrap().get(i).unwrap()).collect::<Vec<_>>();
    assert_eq!((codes(0), codes(2)), (vec![0, 1, 4, 4, 0, 3], vec![0, 1, 1, 2, 0, 2]));
    let written = serde_json::to_string(&schema).unwrap();
    assert_eq!(Schema::from_json(&written, "s.json").unwrap(), schema);
    assert!(written.contains("\"note\":\"n\"") && written.contains("\"dataset\":\"d\""));

    let fails = |name: &str, part: &str| {
        let error = schema.with_cuts(&[Cuts::new(name, [1.0]).unwrap()]).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains(part), "{error}");
    };
    fails("height", "height");
    fails("sex", "numeric");
    assert!(
        schema
            .with_cuts(&[cuts[0].clone(), cuts[0].clone()])
            .unwrap_err()
            .to_string()
            .contains("twice")
    );
}

/// Any mechanism runs on real columns, and its records are numbers near the cuts.
#[test]
fn mechanisms_run_on_real_columns_between_public_cuts() {
    let text = r#"{"columns": [
        {"name": "pay", "kind": "numeric", "edges": [0, 1], "integer": false},
        {"name": "tax", "kind": "numeric", "edges": [0, 1], "integer": false}]}"#;
    let cuts = ["pay", "tax"]
        .map(|name| Cuts::from_public(name, (0..40_u32).map(|i| f64::from(i * i)), 15).unwrap());
    let schema = Schema::from_json(text, "schema.json").unwrap().with_cuts(&cuts).unwrap();
    let mut private = "pay,tax\n".to_owned();
    for i in 0..2000_u32 {
        _ = writeln!(private, "{}.25,{}.5", i * i % 1600, i * i % 1600 / 3);
    }
    let private =
        read_csv_from(private.as_bytes(), "p.csv", &schema, AbsentColumns::Refuse).unwrap();
    let workload = Workload::all_k_way(private.domain(), 2).unwrap();
    let gem = Gem { release: QueryRelease::new(3, Queries::Marginals), ..Gem::default() };
    let jam = JamPgm { rounds: Some(4), ..JamPgm::default() };
    // Few rounds of GEM: it need only run.
    let mechanisms: [(&dyn Mechanism, f64); 2] = [(&jam, 1000.0), (&gem, 3000.0)];
    for (mechanism, most) in mechanisms {
        let rho = Rho::from_f64(1.0).unwrap();
        let mut curator = Curator::new(&private, ReplaceOne, rho, NoiseSeed::Fixed(1)).unwrap();
        let task = Task::new(&workload, &[]);
        let release = mechanism.run(&mut curator, &task, &mut Silent).unwrap();
        let pair = &release.model.marginals(&[Clique::new([0, 1])]).unwrap()[0];
        let exact = private.project(&Clique::new([0, 1])).unwrap();
        let error: f64 = exact
            .iter()
            .zip(pair.values())
            .map(|(count, found)| (f64::from(*count) - found).abs())
            .sum();
        assert!(error < most, "{}: {error} of 2,000", mechanism.name());
    }
    // The outer bins are as wide as numbers are, but values are drawn near the cuts.
    let Some(Kind::Numeric(bins)) = &schema.columns()[0].kind else { panic!("numbers") };
    let ends = (bins.plausible(0).0, bins.plausible(bins.count() - 1).1);
    assert!(ends.0 > -1000.0 && ends.1 < 3000.0, "{ends:?}");
}
