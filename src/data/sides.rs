//! Half-planes of two columns of real numbers, and how many records are on each side of their lines.

use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::data::csv::{Reading, of_file, read_keeping};
use crate::data::numeric_columns::NumericReader;
use crate::data::raw_table::RawTable;
use crate::data::units::UnitsOfSchema;
use crate::data::{MISSING_NUMBERS, Projectable};
use crate::domain::{Bins, Clique, Domain, Kind, Outside, Schema, SchemaColumn, TableFormat};
use crate::error::{CommonError, Error, Result};

/// The points (x, y) of a plane with `a x + b y ≤ c`.
///
/// ```
/// use jointly::data::HalfPlane;
/// let below = HalfPlane::new(1.0, 2.0, 10.0)?;
/// assert!(below.holds(4.0, 3.0) && !below.holds(4.0, 3.5));
/// assert!(HalfPlane::new(0.0, 0.0, 1.0).is_err());
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawHalfPlane")]
pub struct HalfPlane {
    a: f64,
    b: f64,
    c: f64,
}

/// The serialized form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHalfPlane {
    a: f64,
    b: f64,
    c: f64,
}

impl HalfPlane {
    /// `a x + b y ≤ c`.
    ///
    /// # Errors
    /// A number that is not finite, or no direction: a and b are 0.
    pub fn new(a: f64, b: f64, c: f64) -> Result<Self> {
        if [a, b, c].iter().all(|number| number.is_finite()) && (a != 0.0 || b != 0.0) {
            return Ok(Self { a, b, c });
        }
        let found = format!("{a} x + {b} y <= {c}");
        let expected = "finite numbers, and one before x or y that is not 0";
        Err(Error::invalid_specification("half-plane", found, expected))
    }

    /// a and b.
    pub fn direction(&self) -> [f64; 2] {
        [self.a, self.b]
    }

    /// c.
    pub fn bound(&self) -> f64 {
        self.c
    }

    /// Whether a point is in it, by the rounded value of `a x + b y`.
    pub fn holds(&self, x: f64, y: f64) -> bool {
        self.a * x + self.b * y <= self.c
    }
}

impl TryFrom<RawHalfPlane> for HalfPlane {
    type Error = Error;

    fn try_from(RawHalfPlane { a, b, c }: RawHalfPlane) -> Result<Self> {
        Self::new(a, b, c)
    }
}

/// Half-planes, **never chosen by private values**, as attributes of records with two numbers. Each attribute says on which
/// side of one line a record is: 0 inside of the half-plane, 1 outside, 2 if a number is missing. So a record gets its codes
/// from its own two numbers alone.
///
/// ```
/// use jointly::data::{HalfPlane, Projectable, Sides};
/// use jointly::domain::Clique;
/// let sides = Sides::new(["age", "pay"], vec![HalfPlane::new(1.0, 1.0, 50.0)?])?;
/// let counts = sides.count([[Some(20.0), Some(30.0)], [Some(20.0), Some(31.0)], [None, Some(1.0)]])?;
/// assert_eq!(counts.project(&Clique::new([0]))?, [1, 1, 1]);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sides {
    columns: [String; 2],
    lines: Vec<HalfPlane>,
    domain: Domain,
}

impl Sides {
    /// Number of values of an attribute.
    const CODES: usize = 3;

    /// `columns`: those of x and of y.
    ///
    /// # Errors
    /// No half-plane, or one column for both x and y.
    pub fn new(columns: [impl Into<String>; 2], lines: Vec<HalfPlane>) -> Result<Self> {
        let columns = columns.map(Into::into);
        if columns[0] == columns[1] {
            let found = format!("'{}' twice", columns[0]);
            return Err(Error::invalid_specification("columns of a plane", found, "two columns"));
        }
        let names = (1..=lines.len()).map(|number| (format!("half-plane {number}"), 3));
        let domain = Domain::new(names)?;
        Ok(Self { columns, lines, domain })
    }

    /// The columns of x and of y.
    pub fn columns(&self) -> &[String; 2] {
        &self.columns
    }

    /// The half-planes.
    pub fn lines(&self) -> &[HalfPlane] {
        &self.lines
    }

    /// The attributes, `half-plane 1` and so on.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// Counts records; `None` and NaN are missing numbers. Only the counts are kept. They are as private as the records.
    ///
    /// # Errors
    /// More than 2³² − 1 records.
    pub fn count(&self, records: impl IntoIterator<Item = [Option<f64>; 2]>) -> Result<SideCounts> {
        let mut counts = vec![[0_u32; Self::CODES]; self.lines.len()];
        let mut all = 0_u32;
        for record in records {
            all = all.checked_add(1).ok_or_else(|| {
                Error::too_large("the table", None, f64::from(u32::MAX), "records")
            })?;
            let [x, y] = record.map(|number| number.filter(|number| !number.is_nan()));
            let point = x.zip(y);
            for (line, counts) in self.lines.iter().zip(&mut counts) {
                let side = point.map_or(2, |(x, y)| usize::from(!line.holds(x, y)));
                counts[side] += 1;
            }
        }
        Ok(SideCounts { domain: self.domain.clone(), counts, records: all })
    }
}

/// How many records are on each side of each line: the marginals on single attributes of [`Sides`]. They are as private as
/// the records.
#[derive(Clone, Debug)]
pub struct SideCounts {
    domain: Domain,
    counts: Vec<[u32; Sides::CODES]>,
    records: u32,
}

impl Projectable for SideCounts {
    fn domain(&self) -> &Domain {
        &self.domain
    }

    fn records(&self) -> u64 {
        self.records.into()
    }

    /// # Errors
    /// A clique of several half-planes, whose records were not counted.
    fn project_many(&self, cliques: &[Clique]) -> jointly_pgm::Result<Vec<Vec<u32>>> {
        crate::data::table_sizes(&self.domain, cliques)?;
        let of_clique = |clique: &Clique| {
            let mut attributes = clique.iter();
            match (attributes.next(), attributes.next()) {
                (None, _) => Ok(vec![self.records]),
                (Some(line), None) => Ok(self.counts[line].to_vec()),
                _ => Err(CommonError::invalid_specification(
                    "counts of half-planes",
                    format!("a request for {}", self.domain.describe(clique)),
                    "one half-plane",
                )),
            }
        };
        cliques.iter().map(of_clique).collect()
    }
}

/// Two columns of any real numbers, which may be missing.
fn plane(columns: &[String; 2]) -> Result<Schema> {
    let column = |name: &String| {
        let bins = Bins::new(vec![f64::MIN, f64::MAX], Some(false), "plane")?;
        let kind = Kind::Numeric(bins.with_outside(Outside::Clamp));
        Ok(SchemaColumn { na: true, ..SchemaColumn::attribute(name.as_str(), kind) })
    };
    let columns = columns.iter().map(column).collect::<Result<_>>()?;
    let missing = MISSING_NUMBERS.iter().map(|text| (*text).to_owned()).collect();
    Schema::new("", columns)?.with_table(TableFormat::default())?.with_missing(missing)
}

/// Counts the records of a private table that count. Of each, the two numbers are held while it is read.
///
/// # Errors
/// As [`read_csv`](crate::data::read_csv).
pub(super) fn count_file(path: &Path, sides: &Sides, reading: Reading<'_>) -> Result<SideCounts> {
    let schema = plane(&sides.columns)?;
    reading
        .units_of()
        .map_or(Ok(()), |units| units.check(&schema).and_then(|()| units.check_first()))?;
    count_table(of_file(path, &schema)?, sides, &schema, reading)
}

/// As [`count_file`], of a table in memory.
#[cfg(feature = "arrow")]
pub(super) fn count_arrow(
    table: &crate::data::arrow::ArrowTable,
    sides: &Sides,
    reading: Reading<'_>,
) -> Result<SideCounts> {
    let schema = plane(&sides.columns)?;
    reading
        .units_of()
        .map_or(Ok(()), |units| units.check(&schema).and_then(|()| units.check_first()))?;
    count_table(table.raw(&schema)?, sides, &schema, reading)
}

fn count_table(
    table: RawTable<impl Read>,
    sides: &Sides,
    schema: &Schema,
    reading: Reading<'_>,
) -> Result<SideCounts> {
    sides.count(records(table, schema, reading)?.map(|record| record.map(Some)))
}

/// The two numbers of each record that counts, NaN where they are missing.
fn records(
    table: RawTable<impl Read>,
    schema: &Schema,
    reading: Reading<'_>,
) -> Result<impl Iterator<Item = [f64; 2]>> {
    let mut numbers = NumericReader::new(&table, schema)?;
    read_keeping(table, schema, reading, &mut |record, table| numbers.push(record, table))?;
    let mut columns = numbers.finish().into_values();
    let mut next = move || columns.next().unwrap_or_default().into_iter();
    let (x, y) = (next(), next());
    Ok(x.zip(y).map(|(x, y)| [x, y]))
}

/// Reads the points (x, y) of a **public** table, in the order of its rows, without those that lack a number. A private table
/// must not be read in this way: nothing would seal its numbers.
///
/// # Errors
/// As [`read_csv`](crate::data::read_csv).
pub fn read_public_points(path: &Path, columns: &[String; 2]) -> Result<Vec<[f64; 2]>> {
    let schema = plane(columns)?;
    points(of_file(path, &schema)?, &schema)
}

/// As [`read_public_points`], from any source of bytes; `name` stands for the file in errors.
///
/// ```
/// use jointly::data::read_public_points_from;
/// let table = &b"age,pay\n30,1250.5\n41,NA\n20,800\n"[..];
/// let points = read_public_points_from(table, "q.csv", &["pay", "age"].map(str::to_owned))?;
/// assert_eq!(points, [[1250.5, 30.0], [800.0, 20.0]]);
/// # Ok::<(), jointly::Error>(())
/// ```
///
/// # Errors
/// As [`read_public_points`].
pub fn read_public_points_from(
    source: impl Read,
    name: &str,
    columns: &[String; 2],
) -> Result<Vec<[f64; 2]>> {
    let schema = plane(columns)?;
    points(RawTable::open(source, name, schema.table())?, &schema)
}

/// As [`read_public_points`], of a table in memory.
#[cfg(feature = "arrow")]
pub(super) fn public_points_of_arrow(
    table: &crate::data::arrow::ArrowTable,
    columns: &[String; 2],
) -> Result<Vec<[f64; 2]>> {
    let schema = plane(columns)?;
    points(table.raw(&schema)?, &schema)
}

fn points(table: RawTable<impl Read>, schema: &Schema) -> Result<Vec<[f64; 2]>> {
    let is_whole = |point: &[f64; 2]| point.iter().all(|number| !number.is_nan());
    Ok(records(table, schema, Reading::or_empty())?.filter(is_whole).collect())
}
