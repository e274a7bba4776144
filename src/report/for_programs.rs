//! The report for programs.

use serde_json::{Value, json};

use super::Report;
use super::contents::Associations;
use super::coverage::Coverage;
use super::marginals::Chart;
use crate::data::{PublicData, Units};
use crate::error::{Error, Result};
use crate::error_bars::NamedErrors;
use crate::privacy::Budget;

impl Report<'_> {
    /// What the page says, as JSON without its pictures.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_json(&self) -> Result<String> {
        let content = self.content;
        let release = content.release;
        let domain = release.model.domain();
        let parameter = |(name, value): &(String, String)| json!({ "name": name, "value": value });
        let value = json!({
            "format": "jointly-report",
            "version": 1,
            "mechanism": release.mechanism,
            "private": release.is_private,
            "guarantee": {
                "text": self.guarantee,
                "epsilon": content.budget.map(Budget::epsilon),
                "delta": content.budget.map(Budget::delta),
                "rho_limit": release.ledger.limit().to_f64(),
                "rho_spent": release.ledger.spent().to_f64(),
                "neighbors": release.relation.to_string(),
                "unit": content.unit.units().map(Units::column),
            },
            "records": content.table.records(),
            "errors": release.errors().map(|errors| NamedErrors::new(errors, domain)),
            "workload": self.coverage.as_ref().map(Coverage::described),
            "public_tables": content.public.iter().map(PublicData::name).collect::<Vec<_>>(),
            "published": release.public_trust.as_ref().map(|trust| trust.published),
            "above_aim": release.public_trust.as_ref().and_then(|trust| trust.above_aim),
            "columns": self.charts.iter().map(Chart::described).collect::<Vec<_>>(),
            "associations": self.associations.as_ref().map(Associations::described),
            "parameters": content.parameters.iter().map(parameter).collect::<Vec<Value>>(),
            "made": content.made,
        });
        serde_json::to_string_pretty(&value)
            .map(|text| text + "\n")
            .map_err(|error| Error::Page { reason: error.to_string() })
    }
}
