//! Drafting a schema from public sources, for a person to look over.
//!
//! A schema must never be made from the private table: which codes occur, and how far numbers reach, is
//! itself private. Documents and public tables cost nothing.

mod bins;
mod columns;
mod dates;
mod delimiter;
mod document;
mod notations;
mod numbers;
mod patterns;
mod pieces;
mod quantiles;
mod tables;
mod unlikely;
mod unlikely_members;
mod weights;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use crate::data::draft::document::{Condition, DescribedColumn, DescribedTable};
use crate::data::draft::patterns::Change;
use crate::data::draft::tables::{Observation, ObservedColumn, observe};
use crate::domain::{Kind, Outside, Role, Schema, SchemaColumn, TableFormat};
use crate::error::Result;
use crate::privacy::Units;

pub use delimiter::delimiter_of;
pub use document::{Document, DocumentKind};
pub use notations::Hints;
pub(crate) use quantiles::{HEAP, MOST, MOST_OF_REST, UNITS, cut as cut_at_quantiles};
pub use weights::weight_bins;

/// A drafted schema, and what a person should look at in it.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The schema.
    pub schema: Schema,
    /// What to look at: the tables, then columns in the schema's order.
    pub remarks: Vec<Remark>,
}

/// Something in a drafted schema that a person should look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The column; `None` for the tables as a whole.
    pub column: Option<String>,
    /// What was found, what the draft makes of it, and how to change that.
    pub text: String,
}

/// Drafts a schema from a document that describes a table.
///
/// Listed values become codes, with labels. Ranges of numbers become bins: one for each of few whole numbers, otherwise
/// about 20 with round edges. Columns with neither get the role `id`, with a remark. In a dictionary of PUMS files, `bbb`
/// is a missing value (empty text), ranges of identifiers get the role `id`, or `state_specific` for areas, and columns
/// named `...WGTP` and their replicates the role `weight`.
///
/// # Errors
/// An unreadable file, one of another form, or no attribute.
pub fn draft_from_document(document: &Document) -> Result<Draft> {
    const NO_ROWS: &str = "bins by the documented range alone, drawn from evenly; with public rows (`public`) they \
                           follow the rows";
    let remarked = |described: DescribedColumn| {
        let DescribedColumn { column, mut remarks, .. } = described;
        if column.role == Role::Attribute && matches!(column.kind, Some(Kind::Numeric(_))) {
            remarks.push(NO_ROWS.to_owned());
        }
        (column, remarks)
    };
    let described = document.read()?;
    let conditions = described.conditions();
    let DescribedTable { columns, missing } = described;
    let tables = Tables { documented: missing, ..Tables::default() };
    let cut = |(mut column, mut remarks): Drafted| {
        let changes = Condition::changes(&conditions, &column.name);
        if let Some(Kind::Numeric(bins)) = &mut column.kind {
            *bins = bins.cut_at(&changes.iter().map(|change| change.at).collect::<Vec<_>>());
        }
        remarks.extend(Change::remark(&changes));
        (column, remarks)
    };
    let columns = columns.into_iter().map(|column| Ok(cut(remarked(column))));
    of(&document.path, &tables, columns)?.with_unlikely(&[], &conditions)
}

/// Drafts a schema from the rows of public tables (CSV, plain or gzip), with each column as it appears in any of them.
///
/// Numbers get bins that follow the rows: one for each of few or close whole numbers, otherwise heaps (values with much
/// of the rows) and quantiles between them. The schema says how rows lie inside the bins, so that values are drawn
/// alike. Edges end at the observed extremes, and values outside count in the outer bins ([`Outside::Clamp`]). Few whole
/// numbers with gaps, and other texts, get the sorted codes that occur. Dates get bins of days, weeks, months or years.
/// Numbers, dates and times that are written in other ways (`1.234,56 €`, `01.08.2016`, `17:53`) have their [`Notation`].
/// Weights, identifiers, free text and constants are left out. Empty text and marks such as `?` and `NA` are missing
/// values. The schema has the format given, with blanks dropped if there are some, and reads the tables it came from.
///
/// [`Outside::Clamp`]: crate::domain::Outside::Clamp
/// [`Notation`]: crate::domain::Notation
///
/// `hints`: what cells that may be read in several ways are.
///
/// ```
/// use jointly::{data::{Hints, draft_from_public}, domain::TableFormat};
/// let folder = tempfile::tempdir()?;
/// let public = folder.path().join("public.csv");
/// std::fs::write(&public, "sex,age\nf,30\nm,41\nf,30\nm,70\n")?;
/// let draft = draft_from_public(&[&public], &TableFormat::default(), &Hints::default())?;
/// assert_eq!(draft.schema.column("sex").unwrap().value_name(1), "m");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// No table, an unreadable one, or no attribute.
pub fn draft_from_public(tables: &[&Path], format: &TableFormat, hints: &Hints) -> Result<Draft> {
    let observed = observe(tables, format, hints, &[], &BTreeSet::new())?;
    let place = tables.first().copied().unwrap_or(Path::new("schema"));
    let (known, columns) = Tables::of(observed);
    Observed { place, known, columns, tables, conditions: &[] }.draft(ObservedColumn::column)
}

/// Drafts a schema for the columns that public tables have, as a document describes them.
///
/// Bins of numbers follow the public rows, as in [`draft_from_public`], and reach as far as the document's range, beyond
/// which values are refused. The document is widened where the tables show more: unknown codes are added (a code that
/// differs only in leading zeros replaces the document's), outer bins are widened, missing values allowed. Columns of which
/// the document has no values are drafted from the tables.
///
/// ```
/// use jointly::{data::{Document, DocumentKind, Hints, draft}, domain::TableFormat};
/// let folder = tempfile::tempdir()?;
/// let (codes, public) = (folder.path().join("codes.csv"), folder.path().join("public.csv"));
/// std::fs::write(&codes, "NAME,SEX,C,1,Sex\nVAL,SEX,C,1,1,1,Male\nVAL,SEX,C,1,2,2,Female\n")?;
/// std::fs::write(&public, "SEX,AGE\n1,30\n1,41\n1,70\n")?;
/// let document = Document { kind: DocumentKind::Pums, path: codes };
/// let draft = draft(&document, &[&public], &TableFormat::default(), &Hints::default())?;
/// assert_eq!(draft.schema.column("SEX").unwrap().value_name(1), "2 (Female)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`draft_from_document`] and [`draft_from_public`].
pub fn draft(
    document: &Document,
    tables: &[&Path],
    format: &TableFormat,
    hints: &Hints,
) -> Result<Draft> {
    let described = document.read()?;
    let conditions = described.conditions();
    let DescribedTable { columns: described, missing } = described;
    let bounded = described.iter().filter(|one| one.is_bounded);
    let by_name: HashMap<&str, &SchemaColumn> =
        bounded.map(|one| (one.column.name.as_str(), &one.column)).collect();
    let is_listed = |column: &&&SchemaColumn| matches!(column.kind, Some(Kind::Categorical { .. }));
    let listed = by_name.values().filter(is_listed).map(|column| column.name.as_str()).collect();
    let (known, columns) = Tables::of(observe(tables, format, hints, &missing, &listed)?);
    let known = Tables { documented: missing.clone(), ..known };
    let (place, conditions) = (&*document.path, &*conditions);
    Observed { place, known, columns, tables, conditions }.draft(|observed| {
        match by_name.get(observed.name.as_str()) {
            Some(column) => widened((*column).clone(), observed, &missing),
            None => observed.column(),
        }
    })
}

/// What public tables show, of which a schema is drafted.
struct Observed<'a> {
    /// The file that errors name.
    place: &'a Path,
    known: Tables,
    columns: Vec<ObservedColumn>,
    tables: &'a [&'a Path],
    conditions: &'a [Condition],
}

impl Observed<'_> {
    /// The draft, in which bins begin where other columns change.
    fn draft(mut self, column: impl Fn(&ObservedColumn) -> Result<Drafted>) -> Result<Draft> {
        for column in &mut self.columns {
            column.changes = Condition::changes(self.conditions, &column.name);
        }
        let draft = of(self.place, &self.known, self.columns.iter().map(&column))?;
        let mut changes = patterns::changes(&draft.schema, self.tables)?;
        for column in &mut self.columns {
            let found = changes.remove(&column.name).unwrap_or_default();
            let is_new = |change: &Change| {
                column.changes.iter().all(|known| known.at.total_cmp(&change.at).is_ne())
            };
            let found: Vec<Change> = found.into_iter().filter(is_new).collect();
            column.changes.extend(found);
            column.changes.sort_by(|a, b| a.at.total_cmp(&b.at));
        }
        let draft = of(self.place, &self.known, self.columns.iter().map(&column))?;
        draft.with_unlikely(self.tables, self.conditions)
    }
}

impl Draft {
    /// The draft with the combinations that no row of the tables has, and those that a document's conditions rule out.
    fn with_unlikely(self, tables: &[&Path], conditions: &[Condition]) -> Result<Self> {
        let found = unlikely::unlikely(&self.schema, tables, conditions)?;
        let Some(text) = found.remark(&self.schema) else { return Ok(self) };
        let mut remarks = self.remarks;
        remarks.push(Remark { column: None, text });
        let all = found.by_rows.into_iter().chain(found.of_document).collect();
        Ok(Self { schema: self.schema.with_unlikely(all)?, remarks })
    }
}

/// Finds the [unlikely combinations](Schema::unlikely) of public tables for a finished schema, and replaces those that it has. They
/// are sets of values of two attributes that no row has, although at least 30 rows would if the attributes were independent.
///
/// # Errors
/// No table, or one that cannot be read with the schema.
pub fn draft_unlikely(schema: &Schema, tables: &[&Path]) -> Result<Draft> {
    let schema = schema.without_unlikely()?;
    Draft { schema, remarks: Vec::new() }.with_unlikely(tables, &[])
}

/// Finds what the members of units of public tables do not have together, and replaces what a finished schema has of it: sets of values
/// of two members, or of the first one or all others, and differences of their numbers that no unit has, although at least 30
/// would by chance.
///
/// # Errors
/// Units without columns of members, or a table that cannot be read with the schema as one of such units.
pub fn draft_unlikely_members(schema: &Schema, tables: &[&Path], units: &Units) -> Result<Draft> {
    let found = unlikely_members::unlikely_members(schema, tables, units)?;
    let text = unlikely_members::remark(schema, &found);
    let remarks = text.into_iter().map(|text| Remark { column: None, text }).collect();
    Ok(Draft { schema: schema.with_unlikely_members(&found)?, remarks })
}

/// What public tables have in common.
#[derive(Default)]
struct Tables {
    format: TableFormat,
    remarks: Vec<String>,
    /// How often each mark of a missing value occurs.
    marks: BTreeMap<String, u64>,
    /// The marks of missing values that a document names.
    documented: Vec<String>,
}

impl Tables {
    fn of(observed: Observation) -> (Self, Vec<ObservedColumn>) {
        let Observation { columns, format, remarks } = observed;
        let mut marks: BTreeMap<String, u64> = BTreeMap::new();
        for (mark, rows) in columns.iter().flat_map(|column| &column.marks) {
            *marks.entry(mark.clone()).or_default() += rows;
        }
        (Self { format, remarks, marks, documented: Vec::new() }, columns)
    }

    /// The marks of missing values that are no codes of these columns: a document's, then the most frequent first.
    fn missing(&self, columns: &[SchemaColumn]) -> Vec<String> {
        let is_code = |mark: &str| {
            columns.iter().any(|column| match &column.kind {
                Some(Kind::Categorical { codes, .. }) => codes.iter().any(|code| code == mark),
                _ => false,
            })
        };
        let mut marks: Vec<(&String, u64)> =
            self.marks.iter().map(|(mark, rows)| (mark, *rows)).collect();
        marks.retain(|(mark, _)| mark.is_empty() || !is_code(mark));
        marks.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
        let named = self.documented.iter().filter(|mark| !is_code(mark));
        let mut all: Vec<String> = named.cloned().collect();
        all.extend(marks.into_iter().map(|(mark, _)| mark.clone()));
        let mut seen = BTreeSet::new();
        all.retain(|mark| seen.insert(mark.clone()));
        all
    }
}

/// A column and the remarks on it.
type Drafted = (SchemaColumn, Vec<String>);

/// The schema of some columns; errors name the file that they come from.
fn of(
    file: &Path,
    tables: &Tables,
    drafted: impl Iterator<Item = Result<Drafted>>,
) -> Result<Draft> {
    let about = |text: &String| Remark { column: None, text: text.clone() };
    let mut remarks: Vec<Remark> = tables.remarks.iter().map(about).collect();
    let mut columns = Vec::new();
    for drafted in drafted {
        let (mut column, texts) = drafted?;
        column.note = Some(texts.join("; ")).filter(|note| !note.is_empty());
        if let Some(text) = column.note.clone() {
            remarks.push(Remark { column: Some(column.name.clone()), text });
        }
        columns.push(column);
    }
    let mut missing = tables.missing(&columns);
    let na_token = if missing.is_empty() { String::new() } else { missing.remove(0) };
    let schema = Schema::new(na_token, columns)
        .and_then(|schema| schema.with_missing(missing)?.with_table(tables.format.clone()))
        .map_err(|error| error.in_file(&file.display().to_string()))?;
    Ok(Draft { schema, remarks })
}

/// A column of a document, extended to accept the observed values. `missing`: the marks that the document names.
fn widened(
    mut column: SchemaColumn,
    observed: &ObservedColumn,
    missing: &[String],
) -> Result<Drafted> {
    if column.role != Role::Attribute {
        return Ok((column, Vec::new()));
    }
    column.na |= observed.missing();
    let mut remarks = observed.about_marks(missing);
    match column.kind.take() {
        Some(Kind::Categorical { mut codes, mut labels, other, groups }) => {
            let mut unpadded = false;
            for text in observed.texts() {
                if codes.iter().any(|code| code == text) {
                    continue;
                }
                let padded = codes.iter().position(|code| bare(code) == bare(text));
                unpadded |= padded.is_some_and(|position| codes[position].len() > text.len());
                if let Some(position) = padded {
                    codes[position] = text.to_string();
                } else {
                    codes.push(text.to_string());
                    if let Some(labels) = &mut labels {
                        labels.push(format!("{text} (in the public rows, not documented)"));
                    }
                }
            }
            // A table that drops the leading zeros of some codes also drops those of codes that it does not show.
            let padded = |text: &str| text.len() > 1 && text.starts_with('0');
            if unpadded && !observed.texts().into_iter().any(padded) {
                let stripped: Vec<String> = codes.iter().map(|code| bare(code)).collect();
                let distinct: BTreeSet<&String> = stripped.iter().collect();
                if distinct.len() == codes.len() {
                    codes = stripped;
                }
            }
            column.kind = Some(Kind::Categorical { codes, labels, other, groups });
            Ok((column, remarks))
        }
        Some(Kind::Numeric(bins)) => {
            let limits = Some((bins.edges()[0], bins.edges()[bins.edges().len() - 1]));
            // Texts among the numbers: the rows decide.
            let Some(values) = observed.values(limits) else { return observed.column() };
            let drafted = values.bins(&column.name)?;
            remarks.extend(drafted.iter().flat_map(|bins| values.remarks(bins)));
            remarks.extend(Change::remark(&observed.changes));
            if drafted.as_ref().is_some_and(|bins| bins.outside() == Outside::Clamp) {
                remarks.push("public rows lie outside the documented range".into());
            }
            remarks.extend(observed.about_notation());
            let notation = observed.found.as_ref().map(|found| found.notation.clone());
            column.kind = Some(Kind::Numeric(drafted.unwrap_or(bins).with_notation(notation)));
            Ok((column, remarks))
        }
        kind => Ok((SchemaColumn { kind, ..column }, Vec::new())),
    }
}

/// A code without its leading zeros; `0` for zeros alone.
fn bare(code: &str) -> String {
    match code.trim_start_matches('0') {
        "" if !code.is_empty() => "0".into(),
        rest => rest.into(),
    }
}

/// Whether a column is a weight or a replicate of one, by its name: `PWGTP`, `WGTP`, `PWGTP17`.
fn is_weight(name: &str) -> bool {
    name.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with("WGTP")
}

#[cfg(test)]
mod tests;
