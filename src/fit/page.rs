//! The page of a fit, as self-contained HTML: what is promised, how near the model comes to each file, and which counts are
//! furthest from what is known of them. Like the fit it is made of tables alone.

use serde::Serialize;

use crate::error::Result;
use crate::fit::outcome::{NOTHING, known_of, marginals, named};
use crate::fit::{Fitted, Group, Kind};
use crate::report::format::{counted, grouped, short};
use crate::report::{Card, capitalized, filled, grouped_f64};
use crate::table::Factor;

/// Counts that are furthest off and are listed, at most.
const WORST: usize = 20;
/// Counts in the picture, at most.
const DOTS: usize = 3_000;
/// Width and height of the picture.
const SIDE: f64 = 420.0;

/// What the template is filled with.
#[derive(Serialize)]
struct Contents<'a> {
    version: &'static str,
    subtitle: String,
    is_private: bool,
    guarantee: String,
    cards: Vec<Card>,
    files: Vec<[String; 6]>,
    picture: Picture,
    worst: Vec<[String; 5]>,
    /// How many counts are off, in words.
    off: String,
    /// The command line; empty where tables are in memory.
    command: &'a str,
}

/// The fitted counts beside the given ones, on scales of square roots.
#[derive(Serialize)]
struct Picture {
    side: f64,
    dots: Vec<Dots>,
    /// The largest count.
    top: String,
    /// What is drawn, in words.
    shown: String,
}

/// The dots of one kind of counts.
#[derive(Serialize)]
struct Dots {
    class: &'static str,
    kind: &'static str,
    path: String,
}

/// A count of which something is known.
struct Count {
    table: usize,
    cell: usize,
    /// The least and the most that it may be, and the standard deviation of its noise.
    known: (f64, f64, f64),
    fitted: f64,
    off: f64,
}

impl Count {
    /// The number that is known, or the middle of the two; `None` of a count that may be anything above one.
    fn given(&self) -> Option<f64> {
        let (least, most, _) = self.known;
        let middle = f64::midpoint(least, most);
        middle.is_finite().then_some(middle.max(0.0))
    }

    /// How far it is off, for the order: in standard deviations of its noise, or of a count that large by chance.
    fn size(&self) -> f64 {
        let (.., stddev) = self.known;
        self.off.abs() / if stddev > 0.0 { stddev } else { self.fitted.max(1.0).sqrt() }
    }

    fn known_in_words(&self) -> String {
        let (least, most, stddev) = self.known;
        if stddev > 0.0 {
            format!("{} \u{b1} {} (sd)", number(least), number(stddev))
        } else if most.is_infinite() {
            format!("at least {}", number(least))
        } else if least < most {
            format!("{} to {}", number(least), number(most))
        } else {
            number(least)
        }
    }
}

impl Fitted {
    /// A self-contained page of HTML: what is promised, how near the model comes to each file, and which counts are furthest from
    /// what is known of them. Names are escaped. Like the fit it is made of tables alone.
    ///
    /// `command`: the command line of the fit; may be empty.
    ///
    /// # Errors
    /// A table that does not fit in memory, or a failure of the template engine.
    pub fn page(&self, command: &str) -> Result<String> {
        let tables = &self.tables;
        let marginals = marginals(&self.model, &self.known)?;
        let mut counts = counts(self, &marginals);
        let picture = picture(self, &counts);
        let all = counts.len();
        counts.retain(|count| count.off.abs() > NOTHING * self.model.total());
        let off = format!("{} of {}", grouped(counts.len() as u64), counted(all as u64, "count"));
        counts.sort_by(|a, b| b.size().total_cmp(&a.size()));
        counts.truncate(WORST);
        let worst = counts.iter().map(|count| {
            let table = &self.known[count.table];
            Ok([
                table.name.clone(),
                named(&self.schema, table.target.clique(), count.cell)?,
                count.known_in_words(),
                number(count.fitted),
                signed(count.off),
            ])
        });
        let file = |group: &Group| {
            let Group { name, kind, origin, tables, cells, .. } = group;
            let counts = format!("{}, {}", kind.name(), origin.name());
            let (tables, cells) = (grouped(*tables as u64), grouped(*cells as u64));
            let off = group.worst.as_ref().map_or_else(
                || "all met".into(),
                |worst| format!("{} in {}", signed(worst.off), worst.cell),
            );
            [name.clone(), counts, tables, cells, group.rms.map_or_else(String::new, short), off]
        };
        let contents = Contents {
            version: env!("CARGO_PKG_VERSION"),
            subtitle: format!(
                "{} in {}, {} attributes",
                counted(self.known.len() as u64, "table"),
                counted(tables.groups.len() as u64, "file"),
                self.schema.domain().len()
            ),
            is_private: tables.private,
            guarantee: capitalized(&tables.guarantee),
            cards: cards(self, all),
            files: tables.groups.iter().map(file).collect(),
            picture,
            worst: worst.collect::<Result<_>>()?,
            off,
            command,
        };
        filled(include_str!("page.html"), &contents)
    }
}

/// All counts of which something is known, table by table.
fn counts(fitted: &Fitted, marginals: &[Factor]) -> Vec<Count> {
    let mut counts = Vec::new();
    for (table, (known, marginal)) in fitted.known.iter().zip(marginals).enumerate() {
        let off = known.target.off(marginal.values());
        for (cell, (fitted, off)) in marginal.values().iter().zip(off).enumerate() {
            if let Some(known) = known_of(&known.target, cell) {
                counts.push(Count { table, cell, known, fitted: *fitted, off });
            }
        }
    }
    counts
}

fn cards(fitted: &Fitted, counts: usize) -> Vec<Card> {
    let tables = &fitted.tables;
    let certificate = &tables.certificate;
    let what = if fitted.model.as_weighted_support().is_some() {
        "public records with weights"
    } else {
        "a graphical model of maximum entropy"
    };
    let mut cards = vec![
        Card {
            name: "Records",
            value: grouped(fitted.model.records() as u64),
            note: "that the model stands for".into(),
        },
        Card {
            name: "Counts",
            value: grouped(counts as u64),
            note: "exact, rounded, suppressed or noisy, of which something is known".into(),
        },
        Card {
            name: "Model",
            value: format!("{} MiB", short(tables.model_mib)),
            note: what.into(),
        },
        Card {
            name: "Loss",
            value: short(certificate.loss),
            note: if certificate.loss > 0.0 {
                format!(
                    "of counts that are not exact; at most {} above the least there is",
                    short(certificate.gap())
                )
            } else {
                "every count agrees with what is known of it".into()
            },
        },
    ];
    cards.extend(tables.rows_difference.map(|off| Card {
        name: "Exact counts in the rows",
        value: if off == 0.0 { "all".into() } else { format!("off by {}", short(off)) },
        note: "largest difference, scaled to the number of rows".into(),
    }));
    cards
}

/// The picture: of more counts than it has room for, evenly spaced ones.
fn picture(fitted: &Fitted, counts: &[Count]) -> Picture {
    let every = counts.len().div_ceil(DOTS).max(1);
    let shown: Vec<(&Count, f64)> =
        counts.iter().step_by(every).filter_map(|count| Some((count, count.given()?))).collect();
    let top = shown.iter().map(|(count, given)| given.max(count.fitted)).fold(1.0, f64::max);
    let place = |number: f64| SIDE * (number.max(0.0) / top).sqrt();
    let classes = [
        (Kind::Exact, "private"),
        (Kind::Rounded, "public0"),
        (Kind::Suppressed, "public1"),
        (Kind::Noisy, "public2"),
    ];
    let dots = classes.into_iter().map(|(kind, class)| {
        let own = shown.iter().filter(|(count, _)| fitted.known[count.table].kind == kind);
        let dot = |(count, given): &(&Count, f64)| {
            format!("M{:.1} {:.1}h0", place(*given), SIDE - place(count.fitted))
        };
        Dots { class, kind: kind.name(), path: own.map(dot).collect() }
    });
    Picture {
        side: SIDE,
        dots: dots.filter(|dots| !dots.path.is_empty()).collect(),
        top: number(top),
        shown: if every == 1 {
            counted(shown.len() as u64, "count")
        } else {
            format!("one in {every} of {}", counted(counts.len() as u64, "count"))
        },
    }
}

/// A count or a difference of counts: whole from 100 on, else with one decimal.
fn number(count: f64) -> String {
    let size = count.abs();
    let rounded = if size >= 100.0 { size.round() } else { (10.0 * size).round() / 10.0 };
    let text = if size >= 100.0 { grouped_f64(rounded) } else { rounded.to_string() };
    if count < 0.0 && rounded > 0.0 { format!("\u{2212}{text}") } else { text }
}

/// A difference in counts with its sign.
fn signed(off: f64) -> String {
    let text = number(off);
    if off > 0.0 { format!("+{text}") } else { text }
}

#[cfg(test)]
mod tests;
