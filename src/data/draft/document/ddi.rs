//! A DDI codebook (DDI-Codebook 2.x).

use std::path::Path;

use roxmltree::{Document as Xml, Node, ParsingOptions};

use super::range::Range;
use super::{DescribedColumn, DescribedTable, Values, wrong};
use crate::data::read_text;
use crate::error::Result;

const FORM: &str = "a DDI codebook with <var> elements";

/// Codes of one column, at most, that a person would look at one by one.
const MOST_CODES: usize = 1_000;

pub(super) fn read(path: &Path) -> Result<DescribedTable> {
    let text = read_text(path)?;
    // Many codebooks name their document type; nothing is fetched.
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let xml = Xml::parse_with_options(&text, options).map_err(|error| {
        wrong(path, &format!("line {}", error.pos().row), error.to_string(), FORM)
    })?;
    let mut found = DescribedTable::default();
    for var in xml.descendants().filter(|node| node.tag_name().name() == "var") {
        let name = var.attribute("name").or(var.attribute("ID")).unwrap_or_default();
        let line = xml.text_pos_at(var.range().start).row;
        if name.is_empty() {
            return Err(wrong(path, &format!("line {line}"), "a <var> without a name", FORM));
        }
        let values = values(var);
        let mut column = DescribedColumn::new(name, child_text(var, "labl"), false, values)?;
        if children(var, "catgry").any(is_missing) {
            column
                .remarks
                .push("codes for missing values are kept as values with their labels".into());
        }
        found.columns.push(column);
    }
    if found.columns.is_empty() {
        return Err(wrong(path, "", "no <var>", FORM));
    }
    Ok(found)
}

/// The values of a variable: its categories, or the range of a continuous one with its categories as single values.
fn values(var: Node<'_, '_>) -> Values {
    let categories: Vec<(String, Option<String>)> = children(var, "catgry")
        .filter_map(|category| {
            let code = child_text(category, "catValu")?.trim().to_owned();
            Some((code, child_text(category, "labl").map(|label| label.trim().to_owned())))
        })
        .collect();
    let is_continuous = var.attribute("intrvl") == Some("contin");
    let range = range(var);
    if !categories.is_empty() && (range.is_none() || !is_continuous) {
        if categories.len() > MOST_CODES {
            return Values::Unknown("over 1,000 categories");
        }
        return Values::Codes(categories, None);
    }
    let Some(mut range) = range else { return Values::Unknown("no categories and no range") };
    let invalid = children(var, "invalrng").flat_map(|one| children(one, "item"));
    let invalid = invalid.filter_map(|item| item.attribute("VALUE").map(str::to_owned));
    for text in categories.into_iter().map(|(code, _)| code).chain(invalid) {
        match text.trim().parse::<f64>() {
            Ok(value) if value.is_finite() => range.singles.push(value),
            _ => return Values::Unknown("texts among the numbers"),
        }
    }
    range.whole &= range.singles.iter().all(|value| value.fract() == 0.0);
    Values::Range(range)
}

/// The valid range. Values are whole numbers unless the variable declares decimals or an end of its range has a fraction.
fn range(var: Node<'_, '_>) -> Option<Range> {
    let valid = children(var, "valrng").flat_map(|one| children(one, "range"));
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for range in valid {
        let end =
            |name: &str| range.attribute(name).and_then(|text| text.trim().parse::<f64>().ok());
        low = low.min(end("min")?);
        high = high.max(end("max")?);
    }
    let decimals = var.attribute("dcml").and_then(|text| text.trim().parse::<u32>().ok());
    let range = Range::between(low, high);
    let whole = range.whole && decimals.unwrap_or(0) == 0;
    (low <= high && (high - low).is_finite()).then_some(Range { whole, ..range })
}

fn is_missing(category: Node<'_, '_>) -> bool {
    category.attribute("missing").is_some_and(|mark| mark.eq_ignore_ascii_case("y"))
}

fn children<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |child| child.tag_name().name() == name)
}

fn child_text<'a>(node: Node<'a, '_>, name: &'static str) -> Option<&'a str> {
    children(node, name).find_map(|child| child.text())
}
