//! What a run reads.

use jointly::data::{Dataset, PublicData, read_csv, read_public_csv, read_units_csv};
use jointly::domain::Schema;
use jointly::query::Workload;
use serde_json::json;

use super::config::{self, SynthConfig};
use super::console::Console;
use super::failure::Outcome;
use super::format::grouped;

/// The tables of a run, read.
pub(super) struct Inputs {
    pub(super) schema: Schema,
    pub(super) private: Dataset,
    pub(super) public: Vec<PublicData>,
    pub(super) workload: Workload,
}

impl Inputs {
    /// Reads all of them; nothing is spent.
    pub(super) fn read(config: &SynthConfig, console: Console) -> Outcome<Self> {
        let schema = Schema::read(&config.schema)?;
        let domain = schema.domain();
        let (workload, left_out) = config::workload(&config.workload, &domain)?;
        if left_out > 0 {
            let text = format!("{} cliques of the workload left out", grouped(left_out as u64));
            console.note("workload", &text, json!({ "left_out": left_out }));
        }
        let public_schema = without_groups(&config.ide.groups, &schema)?;
        let mut public = Vec::with_capacity(config.public.len());
        for file in &config.public {
            let table = read_public_csv(&file.path, &public_schema)?;
            public.push(PublicData::new(&file.name, table, &domain)?);
        }
        let private = match &config.units {
            Some(units) => read_units_csv(&config.private, &schema, units)?,
            None => read_csv(&config.private, &schema)?,
        };
        Ok(Self { schema, private, public, workload })
    }
}

/// The schema of public tables: their group attributes, whose codes are another place's, are not read.
pub(super) fn without_groups(groups: &[String], schema: &Schema) -> Outcome<Schema> {
    if groups.is_empty() {
        return Ok(schema.clone());
    }
    schema.domain().clique(groups)?;
    let names = schema.attributes().map(|attribute| attribute.name.clone());
    let others: Vec<String> = names.filter(|name| !groups.contains(name)).collect();
    Ok(schema.select(&others)?)
}
