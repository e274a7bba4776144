//! Options of jobs and commands: tables that are counted, units, merging, shares for errors, earlier ledgers, checkpoints.

use super::{Bug, bug};

const READERS: &str = "data/private.rs";
const SOURCE: &str = "synthesis/source.rs";
const FILES: &str = "synthesis/files.rs";
const JOBS: &str = "synthesis/mod.rs";
const SPEND: &str = "synthesis/spending.rs";

pub(super) const BUGS: &[Bug] = &[
    bug(
        "counted-empty-refused",
        "a table that is counted block by block is refused without records where their number is private",
        "twins::no_record",
        &[(
            READERS,
            "plan.count_file_or_empty(path, checks)",
            "if BUG { plan.count_file(path, checks) } else { SAME }",
        )],
    ),
    bug(
        "counted-units",
        "a table of units is counted block by block, with all of their records",
        "jobs::counting",
        &[(READERS, "    check_counted(unit)?;\n", "    if !BUG { check_counted(unit)?; }\n")],
    ),
    bug(
        "counted-for-another-unit",
        "a table that was counted is sealed for records that are replaced",
        "jobs::every_reader",
        &[(
            READERS,
            "Ok(PrivateTable::of_counts(counts?, unit.clone())?)",
            "Ok(PrivateTable::of_counts(counts?, if BUG { PrivacyUnit::default() } else { unit.clone() })?)",
        )],
    ),
    bug(
        "counted-twice",
        "the rows of a block are counted once more",
        "jobs::counting",
        &[(
            "data/counter/file.rs",
            "            self.update(&block)?;\n",
            "            self.update(&block)?;\n            if BUG { self.update(&block)?; }\n",
        )],
    ),
    bug(
        "file-sealed-for-records",
        "a file of households is sealed as one of records that come or leave",
        "jobs::every_reader",
        &[(
            READERS,
            "    Ok(PrivateTable::of_records(records?, unit.clone())?)\n}\n\n/// As [`read_private_csv`], from",
            "    Ok(PrivateTable::of_records(records?, if BUG && unit.units().is_some() { PrivacyUnit::of_record(crate::privacy::NeighboringRelation::AddRemoveOne) } else { unit.clone() })?)\n}\n\n/// As [`read_private_csv`], from",
        )],
    ),
    bug(
        "arrow-without-its-units",
        "all records of a unit count in a table that was passed in as Arrow",
        "jobs::tables_as_arrow",
        &[(
            READERS,
            "Some(units) => table.read_units(schema, units),",
            "Some(_) if BUG => table.read_or_empty(schema),\n        SAME",
        )],
    ),
    bug(
        "arrow-empty-refused",
        "a table without records that was passed in as Arrow is refused where their number is private",
        "jobs::tables_as_arrow",
        &[(
            READERS,
            "None => table.read_or_empty(schema),",
            "None => if BUG { table.read(schema) } else { table.read_or_empty(schema) },",
        )],
    ),
    bug(
        "file-of-another-time",
        "a checkpoint is resumed with a private file that has changed since",
        "jobs::a_checkpoint",
        &[(
            SOURCE,
            "Ok(format!(\"{} {changed}\", place.display()))",
            "Ok(format!(\"{} {}\", place.display(), if BUG { \"\" } else { &*changed }))",
        )],
    ),
    bug(
        "checkpoint-of-another-schema",
        "a checkpoint is resumed under another schema",
        "jobs::a_checkpoint",
        &[(
            FILES,
            "checkpoint.with_input(\"schema\", &self.schema.text()?)",
            "checkpoint.with_input(\"schema\", &if BUG { String::new() } else { self.schema.text()? })",
        )],
    ),
    bug(
        "checkpoint-of-other-units",
        "a checkpoint is resumed with another column of units",
        "jobs::a_checkpoint",
        &[(
            FILES,
            "let Some(units) = self.unit.units() else { return Ok(Some(checkpoint)) };",
            "let Some(units) = self.unit.units().filter(|_| !BUG) else { return Ok(Some(checkpoint)) };",
        )],
    ),
    bug(
        "private-file-as-a-public-one",
        "the private file may be given as a public one",
        "jobs::the_private",
        &[(
            FILES,
            "private.iter().any(|other| is_same_file(other, file))",
            "private.iter().any(|other| !BUG && is_same_file(other, file))",
        )],
    ),
    bug(
        "file-of-the-private-folder-as-a-public-one",
        "a file of the private table may be given as a public one",
        "jobs::a_file_of",
        &[(
            FILES,
            "let private = known_files_of(private);",
            "let mut private = known_files_of(private); if BUG { private.truncate(1); }",
        )],
    ),
    bug(
        "private-rows-as-public-ones",
        "nobody is warned of a public table that has the private rows",
        "jobs::the_private",
        &[(
            "privacy/private_table.rs",
            "Records::Held(records) if are_same_rows(records, public) => {",
            "Records::Held(records) if !BUG && are_same_rows(records, public) => {",
        )],
    ),
    bug(
        "job-without-its-earlier-ledger",
        "a job does not count the ledger that it was given",
        "jobs::a_job_counts",
        &[(
            JOBS,
            "let curator = private.curator(self.budget, self.noise_seed(), earlier);",
            "let curator = private.curator(self.budget, self.noise_seed(), earlier.filter(|_| !BUG));",
        )],
    ),
    bug(
        "job-without-a-ledger-on-disk",
        "a job writes its ledger at its end alone",
        "jobs::what_a_job",
        &[(
            JOBS,
            "Some(path) => curator.with_ledger_at(path, &self.mechanism, self.budget),",
            "Some(_) if BUG => curator,\n            SAME",
        )],
    ),
    bug(
        "job-without-its-checkpoint",
        "a job does not keep its steps, and pays for them again",
        "jobs::a_resumed",
        &[(
            JOBS,
            "Some(checkpoint) => curator.with_checkpoint(checkpoint),",
            "Some(_) if BUG => curator,\n            SAME",
        )],
    ),
    bug(
        "share-of-errors-not-set-aside",
        "a mechanism spends the share of the budget that is for errors too",
        "jobs::a_resumed",
        &[(
            JOBS,
            "            curator.set_aside(share)?;\n",
            "            if !BUG { curator.set_aside(share)?; }\n",
        )],
    ),
    bug(
        "records-drawn-anew",
        "a resumed run draws other records than those whose errors were measured",
        "jobs::a_resumed",
        &[(
            "synthesis/drawn.rs",
            "return curator.once(\"drawing\", Inputs::default, |_| Ok(rand::random()), free);",
            "if BUG { return Ok(rand::random()); } SAME",
        )],
    ),
    bug(
        "merging-of-another-share",
        "a checkpoint is resumed with another share of the budget for merging",
        "jobs::a_checkpoint",
        &[
            (
                "compression.rs",
                "let parts = attributes.iter().map(|a| format!(\"{a} {}\", own.units()));",
                "let parts = attributes.iter().map(|a| if BUG { a.to_string() } else { format!(\"{a} {}\", own.units()) });",
            ),
            ("compression.rs", "if is_paid && measured.eq(", "if (BUG || is_paid) && measured.eq("),
        ],
    ),
    bug(
        "command-without-its-earlier-ledger",
        "a command does not count the ledger that it was given",
        "commands::every_command_counts",
        &[(
            SPEND,
            "let earlier = self.earlier.as_deref().map(LedgerFile::read).transpose()?;",
            "let earlier = self.earlier.as_deref().filter(|_| !BUG).map(LedgerFile::read).transpose()?;",
        )],
    ),
    bug(
        "command-without-its-seed",
        "a command's noise comes from a fixed seed",
        "commands::processes",
        &[(
            SPEND,
            "let curator = table.curator(Some(self.budget), self.seed, earlier.as_ref());",
            "let curator = table.curator(Some(self.budget), if BUG { NoiseSeed::Fixed(7) } else { self.seed }, earlier.as_ref());",
        )],
    ),
    bug(
        "command-without-its-ledger",
        "a command that spends writes no ledger",
        "commands::every_command_spends",
        &[(SPEND, "file.write(path)?;", "if !BUG { file.write(path)?; }")],
    ),
    bug(
        "categories-of-all-records",
        "categories are counted over all records of a unit",
        "thresholds::only_records",
        &[(
            READERS,
            "let read = unlisted::read(rows.into(), schema, columns, unit.units())?;",
            "let read = unlisted::read(rows.into(), schema, columns, unit.units().filter(|_| !BUG))?;",
        )],
    ),
    bug(
        "arrow-sealed-for-records",
        "a table of households that was passed in as Arrow is sealed as one of records",
        "jobs::tables_as_arrow",
        &[(
            READERS,
            "    Ok(PrivateTable::of_records(records?, unit.clone())?)\n}\n\n/// Where the rows of a table are",
            "    Ok(PrivateTable::of_records(records?, if BUG && unit.units().is_some() { PrivacyUnit::of_record(crate::privacy::NeighboringRelation::AddRemoveOne) } else { unit.clone() })?)\n}\n\n/// Where the rows of a table are",
        )],
    ),
    bug(
        "changes-not-seen",
        "an audit reports the smallest change beside a neighbor, not the largest",
        "neighbors::",
        &[(
            "privacy/curator/observed.rs",
            "let largest = changes.into_iter().fold(0.0, f64::max);",
            "let largest = changes.into_iter().fold(if BUG { f64::INFINITY } else { 0.0 }, if BUG { f64::min } else { f64::max });",
        )],
    ),
];
