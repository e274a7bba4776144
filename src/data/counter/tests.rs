use proptest::prelude::*;

use super::*;
use crate::data::Projectable;
use crate::domain::{Clique, Schema};

fn schema(shape: &[u32]) -> Schema {
    let members: Vec<String> =
        shape.iter().enumerate().map(|(i, k)| format!(r#""a{i}": {k}"#)).collect();
    Schema::from_json(&format!("{{{}}}", members.join(", ")), "domain.json").unwrap()
}

fn table(schema: &Schema, rows: &[Vec<u32>]) -> Dataset {
    Dataset::from_rows(schema.domain(), rows).unwrap()
}

/// Shapes, rows, cliques and the part of each row.
type Case = (Vec<u32>, Vec<Vec<u32>>, Vec<Vec<usize>>, Vec<usize>);

fn cases() -> impl Strategy<Value = Case> {
    prop::collection::vec(1_u32..6, 2..6).prop_flat_map(|shape| {
        let row: Vec<_> = shape.iter().map(|k| 0..*k).collect();
        let rows = prop::collection::vec(row, 0..60);
        let cliques = prop::collection::vec(prop::collection::vec(0..shape.len(), 0..4), 0..6);
        (Just(shape), rows, cliques, prop::collection::vec(0_usize..4, 60))
    })
}

proptest! {
    #[test]
    fn any_partition_and_order_of_merging_gives_the_counts_of_the_whole(
        (shape, rows, cliques, parts) in cases(),
        order in Just([0_usize, 1, 2, 3]).prop_shuffle(),
        nested in any::<bool>(),
    ) {
        let schema = schema(&shape);
        let cliques: Vec<Clique> = cliques.into_iter().map(Clique::new).collect();
        let plan = CountPlan::new(&schema, &cliques).unwrap();
        let mut counters: Vec<Counter> = order.iter().map(|part| {
            let mut counter = plan.counter();
            for (row, own) in rows.iter().zip(&parts) {
                if own == part {
                    counter.update(&table(&schema, std::slice::from_ref(row))).unwrap();
                }
            }
            counter
        }).collect();
        if nested {
            let (left, right) = counters.split_at_mut(2);
            left[1].merge(&right[1].state().unwrap()).unwrap();
            left[0].merge(&right[0].state().unwrap()).unwrap();
            left[0].merge(&left[1].clone().state().unwrap()).unwrap();
        } else {
            let (first, rest) = counters.split_first_mut().unwrap();
            rest.iter_mut().for_each(|other| first.merge(&other.state().unwrap()).unwrap());
        }
        let whole = table(&schema, &rows);
        let mut asked: Vec<Clique> = cliques.iter().flat_map(Clique::subsets).collect();
        asked.push(Clique::default());
        let counted = counters.swap_remove(0).finish().unwrap();
        prop_assert_eq!(counted.records(), rows.len() as u64);
        prop_assert_eq!(
            counted.project_many(&asked).unwrap(),
            whole.project_many(&asked).unwrap()
        );
    }

    #[test]
    fn a_state_returns_as_it_was_and_no_changed_byte_is_accepted(
        (shape, rows, cliques, _) in cases(),
        place in any::<prop::sample::Index>(),
        change in 1_u8..,
    ) {
        let schema = schema(&shape);
        let cliques: Vec<Clique> = cliques.into_iter().map(Clique::new).collect();
        let plan = CountPlan::new(&schema, &cliques).unwrap();
        let mut counter = plan.counter();
        counter.update(&table(&schema, &rows)).unwrap();
        let state = counter.state().unwrap();
        let mut other = plan.counter();
        other.merge(&state).unwrap();
        prop_assert_eq!(other.state().unwrap(), state.clone());
        let mut damaged = state.clone();
        let at = place.index(damaged.len());
        damaged[at] ^= change;
        prop_assert!(other.merge(&damaged).is_err());
        prop_assert!(other.merge(&state[..at]).is_err());
        // A refused state adds nothing.
        prop_assert_eq!(other.state().unwrap(), state);
    }
}

#[test]
fn parts_of_a_table_and_blocks_add_up() {
    let schema = schema(&[3, 500, 400, 2]);
    let rows: Vec<Vec<u32>> = (0..150_000_u32)
        .map(|i| vec![i % 3, i % 499, i / 7 % 400, u32::from(i % 5 == 0)])
        .collect();
    let whole = table(&schema, &rows);
    // A table of more than 2^16 cells and small ones.
    let cliques = [Clique::new([1, 2]), Clique::new([0, 3]), Clique::new([0, 1])];
    let plan = CountPlan::new(&schema, &cliques).unwrap();
    let mut counter = plan.counter();
    counter.update_rows(&whole, 140_000..150_000).unwrap();
    counter.update_rows(&whole, 0..140_000).unwrap();
    let counted = counter.finish().unwrap();
    assert_eq!(counted.project_many(&cliques).unwrap(), whole.project_many(&cliques).unwrap());
}

#[test]
fn states_are_small_where_cells_are_empty() {
    let schema = schema(&[100, 100, 100]);
    let plan = CountPlan::new(&schema, &[Clique::new([0, 1, 2])]).unwrap();
    let mut counter = plan.counter();
    counter.update(&table(&schema, &[vec![5, 5, 5], vec![99, 99, 99]])).unwrap();
    assert_eq!(plan.cells(), 1_000_000);
    assert!(counter.state().unwrap().len() < 100);
}

#[test]
fn a_state_of_another_plan_is_refused() {
    let (own, other) = (schema(&[2, 3]), schema(&[2, 4]));
    let both = [Clique::new([0, 1])];
    let mut counter = CountPlan::new(&own, &both).unwrap().counter();
    let single = [Clique::new([0]), Clique::new([1])];
    for plan in [CountPlan::new(&other, &both), CountPlan::new(&own, &single)] {
        let error =
            counter.merge(&plan.unwrap().counter().state().unwrap()).unwrap_err().to_string();
        assert!(error.contains("another plan"), "{error}");
    }
    let again = CountPlan::new(&own, &[both[0].clone(), both[0].clone()]).unwrap();
    counter.merge(&again.counter().state().unwrap()).unwrap();
    for (bytes, found) in [(&b""[..], "too few bytes"), (&[0; 80][..], "other bytes")] {
        let error = counter.merge(bytes).unwrap_err().to_string();
        assert!(error.contains(found), "{error}");
    }
}

#[test]
fn what_was_not_counted_is_an_error_that_names_it() {
    let schema = schema(&[2, 3, 4]);
    let plan = CountPlan::new(&schema, &[Clique::new([0, 1]), Clique::new([2])]).unwrap();
    let mut counter = plan.counter();
    counter.update(&table(&schema, &[vec![1, 2, 3]])).unwrap();
    let counted = counter.finish().unwrap();
    let error = counted.project(&Clique::new([1, 2])).unwrap_err().to_string();
    assert!(error.contains("a1 x a2"), "{error}");
    let error = counted.project(&Clique::new([7])).unwrap_err().to_string();
    assert!(error.contains("#7"), "{error}");
    assert_eq!(counted.project(&Clique::new([1])).unwrap(), [0, 0, 1]);
}

#[test]
fn plans_are_bounded_and_written_down() {
    let large = schema(&[1 << 11, 1 << 11, 1 << 11]);
    let error = CountPlan::new(&large, &[Clique::new([0, 1, 2])]).unwrap_err().to_string();
    assert!(error.contains("cells"), "{error}");
    let pairs = [Clique::new([0, 1]), Clique::new([1, 2]), Clique::default()];
    let plan = CountPlan::new(&large, &pairs).unwrap();
    let text = plan.to_json().unwrap();
    let again = CountPlan::from_json(&text, "plan.json").unwrap();
    assert_eq!((again.cells(), again.cliques()), (plan.cells(), plan.cliques()));
    let mut counter = plan.counter();
    counter.merge(&again.counter().state().unwrap()).unwrap();
    for (from, to, found) in [
        ("\"version\":1", "\"version\":9", "version 9"),
        ("[\"a1\",\"a2\"]", "[\"a1\",\"no\"]", "'no'"),
        ("cliques", "clicks", "clicks"),
    ] {
        let changed = text.replacen(from, to, 1);
        let error = CountPlan::from_json(&changed, "plan.json").unwrap_err().to_string();
        assert!(error.contains(found) && error.contains("plan.json"), "{error}");
    }
}

#[test]
fn rows_outside_a_table_and_other_domains_are_errors() {
    let (own, other) = (schema(&[2, 3]), schema(&[2, 4]));
    let mut counter = CountPlan::new(&own, &[Clique::new([0])]).unwrap().counter();
    let rows = table(&own, &[vec![1, 2]]);
    assert!(counter.update_rows(&rows, 0..2).unwrap_err().to_string().contains("rows 0 to 2"));
    let error = counter.update(&table(&other, &[vec![1, 3]])).unwrap_err().to_string();
    assert!(error.contains("'a1' of 4 values"), "{error}");
    assert_eq!(counter.records(), 0);
}

#[cfg(feature = "arrow")]
mod batches {
    use std::sync::Arc;

    use arrow_array::{Int64Array, RecordBatch};
    use arrow_schema::{DataType, Field};

    use super::*;

    fn batch(a0: &[i64], a1: &[i64]) -> RecordBatch {
        let field = |name: &str| Field::new(name, DataType::Int64, false);
        let fields = arrow_schema::Schema::new(vec![field("a1"), field("x"), field("a0")]);
        let column = |values: &[i64]| Arc::new(Int64Array::from(values.to_vec())) as _;
        RecordBatch::try_new(Arc::new(fields), vec![column(a1), column(a1), column(a0)]).unwrap()
    }

    #[test]
    fn record_batches_are_counted_as_their_rows_are() {
        let schema = schema(&[2, 3]);
        let both = Clique::new([0, 1]);
        let plan = CountPlan::new(&schema, std::slice::from_ref(&both)).unwrap();
        let mut counter = plan.counter();
        counter.update_batch(&batch(&[0, 1, 1], &[2, 0, 0])).unwrap();
        counter.update_batch(&batch(&[0], &[1])).unwrap();
        let counted = counter.finish().unwrap();
        assert_eq!(counted.project(&both).unwrap(), [0, 1, 1, 2, 0, 0]);
    }

    #[test]
    fn rows_that_do_not_fit_are_counted_by_column_and_fail_the_end() {
        let schema = schema(&[2, 3]);
        let plan = CountPlan::new(&schema, &[Clique::new([0, 1])]).unwrap();
        let parts = [batch(&[0, 9, 1], &[2, 0, 0]), batch(&[1, 0, 7], &[8, 0, 0])];
        let mut errors = Vec::new();
        for parts in [[&parts[0], &parts[1]], [&parts[1], &parts[0]]] {
            let [mut counter, mut other] = [plan.counter(), plan.counter()];
            counter.update_batch(parts[0]).unwrap();
            other.update_batch(parts[1]).unwrap();
            counter.merge(&other.state().unwrap()).unwrap();
            assert_eq!(counter.records(), 3);
            errors.push(counter.finish().unwrap_err().to_string());
        }
        assert!(errors[0].contains("2 rows against 'a0', such as '7'"), "{}", errors[0]);
        assert!(errors[0].contains("1 row against 'a1', such as '8'"), "{}", errors[0]);
        assert_eq!(errors[0], errors[1]);
    }
}

mod files {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::data::{read_csv, read_csv_or_empty};
    use crate::observe::{Checks, Unstoppable};

    fn both() -> (Schema, CountPlan) {
        let schema = schema(&[4, 300]);
        let plan = CountPlan::new(&schema, &[Clique::new([0, 1])]).unwrap();
        (schema, plan)
    }

    /// Counts the file in both ways.
    fn agree(path: &Path) {
        let (schema, plan) = both();
        let pair = Clique::new([0, 1]);
        match (read_csv(path, &schema), plan.count_file(path, &Unstoppable)) {
            (Ok(held), Ok(counted)) => {
                assert_eq!(counted.records(), held.records() as u64);
                assert_eq!(counted.project(&pair).unwrap(), held.project(&pair).unwrap());
            }
            (Err(held), Err(counted)) => assert_eq!(counted.to_string(), held.to_string()),
            (held, counted) => panic!("{held:?} and {counted:?}"),
        }
        let held = read_csv_or_empty(path, &schema).is_ok();
        assert_eq!(plan.count_file_or_empty(path, &Unstoppable).is_ok(), held);
    }

    #[test]
    fn a_file_is_counted_as_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let good: Vec<String> =
            (0..140_000).map(|i| format!("{},x,{}\n", i % 300, i * 7 % 4)).collect();
        let good = good.concat();
        for rows in [&*good, "", "1,x,0\n2,y,9\n", "1,x\n", "300,x,1\n"] {
            fs::write(&path, format!("a1,other,a0\n{rows}")).unwrap();
            agree(&path);
        }
        for text in ["", "a1,other\n1,2\n"] {
            fs::write(&path, text).unwrap();
            agree(&path);
        }
        agree(&folder.path().join("none.csv"));
    }

    #[test]
    fn counting_stops_when_asked() {
        struct Never;
        impl Checks for Never {
            fn check(&self) -> jointly_pgm::Result<()> {
                Err(crate::CommonError::Interrupted)
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        fs::write(&path, "a1,a0\n1,1\n").unwrap();
        let stopped = both().1.count_file(&path, &Never);
        assert!(matches!(stopped.unwrap_err(), Error::Common(crate::CommonError::Interrupted)));
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn row_groups_are_counted_in_parallel_as_they_are_read() {
        use std::sync::Arc;

        use arrow_array::{Int64Array, RecordBatch};
        use arrow_schema::{DataType, Field};
        use parquet::arrow::ArrowWriter;
        use parquet::file::properties::WriterProperties;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let write = |a0: Vec<i64>| {
            let field = |name: &str| Field::new(name, DataType::Int64, false);
            let fields = arrow_schema::Schema::new(vec![field("a1"), field("other"), field("a0")]);
            let fields = Arc::new(fields);
            let rows: Vec<i64> = (0..).take(a0.len()).collect();
            let a1: Vec<i64> = rows.iter().map(|i| i % 300).collect();
            let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as _;
            let columns = vec![column(a1), column(rows), column(a0)];
            let batch = RecordBatch::try_new(fields.clone(), columns).unwrap();
            let groups = WriterProperties::builder().set_max_row_group_row_count(Some(100)).build();
            let file = fs::File::create(&path).unwrap();
            let mut writer = ArrowWriter::try_new(file, fields, Some(groups)).unwrap();
            writer.write(&batch).unwrap();
            writer.close().unwrap();
        };
        let good: Vec<i64> = (0..1050).map(|i| i * 7 % 4).collect();
        let (mut bad, mut first) = (good.clone(), good.clone());
        (bad[730], bad[940], first[0]) = (4, -1, 17);
        for rows in [good, bad, first, vec![]] {
            for threads in [1, 3] {
                write(rows.clone());
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| agree(&path));
            }
        }
        let error = both().1.count_file(&path, &Unstoppable).unwrap_err().to_string();
        assert!(error.contains("at least one record"), "{error}");
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let error = both().1.count_file(&path, &Unstoppable).unwrap_err().to_string();
        assert!(error.starts_with("cannot read "), "{error}");
    }
}
