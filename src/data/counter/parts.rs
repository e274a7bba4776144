//! Exact counts of the parts of a private table, as files.
//!
//! A file has four parts: a line that says what it is; a line with the length of the next one in bytes; JSON with the names of
//! the parts, those of all parts of the table, and the plan; and the state of the counter. A SHA-256 digest closes it.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::plan::VERSION;
use crate::data::{
    CountPlan, CountedTable, Counter, Destination, Keep, Units, is_standard_input, read_units_csv,
};
use crate::domain::Schema;
use crate::error::{Error, Result};
use crate::observe::Checks;
use crate::privacy::PrivacyUnit;
use jointly_privacy::files::{EXACT_COUNTS, PUBLIC_COUNTS, write_durably, write_privately};

const DIGEST: usize = 32;

/// What was counted of some parts of a private table: as private as their records.
///
/// Parts are counted anywhere, by the same plan, and merged in any order. All names are public: they are part of what tells
/// one part from another.
///
/// ```
/// use jointly::data::{CountPlan, CountedParts};
/// use jointly::{domain::{Clique, Schema}, observe::Unstoppable};
/// let schema = Schema::from_json(r#"{"sex": 2}"#, "domain.json")?;
/// let folder = tempfile::tempdir()?;
/// let part = |name: &str, text: &str| -> std::io::Result<(String, std::path::PathBuf)> {
///     let path = folder.path().join(name);
///     std::fs::write(&path, text)?;
///     Ok((name.to_owned(), path))
/// };
/// let (east, west) = (part("east", "sex\n0\n1\n")?, part("west", "sex\n1\n")?);
/// let plan = CountPlan::new(&schema, &[Clique::new([0])])?;
/// let all = Some(vec!["east".to_owned(), "west".to_owned()]);
/// let mut counts = CountedParts::count(&plan, &[east], all.clone(), &Unstoppable)?;
/// assert!(counts.clone().finish("east.counts").is_err(), "west is missing");
/// let more = CountedParts::count(&plan, &[west], all, &Unstoppable)?;
/// counts.merge(&more, "west.counts")?;
/// assert!(counts.merge(&more, "west.counts").is_err(), "west is there already");
/// assert_eq!(counts.finish("all.counts")?.records(), 3);
/// # use jointly::data::Projectable;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CountedParts {
    counter: Counter,
    /// The names of the parts that were counted, sorted.
    parts: Vec<String>,
    /// The names of all parts of the table, sorted.
    all: Vec<String>,
    /// The units of several records, of which only some were counted; `None` if every record was.
    units: Option<Units>,
    /// Whether the table is public.
    is_public: bool,
}

/// The JSON in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head<'a> {
    version: u32,
    parts: Vec<String>,
    all: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    units: Option<StoredUnits>,
    #[serde(borrow)]
    plan: &'a RawValue,
}

/// Units in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredUnits {
    column: String,
    max_records: u32,
    keep: Keep,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    columns: Option<Vec<String>>,
}

impl StoredUnits {
    pub(super) fn new(units: &Units) -> Self {
        let columns = units.agree().map(<[String]>::to_vec);
        let column = units.column().to_owned();
        Self { column, max_records: units.most(), keep: units.keep(), columns }
    }

    pub(super) fn units(self) -> Result<Units> {
        let units = Units::new(self.column, self.max_records)?.keeping(self.keep);
        Ok(if let Some(columns) = self.columns { units.linked(columns)? } else { units })
    }
}

impl CountedParts {
    /// Counts files, each a part with a name. `all`: the names of all parts of the table; if it is missing, these files are
    /// the whole table.
    ///
    /// # Errors
    /// A name twice, or one that is not among `all`; as [`CountPlan::count_file_or_empty`].
    pub fn count(
        plan: &CountPlan,
        parts: &[(String, PathBuf)],
        all: Option<Vec<String>>,
        checks: &dyn Checks,
    ) -> Result<Self> {
        let names: Vec<String> = parts.iter().map(|(name, _)| name.clone()).collect();
        let names = distinct(names, "the parts to count")?;
        let all = match all {
            Some(all) => distinct(all, "the parts of the table")?,
            None => names.clone(),
        };
        if let Some(unknown) = names.iter().find(|name| !all.contains(name)) {
            let found = format!("part '{unknown}'");
            let expected = format!("one of the table's parts: {}", listed(&all));
            return Err(Error::invalid_specification("the parts to count", found, expected));
        }
        let mut counter = plan.counter();
        for (_, path) in parts {
            counter.count_file(path, checks)?;
        }
        Ok(Self { counter, parts: names, all, units: None, is_public: false })
    }

    /// Counts a whole table in a file, of whose units only some records count. `schema`: of the file; the plan's has the number
    /// of records of a unit too, where rows stay together.
    ///
    /// # Errors
    /// As [`read_units_csv`]; a plan of other attributes.
    pub fn count_units(
        plan: &CountPlan,
        (name, path): (&str, &Path),
        schema: &Schema,
        units: &Units,
    ) -> Result<Self> {
        let mut counter = plan.counter();
        counter.update(&read_units_csv(path, schema, units)?)?;
        Ok(Self { units: Some(units.clone()), ..Self::of_counter(counter, name)? })
    }

    /// The counts of a whole table, however they were made. `name`: of the table.
    ///
    /// # Errors
    /// Rows that did not fit the schema, as [`Counter::finish`].
    pub fn of_counter(counter: Counter, name: &str) -> Result<Self> {
        counter.check()?;
        let names = || vec![name.to_owned()];
        Ok(Self { counter, parts: names(), all: names(), units: None, is_public: false })
    }

    /// The counts of a whole table of units, of each of which only the records that count were counted. Who calls this
    /// answers for that: the noise hides no further records.
    ///
    /// # Errors
    /// As [`of_counter`](Self::of_counter).
    pub fn of_units(counter: Counter, name: &str, units: Units) -> Result<Self> {
        Ok(Self { units: Some(units), ..Self::of_counter(counter, name)? })
    }

    /// Adds the counts of other parts. `place` stands for them in errors.
    ///
    /// # Errors
    /// A part that is there already, or counts by another plan or of another table. Nothing is added then.
    pub fn merge(&mut self, other: &Self, place: &str) -> Result<()> {
        if self.counter.plan().digest() != other.counter.plan().digest() {
            let found = "counts by another plan: another schema, workload, mechanism or version";
            let expected = "counts by the plan of the first file";
            return Err(Error::invalid_specification(place, found, expected));
        }
        if self.is_public != other.is_public {
            let kind = |is_public| if is_public { "a public table" } else { "private records" };
            let found = format!("counts of {}", kind(other.is_public));
            let expected = format!("counts of {}, as in the first file", kind(self.is_public));
            return Err(Error::invalid_specification(place, found, expected));
        }
        if self.all != other.all {
            let found = format!("parts of another table: {}", listed(&other.all));
            let expected = format!("parts of {}, as in the first file", listed(&self.all));
            return Err(Error::invalid_specification(place, found, expected));
        }
        if let Some(twice) = other.parts.iter().find(|part| self.parts.contains(part)) {
            let found = format!("part '{twice}', which was counted already");
            return Err(Error::invalid_specification(place, found, "each part once"));
        }
        self.counter.add(&other.counter)?;
        self.parts.extend(other.parts.iter().cloned());
        self.parts.sort_unstable();
        Ok(())
    }

    /// The names of the counted parts, and of those that are missing.
    pub fn parts(&self) -> (&[String], Vec<&str>) {
        let missing = self.all.iter().filter(|name| !self.parts.contains(name));
        (&self.parts, missing.map(String::as_str).collect())
    }

    /// What was counted by.
    pub fn plan(&self) -> &CountPlan {
        self.counter.plan()
    }

    /// The counted table. `place` stands for the counts in errors.
    ///
    /// # Errors
    /// A part that is missing; as [`Counter::finish`].
    pub fn finish(self, place: &str) -> Result<CountedTable> {
        let missing = self.parts().1;
        if !missing.is_empty() {
            let missing: Vec<String> = missing.into_iter().map(str::to_owned).collect();
            let found = format!("no counts of {}", listed(&missing));
            let expected = "all parts of the table: count and merge them first";
            return Err(Error::invalid_specification(place, found, expected));
        }
        self.counter.finish()
    }

    /// Writes the counts to a file that its owner alone may read.
    ///
    /// # Errors
    /// Standard output or another stream, on which exact counts would go who knows where; a file that cannot be written.
    pub fn write(&mut self, path: &Path) -> Result<()> {
        if !matches!(Destination::of(path), Ok(Destination::File { .. })) {
            let (place, found) = (path.display().to_string(), "no file");
            let expected = "a file: exact counts of private records go nowhere else";
            return Err(Error::invalid_specification(place, found, expected));
        }
        let bytes = self.to_bytes()?;
        let failed = |source| Error::Io { action: "write", path: path.into(), source };
        if self.is_public {
            return write_durably(path, |file| file.write_all(&bytes).map_err(failed));
        }
        write_privately(path, |file| file.write_all(&bytes).map_err(failed))
    }

    /// What [`write`](Self::write) would write, for a program that takes it at once ([`CountRequest`](super::CountRequest)).
    /// **As private as the records.**
    ///
    /// # Errors
    /// None in practice.
    pub fn to_bytes(&mut self) -> Result<Vec<u8>> {
        let plan = self.plan().to_json()?;
        let unwritten = |error: serde_json::Error| {
            Error::invalid_specification("counts", error.to_string(), "writable counts")
        };
        let plan = RawValue::from_string(plan).map_err(unwritten)?;
        let (parts, all) = (self.parts.clone(), self.all.clone());
        let units = self.units.as_ref().map(StoredUnits::new);
        let head = Head { version: VERSION, parts, all, units, plan: &plan };
        let head = serde_json::to_string(&head).map_err(unwritten)?;
        let kind = if self.is_public { PUBLIC_COUNTS } else { EXACT_COUNTS };
        let mut bytes = format!("{kind}\n{}\n{head}", head.len()).into_bytes();
        bytes.extend(self.counter.state()?);
        let digest = Sha256::digest(&bytes);
        bytes.extend(digest);
        Ok(bytes)
    }

    /// The same, of a **public** table: anybody may read its file, [`PublicData`](crate::data::PublicData) is made of it, and no
    /// run takes it for a private table.
    ///
    /// # Errors
    /// Counts of the rows of units, of which only some were counted.
    pub fn of_public_table(self) -> Result<Self> {
        if self.units.is_some() {
            let (found, expected) = ("counts of the rows of units", "counts of all rows");
            return Err(Error::invalid_specification("a public table", found, expected));
        }
        Ok(Self { is_public: true, ..self })
    }

    /// Whether the table is public.
    pub fn is_public(&self) -> bool {
        self.is_public
    }

    /// Whether a file holds counts of private records, by its first bytes. What cannot be opened does not.
    pub fn is_file(path: &Path) -> bool {
        starts_with(path, EXACT_COUNTS)
    }

    /// Whether a file holds counts of a public table, in the same way.
    pub fn is_public_file(path: &Path) -> bool {
        starts_with(path, PUBLIC_COUNTS)
    }

    /// Reads a file that [`write`](Self::write) made.
    ///
    /// # Errors
    /// Another file, one that is cut short or damaged, or an unknown version.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).map_err(|source| Error::Io {
            action: "read",
            path: path.into(),
            source,
        })?;
        Self::from_bytes(&bytes, &path.display().to_string())
    }

    /// Counts from what [`to_bytes`](Self::to_bytes) returned. `place` stands for them in errors.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn from_bytes(bytes: &[u8], place: &str) -> Result<Self> {
        let refused = |found: &str| {
            let expected = "counts that this program wrote";
            Error::invalid_specification(place, found, expected)
        };
        let is_public = bytes.starts_with(PUBLIC_COUNTS.as_bytes());
        if !is_public && !bytes.starts_with(EXACT_COUNTS.as_bytes()) {
            return Err(refused("something else"));
        }
        let Some((content, digest)) = bytes.split_last_chunk::<DIGEST>() else {
            return Err(refused("a file that is cut short"));
        };
        if Sha256::digest(content).as_slice() != digest {
            return Err(refused("a file that is cut short or damaged"));
        }
        let cut = || refused("a file that is cut short");
        let mut lines = content.splitn(3, |byte| *byte == b'\n').skip(1);
        let length = lines.next().and_then(|line| std::str::from_utf8(line).ok()?.parse().ok());
        let rest = lines.next().ok_or_else(cut)?;
        let (head, state) =
            length.and_then(|length| rest.split_at_checked(length)).ok_or_else(cut)?;
        let head: Head<'_> =
            serde_json::from_slice(head).map_err(|_| refused("a head of another form"))?;
        if head.version != VERSION {
            return Err(refused(&format!("version {}", head.version)));
        }
        let plan = CountPlan::from_json(head.plan.get(), place)?;
        let counter = Counter::of_state(&plan, state)?;
        let units = head.units.map(StoredUnits::units).transpose()?;
        Ok(Self { counter, parts: head.parts, all: head.all, units, is_public })
    }

    /// The counted table, for a run that needs the counts of a plan.
    ///
    /// # Errors
    /// Counts under another schema, of other units, or without a marginal that the plan has; as [`finish`](Self::finish).
    pub(crate) fn table_for(
        self,
        plan: &CountPlan,
        unit: &PrivacyUnit,
        place: &str,
    ) -> Result<CountedTable> {
        if self.units.as_ref() != unit.units() {
            let (found, expected) = (of_units(self.units.as_ref()), of_units(unit.units()));
            let expected = format!("{expected}, as in this run");
            return Err(Error::invalid_specification(
                place,
                format!("counts of {found}"),
                expected,
            ));
        }
        let same =
            "the schema, survey weight, workload, largest marginals and mechanism of this run";
        if self.plan().schema().to_json()? != plan.schema().to_json()? {
            let found = "counts under another schema, or with another survey weight";
            return Err(Error::invalid_specification(place, found, format!("counts of {same}")));
        }
        let table = self.finish(place)?;
        if let Some(lacking) = plan.cliques().iter().find(|clique| !table.covers(clique)) {
            let found = format!("no counts of {}", plan.domain().describe(lacking));
            return Err(Error::invalid_specification(place, found, format!("counts of {same}")));
        }
        Ok(table)
    }
}

/// Whose records were counted.
fn of_units(units: Option<&Units>) -> String {
    let Some(units) = units else { return "all records".to_owned() };
    let which = match units.keep() {
        Keep::First => "the first",
        Keep::Hash => "by hash",
    };
    let linked = units.agree().map_or_else(String::new, |columns| {
        format!(", whose rows agree on {}", columns.join(", "))
    });
    format!("{} records of each unit of '{}' ({which}){linked}", units.most(), units.column())
}

/// Names in order, each once.
fn distinct(mut names: Vec<String>, place: &str) -> Result<Vec<String>> {
    names.sort_unstable();
    if names.is_empty() {
        return Err(Error::invalid_specification(place, "no part", "at least one"));
    }
    if let Some(empty) = names.iter().find(|name| name.is_empty()) {
        return Err(Error::invalid_specification(place, format!("'{empty}'"), "parts with names"));
    }
    if let Some(twice) =
        names.iter().zip(&names[1..]).find(|(one, next)| one == next).map(|(one, _)| one)
    {
        let found = format!("part '{twice}' twice");
        let expected = "each part once, under a name of its own";
        return Err(Error::invalid_specification(place, found, expected));
    }
    Ok(names)
}

/// Some names for a message.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("'{name}'")).collect();
    let more = names.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// Whether a file's first bytes are these. Those of what cannot be opened are not.
fn starts_with(path: &Path, kind: &str) -> bool {
    let mut start = Vec::new();
    !is_standard_input(path)
        && path.is_file()
        && File::open(path)
            .and_then(|file| file.take(kind.len() as u64).read_to_end(&mut start))
            .is_ok_and(|_| start == kind.as_bytes())
}

#[cfg(test)]
mod tests;
