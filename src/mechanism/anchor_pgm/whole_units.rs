//! What models say of units as a whole, where each is one record with its members: nothing in the workload does.

use crate::data::{Projectable, PublicData};
use crate::error::Result;
use crate::measurement::Measurement;
use crate::mechanism::anchor_pgm::constants::{AT_ONCE_COMPOSED, COMPOSITIONS};
use crate::mechanism::anchor_pgm::pick::Form;
use crate::mechanism::anchor_pgm::rows::{drawn_beside, drawn_from};
use crate::mechanism::anchor_pgm::unit_records::UnitRecords;
use crate::mechanism::graphical::whole_records;
use crate::mechanism::{Run, Shares, parameters};
use crate::model::{Distribution, MarkovRandomField, WeightedSupport};
use crate::privacy::{Gain, GainOf, L1Errors, PrivacyUnit, Rho, SealedMarginals, Selection};
use crate::query::Compositions;
use crate::table::Factor;

/// Whether units are records with several members.
pub(super) fn have_several_members(unit: &PrivacyUnit) -> bool {
    unit.units().is_some_and(|units| units.members().is_some() && units.most() > 1)
}

/// The private compositions of units, sealed.
pub(super) struct WholeUnits {
    compositions: Compositions,
    answers: SealedMarginals,
}

/// The budget of compositions.
#[derive(Clone, Copy)]
pub(super) struct Composing {
    /// ρ in all.
    pub(super) rho: Rho,
    /// α, the share for measuring.
    pub(super) measure_share: f64,
}

impl WholeUnits {
    /// `None` if units are not records with several members.
    pub(super) fn count(run: &Run<'_, '_>) -> Result<Option<Self>> {
        let unit = run.unit().clone();
        let Some(units) = unit.units().filter(|_| have_several_members(&unit)) else {
            return Ok(None);
        };
        let compositions = Compositions::of_units(run.domain(), units)?;
        let answers = run.tallied_marginals(compositions.tallies(), compositions.cliques())?;
        Ok(Some(Self { compositions, answers }))
    }

    /// The number of tables.
    pub(super) fn len(&self) -> usize {
        self.answers.len()
    }

    /// The number of rounds of [`measure`](Self::measure).
    pub(super) fn rounds(&self) -> u32 {
        parameters::count(COMPOSITIONS.min(self.len()))
    }

    /// `‖M_c(D) - M_c(model)‖₁` for each table c: of listed records exactly, of a fit by records drawn from it.
    pub(super) fn errors(&self, model: &Form) -> Result<L1Errors> {
        let (tallies, cliques) = (self.compositions.tallies(), self.compositions.cliques());
        let all: Vec<usize> = (0..self.len()).collect();
        let mut errors = self.answers.l1_errors();
        match model {
            Form::Listed(support) => {
                let rows = support.rows().tallied(tallies)?;
                let weights = support.weights().to_vec();
                let tallied = WeightedSupport::new(&rows, weights, support.total())?;
                let tables = tallied.marginals(cliques)?;
                let tables: Vec<&[f64]> = tables.iter().map(Factor::values).collect();
                errors.compare(&self.answers, &all, &tables, 1.0)?;
            }
            Form::Mixed(mixture) => return self.errors(&Form::Listed(mixture.listed()?)),
            Form::Graphical(model) => {
                let records = drawn_beside(whole_records(model.total()));
                let drawn = drawn_from(model, records)?.tallied(tallies)?;
                let scale = model.total() / drawn.records() as f64;
                let tables = drawn.project_many(cliques)?;
                errors.compare(&self.answers, &all, &tables, scale)?;
            }
        }
        Ok(errors)
    }

    /// Measures compositions, those that public and drawn units say worst, and reweights these units to all that was measured.
    ///
    /// `tables`: public ones that have all attributes, at least one. `keep`: keeps the state of the run with each measurement.
    pub(super) fn measure(
        &self,
        run: &mut Run<'_, '_>,
        (tables, fit): (&[&PublicData], &MarkovRandomField),
        composing: Composing,
        keep: impl Fn(&mut Run<'_, '_>) -> Result<()>,
    ) -> Result<UnitRecords> {
        let number = COMPOSITIONS.min(self.len());
        self.check_kept(run, number)?;
        let all = run.measurements().len() + number;
        let mut units = UnitRecords::new(tables, fit, &self.compositions, all)?;
        let up_to = |i: usize| composing.rho.split(i as u64, number as u64).unwrap_or_default().0;
        for first in (0..number).step_by(AT_ONCE_COMPOSED) {
            units.fit(run.measurements(), run.tallied().take(first), run.checks())?;
            let (done, last) = (run.tallied().len(), (first + AT_ONCE_COMPOSED).min(number));
            if done >= last {
                continue;
            }
            let errors = self.errors(&units.form()?)?;
            for at in done..last {
                let rho = up_to(at + 1).checked_sub(up_to(at)).unwrap_or_default();
                let cost = Shares::of(rho, composing.measure_share)?;
                self.measure_worst(run, &errors, &units, cost)?;
                keep(run)?;
                run.end_round()?;
            }
        }
        units.fit(run.measurements(), run.tallied(), run.checks())?;
        Ok(units)
    }

    /// A round: chooses a composition that was not measured by its gain, and measures it.
    fn measure_worst(
        &self,
        run: &mut Run<'_, '_>,
        errors: &L1Errors,
        units: &UnitRecords,
        cost: Shares,
    ) -> Result<()> {
        run.begin_round()?;
        let (tallies, cliques) = (self.compositions.tallies(), self.compositions.cliques());
        let is_left = |c: &usize| run.tallied().all(|measured| measured.clique != cliques[*c]);
        let left: Vec<usize> = (0..self.len()).filter(is_left).collect();
        let noise = run.expected_noise(cost.measure);
        let of = |c: &usize| {
            let noise = noise * units.cells(&cliques[*c])? as f64;
            Ok(GainOf { marginal: *c, weight: 1.0, noise })
        };
        let gains = left.iter().map(of).collect::<Result<Vec<_>>>()?;
        let scores = errors.gains(Gain::Shrunk, &gains)?;
        run.scored(left.len(), left.len(), 0);
        let (how, purpose) = (Selection::Exponential, "choose a composition");
        let choice = run.select(how, scores, cost.select, purpose)?;
        run.measure_tallied(tallies, &cliques[left[choice]], cost.measure)
    }

    /// Refuses measurements of an earlier run that are of no composition, or too many.
    fn check_kept(&self, run: &Run<'_, '_>, number: usize) -> Result<()> {
        let domain = self.compositions.tallies().domain();
        let fits = |measured: &Measurement| {
            let cells = domain.cells(&measured.clique) == Some(measured.values.len() as u64);
            cells && self.compositions.cliques().contains(&measured.clique)
        };
        if run.tallied().len() <= number && run.tallied().all(fits) {
            return Ok(());
        }
        Err(run.refused("measured compositions that do not fit the units"))
    }
}
