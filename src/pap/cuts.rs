//! Cut points: what turns a column of real numbers into an ordinary coded attribute.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::data::{Column, Dataset, MISSING_NUMBERS};
use crate::domain::{Bins, Domain, Kind, Outside, Schema, SchemaColumn, TableFormat};
use crate::error::{Error, Result};

/// The cuts `c_1 < … < c_m` of one column, from public values or chosen in advance, **never from private values**.
///
/// They make m + 2 cells: `(−∞, c_1]`, `(c_1, c_2]`, …, `(c_m, ∞)`, so that `x ≤ c_j` is a union of cells, and one for a
/// missing value, the last. No private minimum or maximum is needed.
///
/// ```
/// use jointly::pap::Cuts;
/// let cuts = Cuts::new("income", [2000.0, 1000.0, 2000.0])?;
/// assert_eq!((cuts.points(), cuts.cells()), (&[1000.0, 2000.0][..], 4));
/// let cells = [Some(-5.0), Some(1000.0), Some(1000.5), Some(1e300), None].map(|x| cuts.cell(x));
/// assert_eq!(cells, [0, 0, 1, 2, 3]);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawCuts")]
pub struct Cuts {
    name: String,
    points: Vec<f64>,
}

/// Cuts at even distances, chosen without looking at any data, for one column or for all.
///
/// ```
/// use jointly::pap::EvenGrid;
/// let grid: EvenGrid = "income=0,100000,101".parse()?;
/// assert_eq!((grid.column.as_deref(), grid.high, grid.count), (Some("income"), 100_000.0, 101));
/// assert!("0,100".parse::<EvenGrid>().is_err() && "9,0,3".parse::<EvenGrid>().is_err());
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EvenGrid {
    /// `None` for all columns.
    pub column: Option<String>,
    /// The first cut.
    pub low: f64,
    /// The last one.
    pub high: f64,
    /// How many there are, at least 2.
    pub count: usize,
}

impl EvenGrid {
    /// Whether a column gets its cuts.
    pub fn is_of(&self, column: &str) -> bool {
        self.column.as_ref().is_none_or(|own| own == column)
    }
}

impl FromStr for EvenGrid {
    type Err = Error;

    /// Reads `[NAME=]LOW,HIGH,COUNT`.
    fn from_str(text: &str) -> Result<Self> {
        let (column, numbers) = match text.rsplit_once('=') {
            Some((name, numbers)) => (Some(name.to_owned()), numbers),
            None => (None, text),
        };
        let parts: Vec<&str> = numbers.split(',').map(str::trim).collect();
        let read = match &parts[..] {
            [low, high, count] => low.parse().ok().zip(high.parse().ok()).zip(count.parse().ok()),
            _ => None,
        };
        let Some(((low, high), count)) = read else {
            let found = format!("'{}'", text.escape_debug());
            let expected = "LOW,HIGH,COUNT: two numbers and a whole number";
            return Err(Error::invalid_specification("grid", found, expected));
        };
        Cuts::of_grid("grid", low, high, count)?;
        Ok(Self { column, low, high, count })
    }
}

/// The serialized form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCuts {
    name: String,
    points: Vec<f64>,
}

impl Cuts {
    /// Maximum number of cuts of a column. They bound about 2²⁶ intervals.
    pub const MOST: usize = 11_584;

    /// Cuts at these points, in any order; equal ones count once. `name`: the column.
    ///
    /// # Errors
    /// No point, more than [`MOST`](Self::MOST) distinct ones, or one that is not finite or is the largest number of its
    /// sign.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = f64>) -> Result<Self> {
        let name = name.into();
        let place = || format!("cuts of column '{name}'");
        let points = sorted(points);
        if let Some(point) = points.iter().find(|point| point.abs() >= f64::MAX || point.is_nan()) {
            let expected = "numbers between -1.79e308 and 1.79e308";
            return Err(Error::invalid_specification(place(), format!("{point:e}"), expected));
        }
        if points.is_empty() {
            return Err(Error::invalid_specification(place(), "none", "at least one number"));
        }
        if points.len() > Self::MOST {
            let needed = Some(points.len() as f64);
            return Err(Error::too_large(place(), needed, Self::MOST as f64, "cuts"));
        }
        Ok(Self { name, points })
    }

    /// Cuts at the distinct public values, or, where there are more than `most`, at `most` even quantiles of them.
    ///
    /// # Errors
    /// As [`new`](Self::new), or a `most` of 0.
    pub fn from_public(
        name: impl Into<String>,
        values: impl IntoIterator<Item = f64>,
        most: usize,
    ) -> Result<Self> {
        if most == 0 {
            return Err(Error::invalid_parameter("cuts", most, "at least 1"));
        }
        let distinct = sorted(values);
        let (m, most) = (distinct.len(), most.min(Self::MOST));
        if m <= most {
            return Self::new(name, distinct);
        }
        // The middles of `most` equal parts.
        Self::new(name, (0..most).map(|part| distinct[(2 * part + 1) * m / (2 * most)]))
    }

    /// The cuts of some columns, from public values, grids, or both.
    ///
    /// `public`: the values of each column; may be empty. `most`: as in [`from_public`](Self::from_public).
    ///
    /// # Errors
    /// As [`from_public`](Self::from_public) and [`with_grid`](Self::with_grid); a grid of no column; a column without public
    /// values and without a grid.
    ///
    /// ```
    /// use jointly::pap::Cuts;
    /// let grids = ["age=0,90,4".parse()?];
    /// let names = ["age", "pay"].map(str::to_owned);
    /// let cuts = Cuts::of_columns(&names, vec![vec![], vec![10.5, 12.0]], Cuts::MOST, &grids)?;
    /// assert_eq!(cuts[0].points(), [0.0, 30.0, 60.0, 90.0]);
    /// assert_eq!(cuts[1].points(), [10.5, 12.0]);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn of_columns(
        names: &[String],
        public: Vec<Vec<f64>>,
        most: usize,
        grids: &[EvenGrid],
    ) -> Result<Vec<Self>> {
        for column in grids.iter().filter_map(|grid| grid.column.as_ref()) {
            if !names.contains(column) {
                let expected = format!("one of the columns: {}", names.join(", "));
                return Err(Error::invalid_specification("grid", format!("'{column}'"), expected));
            }
        }
        let values = public.into_iter().chain(std::iter::repeat_with(Vec::new));
        let of_column = |(name, values): (&String, Vec<f64>)| {
            let mut own = grids.iter().filter(|grid| grid.is_of(name));
            let first = if values.is_empty() { own.next() } else { None };
            let cuts = match first {
                Some(grid) => Self::of_grid(name, grid.low, grid.high, grid.count)?,
                None => Self::from_public(name, values, most)?,
            };
            own.try_fold(cuts, |cuts, grid| cuts.with_grid(grid.low, grid.high, grid.count))
        };
        names.iter().zip(values).map(of_column).collect()
    }

    /// Cuts at even distances alone.
    fn of_grid(name: &str, low: f64, high: f64, count: usize) -> Result<Self> {
        Self { name: name.to_owned(), points: Vec::new() }.with_grid(low, high, count)
    }

    /// The same cuts, with `count` more at even distances from `low` to `high`: a grid chosen without looking at any
    /// data, for where public values may be scarce.
    ///
    /// # Errors
    /// As [`new`](Self::new), a `low` that is not below `high`, or fewer than 2 points.
    pub fn with_grid(self, low: f64, high: f64, count: usize) -> Result<Self> {
        if !(low < high && (high - low).is_finite()) {
            let found = format!("from {low} to {high}");
            return Err(Error::invalid_specification("grid", found, "an increasing finite range"));
        }
        if !(2..=Self::MOST).contains(&count) {
            return Err(Error::invalid_parameter("points of a grid", count, "2 to 11584"));
        }
        let last = (count - 1) as f64;
        let grid = (0..count).map(|i| {
            let share = i as f64 / last;
            if i + 1 == count { high } else { low + share * (high - low) }
        });
        Self::new(self.name, self.points.into_iter().chain(grid))
    }

    /// The column.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The cuts, increasing.
    pub fn points(&self) -> &[f64] {
        &self.points
    }

    /// Number of cells, m + 2: that of a missing value included.
    pub fn cells(&self) -> usize {
        self.points.len() + 2
    }

    /// The cell of a value. `None` and NaN are missing.
    pub fn cell(&self, value: Option<f64>) -> u32 {
        let place = match value.filter(|value| !value.is_nan()) {
            Some(value) => self.points.partition_point(|point| *point < value),
            None => self.points.len() + 1,
        };
        u32::try_from(place).unwrap_or(u32::MAX) // at most MOST + 1
    }

    /// A table of real numbers, coded record by record: column i by the i-th cuts. For tables that are not in a file.
    ///
    /// # Errors
    /// A number of columns other than that of cuts, or columns of different lengths.
    pub fn encode(cuts: &[Self], columns: &[Vec<Option<f64>>]) -> Result<Dataset> {
        let codes = cuts.iter().zip(columns).map(|(cuts, values)| {
            Column::from_codes(values.iter().map(|value| cuts.cell(*value)), cuts.cells())
        });
        let cardinality = |cuts: &Self| u32::try_from(cuts.cells()).unwrap_or(u32::MAX); // MOST + 2
        let attributes = cuts.iter().map(|cuts| (cuts.name(), cardinality(cuts)));
        Ok(Dataset::new(Domain::new(attributes)?, codes.collect::<jointly_pgm::Result<_>>()?)?)
    }

    /// The schema under which tables are read into the cells, with these columns only. [`Bins`] are left-closed, so that
    /// the edge after a cut is the next larger `f64`. Empty text and [`MISSING_NUMBERS`] are missing values.
    ///
    /// # Errors
    /// No cuts, or two for one column.
    pub fn schema(cuts: &[Self], format: TableFormat) -> Result<Schema> {
        let column = |cuts: &Self| {
            let kind = Kind::Numeric(cuts.bins(false)?);
            Ok(SchemaColumn { na: true, ..SchemaColumn::attribute(&*cuts.name, kind) })
        };
        let columns = cuts.iter().map(column).collect::<Result<_>>()?;
        let missing = MISSING_NUMBERS.iter().map(|text| (*text).to_owned()).collect();
        Schema::new("", columns)?.with_table(format)?.with_missing(missing)
    }

    /// The cells of values as left-closed bins, the outer ones as wide as numbers are. Of whole numbers, a bin begins after
    /// the last one at or below a cut, and cuts between the same two of them are one.
    fn bins(&self, is_whole: bool) -> Result<Bins> {
        let place = format!("cuts of column '{}'", self.name);
        // Whole numbers up to this are distinct.
        let most = (1_u64 << f64::MANTISSA_DIGITS) as f64;
        let mut edges: Vec<f64> = if is_whole {
            let inner = self.points.iter().map(|point| point.floor() + 1.0);
            inner.filter(|edge| -most < *edge && *edge < most).collect()
        } else {
            self.points.iter().map(|point| point.next_up()).collect()
        };
        let [least, most] = if is_whole { [-most, most] } else { [f64::MIN, f64::MAX] };
        edges.dedup();
        let edges = [least].into_iter().chain(edges).chain([most]).collect();
        Ok(Bins::new(edges, Some(is_whole), &place)?.with_outside(Outside::Clamp))
    }
}

impl Schema {
    /// The same schema with the numbers of some columns in the cells between cuts, so that any mechanism runs on real
    /// columns without a private smallest or largest value. Bins are `(c_j, c_{j+1}]`, the first and last unbounded; values
    /// drawn from these are no farther from the cuts than other bins are wide ([`Bins::plausible`]). Missing values are
    /// treated as before.
    ///
    /// ```
    /// use jointly::{Schema, domain::Kind, pap::Cuts};
    /// let text = r#"{"columns": [{"name": "pay", "kind": "numeric", "edges": [0, 1], "integer": false}]}"#;
    /// let schema = Schema::from_json(text, "schema.json")?;
    /// let cuts = [Cuts::from_public("pay", [10.5, 20.0], Cuts::MOST)?];
    /// let schema = schema.with_cuts(&cuts)?;
    /// assert_eq!(schema.domain().cardinality(0), 3);
    /// let Some(Kind::Numeric(bins)) = &schema.columns()[0].kind else { unreachable!() };
    /// assert_eq!([-1e9, 10.5, 10.6, 1e9].map(|pay| bins.code(pay)), [0, 0, 1, 2].map(Some));
    /// # Ok::<(), jointly::Error>(())
    /// ```
    ///
    /// # Errors
    /// A name that is not an attribute or is there twice, an attribute without numbers, a rule about bins that are no more,
    /// or a text of a missing value that is a number.
    pub fn with_cuts(&self, cuts: &[Cuts]) -> Result<Self> {
        let names = cuts.iter().map(Cuts::name);
        self.with_bins("cuts of public values", names, |name, own| {
            let cuts = cuts.iter().find(|cuts| cuts.name == name);
            cuts.map_or_else(|| Ok(own.clone()), |cuts| cuts.bins(own.is_integer()))
        })
    }
}

impl TryFrom<RawCuts> for Cuts {
    type Error = Error;

    fn try_from(written: RawCuts) -> Result<Self> {
        Self::new(written.name, written.points)
    }
}

/// Distinct numbers in increasing order; 0 for −0. NaN is kept, and refused later.
fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().map(|value| value + 0.0).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

#[cfg(test)]
mod tests;
