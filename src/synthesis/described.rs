//! The description of a run in its ledger file and its report.

use serde::Serialize;
use serde_json::Value;

use crate::data::{Dataset, Keep, Units};
use crate::domain::Schema;
use crate::error::Result;
use crate::error_bars::NamedErrors;
use crate::measurement::Provenance;
use crate::mechanism::{FitRecord, PublicTables, Release};
use crate::privacy::LedgerFile;
use crate::report::Content;
use crate::report::format::{grouped, short};
use crate::report::grouped_f64;
use crate::survey::Emission;
use crate::synthesis::Tables;
use crate::synthesis::job::ResolvedJob;

/// A public table and its name.
#[derive(Serialize)]
struct PublicTable<'a> {
    name: &'a str,
    records: u64,
}

/// The replicates of the released table. They cost nothing.
#[derive(Serialize)]
struct Replicates {
    tables: u32,
    from: &'static str,
    rho: u8,
}

/// A round, with attribute names instead of positions.
#[derive(Serialize)]
struct Round<'a> {
    #[serde(rename = "round")]
    number: u32,
    /// Number of candidates for each selection.
    candidates: &'a [u64],
    measurements: Vec<MeasuredMarginal<'a>>,
    fit: Option<FitRecord>,
}

#[derive(Serialize)]
struct MeasuredMarginal<'a> {
    clique: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<usize>,
    source: &'a Provenance,
    stddev: f64,
}

impl ResolvedJob<'_> {
    /// The ledger file of a finished run.
    pub(super) fn ledger_of(&self, tables: &Tables, release: &Release) -> Result<LedgerFile> {
        let domain = release.model.domain();
        let public = tables.public.iter();
        let public: Vec<PublicTable<'_>> = public
            .map(|table| PublicTable { name: table.name(), records: table.records() })
            .collect();
        let rounds = release.rounds.iter().map(|round| Round {
            number: round.round,
            candidates: &round.choices,
            measurements: release
                .measurements_of(round)
                .iter()
                .map(|m| MeasuredMarginal {
                    clique: m.clique.iter().map(|a| domain.name(a)).collect(),
                    cell: m.cell,
                    source: &m.provenance,
                    stddev: m.stddev,
                })
                .chain(release.compositions_of(round).map(|own| MeasuredMarginal {
                    clique: own.names.iter().map(String::as_str).collect(),
                    cell: None,
                    source: &own.measurement.provenance,
                    stddev: own.measurement.stddev,
                }))
                .collect(),
            fit: round.fit,
        });
        let rounds: Vec<Round<'_>> = rounds.collect();
        let mut file = LedgerFile::of_release(
            release.mechanism,
            self.budget,
            &self.unit,
            release.is_private,
            &release.ledger,
        )
        .conditional_on(&release.conditional_on)
        .with("public_tables", &public)?
        .with("rounds", &rounds)?
        .with("certificate", &release.certificate)?;
        if let Some(trust) = &release.public_trust {
            file = file.with("published", &trust.published)?;
        }
        if let Some(population) = &release.population {
            file = file.with("population", population)?;
        }
        if self.replicates() > 0 {
            let (tables, from) = (self.replicates(), "the released table");
            file = file.with("replicates", &Replicates { tables, from, rho: 0 })?;
        }
        if let Some(errors) = release.errors() {
            file = file.with("errors", &NamedErrors::new(errors, domain))?;
        }
        Ok(file)
    }

    /// The content of a finished run's report.
    pub(super) fn content<'a>(
        &'a self,
        tables: &'a Tables,
        release: &'a Release,
        (table, written): (&'a Dataset, &'a Schema),
    ) -> Result<Content<'a>> {
        Ok(Content {
            release,
            schema: &tables.schema,
            public: &tables.public,
            budget: self.budget,
            unit: &self.unit,
            workload: &tables.workload,
            parameters: self.described(tables, release),
            table,
            written,
            weight: tables.population.weight.as_ref(),
            made: self.made(&tables.given)?,
        })
    }

    /// The names and values of the run's parameters, for its report.
    fn described(&self, tables: &Tables, release: &Release) -> Vec<(String, String)> {
        let public = tables.public.iter();
        let public =
            public.map(|table| format!("{} ({} records)", table.name(), grouped(table.records())));
        let mut public = public.collect::<Vec<_>>().join(", ");
        let uses = self.entry.public_tables != PublicTables::Unused;
        if public.is_empty() {
            public.push_str("none");
        } else if !uses {
            public.push_str(", not used");
        }
        let mut rows: Vec<(String, String)> = Vec::new();
        let mut row = |name: &str, value: String| rows.push((name.to_owned(), value));
        row("mechanism", release.mechanism.to_owned());
        row("workload", self.workload.name.clone());
        row("cliques in the workload", grouped(tables.workload.len() as u64));
        if let Some(most) = self.workload.max_cells {
            row("cells of a clique, at most", grouped(most));
        }
        row("public tables", public);
        row("neighboring tables", release.relation.to_string());
        if let Some(population) = &release.population {
            let people = release.model.total();
            if let Some(weight) = &population.weight {
                row("survey weight", weight.clone());
            }
            if !population.totals.is_empty() {
                row("totals", population.totals.join(", "));
            }
            row("population", grouped_f64(people));
            row(
                "records stand for",
                match self.emit {
                    Emission::Population => "members of the population, as many each".into(),
                    Emission::Weighted => {
                        "as many members of the population as their weight says".to_owned()
                    }
                },
            );
            if let Some(difference) = population.largest_difference {
                row("largest difference from a total", short(difference));
            }
        }
        for (name, value) in self.unit.units().map(described_units).unwrap_or_default() {
            row(name, value);
        }
        if let Some(given) = &tables.completed {
            let columns = given.columns().collect::<Vec<_>>().join(", ");
            row("records", format!("the rows of {}, whose {columns} were given", given.name()));
        }
        row("rounds run", release.rounds.len().to_string());
        if let Some(support) = release.model.as_weighted_support() {
            row("records of the support", grouped(support.size() as u64));
        }
        if let Some(mixture) = release.model.as_products() {
            row("product distributions of the mixture", grouped(mixture.components() as u64));
        }
        if let Some(model) = release.model.as_grouped_support() {
            row("groups", grouped(model.groups().len() as u64));
            row("records of the support", grouped(model.rows().records() as u64));
        }
        for (name, value) in self.effective_parameters() {
            row(&name, value);
        }
        if let Some(budget) = self.budget {
            row("epsilon", budget.epsilon().to_string());
            row("delta", format!("{:e}", budget.delta()));
            row("rho, limit", budget.rho().to_string());
            row("rho, spent", release.ledger.spent().to_string());
            if let Some(epsilon) = release.ledger.pure_epsilon().filter(|epsilon| *epsilon > 0.0) {
                row("pure epsilon, spent", epsilon.to_string());
            }
        }
        if let Some(share) = self.compress {
            row("share of the budget for finding rare values", share.to_string());
        }
        if let Some(share) = self.error_share {
            row("share of the budget for measuring errors", share.to_string());
        }
        if self.replicates() > 0 {
            let text =
                format!("{}, made from the released table at no privacy cost", self.replicates());
            row("replicates", text);
        }
        let noise = self.seed.map_or_else(
            || "the system's generator".into(),
            |seed| format!("fixed seed {seed}: NOT PRIVATE"),
        );
        row("noise from", noise);
        rows
    }

    /// The mechanism's parameters and their values, including the defaults that are already determined.
    fn effective_parameters(&self) -> Vec<(String, String)> {
        let defaults = self.entry.defaults().unwrap_or_default();
        let own = |(name, default): (String, Value)| {
            let value = self.parameters.get(&name).unwrap_or(&default);
            let text = match value {
                Value::Null => return None,
                Value::String(text) => text.clone(),
                Value::Array(members) if members.is_empty() => return None,
                Value::Array(members) => {
                    let text = |member: &Value| match member {
                        Value::String(text) => text.clone(),
                        other => other.to_string(),
                    };
                    members.iter().map(text).collect::<Vec<_>>().join(", ")
                }
                other => other.to_string(),
            };
            Some((name.replace('-', " "), text))
        };
        defaults.into_iter().filter_map(own).collect()
    }
}

/// What a report says of units.
fn described_units(units: &Units) -> Vec<(&'static str, String)> {
    let (unit, most) = (units.column(), units.most());
    let which = match units.keep() {
        Keep::First => "the first ones",
        Keep::Hash => "those with the smallest hashes",
    };
    let of_privacy =
        ("unit of privacy", format!("{unit}, at most {most} records of each, {which}"));
    let together = match (units.members(), units.agree()) {
        (Some(members), _) => {
            let (columns, order) = (members.columns().join(", "), members.order());
            let text =
                format!("a {unit} with its members: {columns} of each, in the order of {order}");
            Some(("a record", text))
        }
        (None, Some(columns)) => {
            let columns = [&["the number of rows".to_owned()], columns].concat().join(", ");
            let text = format!(
                "rows with the same {unit} agree on {columns}; given these, they are independent"
            );
            Some(("rows of a unit", text))
        }
        (None, None) => None,
    };
    std::iter::once(of_privacy).chain(together).collect()
}
