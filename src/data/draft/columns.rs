//! What a column is, by its public values: a number, a date, codes, or something to leave out.

use super::patterns::Change;
use super::tables::{MOST_TEXT_CODES, Numbers, ObservedColumn};
use super::{Drafted, is_weight};
use crate::domain::{Kind, Role, SchemaColumn};
use crate::error::Result;

/// Distinct whole numbers, with gaps between them, above which a column is a number and not codes.
const MOST_NUMERIC_CODES: usize = 40;

/// Distinct whole numbers up to which a column may well hold codes.
const FEW_NUMBERS: usize = 12;

/// What to say of them.
const FEW_CODES: &str = "few whole numbers, taken as a number with a bin each; if they are codes, set 'kind' to \
                         'categorical' and list them in 'codes'";

/// Public rows of the rarest code below which values may have been missed. It was chosen on Adult, whose rarest country has one
/// row of 48,842.
const RARE: u64 = 10;

/// Rows below which values that never repeat say nothing.
const ENOUGH_ROWS: u64 = 30;

/// Average length of a text, in bytes, from which it is free text if it has blanks.
const LONG: u64 = 25;

impl ObservedColumn {
    /// The column that accepts the observed values, and what to look at in it.
    pub(super) fn column(&self) -> Result<Drafted> {
        let mut remarks = self.about_marks(&[]);
        remarks.extend(self.about_notation());
        let mut kind = None;
        let notation = self.found.as_ref().map(|found| found.notation.clone());
        if let Some(days) = self.days() {
            let (bins, unit) = days.date_bins(&self.name)?;
            remarks.push(format!("dates, in bins of {unit}; times of day are dropped"));
            kind = Some(Kind::Date(bins.with_notation(notation.clone())));
        } else if self.is_number()
            && let Some(values) = self.values(None)
            && let Some(bins) = values.bins(&self.name)?
        {
            remarks.extend(values.remarks(&bins));
            remarks.extend(Change::remark(&self.changes));
            kind = Some(Kind::Numeric(bins.with_notation(notation.clone())));
        }
        let (role, reason) = self.role(kind.as_ref());
        if role == Role::Attribute
            && matches!(kind, Some(Kind::Numeric(_)))
            && self.counts.len() <= FEW_NUMBERS
            && self.numbers.whole
        {
            remarks.push(FEW_CODES.into());
        }
        if role == Role::Attribute && kind.is_none() {
            remarks.extend(self.about_numbers());
            let mut codes: Vec<String> = self.texts().into_iter().map(String::from).collect();
            let other = self.catch_all(&mut codes, &mut remarks);
            let groups = Vec::new();
            kind = Some(Kind::Categorical { codes, labels: None, other, groups });
        }
        if role != Role::Attribute {
            remarks = reason.into_iter().collect();
            kind = None;
        }
        if role == Role::Weight && !self.missing() {
            // For `--weight`; a weight is in no table otherwise.
            kind = self
                .values(None)
                .and_then(|values| values.weight_bins(&self.name).ok())
                .map(|bins| Kind::Numeric(bins.with_notation(notation)));
        }
        let na = self.missing() && kind.is_some();
        let column = SchemaColumn { kind, na, ..SchemaColumn::ignored(self.name.clone(), role) };
        Ok((column, remarks))
    }

    /// A code for texts that are not listed, if some of the listed ones are so rare that others may well have been missed.
    fn catch_all(&self, codes: &mut Vec<String>, remarks: &mut Vec<String>) -> Option<u32> {
        let (rarest, rows) = self.counts.iter().min_by_key(|(_, rows)| **rows)?;
        if *rows >= RARE || codes.len() < 3 || self.rows < ENOUGH_ROWS {
            return None;
        }
        let is_other = |code: &String| code.eq_ignore_ascii_case("other");
        let at = codes.iter().position(is_other).unwrap_or_else(|| {
            codes.push("other".to_owned());
            codes.len() - 1
        });
        let (rows, other) =
            (if *rows == 1 { "one row".into() } else { format!("{rows} rows") }, &codes[at]);
        remarks.push(format!(
            "'{rarest}' is in {rows} of the public tables, so a private table may have values that these lack: they \
             count as '{other}'; if it cannot, take out the member 'other'"
        ));
        u32::try_from(at).ok()
    }

    /// Marks of missing values other than empty text and those that a document names.
    pub(super) fn about_marks(&self, documented: &[String]) -> Vec<String> {
        let is_new = |mark: &String| !mark.is_empty() && !documented.contains(mark);
        let marks = self.marks.iter().filter(|(mark, _)| is_new(mark));
        let remark = |(mark, rows): (&String, &u64)| {
            format!(
                "'{mark}' in {:.1} % of the rows is read as missing; if it is a value, take it out of \
                 'missing' and 'na_token' and into 'codes'",
                100.0 * *rows as f64 / self.rows.max(1) as f64
            )
        };
        marks.map(remark).collect()
    }

    /// What to say of the way in which the cells are written.
    pub(super) fn about_notation(&self) -> Option<String> {
        let found = self.found.as_ref()?;
        let text = format!("written like '{}' ('notation')", found.notation.text());
        let Some(other) = &found.doubt else { return Some(text) };
        let name = if found.notation.is_date() { "dates" } else { "decimal" };
        Some(format!("{text}; it could also be '{}': `{name}` decides", other.text()))
    }

    /// Whether the column is one of numbers or dates.
    pub(super) fn has_numbers(&self) -> bool {
        self.days().is_some() || self.is_number()
    }

    /// Whether the values are numbers and not codes: many, or fractions, or whole numbers without large gaps.
    fn is_number(&self) -> bool {
        let distinct = self.counts.len();
        let Numbers { all, whole, low, high } = self.numbers;
        let dense = high - low < 1.5 * distinct as f64 + 1.0;
        all && distinct > 2 && (distinct > MOST_NUMERIC_CODES || !whole || dense)
    }

    /// The role, with a reason where the column is left out.
    fn role(&self, kind: Option<&Kind>) -> (Role, Option<String>) {
        const TO_MODEL: &str = "to model it, set 'role' to 'attribute'";
        let distinct = self.counts.len();
        let is_number = matches!(kind, Some(Kind::Numeric(_)));
        let name = self.name.to_ascii_lowercase();
        let weight = is_weight(&self.name) || name.contains("wgt");
        let long = self.bytes >= LONG * self.present() && self.blanks >= self.present();
        let out = |role, reason: String| (role, Some(reason));
        match () {
            () if weight && (is_number || distinct <= 1) => {
                let text = "named like a survey weight: not modeled; `synth --weight` makes a release of \
                            the population that its records stand for";
                out(Role::Weight, text.into())
            }
            () if distinct == 0 => out(Role::Constant, "no value in any row: left out".into()),
            () if distinct == 1 && !self.missing() => out(
                Role::Constant,
                "the same in all public rows: left out; if private rows differ, it needs a 'kind' \
                 and their values"
                    .into(),
            ),
            () if is_number && self.numbers.whole && self.never_repeats() => out(
                Role::Id,
                format!(
                    "another whole number in every row, like an identifier: left out; {TO_MODEL}"
                ),
            ),
            () if kind.is_some() => (Role::Attribute, None),
            () if long && (self.more || self.mostly_differs()) => {
                out(Role::Id, "free text: left out; synthetic rows have none".into())
            }
            () if self.more || distinct > MOST_TEXT_CODES => out(
                Role::Id,
                format!("over {MOST_TEXT_CODES} distinct texts, like an identifier: left out"),
            ),
            () if self.mostly_differs() => out(
                Role::Id,
                "another text in nearly every row, like an identifier: left out".into(),
            ),
            () => (Role::Attribute, None),
        }
    }

    /// Whether no number occurs twice in many rows.
    fn never_repeats(&self) -> bool {
        self.present() >= 10 * ENOUGH_ROWS && self.counts.values().all(|count| *count == 1)
    }

    /// Whether at most a few texts occur twice.
    fn mostly_differs(&self) -> bool {
        self.present() >= ENOUGH_ROWS && self.counts.len() as u64 * 20 >= self.present() * 19
    }

    /// Texts that are numbers with separators or units.
    fn about_numbers(&self) -> Option<String> {
        let is_number = |text: &str| {
            let bare = text.replace([',', '$', '€', '£', '%', ' ', '\''], "");
            bare.len() < text.len() && bare.parse::<f64>().is_ok()
        };
        let (mut written, mut plain) = (0, 0);
        for text in self.counts.keys() {
            match text.parse::<f64>() {
                Ok(_) => plain += 1,
                Err(_) if is_number(text) => written += 1,
                Err(_) => return None,
            }
        }
        let example = self.counts.keys().find(|text| is_number(text))?;
        (written > 0 && written + plain > 2).then(|| {
            format!(
                "numbers with separators or units, such as '{example}', are read as codes; write them \
                 plainly to have bins"
            )
        })
    }
}
