//! Bins of numbers and categories by the private rows, at a privacy cost: for tables without public ones like them.
//!
//! A schema says how far a number reaches, from documents or common knowledge. Where its rows lie in that range is private.
//! It costs a histogram of each column at a few widths:
//!
//! ```text
//! 1  grid:    the range in cells: whole numbers where these are at most a million, otherwise cells of a round width
//! 2  levels:  blocks of 10^k cells for every k, down from at most 100 blocks; each level is a marginal with discrete
//!             Gaussian noise, at the same cost for all levels of all columns
//! 3  tree:    from the top, a block with over 1/200 of the records, and clear of noise, is opened into its blocks one
//!             level below; others stay as they are
//! 4  fit:     least squares over the open blocks and their parts, no count below 0
//! 5  bins:    a value with 1/40 of the records gets its own bin; the blocks between are cut at quantiles, at most 1/20 of
//!             the records, and 1/10 of those without such values, in a bin of several blocks
//! ```
//!
//! Blocks may be opened as the noisy counts say, since these were paid for; steps 3 to 5 see nothing else. Ties need no
//! care: a value that many rows share is a cell whose count is large. Ten blocks in a block is close to the best number for
//! histograms at several widths, 16 (Qardaji, Yang & Li 2013, *Understanding hierarchical methods for differentially
//! private histograms*), and blocks begin at round numbers.
//!
//! ```
//! use jointly::paid_bins::PaidBins;
//! use jointly::{Budget, Curator, Dataset, NeighboringRelation, NoiseSeed, Schema, domain::Kind};
//!
//! let text = r#"{"columns": [{"name": "pay", "kind": "numeric", "edges": [0, 100000], "integer": true}]}"#;
//! let bins = PaidBins::of_ranges(&Schema::from_json(text, "schema.json")?)?;
//! // 5,000 records: half of them earn nothing, the others up to 50,000.
//! let rows: Vec<[u32; 1]> = (0..5_000).map(|i| [i % 2 * 10 * i]).collect();
//! let coded = Dataset::from_rows(bins.grid()?.domain(), &rows)?.recoded(&bins.recoding()?)?;
//!
//! let budget = Budget::approximate(0.5, 1e-9)?;
//! let mut curator = budget.curator(&coded, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
//! let schema = bins.run(&mut curator)?;
//! let Some(Kind::Numeric(pay)) = &schema.columns()[0].kind else { unreachable!() };
//! assert_eq!(pay.edges()[..2], [0.0, 1.0]); // no pay is a bin of its own
//! assert_eq!(curator.spent(), budget.rho());
//! # Ok::<(), jointly::Error>(())
//! ```

mod both;
mod categories;
mod cut;
mod grid;
mod median;
mod tree;

pub use both::{PaidSchema, PaidTable};
pub use categories::PaidCategories;

use crate::data::{Recoding, RowSource, read_private_rows};
use crate::domain::{Bins, Domain, Kind, Schema};
use crate::error::{Error, Result};
use crate::paid_bins::cut::bins_of;
use crate::paid_bins::grid::Grid;
use crate::paid_bins::median::Median;
use crate::paid_bins::tree::{Level, fitted};
use crate::privacy::{Curator, PrivacyUnit, PrivateTable};

/// Columns of a schema whose ranges are cut into bins by the private rows.
#[derive(Clone, Debug)]
pub struct PaidBins {
    schema: Schema,
    columns: Vec<(String, Grid)>,
}

impl PaidBins {
    /// Cuts these columns, from the first to the last of their present edges.
    ///
    /// # Errors
    /// No column, a column twice, or one that is not a numeric attribute.
    pub fn new<S: AsRef<str>>(schema: &Schema, names: &[S]) -> Result<Self> {
        let names = names.iter().map(AsRef::as_ref);
        let mut columns = Vec::new();
        // The bins stay as they are: this finds names that are wrong.
        schema.with_bins("columns to cut", names.clone(), |_, own| Ok(own.clone()))?;
        for name in names {
            if let Some(Kind::Numeric(own)) = schema.column(name).and_then(|c| c.kind.as_ref()) {
                columns.push((name.to_owned(), Grid::new(own)));
            }
        }
        if columns.is_empty() {
            let expected = "a numeric column, such as one with the edges [0, 100000]";
            return Err(Error::invalid_specification("columns to cut", "none", expected));
        }
        Ok(Self { schema: schema.clone(), columns })
    }

    /// Cuts all numeric attributes with a single bin: a range that says nothing about where rows lie.
    ///
    /// # Errors
    /// No such column.
    pub fn of_ranges(schema: &Schema) -> Result<Self> {
        let is_range =
            |kind: &Option<Kind>| matches!(kind, Some(Kind::Numeric(bins)) if bins.count() == 1);
        let ranges = schema.attributes().filter(|column| is_range(&column.kind));
        Self::new(schema, &ranges.map(|column| column.name.as_str()).collect::<Vec<_>>())
    }

    /// Whether a schema has numeric attributes with a single bin.
    pub fn has_ranges(schema: &Schema) -> bool {
        Self::of_ranges(schema).is_ok()
    }

    /// The names of the columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }

    /// Number of measurements: the levels of all columns. Ranges of at most 40 whole numbers need none, they get a bin for
    /// each number.
    pub fn measurements(&self) -> usize {
        self.columns.iter().map(|(_, grid)| grid.levels()).sum()
    }

    /// The schema under which private tables are read: these columns only, in cells.
    ///
    /// # Errors
    /// Never fails in practice: the columns were checked.
    pub fn grid(&self) -> Result<Schema> {
        let names: Vec<&str> = self.names().collect();
        // Rules are about bins that are no more.
        let columns =
            self.schema.attributes().filter(|column| names.contains(&column.name.as_str()));
        let bare = Schema::new(self.schema.na_token(), columns.cloned().collect())?
            .with_missing(self.schema.missing().to_vec())?
            .with_table(self.schema.table().clone())?;
        bare.with_bins("columns to cut", names, |name, own| {
            Ok(self.grid_of(name).bins(name)?.in_place_of(own))
        })
    }

    /// Reads a private table into cells, as [`read_private_rows`] does.
    ///
    /// # Errors
    /// As there.
    pub fn read<'a>(
        &self,
        unit: &PrivacyUnit,
        private: impl Into<RowSource<'a>>,
    ) -> Result<PrivateTable> {
        let table = read_private_rows(private.into(), &self.grid()?, unit)?;
        Ok(table.recoded(&self.recoding()?)?)
    }

    /// From the codes of the schema [`grid`](Self::grid) to those that [`run`](Self::run) counts: cells, unused codes around
    /// them that make whole blocks, and missing values after these.
    ///
    /// # Errors
    /// Never fails in practice: the columns were checked.
    pub fn recoding(&self) -> Result<Recoding> {
        let grids = self.grid()?;
        let (mut sizes, mut codes) = (Vec::new(), Vec::new());
        for column in grids.attributes() {
            let grid = self.grid_of(&column.name);
            let count = |cells: usize| u32::try_from(cells).unwrap_or(u32::MAX); // about 10⁶
            let (missing, cells) = (count(grid.padded()), count(grid.cells()));
            let skipped = count(grid.skipped());
            let code = |code| if code < cells { skipped + code } else { missing };
            codes.push(Some((0..column.cardinality()).map(code).collect()));
            sizes.push((column.name.clone(), missing + 1));
        }
        Ok(Recoding::new(grids.domain(), Domain::new(sizes)?, codes)?)
    }

    /// Spends all of a curator's remaining budget, or nothing if [`measurements`](Self::measurements) is 0, and returns
    /// the schema with the columns in bins. Each bin says how the measured rows lie in it, so that values are drawn alike, and the
    /// note of a column says where its median may be as far as the noise allows.
    /// The curator's table has the codes of [`recoding`](Self::recoding).
    ///
    /// Under a relation with a private number of records, that number is measured first ([`Curator::total`]).
    ///
    /// # Errors
    /// A table that is coded otherwise, a budget too small for noise, or a rule of the schema about the bins that are no
    /// more.
    pub fn run(&self, curator: &mut Curator<'_>) -> Result<Schema> {
        let attributes = self.attributes(curator.domain())?;
        let mut left = self.measurements() as u64;
        let records = if left > 0 { curator.total()? } else { 1.0 };
        let mut found: Vec<(Bins, Option<Median>)> = Vec::with_capacity(self.columns.len());
        for ((name, grid), attribute) in self.columns.iter().zip(attributes) {
            let mut levels: Vec<Level> = Vec::with_capacity(grid.levels());
            for width in grid.widths() {
                let own = curator.remaining().split(1, left).unwrap_or_default().0;
                let noisy = curator.measure_blocks(attribute, width, own)?;
                levels.push(Level::new(&noisy, width));
                left -= 1;
            }
            let leaves = fitted(&levels, records);
            found.push((bins_of(grid, &leaves, name)?, Median::new(grid, &levels, &leaves)));
        }
        let of =
            |name: &str| self.names().position(|other| other == name).and_then(|at| found.get(at));
        let place = "bins by the private rows";
        let schema = self.schema.with_bins(place, self.names(), |name, own| {
            let bins = of(name).map_or(own, |(bins, _)| bins);
            Ok(bins.clone().in_place_of(own))
        })?;
        schema.with_notes(place, |name| of(name)?.1.as_ref().map(Median::text))
    }

    /// The attribute of each column in a table of the codes of [`recoding`](Self::recoding).
    fn attributes(&self, domain: &Domain) -> Result<Vec<usize>> {
        let attribute = |(name, grid): &(String, Grid)| {
            let place = "table to cut";
            let at = domain.position(name).ok_or_else(|| domain.unknown(name, place))?;
            let (found, expected) = (domain.cardinality(at), grid.padded() + 1);
            if found == expected {
                return Ok(at);
            }
            let place = format!("{place}, column '{name}'");
            Err(Error::invalid_specification(
                place,
                format!("{found} codes"),
                format!("{expected}"),
            ))
        };
        self.columns.iter().map(attribute).collect()
    }

    fn grid_of(&self, name: &str) -> &Grid {
        let found = self.columns.iter().find(|(other, _)| other == name);
        &found.unwrap_or(&self.columns[0]).1
    }
}

#[cfg(test)]
mod tests;
