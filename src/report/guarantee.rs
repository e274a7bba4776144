//! What the budget means, in plain words.

use crate::privacy::{Budget, PrivacyUnit};

use super::format::short;

/// The guarantee of a release: whose data, and how much anyone can learn of them.
///
/// `budget`: `None` where nothing could be spent. `is_private`: whether the noise came from the system's generator.
/// `invariants`: names of tables that are released as they are in the private table, which is said first.
pub(super) fn guarantee(
    budget: Option<Budget>,
    unit: &PrivacyUnit,
    is_private: bool,
    invariants: &[String],
) -> String {
    let unprotected = match invariants {
        [] => String::new(),
        names => format!(
            "Released as they are in the private table, without any protection: {}. What follows holds only among private \
             tables that have the same numbers there. ",
            names.join(", ")
        ),
    };
    unprotected + &of_budget(budget, unit, is_private, !invariants.is_empty())
}

/// What the budget guarantees.
///
/// `beside`: whether something is released without protection.
fn of_budget(budget: Option<Budget>, unit: &PrivacyUnit, is_private: bool, beside: bool) -> String {
    let relation = unit.relation();
    let otherwise = match unit.units() {
        Some(units) => format!(
            "the records of any one {} had not been in the private table (at most {} records of each were used)",
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
        let nothing = if beside { "Nothing else" } else { "Nothing" };
        return format!(
            "{nothing} computed from private records is in the table or on this page.{total}"
        );
    };
    let epsilon = budget.epsilon();
    if !is_private {
        return format!(
            "There is no guarantee: the noise came from a fixed seed, which is for tests, and whoever knows the seed can \
             remove the noise. The same run with noise from the system's generator would have \u{3b5} = {epsilon}."
        );
    }
    let factor = short(epsilon.exp());
    let failure = match budget.delta() {
        0.0 => String::new(),
        delta => format!(", but for a probability of at most \u{3b4} = {delta:e}"),
    };
    format!(
        "Whatever anyone concludes from this release, and whatever else they know, the probability of that conclusion \
         would change by a factor of at most {factor} (e^\u{3b5} with \u{3b5} = {epsilon}) if {otherwise}{failure}.{total} \
         Public tables are not protected."
    )
}

#[cfg(test)]
mod tests;
