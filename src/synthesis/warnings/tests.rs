use super::*;
use crate::observe::Event;

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
