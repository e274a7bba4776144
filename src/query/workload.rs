//! The workload: cliques whose marginals matter, with weights.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};
use serde::Deserialize;

use crate::data::read_text;
use crate::domain::{Clique, Domain};
use crate::error::{CommonError, Error, Result};

/// Largest number of cliques of one workload.
const MAX_CLIQUES: u64 = 1 << 24;

/// Largest number of attributes of a clique of a workload, so that its subsets can be listed.
const MAX_ATTRIBUTES: usize = 16;

/// A clique of a workload with its weight c, which is positive and 1 by default.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedClique {
    /// The attributes.
    pub clique: Clique,
    /// How much its marginal matters, relative to the others.
    pub weight: f64,
}

/// Weighted cliques W, distinct, in a fixed order.
///
/// ```
/// use jointly::domain::Domain;
/// use jointly::query::Workload;
/// let domain = Domain::new([("a", 2), ("b", 2), ("c", 2)])?;
/// let workload = Workload::parse("all-2-way", &domain)?;
/// assert_eq!((workload.len(), workload.downward_closure().len()), (3, 6));
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    cliques: Vec<WeightedClique>,
}

impl Workload {
    /// A workload of these cliques, in this order; the weights of equal cliques add up.
    ///
    /// # Errors
    /// No clique, an empty one, one outside the domain or of more than 16 attributes, or a weight that is not positive
    /// and finite.
    pub fn new(cliques: impl IntoIterator<Item = WeightedClique>, domain: &Domain) -> Result<Self> {
        let mut places: BTreeMap<Clique, usize> = BTreeMap::new();
        let mut distinct: Vec<WeightedClique> = Vec::new();
        for WeightedClique { clique, weight } in cliques {
            if !(weight.is_finite() && weight > 0.0) {
                return Err(Error::invalid_specification(
                    format!("workload, clique {}", domain.describe(&clique)),
                    format!("weight {weight}"),
                    "a positive number",
                ));
            }
            if let Some(outside) = clique.iter().find(|a| *a >= domain.len()) {
                return Err(domain.unknown(&format!("#{outside}"), "the workload").into());
            }
            if clique.is_empty() {
                return Err(empty("workload"));
            }
            check_size(clique.len())?;
            if let Some(place) = places.get(&clique) {
                distinct[*place].weight += weight;
            } else {
                places.insert(clique.clone(), distinct.len());
                distinct.push(WeightedClique { clique, weight });
            }
        }
        if distinct.is_empty() {
            return Err(Error::invalid_specification("workload", "no clique", "at least one"));
        }
        if let Some(sum) = distinct.iter().find(|clique| clique.weight.is_infinite()) {
            return Err(Error::invalid_specification(
                format!("workload, clique {}", domain.describe(&sum.clique)),
                "weights that add up to more than a number can hold",
                "a positive number",
            ));
        }
        Ok(Self { cliques: distinct })
    }

    /// All cliques of `k` attributes, with weight 1, in lexicographic order.
    ///
    /// # Errors
    /// `k` is 0 or more than the number of attributes, more than 16, or there are more than 2²⁴ such cliques.
    pub fn all_k_way(domain: &Domain, k: usize) -> Result<Self> {
        let d = domain.len();
        if k == 0 || k > d {
            return Err(Error::invalid_specification(
                format!("workload all-{k}-way"),
                format!("cliques of {k} attributes in a domain of {d}"),
                format!("from 1 to {d} attributes"),
            ));
        }
        check_size(k)?;
        let count = (0..k as u64).try_fold(1_u64, |n, i| {
            // n (d - i) / (i + 1) is a binomial coefficient after every step.
            n.checked_mul(d as u64 - i).map(|n| n / (i + 1)).filter(|n| *n <= 1 << 40)
        });
        if count.is_none_or(|count| count > MAX_CLIQUES) {
            return Err(Error::too_large(
                format!("workload all-{k}-way over {d} attributes"),
                count.map(|n| n as f64),
                MAX_CLIQUES as f64,
                "cliques",
            ));
        }
        let mut chosen: Vec<usize> = (0..k).collect();
        let mut cliques = Vec::new();
        loop {
            cliques
                .push(WeightedClique { clique: Clique::new(chosen.iter().copied()), weight: 1.0 });
            let Some(i) = (0..k).rev().find(|i| chosen[*i] < d - k + i) else {
                break;
            };
            let next = chosen[i] + 1;
            for (j, attribute) in chosen[i..].iter_mut().enumerate() {
                *attribute = next + j;
            }
        }
        Ok(Self { cliques })
    }

    /// A random sample of the cliques, in their order. The same seed gives the same sample everywhere.
    ///
    /// # Errors
    /// A sample of no clique.
    pub fn sampled(mut self, cliques: usize, seed: u64) -> Result<Self> {
        if cliques == 0 {
            return Err(Error::invalid_parameter("cliques of a sampled workload", 0, "at least 1"));
        }
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut keys: Vec<(u64, usize)> =
            (0..self.cliques.len()).map(|clique| (rng.next_u64(), clique)).collect();
        keys.sort_unstable();
        let mut is_drawn = vec![false; self.cliques.len()];
        keys.iter().take(cliques).for_each(|(_, clique)| is_drawn[*clique] = true);
        let mut is_drawn = is_drawn.into_iter();
        self.cliques.retain(|_| is_drawn.next().unwrap_or(false));
        Ok(self)
    }

    /// A workload by name: `all-3-way`, or another number; `all-3-way:4096@0` for 4,096 of its cliques, drawn with the
    /// seed 0 (all of them if there are fewer).
    ///
    /// # Errors
    /// Another form, or as [`Workload::all_k_way`] and [`Workload::sampled`].
    ///
    /// ```
    /// use jointly::{domain::Domain, query::Workload};
    /// let domain = Domain::new((0..10).map(|i| (i.to_string(), 2)))?;
    /// assert_eq!(Workload::parse("all-3-way", &domain)?.len(), 120);
    /// assert_eq!(Workload::parse("all-3-way:50@0", &domain)?.len(), 50);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn parse(name: &str, domain: &Domain) -> Result<Self> {
        match built_in(name) {
            Some((k, None)) => Self::all_k_way(domain, k),
            Some((k, Some((cliques, seed)))) => Self::all_k_way(domain, k)?.sampled(cliques, seed),
            None => Err(Error::invalid_specification(
                "workload",
                format!("'{name}'"),
                "all-K-way with a number K, all-K-way:N@SEED for N of these, or a file",
            )),
        }
    }

    /// Reads a workload file: JSON `{"cliques": [["AGEP", "SEX"], {"clique": ["MAR"], "weight": 2.0}]}`, or text with
    /// one clique per line, names separated by commas (quoted as in CSV if necessary); lines that are empty or start
    /// with `#` are skipped.
    ///
    /// # Errors
    /// An unreadable file, or as [`Workload::from_text`].
    pub fn read(path: &Path, domain: &Domain) -> Result<Self> {
        let text = read_text(path)?;
        Self::from_text(&text, &path.display().to_string(), domain)
    }

    /// The workload in the text of a file (see [`Workload::read`]) that `place` names in errors.
    ///
    /// # Errors
    /// A wrong form, an unknown or repeated attribute (with its line), or as [`Workload::new`].
    pub fn from_text(text: &str, place: &str, domain: &Domain) -> Result<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let cliques = if text.trim_start().starts_with(['{', '[']) {
            from_json(text, place, domain)?
        } else {
            from_lines(text, place, domain)?
        };
        if cliques.is_empty() {
            return Err(Error::invalid_specification(place, "no clique", "at least one"));
        }
        Self::new(cliques, domain).map_err(|error| match error {
            Error::Common(CommonError::InvalidSpecification { place: at, found, expected }) => {
                Error::invalid_specification(format!("{place}, {at}"), found, expected)
            }
            other => other,
        })
    }

    /// The cliques of at most `max_cells` cells, and how many were left out.
    ///
    /// # Errors
    /// None is left.
    pub fn restrict(mut self, domain: &Domain, max_cells: u64) -> Result<(Self, usize)> {
        let before = self.cliques.len();
        self.cliques.retain(|c| domain.cells(&c.clique).is_some_and(|cells| cells <= max_cells));
        let left_out = before - self.cliques.len();
        if self.cliques.is_empty() {
            return Err(Error::invalid_specification(
                "workload",
                format!("{before} cliques, all of more than {max_cells} cells"),
                "a smaller clique or a larger limit",
            ));
        }
        Ok((self, left_out))
    }

    /// Number of cliques, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "a workload is never empty")]
    pub fn len(&self) -> usize {
        self.cliques.len()
    }

    /// The cliques with their weights.
    pub fn weighted_cliques(&self) -> &[WeightedClique] {
        &self.cliques
    }

    /// The cliques alone.
    pub fn cliques(&self) -> Vec<Clique> {
        self.cliques.iter().map(|c| c.clique.clone()).collect()
    }

    /// These cliques without an attribute, and each of them with this attribute in the place of one of its own. Both halves
    /// matter as much: their weights have the same sum. So a run learns the other attributes as well as how this one depends on
    /// them, as for a survey weight.
    ///
    /// `max_cells`: cliques with the attribute and more cells are left out.
    ///
    /// # Errors
    /// No clique without the attribute.
    pub fn crossed_with(
        &self,
        attribute: usize,
        domain: &Domain,
        max_cells: Option<u64>,
    ) -> Result<Self> {
        let own = Clique::new([attribute]);
        let is_small = |clique: &Clique| {
            max_cells.is_none_or(|most| domain.cells(clique).is_some_and(|cells| cells <= most))
        };
        let others: Vec<WeightedClique> =
            self.cliques.iter().filter(|c| !c.clique.contains(attribute)).cloned().collect();
        let crossed = others.iter().flat_map(|WeightedClique { clique, weight }| {
            let replaced = clique.iter().map(|one| clique.difference(&Clique::new([one])));
            let crossed = replaced.map(|rest| rest.union(&own)).filter(is_small);
            crossed.map(|clique| WeightedClique { clique, weight: *weight }).collect::<Vec<_>>()
        });
        let crossed: Vec<WeightedClique> = crossed.collect();
        let sum = |cliques: &[WeightedClique]| cliques.iter().map(|c| c.weight).sum::<f64>();
        let scale = sum(&others) / sum(&crossed).max(f64::MIN_POSITIVE);
        let scaled = crossed.into_iter().map(|c| WeightedClique { weight: scale * c.weight, ..c });
        Self::new(others.iter().cloned().chain(scaled), domain)
    }

    /// The cliques without an attribute; if all have it, they are taken without it, and those that were it alone left out.
    ///
    /// # Errors
    /// Nothing is left.
    pub fn without(&self, attribute: usize, domain: &Domain) -> Result<Self> {
        let cliques = || self.cliques.iter().cloned();
        if !self.cliques.iter().all(|c| c.clique.contains(attribute)) {
            return Self::new(cliques().filter(|c| !c.clique.contains(attribute)), domain);
        }
        let own = Clique::new([attribute]);
        let rest = cliques().map(|c| WeightedClique { clique: c.clique.difference(&own), ..c });
        Self::new(rest.filter(|c| !c.clique.is_empty()), domain)
    }

    /// W-down: every non-empty subset of a clique of it, once, by size and then lexicographic.
    pub fn downward_closure(&self) -> Vec<Clique> {
        let mut closure: BTreeSet<(usize, Clique)> = BTreeSet::new();
        for WeightedClique { clique, .. } in &self.cliques {
            closure.extend(clique.subsets().into_iter().map(|subset| (subset.len(), subset)));
        }
        closure.into_iter().map(|(_, clique)| clique).collect()
    }
}

/// K, and the number of cliques and the seed of a sample, of the name of a built-in workload.
pub(super) fn built_in(name: &str) -> Option<(usize, Option<(usize, u64)>)> {
    let (whole, sample) = match name.trim().split_once(':') {
        Some((whole, sample)) => (whole, Some(sample.split_once('@')?)),
        None => (name.trim(), None),
    };
    let k = whole.strip_prefix("all-")?.strip_suffix("-way")?.parse().ok()?;
    match sample {
        None => Some((k, None)),
        Some((cliques, seed)) => Some((k, Some((cliques.parse().ok()?, seed.parse().ok()?)))),
    }
}

fn check_size(attributes: usize) -> Result<()> {
    if attributes <= MAX_ATTRIBUTES {
        return Ok(());
    }
    Err(Error::too_large(
        "a clique of the workload",
        Some(attributes as f64),
        MAX_ATTRIBUTES as f64,
        "attributes",
    ))
}

fn empty(place: &str) -> Error {
    Error::invalid_specification(place, "a clique without attributes", "at least one")
}

/// The clique of some names found at a place.
fn clique(names: &[String], place: &str, domain: &Domain) -> Result<Clique> {
    if names.is_empty() {
        return Err(empty(place));
    }
    let mut positions = Vec::with_capacity(names.len());
    for name in names {
        let position = domain.position(name).ok_or_else(|| domain.unknown(name, place))?;
        if positions.contains(&position) {
            return Err(CommonError::DuplicateAttribute {
                name: name.clone(),
                place: place.into(),
            }
            .into());
        }
        positions.push(position);
    }
    Ok(Clique::new(positions))
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a clique that is no list of names and has no clique and weight")]
enum Entry {
    Plain(Vec<String>),
    Weighted { clique: Vec<String>, weight: f64 },
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "no list of cliques")]
enum File {
    Object { cliques: Vec<Entry> },
    List(Vec<Entry>),
}

fn from_json(text: &str, place: &str, domain: &Domain) -> Result<Vec<WeightedClique>> {
    let expected = "{\"cliques\": [[\"name\", ...], {\"clique\": [...], \"weight\": 2.0}, ...]}";
    let wrong = |error: serde_json::Error| Error::wrong_json(place, &error, true, expected);
    let (File::Object { cliques: entries } | File::List(entries)) =
        serde_json::from_str(text).map_err(wrong)?;
    let mut cliques = Vec::with_capacity(entries.len());
    for (number, entry) in entries.into_iter().enumerate() {
        let (names, weight) = match entry {
            Entry::Plain(names) => (names, 1.0),
            Entry::Weighted { clique, weight } => (clique, weight),
        };
        let unknown = names.iter().find(|name| domain.position(name).is_none());
        let line = unknown.and_then(|name| {
            let quoted = serde_json::to_string(name).ok()?;
            text.lines().position(|line| line.contains(&quoted))
        });
        let line = line.map_or_else(String::new, |line| format!(", line {}", line + 1));
        let at = format!("{place}{line}, clique {}", number + 1);
        cliques.push(WeightedClique { clique: clique(&names, &at, domain)?, weight });
    }
    Ok(cliques)
}

fn from_lines(text: &str, place: &str, domain: &Domain) -> Result<Vec<WeightedClique>> {
    let mut cliques = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let at = format!("{place}, line {}", number + 1);
        let mut reader = csv::ReaderBuilder::new();
        let mut reader =
            reader.has_headers(false).trim(csv::Trim::All).from_reader(line.as_bytes());
        let mut names = csv::StringRecord::new();
        reader
            .read_record(&mut names)
            .map_err(|e| Error::invalid_specification(at.clone(), e.to_string(), "names"))?;
        let names: Vec<String> = names.iter().map(String::from).collect();
        cliques.push(WeightedClique { clique: clique(&names, &at, domain)?, weight: 1.0 });
    }
    Ok(cliques)
}

#[cfg(test)]
mod tests;
