//! What the budget means, in plain words.

use crate::privacy::{Budget, PrivacyUnit};

use super::format::short;

/// The guarantee of a release: whose data, and how much anyone can learn of them. `None` where nothing could be spent.
pub(super) fn guarantee(budget: Option<Budget>, unit: &PrivacyUnit) -> String {
    let relation = unit.relation();
    let otherwise = match unit.units() {
        Some(units) => format!(
            "no record of one value of {} had been in the private table (at most {} records of each were used)",
            units.column(),
            units.most()
        ),
        None if relation.has_public_total() => {
            "one record of the private table had had any other values".to_owned()
        }
        None => "one record had not been in the private table".to_owned(),
    };
    let total =
        if relation.has_public_total() { " The number of private records is public." } else { "" };
    let Some(budget) = budget else {
        return format!(
            "Nothing computed from private records is in the table or on this page.{total}"
        );
    };
    let factor = short(budget.epsilon().exp());
    let failure = match budget.delta() {
        0.0 => String::new(),
        delta => format!(", but for a probability of at most \u{3b4} = {delta:e}"),
    };
    format!(
        "Whatever someone concludes from this release, whatever else they know, would be at most {factor} times as likely \
         or unlikely if {otherwise}{failure} (\u{3b5} = {}, e^\u{3b5} = {factor}).{total} Public tables are not protected.",
        budget.epsilon()
    )
}
