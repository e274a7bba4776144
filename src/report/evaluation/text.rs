//! The measures of an evaluation as text.

use std::fmt::Write;

use crate::evaluation::{
    BrokenRule, CorrelationDifference, EditComparison, Measures, MembersComparison, Pair,
    TablesError, UnitComparison, Yardstick,
};
use crate::report::format::{grouped, percent, short};
use crate::report::numbers::{numbers, regression};

/// The measures for readers, as `jointly evaluate` prints them. **Not private**, as its first line says.
pub fn text(found: &Measures) -> String {
    let error = &found.error;
    let mut text = String::from(
        "NOT PRIVATE: these numbers are computed from the real records. Do not publish them.\n\n",
    );
    let mut row = |name: &str, value: &str| _ = writeln!(text, "{name:<44}{value:>12}");
    row("Records, real", &grouped(found.real_records as u64));
    row("Records, synthetic", &grouped(found.synthetic_records as u64));
    if let Some(weight) = &found.weight {
        row("All errors are those of tables weighted by", weight);
    }
    row("Cliques in the workload", &grouped(error.cliques));
    if found.left_out > 0 {
        row("Cliques left out for their cells", &grouped(found.left_out as u64));
    }
    row("Single queries (cells)", &grouped(error.queries));
    row("Workload error (mean L1 distance, 0 to 2)", &short(error.mean_l1));
    row("  of independent one-way marginals", &short(found.independent_error));
    if let Some(Yardstick { half_error, .. }) = &found.yardstick {
        row("  of a random half of the real records", &short(*half_error));
    }
    row("Largest L1 distance of a marginal", &short(error.max_l1));
    row("Query error, largest", &short(error.max_query));
    row("Query error, mean", &short(error.mean_query));
    row("Query error, root mean square", &short(error.rmse_query));
    rows(found).iter().for_each(|(name, value)| row(name, value));
    if let Some(verdict) = verdict(found) {
        _ = writeln!(text, "\n{verdict}");
    }
    if !error.worst.is_empty() {
        text.push_str("\nWorst marginals (L1 distance, largest cell, cells):\n");
    }
    for worst in &error.worst {
        let (l1, max) = (short(worst.l1), short(worst.max));
        let clique = worst.clique.join(" x ");
        _ = writeln!(text, "{l1:>10}{max:>11}{:>9}  {clique}", grouped(worst.cells));
    }
    found.numbers.iter().for_each(|found| text.push_str(&numbers(found)));
    found.regressions.iter().for_each(|found| text.push_str(&regression(found)));
    text
}

/// How large the error is, in one sentence; `None` for a small table.
pub(super) fn verdict(found: &Measures) -> Option<String> {
    let Some(fraction) = found.yardstick?.fraction else {
        let text = "The synthetic table is further from the real one than a random sample of ten of its records.";
        return Some(text.to_owned());
    };
    if fraction >= 1.0 {
        return Some("The synthetic table has the marginals of the real one.".to_owned());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most the records"
    )]
    let sample = (fraction * found.real_records as f64).round() as u64;
    Some(format!(
        "The synthetic table is about as far from the real one as a random sample of {} of its records ({}).",
        percent((fraction * 1e4).round() / 1e4),
        grouped(sample),
    ))
}

/// Names and values of the measures beside the workload error, a pair for each line.
pub(super) fn rows(found: &Measures) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: &str| rows.push((name.to_owned(), value.to_owned()));
    if let Some(found) = &found.k_marginal {
        row(&format!("{}-marginal score (0 to 1000)", found.k), &short(found.score));
        row("  marginals", &grouped(found.marginals));
    }
    if let Some(found) = &found.propensity {
        row("Propensity mean squared error", &short(found.pmse));
        row("  ratio to that of resampled real records", &short(found.ratio));
    }
    if let Some(CorrelationDifference { pearson, cramers_v, .. }) = &found.correlation {
        let largest = |pair: &[String; 2]| format!("  largest ({} x {})", pair[0], pair[1]);
        row("Pearson correlation, mean difference", &short(pearson.mean));
        row(&largest(&pearson.worst), &short(pearson.max));
        row("Cramér's V, mean difference", &short(cramers_v.mean));
        row(&largest(&cramers_v.worst), &short(cramers_v.max));
    }
    if let Some(found) = &found.unique_matches {
        row("Unique real records", &grouped(found.unique));
        row("  of them in the synthetic table", &grouped(found.matched));
        row("  as a share of the unique ones", &percent(found.share_of_unique));
    }
    if let Some(found) = &found.singles_and_pairs {
        row("Single attributes, mean L1 distance", &short(found.singles.mean_l1));
        row("  largest error of a value", &short(found.singles.max_query));
        row("Pairs, mean L1 distance", &short(found.pairs.mean_l1));
        row("  largest error of a cell", &short(found.pairs.max_query));
    }
    for found in &found.predictions {
        row(
            &format!("Classifier of {}, area under ROC", found.attribute),
            &short(found.synthetic.area),
        );
        row("  the same, trained on real records", &short(found.real.area));
        row("  right, share of real records", &percent(found.synthetic.right));
        row("  the same, trained on real records", &percent(found.real.right));
        row("  by the most frequent value", &percent(found.most_frequent));
    }
    if let Some(EditComparison { real, synthetic }) = &found.edit_rules {
        row("Records against an edit rule, synthetic", &grouped(synthetic.violating));
        row("  as a share", &percent(synthetic.share));
        row("  real, as a share", &percent(real.share));
        for rule in synthetic.rules.iter().filter(|rule| rule.violations > 0) {
            row(&format!("  against '{}'", rule.name), &grouped(rule.violations));
        }
    }
    if let Some(found) = &found.by_groups {
        row("Group score (mean L1 distance, 0 to 2)", &short(found.score));
        row("  in NIST's points (0 to 1000)", &short(found.points));
        row("  marginals in each group", &grouped(found.marginals));
        row("  groups", &grouped(found.groups));
        row("  of them in one table only, or off by > 250", &grouped(found.penalized));
    }
    found.by_units.iter().for_each(|found| units(found, &mut row));
    found.with_members.iter().for_each(|found| members(found, &mut row));
    rows
}

fn units(found: &UnitComparison, row: &mut impl FnMut(&str, &str)) {
    let shares = |pair: &Pair<f64>| format!("{} ({})", percent(pair.synthetic), percent(pair.real));
    row("Units, real", &grouped(found.units.real));
    row("Units, synthetic", &grouped(found.units.synthetic));
    row("  sizes, L1 distance (0 to 2)", &short(found.sizes_l1));
    row("Units that contradict themselves (real)", &shares(&found.contradictions));
    for column in &found.columns {
        row(&format!("  in {} (real)", column.name), &shares(&column.contradictions));
        row("    shares of units, L1 distance", &short(column.l1));
        row("    with the size, L1 distance", &short(column.l1_with_size));
    }
    for counts in &found.counts {
        let names = ["none", "one", "more"];
        for ((name, real), made) in
            names.iter().zip(counts.shares.real).zip(counts.shares.synthetic)
        {
            let shares = shares(&Pair { real, synthetic: made });
            row(&format!("Units with {name} of {} (real)", counts.evidence), &shares);
        }
    }
    row("Units of several records that differ (real):", "");
    for column in &found.others {
        row(&format!("  in {}", column.name), &shares(&column.differing));
    }
}

fn members(found: &MembersComparison, row: &mut impl FnMut(&str, &str)) {
    row("Units with their members, mean L1 distance (0 to 2):", "");
    let one = Some(&found.one_member);
    let parts = [
        ("columns of one member", one),
        ("columns of two members", found.two_members.as_ref()),
        ("what units are made of", found.compositions.as_ref()),
    ];
    for (name, part) in parts {
        if let Some(TablesError { tables, mean_l1 }) = part {
            row(&format!("  {name}, {} tables", grouped(*tables as u64)), &short(*mean_l1));
        }
    }
    if !found.rules.is_empty() {
        row("Units whose members break a rule (real):", "");
    }
    for BrokenRule { rule, units } in &found.rules {
        row(
            &format!("  {rule}"),
            &format!("{} ({})", percent(units.synthetic), percent(units.real)),
        );
    }
}
