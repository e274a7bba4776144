//! A graphical model in a model file.

use serde_json::value::RawValue;

use crate::domain::Clique;
use crate::error::{CommonError, Error, Result};
use crate::graph::{self, JunctionTree};
use crate::model::file::{Reading, StoredFactor};
use crate::model::{MarkovRandomField, Model};
use crate::table::{CliqueLayout, Potentials};

/// The tables of a graphical model.
pub(super) fn factors(model: &MarkovRandomField) -> Vec<StoredFactor> {
    let (domain, potentials) = (model.domain(), model.potentials());
    let cliques = potentials.layout().cliques().iter().enumerate();
    let factor = |(index, clique): (usize, &Clique)| StoredFactor {
        attributes: clique.iter().map(|a| domain.name(a).to_owned()).collect(),
        potentials: potentials.table(index).iter().map(|x| x.is_finite().then_some(*x)).collect(),
    };
    cliques.map(factor).collect()
}

/// The largest log-potential, 2⁴⁰, positive or negative. Beyond it, an `f64` has fewer than twelve binary digits after the
/// point, and the last one changes a probability by a part in four thousand: no fit gives such a number.
const LARGEST: f64 = (1_u64 << 40) as f64;

/// Refuses log-potentials whose sums would be rounding errors, or whose exponentials are all of the model.
fn check_potentials(factor: &StoredFactor, place: &str) -> Result<()> {
    let wrong = factor.potentials.iter().flatten().find(|x| x.abs() > LARGEST);
    let Some(wrong) = wrong else { return Ok(()) };
    let found = format!("a log-potential of {wrong:e} on {}", factor.attributes.join(", "));
    Err(Error::invalid_specification(place, found, "from -2^40 to 2^40, or null"))
}

/// A graphical model, once all sizes fit.
pub(super) fn read(value: &RawValue, reading: Reading<'_>) -> Result<Model> {
    let Reading { domain, total, place, member, limits } = reading;
    let factors: Vec<StoredFactor> = reading.parse(value)?;
    let mut cliques: Vec<Clique> = Vec::with_capacity(factors.len());
    for factor in &factors {
        let clique = domain.clique(&factor.attributes)?;
        let names: Vec<&str> = clique.iter().map(|a| domain.name(a)).collect();
        if names != factor.attributes || cliques.contains(&clique) {
            let found = format!("a factor over {}", factor.attributes.join(", "));
            let expected = "distinct cliques in the schema's order";
            return Err(Error::invalid_specification(place, found, expected));
        }
        if domain.cells(&clique) != Some(factor.potentials.len() as u64) {
            return Err(CommonError::ShapeMismatch {
                clique: domain.describe(&clique),
                expected: domain.shape(&clique).iter().fold(1, |n, k| n.saturating_mul(*k)),
                found: factor.potentials.len(),
            }
            .into());
        }
        check_potentials(factor, &format!("{place}, member '{member}'"))?;
        cliques.push(clique);
    }
    let cells = JunctionTree::new(domain, &cliques).cells();
    if cells > graph::cells_within_mib(limits.model_mib) {
        return Err(Error::too_large(
            format!("the model in {place}"),
            Some(graph::size_mib(cells)),
            limits.model_mib,
            "MiB",
        ));
    }
    let layout = CliqueLayout::new(domain, cliques)?;
    let mut potentials = Potentials::zeros(&layout);
    for (index, factor) in factors.iter().enumerate() {
        let table = potentials.table_mut(index).iter_mut().zip(&factor.potentials);
        table.for_each(|(x, p)| *x = p.unwrap_or(f64::NEG_INFINITY));
    }
    Ok(MarkovRandomField::new(domain, potentials, total)?.into())
}
