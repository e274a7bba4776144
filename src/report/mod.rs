//! The one-page report of a run: how the budget was spent, and what the model looks like.
//!
//! It is created only from the release and the public tables, so it contains nothing that the ledger has not paid for.

pub mod comparison;
mod contents;
mod coverage;
mod cumulative;
mod errors;
pub mod evaluation;
mod for_programs;
pub mod format;
mod guarantee;
mod marginals;
mod numbers;
mod rounds;

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;

use crate::data::{Dataset, PublicData};
use crate::domain::Schema;
use crate::error::{Error, Result};
use crate::estimation::Certificate;
use crate::mechanism::Release;
use crate::privacy::{Budget, PrivacyUnit};
use crate::query::Workload;
use crate::survey::Weight;

pub(crate) use errors::capitalized;
pub use errors::in_words;
use format::{grouped, percent, short};

/// The content of a report. It contains no private records.
#[derive(Clone, Debug)]
pub struct Content<'a> {
    /// The release.
    pub release: &'a Release,
    /// Columns and the meanings of their codes.
    pub schema: &'a Schema,
    /// The public tables.
    pub public: &'a [PublicData],
    /// The budget; `None` if nothing could be spent.
    pub budget: Option<Budget>,
    /// What is protected.
    pub unit: &'a PrivacyUnit,
    /// The marginals that the table should preserve.
    pub workload: &'a Workload,
    /// Names and values of the run's parameters.
    pub parameters: Vec<(String, String)>,
    /// The released records.
    pub table: &'a Dataset,
    /// Their columns: those of the schema, but for a survey weight.
    pub written: &'a Schema,
    /// The survey weight, by which public tables are weighted too.
    pub weight: Option<&'a Weight>,
    /// How the release was made.
    pub made: Made,
}

impl Content<'_> {
    /// What records are called: units, where each of them is one with its members.
    fn records_are_called(&self) -> &'static str {
        let of_members = self.unit.units().is_some_and(|units| units.members().is_some());
        if of_members { "units" } else { "records" }
    }
}

/// How a release was made, for whoever wants to make it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Made {
    /// The command, with names of files.
    pub command: String,
    /// SHA-256 of the schema.
    pub schema_sha256: String,
    /// The day, in UTC.
    pub date: String,
}

/// A figure at the top of a page.
#[derive(Serialize)]
pub(crate) struct Card {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) note: String,
}

/// A color and its meaning.
#[derive(Serialize)]
struct Legend {
    color: usize,
    name: String,
}

/// A report, ready to be written.
pub struct Report<'a> {
    content: &'a Content<'a>,
    guarantee: String,
    coverage: Option<coverage::Coverage>,
    charts: Vec<marginals::Chart>,
    associations: Option<contents::Associations>,
}

impl<'a> Report<'a> {
    /// Computes what both forms of the report show.
    ///
    /// # Errors
    /// A marginal that does not fit in memory.
    pub fn new(content: &'a Content<'a>) -> Result<Self> {
        let Content { release, budget, unit, .. } = *content;
        Ok(Self {
            content,
            guarantee: guarantee::guarantee(
                budget,
                unit,
                release.is_private,
                &release.conditional_on,
            ),
            // It is about counts of the private records.
            coverage: if release.population.is_some() { None } else { coverage::coverage(content) },
            charts: marginals::charts(content)?,
            associations: contents::associations(content.table)?,
        })
    }

    /// The report as a self-contained page. Names are escaped.
    ///
    /// # Errors
    /// A failure of the template engine.
    pub fn to_html(&self) -> Result<String> {
        filled(include_str!("report.html"), &self.page())
    }

    /// Everything on the page.
    fn page(&self) -> Page<'_> {
        let content = self.content;
        Page {
            version: env!("CARGO_PKG_VERSION"),
            mechanism: content.release.mechanism,
            is_private: content.release.is_private,
            subtitle: subtitle(content),
            guarantee: &self.guarantee,
            errors: errors::errors(content),
            population: content.release.population.is_some(),
            coverage: self.coverage.as_ref(),
            cards: cards(content),
            timeline: rounds::Timeline::new(content),
            measured: !content.release.measurements.is_empty(),
            halves: rounds::halves(content),
            charts: &self.charts,
            legend: legend(content),
            records: contents::records(content),
            unlikely: contents::unlikely(content),
            associations: self.associations.as_ref(),
            parameters: &content.parameters,
            made: &content.made,
        }
    }
}

#[derive(Serialize)]
struct Page<'a> {
    version: &'static str,
    mechanism: &'a str,
    is_private: bool,
    subtitle: String,
    guarantee: &'a str,
    /// The measured errors of the table.
    errors: Option<errors::Errors>,
    /// Whether the table is of a population, and not of the private records.
    population: bool,
    coverage: Option<&'a coverage::Coverage>,
    cards: Vec<Card>,
    timeline: rounds::Timeline,
    /// Whether the run measured or took any marginal.
    measured: bool,
    halves: Vec<Vec<rounds::Row>>,
    charts: &'a [marginals::Chart],
    legend: Vec<Legend>,
    records: contents::Records,
    /// How many records have an unlikely combination, in a sentence.
    unlikely: Option<String>,
    associations: Option<&'a contents::Associations>,
    parameters: &'a [(String, String)],
    made: &'a Made,
}

/// Renders a template with its values.
pub(crate) fn filled(template: &str, page: &impl Serialize) -> Result<String> {
    let mut environment = Environment::new();
    environment
        .add_template("style.css", include_str!("style.css"))
        .and_then(|()| environment.add_template("page.html", template))
        .and_then(|()| environment.get_template("page.html")?.render(Serde(page)))
        .map_err(|error| Error::Page { reason: format!("{error:#}") })
}

fn subtitle(content: &Content<'_>) -> String {
    let domain = content.release.model.domain();
    let attributes = domain.len() - usize::from(content.weight.is_some());
    let mut size = format!(
        "{} {}, {} attributes",
        grouped(content.table.records() as u64),
        content.records_are_called(),
        grouped(attributes as u64)
    );
    if let Some(population) = &content.release.population {
        let (people, sampled) = (grouped_f64(content.release.model.total()), population.sampled);
        let weighted = if population.weight.is_some() { "weighted " } else { "" };
        let sampled = grouped(sampled);
        let of = format!("; of a population of {people}, from {sampled} {weighted}records");
        size.push_str(&of);
    }
    match content.budget {
        Some(budget) => {
            format!("\u{3b5} = {}, \u{3b4} = {:e}; {size}", budget.epsilon(), budget.delta())
        }
        None => format!("nothing spent; {size}"),
    }
}

fn cards(content: &Content<'_>) -> Vec<Card> {
    let release = content.release;
    let (spent, limit) = (release.ledger.spent(), release.ledger.limit());
    let share = if limit.is_zero() { 0.0 } else { spent.to_f64() / limit.to_f64() };
    let (private, public) = release.provenances();
    let noise: Vec<f64> =
        release.measurements.iter().map(|m| m.stddev).filter(|stddev| *stddev > 0.0).collect();
    let (low, high) =
        noise.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), x| (l.min(*x), h.max(*x)));
    let noise = if noise.is_empty() {
        "none".into()
    } else if short(low) == short(high) {
        short(low)
    } else {
        format!("{} \u{2013} {}", short(low), short(high))
    };
    let domain = release.model.domain();
    let mut cards = vec![
        Card {
            name: "Budget spent",
            value: format!("\u{3c1} = {}", short(spent.to_f64())),
            note: format!("{} of {}", percent((share * 1e4).round() / 1e4), short(limit.to_f64())),
        },
        Card {
            name: "Guarantee for",
            value: release.relation.to_string(),
            note: "neighboring tables".into(),
        },
        if release.measurements.is_empty() {
            let choices: usize = release.rounds.iter().map(|round| round.choices.len()).sum();
            let note = "no marginal was measured".into();
            Card { name: "Private choices", value: grouped(choices as u64), note }
        } else {
            let note = format!("{private} private, {public} public");
            Card { name: "Marginals taken", value: (private + public).to_string(), note }
        },
        Card {
            name: "Noise (standard deviation)",
            value: noise,
            note: format!(
                "counts, of {} {}",
                grouped(sampled(release)),
                content.records_are_called()
            ),
        },
        Card {
            name: "Model",
            value: format!("{} MiB", short(release.model.size_mib())),
            note: format!("10^{:.1} possible records", domain.log10_cells()),
        },
        Card {
            name: "Fit",
            value: match &release.certificate {
                Some(certificate) if certificate.noise > 0.0 && certificate.agrees() => {
                    "within noise".into()
                }
                Some(certificate) if certificate.says_nothing() => "not certified".into(),
                Some(certificate) => {
                    format!("within {} of the best", percent(certificate.relative_gap()))
                }
                None => "\u{2013}".into(),
            },
            note: match &release.certificate {
                Some(certificate) => certified(certificate),
                None if release.measurements.is_empty() => "no measurement".into(),
                None if release.model.as_markov_random_field().is_some() => "not certified".into(),
                None if release.model.as_products().is_some() => {
                    "a trained mixture of products, not certified".into()
                }
                None => "reweighted records, not certified".into(),
            },
        },
    ];
    cards.extend(release.public_trust.as_ref().map(|trust| Card {
        name: "Published",
        value: trust.published.into(),
        note: match trust.contradicted.as_deref() {
            None => "the public tables were too small to help the fits".to_owned(),
            Some([]) => "no measurement clearly contradicts the public tables".into(),
            Some(cliques) => {
                let names: Vec<String> =
                    cliques.iter().take(SHOWN).map(|(clique, _)| domain.describe(clique)).collect();
                let more = cliques.len().saturating_sub(SHOWN);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                format!("the public tables are clearly contradicted on {}{more}", names.join(", "))
            }
        } + &trust.above_aim.map_or_else(String::new, never_worse),
    }));
    cards
}

/// The guarantee of a run that is coupled with AIM.
fn never_worse(margin: f64) -> String {
    format!(
        "; whatever they are, the model's mean error is at most {} above that of AIM without them, with a probability of 95 %",
        short(margin)
    )
}

/// The number of records that measurements are about.
fn sampled(release: &Release) -> u64 {
    release.population.as_ref().map_or(release.records() as u64, |population| population.sampled)
}

/// Contradicted marginals that are listed.
const SHOWN: usize = 6;

/// The result of a fit's certificate, compared with the noise.
fn certified(certificate: &Certificate) -> String {
    if certificate.noise == 0.0 {
        return "certified; measurements without noise".into();
    }
    let in_noise = |difference: f64| short(difference / certificate.noise);
    let least = in_noise(certificate.gap() - certificate.doubt());
    let bound = if certificate.says_nothing() {
        format!("loss at least {least} times its noise above the minimum; no useful upper limit")
    } else {
        let most = in_noise(certificate.gap());
        format!("loss {least} to {most} times its noise above the minimum")
    };
    format!("no measurement more than {} sd beyond its noise; {bound}", short(certificate.excess))
}

pub(crate) fn grouped_f64(x: f64) -> String {
    // Totals are estimates of 32-bit counts.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    grouped(x.round() as u64)
}

fn legend(content: &Content<'_>) -> Vec<Legend> {
    let tables = content.public.iter().enumerate();
    tables
        .map(|(color, table)| Legend { color: color % COLORS, name: table.name().to_owned() })
        .collect()
}

/// Number of colors for public tables in the style sheet.
const COLORS: usize = 5;

/// The color of a public table, by name.
fn color(content: &Content<'_>, source: &str) -> usize {
    content.public.iter().position(|table| table.name() == source).unwrap_or(0) % COLORS
}
