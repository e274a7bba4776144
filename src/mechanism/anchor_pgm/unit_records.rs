//! A model of units with their members that knows what they are made of: public units, and some drawn from a fit, reweighted.

use crate::data::{Dataset, PublicData};
use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::measurement::Measurement;
use crate::mechanism::anchor_pgm::constants::{DRAWN, DRAWN_SHARE, MOST_LOOKED_UP};
use crate::mechanism::anchor_pgm::pick::{Candidate, Form};
use crate::mechanism::anchor_pgm::rows::{drawn_from, reweighted};
use crate::model::{Distribution, MarkovRandomField, WeightedSupport};
use crate::observe::Checks;
use crate::query::Compositions;

/// Public units and units drawn from a fit, with weights that fit all that was measured.
///
/// The drawn ones have what no public unit has. They begin with a share of [`DRAWN_SHARE`], so that they matter where
/// measurements ask for them.
#[derive(Clone)]
pub(super) struct UnitRecords {
    /// Distinct records, with the weights that the fit is pulled to.
    listed: WeightedSupport,
    /// The same records with their tallies.
    tallied: Dataset,
    /// Where the attributes of the compositions are in `tallied`.
    places: Vec<usize>,
    weights: Vec<f64>,
}

impl UnitRecords {
    /// `tables`: public ones that have all attributes, at least one. `measurements`: how many it will be fitted to.
    pub(super) fn new(
        tables: &[&PublicData],
        fit: &MarkovRandomField,
        compositions: &Compositions,
        measurements: usize,
    ) -> Result<Self> {
        let domain = fit.domain();
        let rows = tables.iter().map(|table| table.table()).collect::<Result<Vec<_>>>()?;
        let public = Dataset::joined(domain, &rows)?;
        let records = public.records() as f64;
        // Half of the records that can be looked up are drawn ones.
        let most = (MOST_LOOKED_UP / measurements.max(1) / 2).max(1);
        let every = public.records().div_ceil(most).max(1);
        let kept: Vec<u32> =
            (0..u32::try_from(public.records()).unwrap_or(u32::MAX)).step_by(every).collect();
        let public = public.take(&kept);
        let drawn = drawn_from(fit, public.records().max(DRAWN.0).min(most))?;
        let each = |share: f64, rows: &Dataset| {
            std::iter::repeat_n(share * records / rows.records() as f64, rows.records())
        };
        let weights = each(1.0 - DRAWN_SHARE, &public).chain(each(DRAWN_SHARE, &drawn)).collect();
        let rows = Dataset::joined(domain, &[&public, &drawn])?;
        let listed = WeightedSupport::new(&rows, weights, fit.total())?;
        let tallied = listed.rows().tallied(compositions.beside_all())?;
        let places = places(compositions.tallies().domain(), tallied.domain())?;
        let weights = listed.weights().to_vec();
        Ok(Self { listed, tallied, places, weights })
    }

    /// Finds the weights that fit the measurements, and those of compositions.
    pub(super) fn fit<'m>(
        &mut self,
        measurements: &[Measurement],
        compositions: impl Iterator<Item = &'m Measurement>,
        checks: &dyn Checks,
    ) -> Result<()> {
        let of_tallied = |measured: &Measurement| Measurement {
            clique: self.in_tallied(&measured.clique),
            ..measured.clone()
        };
        let compositions = compositions.map(of_tallied);
        let all: Vec<Measurement> = measurements.iter().cloned().chain(compositions).collect();
        let (prior, total) = (self.listed.weights(), self.listed.total());
        (self.weights, _) = reweighted(&self.tallied, prior, &all, total, checks)?;
        Ok(())
    }

    /// The cells of a table of compositions in which any of the records is.
    pub(super) fn cells(&self, composition: &Clique) -> Result<usize> {
        let mut cells = self.tallied.cells(&self.in_tallied(composition))?;
        cells.sort_unstable();
        cells.dedup();
        Ok(cells.len())
    }

    /// The model.
    pub(super) fn form(&self) -> Result<Form> {
        let (listed, total) = (self.listed.clone(), self.listed.total());
        Ok(Form::Listed(listed.reweighted(self.weights.clone(), total)?))
    }

    /// The model, to be published.
    pub(super) fn candidate(&self) -> Result<Candidate> {
        let name = "public units and some of a fit, reweighted";
        Ok(Candidate { name, is_public: true, form: self.form()? })
    }

    fn in_tallied(&self, composition: &Clique) -> Clique {
        Clique::new(composition.iter().map(|attribute| self.places[attribute]))
    }
}

/// The positions of attributes in another domain.
fn places(of: &Domain, among: &Domain) -> Result<Vec<usize>> {
    let place =
        |name: &str| Ok(among.position(name).ok_or_else(|| among.unknown(name, "units"))?);
    of.attributes().iter().map(|attribute| place(&attribute.name)).collect()
}
