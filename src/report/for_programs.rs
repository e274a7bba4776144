//! The report for programs.

use serde_json::{Value, json};

use super::{Content, contents, coverage, guarantee, marginals};
use crate::data::{PublicData, Units};
use crate::error::{Error, Result};
use crate::error_bars::{CONFIDENCE, MarginalError, MeasuredErrors};
use crate::privacy::Budget;

/// What the page says, as JSON without its pictures.
///
/// # Errors
/// A marginal that does not fit in memory.
pub fn to_json(content: &Content<'_>) -> Result<String> {
    let release = content.release;
    let charts = marginals::charts(content)?;
    let associations = contents::associations(content.table)?;
    let parameter = |(name, value): &(String, String)| json!({ "name": name, "value": value });
    let value = json!({
        "format": "jointly-report",
        "version": 1,
        "mechanism": release.mechanism,
        "private": release.is_private,
        "guarantee": {
            "text": guarantee::guarantee(content.budget, content.unit),
            "epsilon": content.budget.map(Budget::epsilon),
            "delta": content.budget.map(Budget::delta),
            "rho_limit": release.ledger.limit().to_f64(),
            "rho_spent": release.ledger.spent().to_f64(),
            "neighbors": release.relation.to_string(),
            "unit": content.unit.units().map(Units::column),
        },
        "records": content.table.records(),
        "errors": release.errors().map(|errors| measured(content, errors)),
        "workload": coverage::coverage(content).map(|found| found.described()),
        "public_tables": content.public.iter().map(PublicData::name).collect::<Vec<_>>(),
        "published": release.public_trust.as_ref().map(|trust| trust.published),
        "columns": charts.iter().map(marginals::Chart::described).collect::<Vec<_>>(),
        "associations": associations.map(|found| found.described()),
        "parameters": content.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "made": content.made,
    });
    serde_json::to_string_pretty(&value)
        .map(|text| text + "\n")
        .map_err(|error| Error::Page { reason: error.to_string() })
}

/// The measured errors of the table.
fn measured(content: &Content<'_>, errors: &MeasuredErrors) -> Value {
    let domain = content.release.model.domain();
    let marginal = |error: &MarginalError| {
        let names: Vec<&str> = error.clique.iter().map(|a| domain.name(a)).collect();
        json!({ "clique": names, "measured": error.measured, "shrunk": error.shrunk })
    };
    json!({
        "confidence": CONFIDENCE,
        "mean": errors.mean,
        "none_above": errors.none_above,
        "marginals": errors.marginals.iter().map(marginal).collect::<Vec<_>>(),
    })
}
