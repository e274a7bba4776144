//! The marginals that each round took, their sources and their cost.

use serde::Serialize;

use super::format::short;
use super::{Content, color};
use crate::measurement::Provenance;
use crate::mechanism::{FitRecord, RoundRecord};
use crate::privacy::NoiseMechanism;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 96.0;

/// A round in the table.
#[derive(Serialize)]
pub(super) struct Row {
    round: u32,
    clique: String,
    source: String,
    class: String,
    stddev: String,
    /// Share of the limit.
    cost: String,
    model_mib: String,
}

/// A bar for each round. Its height shows the budget spent, in two parts.
#[derive(Serialize)]
pub(super) struct Timeline {
    width: f64,
    height: f64,
    bars: Vec<Bar>,
    top: String,
    last: u32,
}

#[derive(Serialize)]
struct Bar {
    x: f64,
    width: f64,
    /// The top of the part for measuring, which is stacked on the part for choosing.
    measure_y: f64,
    measure_height: f64,
    choose_y: f64,
    choose_height: f64,
    class: String,
    title: String,
}

/// ρ of a round, for choosing and for measuring.
fn costs(content: &Content<'_>, round: u32) -> (f64, f64) {
    let mut costs = (0.0, 0.0);
    for entry in content.release.ledger.entries().iter().filter(|entry| entry.round == round) {
        match entry.mechanism {
            NoiseMechanism::ExponentialMechanism { .. } | NoiseMechanism::PermuteAndFlip { .. } => {
                costs.0 += entry.rho.to_f64();
            }
            _ => costs.1 += entry.rho.to_f64(),
        }
    }
    costs
}

/// The style-sheet class of a round, given by the first marginal it took.
fn class(content: &Content<'_>, round: &RoundRecord) -> String {
    match content.release.measurements_of(round).first().map(|m| &m.provenance) {
        Some(Provenance::Public { source }) => format!("public{}", color(content, source)),
        Some(Provenance::Private) | None => "private".into(),
    }
}

/// The marginals that a round took, or what it chose and found where it took none.
fn cliques(content: &Content<'_>, round: &RoundRecord) -> String {
    let domain = content.release.model.domain();
    let taken = content.release.measurements_of(round);
    if let Some(FitRecord::BestResponses { records, .. }) = round.fit {
        let found = if records == 1 { "1 record".into() } else { format!("{records} records") };
        return match &round.choices[..] {
            [] => found,
            [among] => format!("a choice among {among} queries; {found}"),
            [among, ..] => {
                format!("{} choices among {among} queries; {found}", round.choices.len())
            }
        };
    }
    let composed = content.release.compositions_of(round).map(|own| own.names.join(" x "));
    let composed: Vec<String> = composed.collect();
    if !composed.is_empty() {
        return composed.join(", ");
    }
    if let ([], [choice]) = (taken, &round.choices[..]) {
        return format!("a choice among {choice} models");
    }
    taken.iter().map(|m| domain.describe(&m.clique)).collect::<Vec<_>>().join(", ")
}

impl Timeline {
    pub(super) fn new(content: &Content<'_>) -> Self {
        let rounds = &content.release.rounds;
        let spent: Vec<(f64, f64)> = rounds.iter().map(|r| costs(content, r.round)).collect();
        let top = spent.iter().map(|(choose, measure)| choose + measure).fold(0.0, f64::max);
        let scale = if top > 0.0 { HEIGHT / top } else { 0.0 };
        let step = WIDTH / (rounds.len().max(1) as f64);
        let bars = rounds.iter().zip(&spent).enumerate().map(|(i, (round, (choose, measure)))| {
            // Rounds without a cost still show the source of their marginal.
            let choose_height = (choose * scale).max(3.0);
            let measure_height = measure * scale;
            Bar {
                x: i as f64 * step,
                width: (step - 2.0).max(step * 0.6),
                choose_y: HEIGHT - choose_height,
                choose_height,
                measure_y: (HEIGHT - choose_height - measure_height).max(0.0),
                measure_height,
                class: class(content, round),
                title: format!(
                    "round {}: {}; choosing \u{3c1} {}, measuring \u{3c1} {}",
                    round.round,
                    cliques(content, round),
                    short(*choose),
                    short(*measure)
                ),
            }
        });
        Self {
            width: WIDTH,
            height: HEIGHT,
            bars: bars.collect(),
            top: short(top),
            last: rounds.last().map_or(0, |round| round.round),
        }
    }
}

/// The rounds in two columns.
pub(super) fn halves(content: &Content<'_>) -> Vec<Vec<Row>> {
    let limit = content.release.ledger.limit().to_f64();
    let rows = content.release.rounds.iter().map(|round| {
        let (choose, measure) = costs(content, round.round);
        let taken = content.release.measurements_of(round);
        let composed = content.release.compositions_of(round).map(|own| &own.measurement);
        let taken: Vec<_> = taken.iter().chain(composed).collect();
        let stddev = taken.iter().map(|m| m.stddev).fold(0.0, f64::max);
        let mut sources: Vec<&str> = taken
            .iter()
            .map(|m| match &m.provenance {
                Provenance::Private => "private",
                Provenance::Public { source } => source,
            })
            .collect();
        sources.dedup();
        Row {
            round: round.round,
            clique: cliques(content, round).replace(" x ", " \u{d7} "),
            source: sources.join(", "),
            class: class(content, round),
            stddev: if stddev > 0.0 { short(stddev) } else { "\u{2013}".into() },
            cost: if limit > 0.0 {
                format!("{:.2} %", 100.0 * (choose + measure) / limit)
            } else {
                "\u{2013}".into()
            },
            model_mib: round
                .fit
                .map_or_else(|| "\u{2013}".into(), |fit| format!("{:.2}", fit.model_mib())),
        }
    });
    let mut first: Vec<Row> = rows.collect();
    let second = first.split_off(first.len().div_ceil(2));
    if second.is_empty() { vec![first] } else { vec![first, second] }
}
