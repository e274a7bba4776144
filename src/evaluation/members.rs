//! Units with their members compared, such as households: what relates members, and what units are made of.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::data::{Dataset, Members, Units, UnitsOfSchema};
use crate::domain::{Clique, Domain, Schema};
use crate::error::Result;
use crate::evaluation::{Pair, WorkloadError};
use crate::query::{Compositions, WeightedClique, Workload};

/// The mean error of some tables of units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TablesError {
    /// The number of tables.
    pub tables: usize,
    /// Mean L1 distance of their frequencies, 0 to 2.
    pub mean_l1: f64,
}

/// What the members of a unit cannot have together, by the schema, and the share of the units of both tables that have it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BrokenRule {
    /// The rule, as the schema has it.
    pub rule: String,
    /// The shares, as far as the bins of the schema tell.
    pub units: Pair<f64>,
}

/// Two tables whose records are units with their members ([`Units::with_members`]), compared. Each table counts units.
/// **Not private**.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MembersComparison {
    /// Marginals of three columns of the unit, of its size and of one member, for each member.
    pub one_member: TablesError,
    /// Pairs of columns of two members, and two columns of both of the first two; `None` for units of one member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub two_members: Option<TablesError>,
    /// [`Compositions`]; `None` for units of one member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compositions: Option<TablesError>,
    /// The rules of the schema about members (`forbidden_members`), in its order, but those on other columns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<BrokenRule>,
}

impl MembersComparison {
    /// Compares records of the same domain, of these units.
    ///
    /// # Errors
    /// Units without members, attributes that the domain lacks, a table without records, or one too large to count.
    ///
    /// ```
    /// use jointly::{data::{Dataset, Units}, domain::Domain, evaluation::MembersComparison};
    /// let homes = Units::new("home", 2)?.with_members(["child"], "place")?;
    /// let records = Domain::new([("home.records", 2), ("child.1", 2), ("child.2", 3)])?;
    /// // One child in each home of two: the first person, or the second one.
    /// let [real, made] = [[[1, 1, 0], [1, 0, 1]], [[1, 0, 1], [1, 1, 0]]];
    /// let [real, made] = [real, made].map(|rows| Dataset::from_rows(records.clone(), &rows));
    /// let found = MembersComparison::between(&real?, &made?, &homes)?;
    /// assert_eq!(found.compositions.unwrap().mean_l1, 0.0);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn between(real: &Dataset, synthetic: &Dataset, units: &Units) -> Result<Self> {
        let domain = real.domain();
        let (two, one): (Vec<Clique>, Vec<Clique>) = Workload::of_units(domain, units, 3)?
            .cliques()
            .into_iter()
            .partition(|clique| relates_members(clique, domain, units));
        let error = |tables: [&Dataset; 2], cliques: &[Clique]| -> Result<Option<TablesError>> {
            if cliques.is_empty() {
                return Ok(None);
            }
            let weighted = cliques.iter().cloned();
            let weighted = weighted.map(|clique| WeightedClique { clique, weight: 1.0 });
            let workload = Workload::new(weighted, tables[0].domain())?;
            let found = WorkloadError::between(tables[0], tables[1], &workload, 0)?;
            Ok(Some(TablesError { tables: workload.len(), mean_l1: found.mean_l1 }))
        };
        let both = [real, synthetic];
        let none = TablesError { tables: 0, mean_l1: 0.0 };
        let compositions = if units.most() > 1 {
            let found = Compositions::of_units(domain, units)?;
            let [real, made] = both.map(|table| table.tallied(found.tallies()));
            error([&real?, &made?], found.cliques())?
        } else {
            None
        };
        Ok(Self {
            one_member: error(both, &one)?.unwrap_or(none),
            two_members: error(both, &two)?,
            compositions,
            rules: Vec::new(),
        })
    }

    /// With the rules of a schema about members.
    ///
    /// `real`, `synthetic`: of the same units.
    ///
    /// # Errors
    /// Units that the schema cannot have, or other records.
    pub(super) fn under(
        self,
        schema: &Schema,
        [real, synthetic]: [&Dataset; 2],
        units: &Units,
    ) -> Result<Self> {
        let broken = |(rule, schema): (String, Schema)| {
            let schema = units.widened(&schema)?;
            if schema.of_members_together()?[0].is_empty() {
                // It needs columns that the units do not have.
                return Ok(None);
            }
            let domain = schema.domain();
            let share = |records: &Dataset| -> Result<f64> {
                let mut breaks = vec![false; records.records()];
                for zero in domain.structural_zeros() {
                    zero.check(records.domain())?;
                    let cells = records.cells(zero.clique())?.into_iter();
                    let forbidden = cells.map(|cell| zero.forbidden()[cell as usize]);
                    breaks.iter_mut().zip(forbidden).for_each(|(breaks, own)| *breaks |= own);
                }
                let broken = breaks.iter().filter(|breaks| **breaks).count();
                Ok(broken as f64 / records.records().max(1) as f64)
            };
            let units = Pair { real: share(real)?, synthetic: share(synthetic)? };
            Ok(Some(BrokenRule { rule, units }))
        };
        let rules = schema.each_of_forbidden_members()?.into_iter();
        let rules = rules.filter_map(|rule| broken(rule).transpose());
        Ok(Self { rules: rules.collect::<Result<_>>()?, ..self })
    }
}

/// Whether a clique has columns of several members.
fn relates_members(clique: &Clique, domain: &Domain, units: &Units) -> bool {
    let columns = units.members().map(Members::columns).unwrap_or_default();
    let member_of = |name: &str| {
        (1..=units.most())
            .find(|member| columns.iter().any(|column| Members::name_of(column, *member) == name))
    };
    let members: BTreeSet<u32> = clique.iter().filter_map(|a| member_of(domain.name(a))).collect();
    members.len() > 1
}
