//! Codes back to the text of a table.

use std::borrow::Borrow;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use flate2::{Compression, write::GzEncoder};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::data::{Column, Dataset, write_durably};
use crate::domain::{Attribute, Bins, Encoding, Group, Kind, Piece, Schema, SchemaColumn, written};
use crate::error::{Error, Result};

/// Largest number up to which every whole number is a distinct `f64`.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The text written for a categorical value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Labels {
    /// The raw code, as in the table that the schema describes.
    #[default]
    Codes,
    /// The label where the schema has one, else the raw code. For readers: it cannot be coded again.
    Text,
}

impl Labels {
    /// The names, each with its meaning.
    pub const NAMES: &'static [(&'static str, &'static str)] = &[
        ("codes", "The codes, as in the tables that the schema describes"),
        ("text", "The labels of the schema, for readers; no command reads such a table again"),
    ];
}

/// Writes a table to a CSV file, gzip when the name ends in `.gz`; see [`write_csv`].
///
/// The file appears whole or not at all (a durable write); the path `-` is standard output, and pipes and character
/// devices are written to as they are. Same seed, same bytes.
///
/// # Errors
/// As [`write_csv`], or the file cannot be written.
pub fn write_csv_file(
    path: &Path,
    table: &Dataset,
    schema: &Schema,
    labels: Labels,
    seed: u64,
) -> Result<()> {
    write_csv_blocks(path, [Ok(table)], schema, labels, seed)
}

/// Writes tables one after another to one file, as [`write_csv_file`] writes their records in one table.
///
/// # Errors
/// As [`write_csv_file`], or the first error among the tables.
pub fn write_csv_blocks<T: Borrow<Dataset>>(
    path: &Path,
    blocks: impl IntoIterator<Item = Result<T>>,
    schema: &Schema,
    labels: Labels,
    seed: u64,
) -> Result<()> {
    check_form(path)?;
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let named = |error| match error {
        Error::Io { source, .. } => failed(path, source),
        other => other,
    };
    write_durably(path, |file| {
        if let Some(form) = BinaryForm::of_name(path) {
            return write_batches(form, path, file, blocks, schema, labels, rng);
        }
        if has_ending(path, "gz") {
            let mut gzip = GzEncoder::new(file, Compression::default());
            write_blocks(&mut gzip, blocks, schema, labels, &mut rng).map_err(named)?;
            gzip.finish().map(drop).map_err(|e| failed(path, e))
        } else {
            write_blocks(file, blocks, schema, labels, &mut rng).map_err(named)
        }
    })
}

/// Forms of files that are no text, by the ends of their names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum BinaryForm {
    /// `.parquet`
    Parquet,
    /// `.arrow` and `.feather`
    Arrow,
}

impl BinaryForm {
    pub(super) fn of_name(path: &Path) -> Option<Self> {
        let is_arrow = has_ending(path, "arrow") || has_ending(path, "feather");
        if is_arrow {
            Some(Self::Arrow)
        } else {
            has_ending(path, "parquet").then_some(Self::Parquet)
        }
    }

    /// The error of a name of this form, where another is expected.
    pub(super) fn refused(self, path: &Path, expected: &str) -> Error {
        let found = match self {
            Self::Parquet => "the name of a Parquet file",
            Self::Arrow => "the name of an Arrow file",
        };
        Error::invalid_specification(path.display().to_string(), found, expected)
    }
}

#[cfg(feature = "parquet")]
fn write_batches<T: Borrow<Dataset>>(
    form: BinaryForm,
    path: &Path,
    file: &mut dyn Write,
    blocks: impl IntoIterator<Item = Result<T>>,
    schema: &Schema,
    labels: Labels,
    rng: ChaCha20Rng,
) -> Result<()> {
    use crate::data::arrow::ArrowWriter;
    let mut blocks = blocks.into_iter();
    let Some(first) = blocks.next().transpose()? else { return Ok(()) };
    let mut batches = ArrowWriter::new(first.borrow().domain(), schema, labels, rng)?;
    let fields = batches.schema();
    let blocks = std::iter::once(Ok(first)).chain(blocks);
    form.write(path, file, fields, blocks.map(|block| batches.batch(block?.borrow())))
}

#[cfg(feature = "parquet")]
impl BinaryForm {
    /// Writes batches with these columns, one after another.
    pub(super) fn write(
        self,
        path: &Path,
        file: &mut dyn Write,
        columns: arrow_schema::SchemaRef,
        batches: impl IntoIterator<Item = Result<arrow_array::RecordBatch>>,
    ) -> Result<()> {
        use crate::data::parquet::ParquetWriter;
        use arrow_ipc::writer::FileWriter;
        let unwritten = |error| failed(path, error);
        let other = |error| failed(path, std::io::Error::other(error));
        match self {
            Self::Parquet => {
                let mut writer = ParquetWriter::new(columns).map_err(unwritten)?;
                for batch in batches {
                    writer.write(&batch?, file).map_err(unwritten)?;
                }
                writer.finish(file).map_err(unwritten)
            }
            Self::Arrow => {
                let mut writer = FileWriter::try_new(file, &columns).map_err(other)?;
                for batch in batches {
                    writer.write(&batch?).map_err(other)?;
                }
                writer.finish().map_err(other)
            }
        }
    }
}

#[cfg(not(feature = "parquet"))]
fn write_batches<T: Borrow<Dataset>>(
    _: BinaryForm,
    path: &Path,
    _: &mut dyn Write,
    _: impl IntoIterator<Item = Result<T>>,
    _: &Schema,
    _: Labels,
    _: ChaCha20Rng,
) -> Result<()> {
    check_form(path)
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(ending))
}

/// Refuses a name of a form that this program was built without.
pub(crate) fn check_form(path: &Path) -> Result<()> {
    match BinaryForm::of_name(path) {
        Some(form) if cfg!(not(feature = "parquet")) => {
            let expected =
                "a name for CSV, or a program built with Parquet: cargo build --features parquet";
            Err(form.refused(path, expected))
        }
        _ => Ok(()),
    }
}

fn failed(path: &Path, source: std::io::Error) -> Error {
    Error::Io { action: "write", path: path.into(), source }
}

/// Writes a table of codes as CSV text with a header, such that reading it under the same schema gives the
/// same codes again. It has the schema's delimiter, always a header, and is in UTF-8, with a byte-order mark where the
/// schema has another encoding ([`Schema::table`]).
///
/// A categorical code becomes its raw text, or one drawn from the group that it stands for; a missing value becomes the
/// missing token. A bin becomes a number
/// drawn from its pieces, which say how public rows lie in it ([`Bins::pieces_of`]). A bin without pieces becomes a number
/// drawn uniformly inside it: a whole number where the column holds whole numbers, otherwise with enough digits to resolve
/// a thousandth of the bin. Open-ended outer bins are cut first, see [`Bins::plausible`].
///
/// ```
/// use jointly::rand::{SeedableRng, rngs::ChaCha20Rng};
/// use jointly::{Dataset, Schema, data::{Labels, write_csv}};
/// let schema = r#"{"columns": [{"name": "sex", "kind": "categorical", "codes": ["1", "2"], "labels": ["man", "woman"]}]}"#;
/// let schema = Schema::from_json(schema, "schema.json")?;
/// let table = Dataset::from_rows(schema.domain(), &[[1], [0]])?;
/// let mut text = Vec::new();
/// write_csv(&mut text, &table, &schema, Labels::Text, &mut ChaCha20Rng::seed_from_u64(1))?;
/// assert_eq!(text, b"sex\nwoman\nman\n");
/// # Ok::<(), jointly::Error>(())
/// ```
///
/// # Errors
/// An attribute of the table that the schema does not have with the same number of values, or a failure to
/// write.
pub fn write_csv(
    out: impl Write,
    table: &Dataset,
    schema: &Schema,
    labels: Labels,
    rng: &mut ChaCha20Rng,
) -> Result<()> {
    write_blocks(out, [Ok(table)], schema, labels, rng)
}

/// Writes the records of tables over one domain under one header.
fn write_blocks<T: Borrow<Dataset>>(
    mut out: impl Write,
    blocks: impl IntoIterator<Item = Result<T>>,
    schema: &Schema,
    labels: Labels,
    rng: &mut ChaCha20Rng,
) -> Result<()> {
    let place = Path::new("the table");
    let wrong = |error: csv::Error| {
        let source = match error.into_kind() {
            csv::ErrorKind::Io(source) => source,
            other => std::io::Error::other(format!("{other:?}")),
        };
        failed(place, source)
    };
    // A mark tells this table from others in another encoding; it comes before the header.
    let start = if schema.table().encoding == Encoding::Utf8 { "" } else { "\u{feff}" };
    out.write_all(start.as_bytes()).map_err(|e| failed(place, e))?;
    let mut builder = csv::WriterBuilder::new();
    builder.delimiter(schema.table().delimiter_byte()).buffer_capacity(1 << 16);
    let mut writer = builder.from_writer(out);
    let mut drawn = String::new();
    let mut has_header = false;
    for block in blocks {
        let block = block?;
        let table = block.borrow();
        let decoders = decoders(table, schema, labels)?;
        if !has_header {
            let names = table.domain().attributes().iter().map(|attribute| &attribute.name);
            writer.write_record(names).map_err(wrong)?;
            has_header = true;
        }
        for record in 0..table.records() {
            for (column, decoder) in table.columns().iter().zip(&decoders) {
                let code = Column::get(column, record).unwrap_or(0);
                writer.write_field(decoder.text(code, &mut drawn, rng)).map_err(wrong)?;
            }
            writer.write_record(None::<&[u8]>).map_err(wrong)?;
        }
    }
    writer.flush().map_err(|e| failed(place, e))
}

pub(super) fn decoders<'s>(
    table: &Dataset,
    schema: &'s Schema,
    labels: Labels,
) -> Result<Vec<Decoder<'s>>> {
    let decoder = |attribute: &Attribute| {
        let described = schema.attributes().find(|c| c.name == attribute.name);
        let described = described
            .ok_or_else(|| schema.domain().unknown(&attribute.name, "the table to be written"))?;
        if described.cardinality() != attribute.cardinality {
            return Err(Error::invalid_specification(
                format!("table to be written, column '{}'", attribute.name),
                format!("{} values", attribute.cardinality),
                format!("{}, as in the schema", described.cardinality()),
            ));
        }
        Ok(Decoder::new(described, schema.na_token(), labels))
    };
    table.domain().attributes().iter().map(decoder).collect()
}

/// How the codes of one column become text.
pub(super) enum Decoder<'s> {
    /// The text of each code, or a text of the group that it stands for.
    Texts { texts: Vec<&'s str>, groups: &'s [Group], labels: Labels },
    /// A number in the bin, written as a date where it is a day, or the missing token.
    Bins { is_date: bool, bins: &'s Bins, plausible: Vec<(f64, f64)>, na_token: &'s str },
    /// The code itself, or the missing token.
    Coded { size: u32, na_token: &'s str },
}

impl<'s> Decoder<'s> {
    fn new(column: &'s SchemaColumn, na_token: &'s str, labels: Labels) -> Self {
        match &column.kind {
            Some(Kind::Categorical { codes, labels: names, groups, .. }) => {
                let shown = match (labels, names) {
                    (Labels::Text, Some(names)) => names,
                    _ => codes,
                };
                let missing = column.na.then_some(na_token);
                let texts = shown.iter().map(String::as_str).chain(missing).collect();
                Self::Texts { texts, groups, labels }
            }
            Some(Kind::Numeric(bins) | Kind::Date(bins)) => Self::Bins {
                is_date: matches!(column.kind, Some(Kind::Date(_))),
                bins,
                plausible: (0..bins.count()).map(|bin| bins.plausible(bin)).collect(),
                na_token,
            },
            Some(Kind::Coded { size }) => Self::Coded { size: *size, na_token },
            None => Self::Coded { size: 0, na_token },
        }
    }

    /// The text of a code as the schema's tables have it; `drawn` holds it if it must be generated.
    pub(super) fn text<'a>(
        &'a self,
        code: u32,
        drawn: &'a mut String,
        rng: &mut ChaCha20Rng,
    ) -> &'a str {
        let Self::Bins { bins, plausible, .. } = self else { return self.plain(code, drawn, rng) };
        let notation = bins.notation().filter(|_| (code as usize) < plausible.len());
        let Some(notation) = notation else { return self.plain(code, drawn, rng) };
        let text = notation.written(self.plain(code, drawn, rng));
        drawn.clear();
        drawn.push_str(&text);
        drawn
    }

    /// The text of a code, with numbers and dates written plainly.
    pub(super) fn plain<'a>(
        &'a self,
        code: u32,
        drawn: &'a mut String,
        rng: &mut ChaCha20Rng,
    ) -> &'a str {
        drawn.clear();
        match self {
            Self::Texts { texts, groups, labels } => {
                if let Some(group) = groups.iter().find(|group| group.code == code) {
                    return group_value(group, *labels, rng);
                }
                return texts.get(code as usize).copied().unwrap_or_default();
            }
            Self::Coded { size, na_token } if code >= *size => return na_token,
            // Writing to a string cannot fail.
            Self::Coded { .. } => _ = write!(drawn, "{code}"),
            Self::Bins { is_date, bins, plausible, na_token } => {
                let Some((low, high)) = plausible.get(code as usize) else { return na_token };
                let pieces = bins.pieces_of(code);
                if !pieces.is_empty() {
                    piece_value(bins, code, pieces, drawn, rng);
                } else if bins.is_integer() {
                    _ = write!(drawn, "{}", whole_number(*low, *high, rng));
                } else {
                    real_number(bins, code, (*low, *high), drawn, rng);
                }
                if *is_date && let Ok(day) = drawn.parse() {
                    drawn.clear();
                    drawn.push_str(&written(day));
                }
            }
        }
        drawn
    }
}

/// A text of a group, each drawn with probability proportional to its rows.
fn group_value<'s>(group: &'s Group, labels: Labels, rng: &mut ChaCha20Rng) -> &'s str {
    let row = rng.random_range(0..group.rows().max(1));
    let Some(value) = group.value_at(row) else { return "" };
    match (labels, &value.label) {
        (Labels::Text, Some(label)) => label,
        _ => &value.text,
    }
}

/// A value of one of the pieces of a bin, each drawn with probability proportional to its rows.
fn piece_value(bins: &Bins, bin: u32, pieces: &[Piece], drawn: &mut String, rng: &mut ChaCha20Rng) {
    let total: u64 = pieces.iter().map(|piece| u64::from(piece.rows)).sum();
    let mut left = rng.random_range(0..total.max(1));
    let chosen = pieces.iter().find(|piece| {
        let rows = u64::from(piece.rows);
        let is_here = left < rows;
        left = left.saturating_sub(rows);
        is_here
    });
    let Some(Piece { from, below, step, .. }) = chosen.copied() else { return };
    if from >= below {
        _ = write!(drawn, "{from}");
        return;
    }
    let step = step.or(bins.is_integer().then_some(1.0));
    let Some(step) = step else { return real_number(bins, bin, (from, below), drawn, rng) };
    // At most 2^53 of them in a column of whole numbers; of real numbers, steps beyond that are not told apart.
    #[expect(clippy::cast_possible_truncation, reason = "a float saturates")]
    #[expect(clippy::cast_sign_loss, reason = "`below` is above `from`")]
    let values = ((below - from) / step).ceil().min(EXACT) as u64;
    let number = rng.random_range(0..values.max(1));
    let value = from + number as f64 * step;
    let digits = decimals(from).max(decimals(step));
    _ = write!(drawn, "{value:.digits$}");
    if drawn.parse().ok().and_then(|value| bins.find(value)) != Some(bin) {
        drawn.clear();
        _ = write!(drawn, "{from}");
    }
}

/// Number of digits after the point.
fn decimals(value: f64) -> usize {
    value.to_string().split_once('.').map_or(0, |(_, digits)| digits.len())
}

/// A whole number uniform in `[low, high)`, which holds one and stays within 2^53.
#[expect(clippy::cast_possible_truncation, reason = "bins of whole numbers stay within 2^53")]
fn whole_number(low: f64, high: f64, rng: &mut ChaCha20Rng) -> i64 {
    let (low, high) = (low.ceil() as i64, high.ceil() as i64);
    rng.random_range(low..high.max(low + 1))
}

/// A number uniform in `[low, high)`, rounded to enough digits to resolve a thousandth of the bin.
fn real_number(
    bins: &Bins,
    bin: u32,
    (low, high): (f64, f64),
    drawn: &mut String,
    rng: &mut ChaCha20Rng,
) {
    const MOST_DIGITS: usize = 15;
    let value = low + (high - low) * rng.random::<f64>();
    let mut unit = (high - low) / 1000.0;
    let mut digits = 0;
    while unit < 1.0 && digits < MOST_DIGITS {
        unit *= 10.0;
        digits += 1;
    }
    // Rounding may leave the bin at its end, and a very narrow bin may contain no rounded number.
    let ten = 10_f64.powi(i32::try_from(digits).unwrap_or(0));
    _ = write!(drawn, "{value:.digits$}");
    for other in [(value * ten).floor() / ten, value, low] {
        if drawn.parse().ok().and_then(|v| bins.find(v)) == Some(bin) {
            return;
        }
        drawn.clear();
        _ = write!(drawn, "{other}");
    }
}

#[cfg(test)]
mod tests;
