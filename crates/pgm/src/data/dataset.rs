//! A table of codes, column by column.

use std::collections::BTreeMap;

use rayon::slice::ParallelSliceMut;

use crate::data::{Projectable, Recoding, Tallies, count};
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::table::{CliqueLayout, Totals};

/// The codes of one attribute, record by record, in the smallest type that holds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// Up to 2⁸ values.
    U8(Vec<u8>),
    /// Up to 2¹⁶ values.
    U16(Vec<u16>),
    /// More values.
    U32(Vec<u32>),
}

impl Column {
    /// An empty column for codes below `cardinality`.
    pub fn new(cardinality: usize) -> Self {
        match cardinality {
            0..=0x100 => Self::U8(Vec::new()),
            0x101..=0x1_0000 => Self::U16(Vec::new()),
            _ => Self::U32(Vec::new()),
        }
    }

    /// A column of these codes.
    ///
    /// # Errors
    /// A code that is not below `cardinality`.
    pub fn from_codes(codes: impl IntoIterator<Item = u32>, cardinality: usize) -> Result<Self> {
        let mut column = Self::new(cardinality);
        for code in codes {
            if code as usize >= cardinality {
                return Err(outside(code, cardinality));
            }
            column.push(code);
        }
        Ok(column)
    }

    /// Appends a code, which the caller has checked against the cardinality.
    #[expect(clippy::cast_possible_truncation, reason = "the type was chosen for the cardinality")]
    pub fn push(&mut self, code: u32) {
        match self {
            Self::U8(codes) => codes.push(code as u8),
            Self::U16(codes) => codes.push(code as u16),
            Self::U32(codes) => codes.push(code),
        }
    }

    /// Appends codes, which the caller has checked against the cardinality.
    #[expect(clippy::cast_possible_truncation, reason = "the type was chosen for the cardinality")]
    pub fn extend(&mut self, more: &[u32]) {
        match self {
            Self::U8(codes) => codes.extend(more.iter().map(|code| *code as u8)),
            Self::U16(codes) => codes.extend(more.iter().map(|code| *code as u16)),
            Self::U32(codes) => codes.extend_from_slice(more),
        }
    }

    /// Appends the codes of another column of the same attribute.
    fn append(&mut self, more: &Self) {
        match (self, more) {
            (Self::U8(codes), Self::U8(more)) => codes.extend_from_slice(more),
            (Self::U16(codes), Self::U16(more)) => codes.extend_from_slice(more),
            (Self::U32(codes), Self::U32(more)) => codes.extend_from_slice(more),
            (codes, more) => more.iter().for_each(|code| codes.push(code)),
        }
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        match self {
            Self::U8(codes) => codes.len(),
            Self::U16(codes) => codes.len(),
            Self::U32(codes) => codes.len(),
        }
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The code of a record; `None` past the end.
    pub fn get(&self, record: usize) -> Option<u32> {
        match self {
            Self::U8(codes) => codes.get(record).map(|c| u32::from(*c)),
            Self::U16(codes) => codes.get(record).map(|c| u32::from(*c)),
            Self::U32(codes) => codes.get(record).copied(),
        }
    }

    /// Iterates over the codes.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len()).filter_map(|record| self.get(record))
    }

    /// The largest code.
    fn max(&self) -> Option<u32> {
        match self {
            Self::U8(codes) => codes.iter().max().map(|c| u32::from(*c)),
            Self::U16(codes) => codes.iter().max().map(|c| u32::from(*c)),
            Self::U32(codes) => codes.iter().max().copied(),
        }
    }
}

fn outside(code: u32, cardinality: usize) -> Error {
    Error::invalid_specification(
        "column",
        format!("code {code}"),
        format!("codes below {cardinality}"),
    )
}

/// Records over a domain. Every code is below its attribute's cardinality, and the number of records fits in 32 bits,
/// so counts do too.
///
/// ```
/// use jointly_pgm::data::{Dataset, Projectable};
/// use jointly_pgm::domain::{Clique, Domain};
/// let domain = Domain::new([("sex", 2), ("age", 3)])?;
/// let data = Dataset::from_rows(domain, &[vec![0, 2], vec![1, 2], vec![1, 2]])?;
/// assert_eq!(data.project(&Clique::new([0, 1]))?, [0, 0, 1, 0, 0, 2]);
/// # Ok::<(), jointly_pgm::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    domain: Domain,
    columns: Vec<Column>,
    records: usize,
}

impl Dataset {
    /// A table of columns, one for each attribute in the domain's order.
    ///
    /// # Errors
    /// A number of columns other than that of attributes, columns of different lengths, a code outside its attribute,
    /// or more than 2³² - 1 records.
    pub fn new(domain: Domain, columns: Vec<Column>) -> Result<Self> {
        let place = "table";
        if columns.len() != domain.len() {
            return Err(Error::invalid_specification(
                place,
                format!("{} columns", columns.len()),
                format!("{}, one for each attribute", domain.len()),
            ));
        }
        let records = columns.first().map_or(0, Column::len);
        if u32::try_from(records).is_err() {
            return Err(Error::too_large(
                "the table",
                Some(records as f64),
                f64::from(u32::MAX),
                "records",
            ));
        }
        for (attribute, column) in columns.iter().enumerate() {
            let place = || format!("table, column '{}'", domain.name(attribute));
            if column.len() != records {
                return Err(Error::invalid_specification(
                    place(),
                    format!("{} records", column.len()),
                    format!("{records}, as in the first column"),
                ));
            }
            let cardinality = domain.cardinality(attribute);
            if let Some(code) = column.max().filter(|c| *c as usize >= cardinality) {
                return Err(Error::invalid_specification(
                    place(),
                    format!("code {code}"),
                    format!("codes below {cardinality}"),
                ));
            }
        }
        Ok(Self { domain, columns, records })
    }

    /// A table of rows of codes, in the domain's order.
    ///
    /// # Errors
    /// A row of another length than the domain, or as [`Dataset::new`].
    pub fn from_rows<R: AsRef<[u32]>>(domain: Domain, rows: &[R]) -> Result<Self> {
        let mut columns: Vec<Column> =
            (0..domain.len()).map(|a| Column::new(domain.cardinality(a))).collect();
        for (number, row) in rows.iter().enumerate() {
            let row = row.as_ref();
            let at = || format!("table, row {}", number + 1);
            if row.len() != domain.len() {
                return Err(Error::invalid_specification(
                    at(),
                    format!("{} codes", row.len()),
                    domain.len().to_string(),
                ));
            }
            for (attribute, (column, code)) in columns.iter_mut().zip(row).enumerate() {
                let cardinality = domain.cardinality(attribute);
                if *code as usize >= cardinality {
                    return Err(Error::invalid_specification(
                        format!("{}, column '{}'", at(), domain.name(attribute)),
                        format!("code {code}"),
                        format!("codes below {cardinality}"),
                    ));
                }
                column.push(*code);
            }
        }
        Self::new(domain, columns)
    }

    /// Appends the records of another table.
    ///
    /// # Errors
    /// A table over another domain, or more than 2³² - 1 records in all.
    pub fn append(&mut self, more: &Self) -> Result<()> {
        if self.domain != more.domain {
            let (found, expected) = ("another domain", "the domain of the records before");
            return Err(Error::invalid_specification("records to append", found, expected));
        }
        let records = self.records.saturating_add(more.records);
        if u32::try_from(records).is_err() {
            let (needed, limit) = (Some(records as f64), f64::from(u32::MAX));
            return Err(Error::too_large("the table", needed, limit, "records"));
        }
        self.records = records;
        self.columns.iter_mut().zip(&more.columns).for_each(|(column, more)| column.append(more));
        Ok(())
    }

    /// The attributes.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// Number of records.
    pub fn records(&self) -> usize {
        self.records
    }

    /// The codes of an attribute; `None` outside the domain.
    pub fn column(&self, attribute: usize) -> Option<&Column> {
        self.columns.get(attribute)
    }

    /// The columns, in the domain's order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The codes of one record, in the domain's order; empty past the end.
    pub fn row(&self, record: usize) -> Vec<u32> {
        self.columns.iter().filter_map(|column| column.get(record)).collect()
    }

    /// The same records with these attributes only, in this order.
    ///
    /// # Errors
    /// No attribute, one twice, or one outside the domain.
    pub fn select(&self, attributes: &[usize]) -> Result<Self> {
        let domain = self.selected_domain(attributes)?;
        let columns = attributes.iter().map(|a| self.columns[*a].clone()).collect();
        Ok(Self { domain, columns, records: self.records })
    }

    /// As [`Dataset::select`], without a copy of the columns.
    ///
    /// # Errors
    /// As [`Dataset::select`].
    pub fn into_selected(mut self, attributes: &[usize]) -> Result<Self> {
        let domain = self.selected_domain(attributes)?;
        let mut take = |a: &usize| std::mem::replace(&mut self.columns[*a], Column::new(0));
        let columns = attributes.iter().map(&mut take).collect();
        Ok(Self { domain, columns, records: self.records })
    }

    /// The records of several tables that have all attributes of `domain`, in its order.
    ///
    /// # Errors
    /// A table that lacks an attribute or has a code outside the domain.
    pub fn joined(domain: &Domain, tables: &[&Self]) -> Result<Self> {
        let column = |a: usize| {
            let parts = tables.iter().filter_map(|table| table.column(a));
            Column::from_codes(parts.flat_map(Column::iter), domain.cardinality(a))
        };
        Self::new(domain.clone(), (0..domain.len()).map(column).collect::<Result<_>>()?)
    }

    /// The distinct records, in the order of their codes, and how often each occurs.
    ///
    /// ```
    /// use jointly_pgm::{data::Dataset, domain::Domain};
    /// let domain = Domain::new([("sex", 2), ("age", 3)])?;
    /// let data = Dataset::from_rows(domain, &[[1, 2], [0, 2], [1, 2]])?;
    /// let (distinct, counts) = data.distinct();
    /// assert_eq!((distinct.row(0), distinct.row(1), counts), (vec![0, 2], vec![1, 2], vec![1, 2]));
    /// # Ok::<(), jointly_pgm::Error>(())
    /// ```
    pub fn distinct(&self) -> (Self, Vec<u32>) {
        let (distinct, ranks) = self.ranked();
        let mut counts = vec![0_u32; distinct.records];
        ranks.iter().for_each(|rank| counts[*rank as usize] += 1);
        (distinct, counts)
    }

    /// The distinct records, in the order of their codes, and the position of each record among them.
    pub fn ranked(&self) -> (Self, Vec<u32>) {
        // Ranks by the first columns, refined by one column at a time, so that a comparison involves only two numbers.
        let mut rank = vec![0_u32; self.records];
        let mut order: Vec<(u64, u32)> = Vec::with_capacity(self.records);
        for column in &self.columns {
            order.clear();
            let keys = rank.iter().zip(column.iter()).zip(0_u32..);
            order.extend(keys.map(|((r, code), i)| (u64::from(*r) << 32 | u64::from(code), i)));
            order.par_sort_unstable();
            let (mut last, mut next) = (None, 0_u32);
            for (key, record) in &order {
                if last.is_some_and(|last| last != *key) {
                    next += 1;
                }
                last = Some(*key);
                rank[*record as usize] = next;
            }
        }
        let distinct = rank.iter().max().map_or(0, |largest| *largest as usize + 1);
        let mut any = vec![0_u32; distinct];
        for (record, rank) in (0_u32..).zip(&rank) {
            any[*rank as usize] = record;
        }
        (self.take(&any), rank)
    }

    /// The records at some positions, which are below the number of records.
    #[must_use]
    pub fn take(&self, positions: &[u32]) -> Self {
        fn gather<C: Copy>(codes: &[C], positions: &[u32]) -> Vec<C> {
            positions.iter().map(|position| codes[*position as usize]).collect()
        }
        let take = |column: &Column| match column {
            Column::U8(codes) => Column::U8(gather(codes, positions)),
            Column::U16(codes) => Column::U16(gather(codes, positions)),
            Column::U32(codes) => Column::U32(gather(codes, positions)),
        };
        let columns = self.columns.iter().map(take).collect();
        Self { domain: self.domain.clone(), columns, records: positions.len() }
    }

    /// The same records, all with the values of one cell on a clique.
    ///
    /// `cell`: row-major over the clique's sorted attributes, below their number of cells.
    ///
    /// # Errors
    /// An attribute outside the domain.
    pub fn with_cell(&self, clique: &Clique, cell: usize) -> Result<Self> {
        let layout = CliqueLayout::new(&self.domain, [clique.clone()])?;
        let mut changed = self.clone();
        for (attribute, code) in clique.iter().zip(layout.codes(0, cell)) {
            let codes = std::iter::repeat_n(code, self.records);
            let values = self.domain.cardinality(attribute);
            changed.columns[attribute] = Column::from_codes(codes, values)?;
        }
        Ok(changed)
    }

    /// Positions of the records with each combination of values of some attributes, by these values.
    ///
    /// # Errors
    /// An attribute outside the domain.
    pub fn members(&self, attributes: &Clique) -> Result<BTreeMap<Vec<u32>, Vec<u32>>> {
        let attributes: Vec<usize> = attributes.iter().collect();
        let (distinct, ranks) = self.select(&attributes)?.ranked();
        let mut members = vec![Vec::new(); distinct.records()];
        for (record, rank) in (0_u32..).zip(ranks) {
            members[rank as usize].push(record);
        }
        Ok((0..).zip(members).map(|(rank, records)| (distinct.row(rank), records)).collect())
    }

    /// The row-major index of every record's cell in the table over a clique.
    ///
    /// # Errors
    /// An attribute outside the domain, or a table of more cells than [`crate::data::MAX_TOTAL_CELLS`].
    pub fn cells(&self, clique: &Clique) -> Result<Vec<u32>> {
        count::cells(&self.domain, &self.columns, self.records, clique)
    }

    /// Positions of the records that lie in no cell with a total of 0.
    ///
    /// # Errors
    /// Totals over another domain.
    pub fn possible_under(&self, totals: &Totals) -> Result<Vec<u32>> {
        totals.check(&self.domain)?;
        let mut possible = vec![true; self.records];
        for (table, clique) in totals.layout().cliques().iter().enumerate() {
            let totals = totals.table(table);
            for (possible, cell) in possible.iter_mut().zip(self.cells(clique)?) {
                *possible &= totals[cell as usize] > 0.0;
            }
        }
        Ok((0..).zip(possible).filter(|(_, possible)| *possible).map(|(at, _)| at).collect())
    }

    /// The weighted marginal on every clique, in row-major order of the clique's sorted attributes. The sums are taken
    /// in an order that does not depend on the number of threads.
    ///
    /// # Errors
    /// A number of weights other than that of records, an attribute outside the domain, or tables that do not fit in
    /// memory.
    pub fn weighted_marginals(&self, weights: &[f64], cliques: &[Clique]) -> Result<Vec<Vec<f64>>> {
        if weights.len() != self.records {
            return Err(Error::invalid_specification(
                "weights of records",
                weights.len().to_string(),
                format!("{}, one for each record", self.records),
            ));
        }
        count::count(&self.domain, &self.columns, self.records, weights, cliques)
    }

    fn selected_domain(&self, attributes: &[usize]) -> Result<Domain> {
        let mut named = Vec::with_capacity(attributes.len());
        for position in attributes {
            let attribute = self.domain.attributes().get(*position).ok_or_else(|| {
                self.domain.unknown(&format!("#{position}"), "the selected columns")
            })?;
            named.push((attribute.name.clone(), attribute.cardinality));
        }
        Domain::new(named)
    }
}

impl Projectable for Dataset {
    fn domain(&self) -> &Domain {
        &self.domain
    }

    fn records(&self) -> u64 {
        self.records as u64
    }

    fn project_many(&self, cliques: &[Clique]) -> Result<Vec<Vec<u32>>> {
        count::count(&self.domain, &self.columns, self.records, count::One, cliques)
    }

    fn recode(&self, recoding: &Recoding) -> Result<Box<dyn Projectable>> {
        Ok(Box::new(self.recoded(recoding)?))
    }

    fn tally(&self, tallies: &Tallies) -> Result<Box<dyn Projectable>> {
        Ok(Box::new(self.tallied(tallies)?))
    }
}

#[cfg(test)]
mod tests;
