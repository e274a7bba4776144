use super::*;

fn message(checkpoint: Option<&str>, spent: Option<fn(Rho, Rho) -> Spent>) -> String {
    let told = Told::new(Some(Path::new("l.json")), checkpoint.map(Path::new));
    let (half, whole) = (Rho::from_f64(0.5).unwrap(), Rho::from_f64(1.0).unwrap());
    Told { spent: spent.map(|spent| spent(half, whole)), ..told }.message()
}

#[test]
fn a_run_without_a_checkpoint_that_has_shown_nothing_has_spent_nothing() {
    assert_eq!(
        message(None, None),
        "interrupted: nothing computed from private rows was shown or written, so nothing is spent"
    );
}

#[test]
fn a_run_with_a_checkpoint_that_has_shown_nothing_does_not_say_that_nothing_is_spent() {
    assert_eq!(
        message(Some("state"), None),
        "interrupted: what was spent so far, if anything, is in state; the same command resumes from state"
    );
}

#[test]
fn merged_values_have_been_paid_for() {
    begin(Told::new(None, None));
    let (spent, limit) = (Rho::from_f64(0.5).unwrap(), Rho::from_f64(1.0).unwrap());
    let notice = Notice::Compressed { attributes: 1, before: 9, after: 3, spent, limit };
    Noting(jointly::observe::Silent).event(&Event::Notice(notice));
    let told = lock().take().map(|told| told.message());
    assert_eq!(told.as_deref(), Some("interrupted: rho = 0.5 of 1 was spent on what was shown"));
}

#[test]
fn what_was_spent_is_stated_with_its_ledger() {
    let rounds = "interrupted: rho = 0.5 of 1 was spent on what was shown, as l.json says";
    assert_eq!(message(None, Some(Spent::OnRounds)), rounds);
    assert_eq!(
        message(Some("state"), Some(Spent::OnRounds)),
        format!("{rounds}; the same command resumes from state")
    );
    let at_once = "interrupted: rho = 0.5 of 1 was spent, as l.json says";
    assert_eq!(message(None, Some(Spent::AtOnce)), at_once);
}
