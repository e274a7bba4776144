//! The schema of units that are one record each, such as a household with its members.

use std::collections::BTreeMap;

use super::member_rules::{Difference, MemberCombination, MemberRules};
use super::rules::{Combination, Rules, UnlikelyCombination};
use crate::domain::{Schema, SchemaColumn};
use crate::error::{Error, Result};
use crate::privacy::Members;

/// Where the columns of a record of a unit come from.
pub(crate) struct UnitColumns<'a> {
    /// Columns that all members share.
    pub(crate) shared: &'a [String],
    /// Columns of each member.
    pub(crate) members: &'a [String],
    /// The number of members, from 1.
    pub(crate) size: SchemaColumn,
    /// The most members of a unit.
    pub(crate) most: u32,
}

impl UnitColumns<'_> {
    /// The copies of a combination of a member's values, one for each member; none if it has an attribute that a unit does not
    /// have. `na_code`: of a member's column.
    ///
    /// A member that is not there has only missing values. It breaks no rule, so rules that missing values may break hold for
    /// units with that many members.
    fn copies(
        &self,
        combination: &Combination,
        na_code: impl Fn(&str) -> Option<u32>,
    ) -> Vec<Combination> {
        let of_member = |name: &String| self.members.contains(name);
        let is_known = |name: &String| self.shared.contains(name) || of_member(name);
        if !combination.iter().all(|(name, _)| is_known(name)) {
            return Vec::new();
        }
        let mut own = combination.iter().filter(|(name, _)| of_member(name)).peekable();
        if own.peek().is_none() {
            return vec![combination.clone()];
        }
        let is_broken_by_nobody =
            own.all(|(name, codes)| na_code(name).is_some_and(|na| codes.contains(&na)));
        let copy = |member: u32| {
            let renamed = |(name, codes): &(String, Vec<u32>)| {
                let is_own = of_member(name);
                let name = if is_own { Members::name_of(name, member) } else { name.clone() };
                (name, codes.clone())
            };
            let mut copy: Combination = combination.iter().map(renamed).collect();
            if member > 1 && is_broken_by_nobody {
                copy.push((self.size.name.clone(), (member - 1..self.most).collect()));
            }
            copy
        };
        (1..=self.most).map(copy).collect()
    }

    /// The copies of what some members do not have together, one or more for each choice of such members; none if it has an
    /// attribute that a unit does not have.
    fn copies_of_members(
        &self,
        rule: &MemberCombination,
        columns: &[&SchemaColumn],
    ) -> Vec<Combination> {
        let named = rule.codes.iter().flatten().map(|(name, _)| name);
        let mut named = named.chain(rule.differences.iter().map(|difference| &difference.column));
        if !named.all(|name| self.shared.contains(name) || self.members.contains(name)) {
            return Vec::new();
        }
        let places = rule.who.places(self.most);
        places.iter().flat_map(|places| self.copies_at(rule, places, columns)).collect()
    }

    /// The copies for members at these places.
    fn copies_at(
        &self,
        rule: &MemberCombination,
        places: &[u32],
        columns: &[&SchemaColumn],
    ) -> Vec<Combination> {
        let column = |name: &str| columns.iter().copied().find(|column| column.name == name);
        let mut codes: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        let mut among = |name: String, own: &[u32]| {
            let kept = codes.entry(name).or_insert_with(|| own.to_vec());
            kept.retain(|code| own.contains(code));
        };
        // Members that must be there, as missing values alone would have the combination.
        let mut needed = 1;
        for (combination, place) in rule.codes.iter().zip(places) {
            let mut may_be_absent = rule.differences.is_empty();
            for (name, own) in combination {
                if !self.members.contains(name) {
                    among(name.clone(), own);
                    continue;
                }
                let na = column(name).and_then(SchemaColumn::na_code);
                may_be_absent &= na.is_some_and(|na| own.contains(&na));
                among(Members::name_of(name, *place), own);
            }
            needed = if may_be_absent { needed.max(*place) } else { needed };
        }
        if needed > 1 {
            among(self.size.name.clone(), &(needed - 1..self.most).collect::<Vec<_>>());
        }
        let mut copies = vec![codes];
        for difference in &rule.differences {
            let (Some(own), [first, second]) = (column(&difference.column), places) else {
                return Vec::new();
            };
            let names = [first, second].map(|place| Members::name_of(&own.name, *place));
            copies =
                copies.iter().flat_map(|codes| apart(codes, &names, own, difference)).collect();
        }
        copies.retain(|codes| codes.values().all(|codes| !codes.is_empty()));
        copies.into_iter().map(|codes| codes.into_iter().collect()).collect()
    }

    /// What is forbidden of a member's column: values where there are fewer members, and a missing value where there are as
    /// many, if the column has none.
    fn presence(&self, own: &SchemaColumn, member: u32) -> Vec<Combination> {
        let (name, absent) = (Members::name_of(&own.name, member), own.cardinality());
        let of_size = |codes: std::ops::Range<u32>| (self.size.name.clone(), codes.collect());
        // The last code of the own column is a missing value as well, if it has them.
        let absent = own.na_code().unwrap_or(absent);
        let mut forbidden =
            vec![vec![of_size(0..member - 1), (name.clone(), (0..absent).collect())]];
        if own.na_code().is_none() {
            forbidden.push(vec![of_size(member - 1..self.most), (name, vec![absent])]);
        }
        forbidden
    }
}

/// The combination, for each set of values of the second of two names that are always as far from those of the first as the
/// difference says.
fn apart(
    codes: &BTreeMap<String, Vec<u32>>,
    [first, second]: &[String; 2],
    column: &SchemaColumn,
    difference: &Difference,
) -> Vec<BTreeMap<String, Vec<u32>>> {
    let all: Vec<u32> = (0..column.cardinality()).collect();
    let [of_first, of_second] = [first, second].map(|name| codes.get(name).unwrap_or(&all));
    let mut sets: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
    for code in of_first {
        let others = of_second.iter().copied();
        let others = others.filter(|other| difference.always_has(column, *code, *other)).collect();
        sets.entry(others).or_default().push(*code);
    }
    let cut = |(others, own): (Vec<u32>, Vec<u32>)| {
        let mut codes = codes.clone();
        codes.insert(first.clone(), own);
        codes.insert(second.clone(), others);
        codes
    };
    sets.into_iter().map(cut).collect()
}

impl Schema {
    /// The schema of units that are one record each: the shared columns, the size, and the columns of each member in turn, which
    /// are missing from the second member on where there is none. Rules on a member's columns hold for each member, and rules
    /// about several members for all of them; the latter stay, for the numbers that are drawn for members.
    ///
    /// Columns that this schema does not have are left out.
    ///
    /// # Errors
    /// A column of the same name as that of a member or of the size; a rule about a difference in a shared column.
    pub(crate) fn of_units(&self, wanted: &UnitColumns<'_>) -> Result<Self> {
        let among = |names: &[String]| -> Vec<&SchemaColumn> {
            self.attributes().filter(|column| names.contains(&column.name)).collect()
        };
        let (shared, own) = (among(wanted.shared), among(wanted.members));
        let mut columns: Vec<SchemaColumn> = shared.into_iter().cloned().collect();
        columns.push(wanted.size.clone());
        let mut forbidden: Vec<Combination> = Vec::new();
        for member in 1..=wanted.most {
            for column in &own {
                let name = Members::name_of(&column.name, member);
                let na = column.na || member > 1;
                columns.push(SchemaColumn { name, na, ..(*column).clone() });
                if member > 1 {
                    forbidden.extend(wanted.presence(column, member));
                }
            }
        }
        let of_own: BTreeMap<&str, Option<u32>> =
            own.iter().map(|column| (column.name.as_str(), column.na_code())).collect();
        let na_code = |name: &str| of_own.get(name).copied().flatten();
        let is_there = |combination: &Combination| {
            let known = |name: &String| columns.iter().any(|column| column.name == *name);
            combination.iter().all(|(name, _)| known(name))
        };
        let given = self.rules.combinations("schema", &self.columns, &self.na_token)?;
        let copies = given.iter().flat_map(|rule| wanted.copies(rule, na_code)).filter(is_there);
        forbidden.extend(copies);
        let unlikely = self.unlikely.iter().flat_map(|rule| wanted.copies(rule, na_code));
        let mut unlikely: Vec<Combination> = unlikely.filter(is_there).collect();
        let together = self.of_members_together()?;
        let mut differences = together.iter().flatten().flat_map(|rule| &rule.differences);
        if let Some(shared) = differences.find(|own| wanted.shared.contains(&own.column)) {
            let place = format!("schema, rules about members, difference of '{}'", shared.column);
            let found = "a column that all members share";
            return Err(Error::invalid_specification(place, found, "a column of each member"));
        }
        let present: Vec<&SchemaColumn> = self.attributes().collect();
        for (rules, copies) in together.iter().zip([&mut forbidden, &mut unlikely]) {
            let own = rules.iter().flat_map(|rule| wanted.copies_of_members(rule, &present));
            copies.extend(own.filter(is_there));
        }
        let unlikely = unlikely.into_iter();
        let unlikely = unlikely.map(|codes| UnlikelyCombination { codes, expected: None });
        let is_known = |name: &str| own.iter().any(|column| column.name == name);
        let is_shared = |name: &str| columns.iter().any(|column| column.name == name);
        let members = self.rules.members.among(|name| is_known(name) || is_shared(name));
        let rules = Rules::default()
            .with_members(MemberRules { unlikely: Vec::new(), ..members })
            .with_forbidden(&columns, forbidden)?
            .with_unlikely(&columns, unlikely.collect())?;
        self.with_columns("schema", columns, rules)
    }

    /// The schema of the members of such units, one record each: the shared columns, the size, the place of the member in its
    /// unit, and a member's columns. It is for writing, and forbids nothing. `self`: the schema of the units.
    ///
    /// # Errors
    /// A column of the same name as the order.
    pub(crate) fn of_members(
        &self,
        shared: &[String],
        size: &str,
        order: SchemaColumn,
        members: &[String],
    ) -> Result<Self> {
        let is_shared = |name: &str| name == size || shared.iter().any(|shared| shared == name);
        let mut columns: Vec<SchemaColumn> =
            self.attributes().filter(|column| is_shared(&column.name)).cloned().collect();
        columns.push(order);
        for name in members {
            if let Some(first) = self.column(&Members::name_of(name, 1)) {
                columns.push(SchemaColumn { name: name.clone(), ..first.clone() });
            }
        }
        self.for_writing(columns)
    }
}

#[cfg(test)]
mod tests;
