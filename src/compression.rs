//! Domain compression: values that are rarer than the noise are merged for the fit, and spread again on decoding.
//!
//! It is a first, paid step of a run: the marginals of single attributes are measured, and each cell below three standard
//! deviations of its noise counts as rare. The rare values of a categorical attribute become one group
//! ([`Group`]), runs of rare bins one bin. The mechanism then sees the merged attributes only; rare cells would
//! cost it noise and model size, and tell it nothing. The mechanism MST has the step (arXiv:2108.04978), without the
//! spreading.

use crate::data::{PublicData, Recoding};
use crate::domain::{Bins, Clique, Group, GroupValue, Kind, Piece, Schema, SchemaColumn, texts};
use crate::error::Result;
use crate::privacy::{Curator, Inputs, NoisyMarginal, Rho};

/// Cells below this many standard deviations of the noise are rare, as in MST.
const RARE: f64 = 3.0;

/// Attributes of fewer values are not measured: there is little to merge. Chosen on Adult.
const FEWEST_VALUES: u32 = 16;

/// Rows of a public table that every value has in addition, so that none is impossible.
const UNSEEN: f64 = 0.5;

/// Attributes whose rare values may be merged: those of many values that no forbidden combination names.
///
/// ```
/// use jointly::compression;
/// use jointly::domain::Schema;
/// let schema = Schema::from_json(r#"{"sex": 2, "job": 527}"#, "domain.json")?;
/// assert_eq!(compression::candidates(&schema), [1]);
/// # Ok::<(), jointly::Error>(())
/// ```
pub fn candidates(schema: &Schema) -> Vec<usize> {
    let domain = schema.domain();
    let is_ruled = |a: usize| {
        domain.structural_zeros().iter().any(|zero| zero.clique().iter().any(|own| own == a))
    };
    let large = schema.attributes().enumerate().filter(|(_, c)| c.cardinality() >= FEWEST_VALUES);
    large.map(|(attribute, _)| attribute).filter(|a| !is_ruled(*a)).collect()
}

/// Measures the attributes of [`candidates`], in equal parts of `rho`: a paid step, which a checkpoint keeps
/// ([`Curator::once`]).
///
/// # Errors
/// A budget that is too small for noise or for what is left, or of pure differential privacy.
pub fn measure(
    curator: &mut Curator<'_>,
    attributes: &[usize],
    rho: Rho,
) -> Result<Vec<NoisyMarginal>> {
    let own = rho.split(1, attributes.len().max(1) as u64).unwrap_or_default().0;
    let parts = attributes.iter().map(|a| format!("{a} {}", own.units()));
    let inputs = || Inputs::default().with("attributes whose values are merged", parts);
    let pay = |curator: &mut Curator<'_>| {
        let measure = |a: &usize| Ok(curator.measure(&Clique::new([*a]), own)?);
        attributes.iter().map(measure).collect()
    };
    curator.once("merging", inputs, pay, |noisy: &Vec<NoisyMarginal>, entries| {
        let is_paid = entries.iter().map(|entry| entry.rho).eq(attributes.iter().map(|_| own));
        let measured = noisy.iter().map(|marginal| marginal.clique.attributes());
        if is_paid && measured.eq(attributes.iter().map(std::slice::from_ref)) {
            return Ok(());
        }
        Err("the marginals of the attributes to merge do not match their ledger entries")
    })
}

/// A schema with merged values, and how codes of the schema before become its codes.
#[derive(Clone, Debug)]
pub struct Compression {
    schema: Schema,
    recoding: Recoding,
}

impl Compression {
    /// Merges the rare values of some attributes. Inside a merged code, values have the public rows' proportions, or even
    /// ones without public tables, corrected by the noisy counts as far as these say more than noise (positive-part
    /// James-Stein; Efron & Morris 1973).
    ///
    /// # Errors
    /// Public tables that cannot be counted, or merged bins that are no bins.
    pub fn new(schema: &Schema, noisy: &[NoisyMarginal], public: &[PublicData]) -> Result<Self> {
        let (mut kinds, mut codes) = (Vec::new(), Vec::new());
        for (attribute, column) in schema.attributes().enumerate() {
            let clique = Clique::new([attribute]);
            let found = noisy.iter().find(|marginal| marginal.clique == clique);
            let merged = match found {
                None => None,
                Some(found) => {
                    let prior = expected(&clique, found.values.len(), public)?;
                    merged(column, found, &prior)?
                }
            };
            let (kind, map) = merged.unzip();
            kinds.push(kind);
            codes.push(map);
        }
        let merged = schema.with_kinds("compressed schema", kinds)?;
        let recoding = Recoding::new(schema.domain(), merged.domain(), codes)?;
        Ok(Self { schema: merged, recoding })
    }

    /// The schema with the merged values.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The new codes of the old ones.
    pub fn recoding(&self) -> &Recoding {
        &self.recoding
    }
}

/// Proportions of an attribute's values in the public tables that have it, or even ones.
fn expected(clique: &Clique, values: usize, public: &[PublicData]) -> Result<Vec<f64>> {
    let mut rows = vec![UNSEEN; values];
    for table in public.iter().filter(|table| table.covers(clique)) {
        for counts in table.project_many(std::slice::from_ref(clique))? {
            rows.iter_mut().zip(counts).for_each(|(rows, count)| *rows += f64::from(count));
        }
    }
    Ok(rows)
}

/// A kind with its rare values merged, and the new code of each code; `None` if there are none to merge.
fn merged(
    column: &SchemaColumn,
    noisy: &NoisyMarginal,
    prior: &[f64],
) -> Result<Option<(Kind, Vec<u32>)>> {
    let limit = RARE * noisy.stddev();
    let is_rare = |code: usize| noisy.values.get(code).is_some_and(|count| (*count as f64) < limit);
    let rows = |codes: &[usize]| rows_of(codes, noisy, prior);
    let found =
        match &column.kind {
            Some(Kind::Coded { size }) => {
                let codes = (0..*size).map(|code| code.to_string()).collect();
                grouped(&Categories { codes, ..Categories::default() }, is_rare, rows)
            }
            Some(Kind::Categorical { codes, labels, other, groups }) => {
                let (codes, labels, groups) = (codes.clone(), labels.clone(), groups.clone());
                grouped(&Categories { codes, labels, other: *other, groups }, is_rare, rows)
            }
            Some(Kind::Numeric(bins)) => joined(bins, is_rare, rows, &column.name)?
                .map(|(bins, map)| (Kind::Numeric(bins), map)),
            Some(Kind::Date(bins)) => joined(bins, is_rare, rows, &column.name)?
                .map(|(bins, map)| (Kind::Date(bins), map)),
            None => None,
        };
    Ok(found.map(|(kind, mut map)| {
        // A missing value keeps the last code.
        let last = map.iter().max().map_or(0, |code| code + 1);
        map.extend(column.na.then_some(last));
        (kind, map)
    }))
}

/// The members of [`Kind::Categorical`].
#[derive(Default)]
struct Categories {
    codes: Vec<String>,
    labels: Option<Vec<String>>,
    other: Option<u32>,
    groups: Vec<Group>,
}

/// Categories whose rare codes are one group, the last code. Groups and the catch-all code stay as they are.
fn grouped(
    from: &Categories,
    is_rare: impl Fn(usize) -> bool,
    rows: impl Fn(&[usize]) -> Vec<u32>,
) -> Option<(Kind, Vec<u32>)> {
    let is_single =
        |code: u32| from.other != Some(code) && from.groups.iter().all(|group| group.code != code);
    let (mut rare, mut kept) = (Vec::new(), Vec::new());
    for (at, code) in (0..from.codes.len()).zip(0..) {
        let list = if is_single(code) && is_rare(at) { &mut rare } else { &mut kept };
        list.push(at);
    }
    if rare.len() < 2 {
        return None;
    }
    let position = |at: usize| kept.binary_search(&at).unwrap_or(kept.len());
    let code = |at: usize| u32::try_from(position(at)).unwrap_or(u32::MAX);
    let label = |at: usize| from.labels.as_ref().and_then(|labels| labels.get(at)).cloned();
    let value = |(at, rows): (&usize, u32)| GroupValue {
        text: from.codes[*at].clone(),
        label: label(*at),
        rows,
    };
    let moved = |group: &Group| Group { code: code(group.code as usize), ..group.clone() };
    let mut groups: Vec<Group> = from.groups.iter().map(moved).collect();
    let values = rare.iter().zip(rows(&rare)).map(value).collect();
    groups.push(Group { code: code(rare[0]), values });
    let mut name = "rare".to_owned();
    while texts(&from.codes, &from.groups).any(|(text, _)| text == name)
        || from.codes.contains(&name)
    {
        name.push('_');
    }
    let of_group = format!("{} rare values", rare.len());
    let labels = from
        .labels
        .as_ref()
        .map(|_| kept.iter().filter_map(|at| label(*at)).chain([of_group]).collect());
    let codes = kept.iter().map(|at| from.codes[*at].clone()).chain([name]).collect();
    let other = from.other.map(|other| code(other as usize));
    let map = (0..from.codes.len()).map(code).collect();
    Some((Kind::Categorical { codes, labels, other, groups }, map))
}

/// Bins whose runs of rare bins are one bin each, with pieces that say how values lie in it.
fn joined(
    bins: &Bins,
    is_rare: impl Fn(usize) -> bool,
    rows: impl Fn(&[usize]) -> Vec<u32>,
    name: &str,
) -> Result<Option<(Bins, Vec<u32>)>> {
    let count = bins.count() as usize;
    let (mut edges, mut pieces, mut map) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = 0;
    while at < count {
        let run: Vec<usize> = (at..count).take_while(|bin| is_rare(*bin)).collect();
        let end = at + run.len().max(1);
        let new = u32::try_from(edges.len()).unwrap_or(u32::MAX);
        edges.push(bins.edges()[at]);
        map.extend(std::iter::repeat_n(new, end - at));
        if run.len() > 1 {
            pieces.extend(
                run.iter().zip(rows(&run)).flat_map(|(bin, rows)| spread(bins, *bin, rows)),
            );
        } else if at == 0 || end == count {
            // An open-ended bin is cut by the widths beside it, which are others now.
            pieces.extend(spread(bins, at, 1));
        } else {
            pieces.extend(bins.pieces_of(u32::try_from(at).unwrap_or(u32::MAX)));
        }
        at = end;
    }
    if edges.len() == count {
        return Ok(None);
    }
    edges.push(bins.edges()[count]);
    let joined = Bins::new(edges, Some(bins.is_integer()), name)?.in_place_of(bins);
    Ok(Some((joined.with_pieces(pieces, name)?, map)))
}

/// The pieces of a bin, or the bin as a piece, with `rows` rows in all.
fn spread(bins: &Bins, bin: usize, rows: u32) -> Vec<Piece> {
    let code = u32::try_from(bin).unwrap_or(u32::MAX);
    let own = bins.pieces_of(code);
    if own.is_empty() {
        let (mut from, mut below) = bins.plausible(code);
        if bins.is_integer() {
            // Whole numbers: a piece ends at one, and no later than its bin.
            let end = below;
            (from, below) = (from.ceil(), below.ceil());
            if below - from <= 1.0 {
                below = from;
            } else if below > end {
                return with_last(from, below - 1.0, rows);
            }
        }
        return vec![Piece { from, below, rows, step: None }];
    }
    let total: f64 = own.iter().map(|piece| f64::from(piece.rows)).sum();
    let part = |piece: &Piece| {
        let rows = f64::from(rows) * f64::from(piece.rows) / total;
        Piece { rows: whole(rows), ..*piece }
    };
    own.iter().map(part).collect()
}

/// The whole numbers from `from` to `last`, as a piece that ends before `last`, and `last` itself.
fn with_last(from: f64, last: f64, rows: u32) -> Vec<Piece> {
    let at_last = whole(f64::from(rows) / (last - from + 1.0));
    let below = if last - from <= 1.0 { from } else { last };
    let rest = Piece { from, below, rows: rows.saturating_sub(at_last).max(1), step: None };
    vec![rest, Piece { from: last, below: last, rows: at_last, step: None }]
}

/// Estimated rows of some codes: those expected from `prior`, moved towards the noisy counts as far as their distance is
/// more than noise.
fn rows_of(codes: &[usize], noisy: &NoisyMarginal, prior: &[f64]) -> Vec<u32> {
    // One dimension is the total, two more are the price of an estimated shrinkage.
    const LOST: f64 = 3.0;
    let count = |code: &usize| noisy.values.get(*code).map_or(0.0, |count| *count as f64);
    let known = |code: &usize| prior.get(*code).copied().unwrap_or(UNSEEN);
    let all: f64 = codes.iter().map(known).sum();
    let total = codes.iter().map(count).sum::<f64>().max(0.0);
    let expected: Vec<f64> = codes.iter().map(|code| total * known(code) / all).collect();
    let distances = codes.iter().zip(&expected).map(|(code, expected)| count(code) - expected);
    let distance: f64 = distances.map(|distance| distance * distance).sum();
    let noise = (codes.len() as f64 - LOST) * noisy.variance.to_f64();
    let trust = if distance > 0.0 { (1.0 - noise / distance).max(0.0) } else { 0.0 };
    let estimate = |(code, expected): (&usize, &f64)| expected + trust * (count(code) - expected);
    let rows = codes.iter().zip(&expected).map(estimate);
    // If nothing is left, the proportions of the prior are.
    if total > 0.0 {
        rows.map(whole).collect()
    } else {
        codes.iter().map(|code| whole(known(code))).collect()
    }
}

/// A number of rows, at least 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to u32::MAX")]
fn whole(rows: f64) -> u32 {
    rows.round().clamp(1.0, f64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests;
