//! How many public and private records suffice. Worst-case bounds, for public records drawn like the private ones.

use crate::error::{Error, Result};

/// A class of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeClass {
    /// `x <= t` in one column, for every real t.
    Thresholds,
    /// `s < x <= t` in one column, for all real s and t.
    Intervals,
    /// Thresholds of any of some columns.
    Stumps {
        /// r, at least 1.
        columns: u32,
    },
    /// Intervals of some columns, or of some of them, at once.
    Boxes {
        /// r, at least 1.
        columns: u32,
    },
    /// Single cells of some columns, or of some of them, at once: of columns of 0 and 1, conjunctions of literals.
    Conjunctions {
        /// r, at least 1.
        columns: u32,
    },
    /// Half-planes of two columns. They are released by [`HalfPlanes`](super::HalfPlanes).
    HalfPlanes,
    /// Some queries that are listed.
    List {
        /// How many, at least 1.
        queries: u32,
    },
}

impl RangeClass {
    /// The names of all classes, as [`of_name`](Self::of_name) takes them.
    pub const NAMES: &str =
        "thresholds, intervals, stumps, boxes, conjunctions, half-planes or list";

    /// A class by its name: one of [`NAMES`](Self::NAMES).
    ///
    /// `columns`: how many; of a list, its number of queries.
    ///
    /// # Errors
    /// Another name.
    pub fn of_name(name: &str, columns: usize) -> Result<Self> {
        let columns = u32::try_from(columns).unwrap_or(u32::MAX);
        Ok(match name {
            "thresholds" => Self::Thresholds,
            "intervals" => Self::Intervals,
            "stumps" => Self::Stumps { columns },
            "boxes" => Self::Boxes { columns },
            "conjunctions" => Self::Conjunctions { columns },
            "half-planes" => Self::HalfPlanes,
            "list" => Self::List { queries: columns },
            other => {
                return Err(Error::invalid_parameter("class", other.to_owned(), Self::NAMES));
            }
        })
    }

    /// Π(m), the growth function: in how many ways the class labels m points, at most.
    ///
    /// ```
    /// use jointly::pap::RangeClass;
    /// assert_eq!(RangeClass::Thresholds.labelings(3), 4.0);
    /// assert_eq!(RangeClass::Intervals.labelings(3), 7.0);
    /// assert_eq!(RangeClass::Stumps { columns: 2 }.labelings(3), 7.0);
    /// assert_eq!(RangeClass::Boxes { columns: 2 }.labelings(3), 49.0);
    /// assert_eq!(RangeClass::HalfPlanes.labelings(4), 14.0);
    /// assert_eq!(RangeClass::Conjunctions { columns: 3 }.labelings(100), 28.0); // of 0 and 1, and none
    /// ```
    pub fn labelings(self, points: u64) -> f64 {
        let m = points as f64;
        let intervals = 1.0 + m * (m + 1.0) / 2.0;
        match self {
            Self::Thresholds => m + 1.0,
            Self::Intervals => intervals,
            Self::Stumps { columns } => f64::from(columns) * m + 1.0,
            Self::Boxes { columns } => intervals.powf(columns.into()),
            Self::HalfPlanes if points == 0 => 1.0,
            Self::HalfPlanes => m * (m - 1.0) + 2.0,
            Self::Conjunctions { columns } => (3_f64.powf(columns.into()) + 1.0).min(m.exp2()),
            Self::List { queries } => f64::from(queries).min(m.exp2()),
        }
    }

    /// ln Π(m), finite where Π(m) is not.
    fn log_labelings(self, points: u64) -> f64 {
        match self {
            Self::Boxes { columns } => f64::from(columns) * Self::Intervals.log_labelings(points),
            Self::Conjunctions { columns } => {
                let r = f64::from(columns);
                let all = r * 3_f64.ln() + 3_f64.powf(-r).ln_1p();
                all.min(points as f64 * std::f64::consts::LN_2)
            }
            _ => self.labelings(points).ln(),
        }
    }

    /// The logarithm of the number of cells: (m + 1)^r between m cuts of each column; 1 + M + M(M − 1)/2 of the M = m(m − 1)/2
    /// lines that divide m points; 2^r of r columns of 0 and 1; at most 2^k of k queries.
    fn log_cells(self, cuts: u64) -> f64 {
        let columns = match self {
            Self::Thresholds | Self::Intervals => 1,
            Self::Stumps { columns } | Self::Boxes { columns } => columns,
            Self::Conjunctions { columns: two } | Self::List { queries: two } => {
                return f64::from(two) * std::f64::consts::LN_2;
            }
            Self::HalfPlanes => {
                let lines = cuts as f64 * (cuts as f64 - 1.0) / 2.0;
                return (1.0 + lines + lines * (lines - 1.0) / 2.0).ln();
            }
        };
        f64::from(columns) * (cuts as f64 + 1.0).ln()
    }

    /// The number of queries where it is finite: such a class is its own cover, and needs no public record.
    fn is_finite(self) -> bool {
        matches!(self, Self::Conjunctions { .. } | Self::List { .. })
    }

    /// Whether queries have lower bounds.
    pub(super) const fn starts_anywhere(self) -> bool {
        matches!(self, Self::Intervals | Self::Boxes { .. })
    }

    /// Whether queries are about several columns, so that all are counted together.
    pub(super) const fn is_joint(self) -> bool {
        matches!(self, Self::Boxes { .. } | Self::Conjunctions { .. } | Self::List { .. })
    }

    /// Columns with a sharper bound than that of differences of queries: those of thresholds.
    fn columns_of_thresholds(self) -> Option<u32> {
        match self {
            Self::Thresholds => Some(1),
            Self::Stumps { columns } => Some(columns),
            _ => None,
        }
    }

    /// Refuses a class of no column.
    fn check(self) -> Result<()> {
        match self {
            Self::List { queries: 0 } => {
                Err(Error::invalid_parameter("queries of a list", 0, "at least 1"))
            }
            Self::Stumps { columns: 0 }
            | Self::Boxes { columns: 0 }
            | Self::Conjunctions { columns: 0 } => {
                Err(Error::invalid_parameter("columns of a class", 0, "at least 1"))
            }
            _ => Ok(()),
        }
    }
}

/// The number of public records that suffice for a largest share of private records, over all queries, on which a query and
/// the nearest query about cuts differ, of at most α/4, with probability at least 1 − β/2.
///
/// It is 0 for conjunctions and lists, which are finite. It is the least m with `r (m + 1)(1 − α/4)^m ≤ β/2` for thresholds of r
/// columns, and with `2 Π(2m)² 2^{−αm/8} ≤ β/2` for intervals, boxes and half-planes (Bassily et al. 2020, section 3, by double sampling on differences of queries). The α of the paper is for queries with
/// answers −1 and 1, so twice that of shares.
///
/// ```
/// use jointly::pap::{RangeClass, public_records};
/// assert_eq!(public_records(RangeClass::Thresholds, 0.1, 0.1)?, 350);
/// # Ok::<(), jointly::Error>(())
/// ```
///
/// # Errors
/// A class of no column, an α or β outside (0, 1), or an α that takes more than 2⁵² records.
pub fn public_records(class: RangeClass, alpha: f64, beta: f64) -> Result<u64> {
    check("alpha", alpha)?;
    check("beta", beta)?;
    class.check()?;
    if class.is_finite() {
        return Ok(0);
    }
    let suffices = |m: u64| {
        let x = m as f64;
        let log_probability = if let Some(columns) = class.columns_of_thresholds() {
            (f64::from(columns) * (x + 1.0)).ln() + x * (-alpha / 4.0).ln_1p()
        } else {
            let two = std::f64::consts::LN_2;
            two + 2.0 * class.log_labelings(2 * m) - alpha * x / 8.0 * two
        };
        log_probability <= (beta / 2.0).ln()
    };
    // The bound rises from above β/2 and then falls for ever, so that what suffices is all m from one on.
    let mut most = 1_u64;
    while !suffices(most) {
        if most > 1 << 51 {
            let place = format!("public records for alpha = {alpha}");
            return Err(Error::too_large(place, None, (1_u64 << 52) as f64, "records"));
        }
        most *= 2;
    }
    let (mut too_few, mut enough) = (most / 2, most);
    while enough - too_few > 1 {
        let middle = too_few + (enough - too_few) / 2;
        if suffices(middle) { enough = middle } else { too_few = middle }
    }
    Ok(enough)
}

/// The largest share of private records on which a query and the nearest query about cuts differ, with `public` cuts from
/// records like the private ones: a bound that holds with probability 1 − β, at most 1.
///
/// It is 0 for conjunctions and lists, g with `r (m + 1)(1 − g)^m = β` for thresholds, and with `2 Π(2m)² 2^{−gm/2} = β` for all
/// others, as in [`public_records`].
///
/// # Errors
/// A class of no column, a β outside (0, 1), or no public record.
pub fn largest_gap(class: RangeClass, public: u64, beta: f64) -> Result<f64> {
    check("beta", beta)?;
    class.check()?;
    if class.is_finite() {
        return Ok(0.0);
    }
    if public == 0 {
        return Err(Error::invalid_parameter("public records", public, "at least 1"));
    }
    let m = public as f64;
    let gap = if let Some(columns) = class.columns_of_thresholds() {
        -((beta.ln() - (f64::from(columns) * (m + 1.0)).ln()) / m).exp_m1()
    } else {
        let log2_labelings = class.log_labelings(2 * public) / std::f64::consts::LN_2;
        2.0 / m * (1.0 + 2.0 * log2_labelings - beta.log2())
    };
    Ok(gap.min(1.0))
}

/// The number of private records that suffice for the private step of the paper, multiplicative weights over the cells of
/// `public` distinct values, to reach an error of α with probability at least 1 − β at (ε, δ):
/// `200/(ε α²) √(ln |X| ln(2/δ)) (ln |H| + ln(128 ln |X| / (α² β)))`, with |X| cells, (m + 1)^r of them for cuts, and |H| = Π(m), of a finite class its size. Constants are those of
/// the proof, and far from tight; [`Pap`](super::Pap) states its actual error with every answer.
///
/// # Errors
/// A class of no column, a number outside (0, 1), or outside (0, ∞) for ε, or no public value.
pub fn private_records(
    class: RangeClass,
    public: u64,
    alpha: f64,
    beta: f64,
    epsilon: f64,
    delta: f64,
) -> Result<f64> {
    class.check()?;
    for (name, value) in [("alpha", alpha), ("beta", beta), ("delta", delta)] {
        check(name, value)?;
    }
    if !(epsilon > 0.0 && epsilon.is_finite()) {
        return Err(Error::invalid_parameter("epsilon", epsilon, "a finite number above 0"));
    }
    if public == 0 && !class.is_finite() {
        return Err(Error::invalid_parameter("public records", public, "at least 1"));
    }
    let public = if class.is_finite() { 1 << 40 } else { public };
    // One cell still takes a step.
    let log_cells = class.log_cells(public).max(std::f64::consts::LN_2);
    let steps = (128.0 * log_cells / (alpha * alpha * beta)).ln();
    let noise = (log_cells * (2.0 / delta).ln()).sqrt();
    Ok(200.0 / (epsilon * alpha * alpha) * noise * (class.log_labelings(public) + steps))
}

fn check(name: &'static str, value: f64) -> Result<()> {
    if value > 0.0 && value < 1.0 {
        return Ok(());
    }
    Err(Error::invalid_parameter(name, value, "strictly between 0 and 1"))
}

#[cfg(test)]
mod tests;
