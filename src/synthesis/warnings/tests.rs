use super::*;
use crate::observe::Event;

fn table(names: [&str; 2], rows: &[[u32; 2]]) -> Dataset {
    Dataset::from_rows(Domain::new(names.map(|name| (name, 5))).unwrap(), rows).unwrap()
}

#[test]
fn tables_of_the_same_rows_are_recognized_in_any_order_of_rows_and_columns() {
    let private = table(["a", "b"], &[[1, 2], [3, 4], [1, 2]]);
    assert!(are_same_rows(&private, &table(["a", "b"], &[[3, 4], [1, 2], [1, 2]])));
    assert!(are_same_rows(&private, &table(["b", "a"], &[[2, 1], [2, 1], [4, 3]])));
    assert!(are_same_rows(&private, &table(["a", "c"], &[[1, 0], [1, 3], [3, 1]])));
    assert!(!are_same_rows(&private, &table(["a", "b"], &[[1, 2], [3, 4], [3, 4]])));
    assert!(!are_same_rows(&private, &table(["a", "b"], &[[1, 2], [3, 4]])));
    assert!(!are_same_rows(&private, &table(["c", "d"], &[[1, 2], [3, 4], [1, 2]])));
}

/// Collects the notices.
struct Notices(Vec<Notice>);

impl Observer for Notices {
    fn event(&mut self, event: &Event) {
        if let Event::Notice(notice) = event {
            self.0.push(notice.clone());
        }
    }
}

#[test]
fn budgets_that_protect_hardly_anything_are_named() {
    let warned = |epsilon, delta, records| {
        let mut notices = Notices(Vec::new());
        warn_of_budget(Budget::new(epsilon, delta).unwrap(), records, &mut notices);
        notices.0
    };
    assert_eq!(warned(1.0, Some(1e-9), Some(1_000_000)), []);
    assert_eq!(warned(20.0, None, Some(1_000_000)), []);
    assert_eq!(warned(1.0, Some(0.5), None), []);
    let (delta, records) = (1e-3, 1000);
    assert_eq!(warned(1.0, Some(delta), Some(999)), []);
    assert_eq!(warned(1.0, Some(delta), Some(records)), [Notice::LargeDelta { delta, records }]);
    assert_eq!(warned(21.0, Some(1e-9), Some(9)), [Notice::LargeEpsilon { epsilon: 21.0 }]);
}
