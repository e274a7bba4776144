//! The tables that a fit is given, and where each is from.

use std::collections::HashSet;

use serde::Serialize;

use crate::data::{Protection, PublishedTable, read_measurements, read_published};
use crate::domain::Schema;
use crate::error::{Error, Result};
use crate::estimation::Target;
use crate::fit::FitJob;
use crate::measurement::{Measurement, Provenance};
use crate::observe::{Event, Notice, Observer};
use crate::synthesis::PublicFile;

/// What kind of counts a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// They hold exactly.
    Exact,
    /// They are rounded.
    Rounded,
    /// Those below a threshold are suppressed.
    Suppressed,
    /// They have noise.
    Noisy,
}

impl Kind {
    /// The name, for readers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Rounded => "rounded",
            Self::Suppressed => "suppressed",
            Self::Noisy => "noisy",
        }
    }
}

/// Where a table is from, which says what the fit may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// It is public.
    Public,
    /// Private records, measured with noise that a ledger paid for.
    Ledger,
    /// Private records. A person cleared it for release: it is not differentially private.
    Cleared,
}

impl Origin {
    /// The name, for readers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Ledger => "paid by the ledger",
            Self::Cleared => "cleared by hand",
        }
    }
}

/// A table that a fit is given.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownTable {
    /// The name of the file it is from.
    pub name: String,
    /// What its counts are.
    pub kind: Kind,
    /// Where it is from.
    pub origin: Origin,
    /// What is known.
    pub target: Target,
}

/// A file of one published table.
struct Published {
    file: PublicFile,
    kind: Kind,
    protection: Protection,
}

impl FitJob {
    /// The files of published tables.
    fn published(&self) -> Result<Vec<Published>> {
        let exact = |file: &PublicFile| Published {
            file: file.clone(),
            kind: Kind::Exact,
            protection: Protection::None,
        };
        let mut all: Vec<Published> = self.totals.iter().map(exact).collect();
        for text in &self.rounded {
            let (base, file) =
                split("rounded", text, "BASE:[NAME=]FILE, such as 5:age.csv or random-3:age.csv")?;
            let by = match base.strip_prefix("random-") {
                Some(base) => number("rounded", base)? - 1.0,
                None => number("rounded", base)? / 2.0,
            };
            all.push(Published { file, kind: Kind::Rounded, protection: Protection::Rounded(by) });
        }
        for text in &self.suppressed {
            let (below, file) = split("suppressed", text, "N:[NAME=]FILE, such as 10:age.csv")?;
            let protection = Protection::Suppressed(number("suppressed", below)?);
            all.push(Published { file, kind: Kind::Suppressed, protection });
        }
        Ok(all)
    }

    /// All files of tables, with their names.
    ///
    /// # Errors
    /// Two with the same name; a name in `cleared` that none has; text that is no base and file.
    pub(super) fn files(&self) -> Result<Vec<PublicFile>> {
        let published = self.published()?.into_iter().map(|one| one.file);
        let files: Vec<PublicFile> = published.chain(self.measurements.iter().cloned()).collect();
        let mut names = HashSet::new();
        if let Some(file) = files.iter().find(|file| !names.insert(&*file.name)) {
            let (found, expected) =
                (format!("'{}' twice", file.name), "distinct names (NAME=FILE)");
            return Err(Error::invalid_specification("names of tables", found, expected));
        }
        if let Some(unknown) = self.cleared.iter().find(|name| !names.contains(&***name)) {
            let known: Vec<&str> = files.iter().map(|file| &*file.name).collect();
            let expected = format!("names of tables: {}", known.join(", "));
            return Err(Error::invalid_specification("cleared", format!("'{unknown}'"), expected));
        }
        Ok(files)
    }

    /// All tables, read.
    pub(super) fn known(
        &self,
        schema: &Schema,
        observer: &mut dyn Observer,
    ) -> Result<Vec<KnownTable>> {
        let is_cleared = |name: &str| self.cleared.iter().any(|cleared| cleared == name);
        let mut known = Vec::new();
        for Published { file: PublicFile { name, path }, kind, protection } in self.published()? {
            let PublishedTable { clique, least, most, unlisted } =
                read_published(&path, schema, protection)?;
            if unlisted > 0 && kind == Kind::Exact {
                let (unlisted, cells) = (unlisted as u64, least.len() as u64);
                let notice = Notice::TotalsUnlisted { totals: name.clone(), unlisted, cells };
                observer.event(&Event::Notice(notice));
            }
            let target = match kind {
                Kind::Exact => Target::Exact { clique, values: least },
                _ => Target::Between { clique, least, most },
            };
            let origin = if is_cleared(&name) { Origin::Cleared } else { Origin::Public };
            known.push(KnownTable { name, kind, origin, target });
        }
        for PublicFile { name, path } in &self.measurements {
            for measurement in read_measurements(path, schema)? {
                let origin = self.origin(name, &measurement)?;
                let (name, target) = (name.clone(), Target::Noisy(measurement));
                known.push(KnownTable { name, kind: Kind::Noisy, origin, target });
            }
        }
        Ok(known)
    }

    /// Where a noisy table is from.
    fn origin(&self, name: &str, measurement: &Measurement) -> Result<Origin> {
        if self.cleared.iter().any(|cleared| cleared == name) {
            return Ok(Origin::Cleared);
        }
        if measurement.provenance == Provenance::Private && measurement.stddev <= 0.0 {
            return Err(Error::invalid_specification(
                format!("the measurements '{name}'"),
                "counts of a private table without noise, which no ledger pays for",
                "noise, a public source, or their name in `cleared`",
            ));
        }
        match (&measurement.provenance, &self.ledger) {
            (Provenance::Public { .. }, _) => Ok(Origin::Public),
            (Provenance::Private, Some(_)) => Ok(Origin::Ledger),
            (Provenance::Private, None) => Err(Error::invalid_specification(
                format!("the measurements '{name}'"),
                "noisy counts of a private table, and no ledger that paid for them",
                "`ledger`, the file that the run wrote, or their name in `cleared`",
            )),
        }
    }
}

/// The number before the first colon, and the file after it.
fn split<'t>(
    setting: &'static str,
    text: &'t str,
    expected: &'static str,
) -> Result<(&'t str, PublicFile)> {
    match text.split_once(':') {
        Some((number, file)) => Ok((number, file.parse()?)),
        None => Err(Error::invalid_specification(setting, format!("'{text}'"), expected)),
    }
}

/// A whole number of at least 1.
fn number(setting: &'static str, text: &str) -> Result<f64> {
    let number = text.parse::<u32>().ok().filter(|number| *number >= 1);
    let wrong = || {
        Error::invalid_specification(
            setting,
            format!("'{text}'"),
            "a whole number of at least 1 before the colon",
        )
    };
    number.map(f64::from).ok_or_else(wrong)
}
