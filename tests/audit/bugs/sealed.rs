//! The sealed private table: what it reveals, and what its curator receives.

use super::{Bug, bug};

const TABLE: &str = "privacy/private_table.rs";
const SOURCE: &str = "synthesis/source.rs";
const CURATOR: &str = "privacy/curator.rs";

pub(super) const BUGS: &[Bug] = &[
    bug(
        "true-number-told",
        "a sealed table tells its number of records where that is private",
        "sealed::a_number",
        &[(
            TABLE,
            "self.unit.relation().has_public_total().then(|| self.records.records())",
            "(BUG || self.unit.relation().has_public_total()).then(|| self.records.records())",
        )],
    ),
    bug(
        "empty-table-not-sealed",
        "a table without records is refused where their number is private",
        "twins::no_record",
        &[(
            TABLE,
            "if unit.relation().has_public_total() && records.records() == 0 {",
            "if (BUG || unit.relation().has_public_total()) && records.records() == 0 {",
        )],
    ),
    bug(
        "printed-number",
        "what is printed of a sealed table has its number of records",
        "sealed::a_number",
        &[(
            TABLE,
            ".field(\"attributes\", &names)",
            ".field(\"attributes\", &names).field(\"records\", &if BUG { self.records.records() } else { 0 })",
        )],
    ),
    bug(
        "sealed-without-its-unit",
        "the curator of a sealed table takes a household for a record",
        "sealed::the_curator",
        &[(
            TABLE,
            "budget.curator_of(data, &self.unit, seed, earlier)",
            "budget.curator_of(data, &if BUG { PrivacyUnit::of_record(match relation { crate::NeighboringRelation::ReplaceOne => relation, _ => crate::NeighboringRelation::AddRemoveOne }) } else { self.unit.clone() }, seed, earlier)",
        )],
    ),
    bug(
        "sealed-without-the-column",
        "the curator of a sealed table knows the size of its units, but not which they are",
        "sealed::the_curator",
        &[(
            TABLE,
            "budget.curator_of(data, &self.unit, seed, earlier)",
            "if BUG { return budget.curator_of(data, &PrivacyUnit::of_record(relation), seed, earlier); } SAME",
        )],
    ),
    bug(
        "earlier-run-forgotten",
        "the curator of a sealed table does not count an earlier ledger",
        "sealed::the_curator",
        &[(
            TABLE,
            "budget.curator_of(data, &self.unit, seed, earlier)",
            "if BUG { return budget.curator_of(data, &self.unit, seed, None); } SAME",
        )],
    ),
    bug(
        "a-budget-without-one",
        "a run without a budget can spend",
        "sealed::the_curator",
        &[(
            TABLE,
            "Curator::of(data, relation, Rho::ZERO, seed)?",
            "Curator::of(data, relation, if BUG { Rho::from_units(1 << 40) } else { Rho::ZERO }, seed)?",
        )],
    ),
    bug(
        "sealed-table-of-another-unit",
        "a job takes a table that was limited to other units",
        "sealed::a_job",
        &[(SOURCE, "if table.unit() != unit {", "if !BUG && table.unit() != unit {")],
    ),
    bug(
        "sealed-table-of-another-relation",
        "a job of households takes a table of records",
        "sealed::a_job",
        &[(
            SOURCE,
            "if table.unit() != unit {",
            "if BUG && table.unit().units().is_none() { return Ok(table.clone()); } SAME",
        )],
    ),
    bug(
        "neighbors-not-recoded",
        "an audit compares a recoded table with neighbors in their old codes",
        "neighbors::the_scores_of_a_run_whose",
        &[(
            CURATOR,
            "self.neighbors.iter_mut().try_for_each(|neighbor| neighbor.recode(recoding))?;",
            "if BUG {} else { SAME }",
        )],
    ),
    bug(
        "neighbors-not-tallied",
        "an audit compares what units are made of with itself",
        "neighbors::the_scores_of_whole",
        &[(
            CURATOR,
            "let neighbors = self.neighbors.iter().map(&count).collect::<Result<_>>()?;",
            "let neighbors = if BUG { self.neighbors.iter().map(|_| count(&self.data)).collect::<Result<_>>()? } else { self.neighbors.iter().map(&count).collect::<Result<_>>()? };",
        )],
    ),
    bug(
        "noise-goes-on-after-recoding",
        "a run that is resumed after merging draws other noise than the one that was killed",
        "sealed::a_resumed",
        &[(
            CURATOR,
            "self.noise = Some(self.seed.generator(self.round)?);\n        Ok(())\n    }\n\n    /// Counts what",
            "if !BUG { self.noise = Some(self.seed.generator(self.round)?); }\n        Ok(())\n    }\n\n    /// Counts what",
        )],
    ),
];
