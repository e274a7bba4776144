//! A run's progress on standard error: a bar on a terminal, one line per round elsewhere, or JSON.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use jointly::estimation::Certificate;
use jointly::measurement::Provenance;
use jointly::mechanism::FitRecord;
use jointly::observe::{Event, Notice, Observer};
use jointly::privacy::Rho;
use serde_json::{Value, json};

use super::console::Console;
use super::format::{duration, percent, short};

/// Shows the events of a run, and nothing else. They contain only publishable numbers, with one
/// exception: [`Notice::SameRows`] depends on private rows.
pub(super) struct Progress {
    console: Console,
    started: Instant,
    rounds: u32,
    first_round: u32,
    /// The round not yet shown and what it measured, for the line printed at its end.
    measured: Option<(u32, String)>,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(super) fn new(console: Console) -> Self {
        Self {
            console,
            started: Instant::now(),
            rounds: 0,
            first_round: 1,
            measured: None,
            bar: None,
        }
    }

    /// Shows the last round if no fit followed it, and removes the bar.
    pub(super) fn finish(&mut self) {
        if let Some((round, _)) = self.measured {
            self.round_is_over(round);
        }
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Estimated seconds for the remaining rounds, based on the average so far.
    fn seconds_left(&self, round: u32) -> f64 {
        let done = f64::from((round + 1).saturating_sub(self.first_round)).max(1.0);
        let left = f64::from(self.rounds.saturating_sub(round));
        self.started.elapsed().as_secs_f64() * left / done
    }

    fn show_bar(&mut self) {
        let bar = ProgressBar::new(u64::from(self.rounds));
        if let Ok(style) =
            ProgressStyle::with_template("{bar:20} round {pos} of {len}{prefix}  {wide_msg}")
        {
            bar.set_style(style);
        }
        bar.set_position(u64::from(self.first_round.saturating_sub(1)));
        bar.set_message("counting and scoring");
        bar.enable_steady_tick(Duration::from_millis(500));
        self.bar = Some(bar);
    }

    /// Advances the bar, or writes the round's line.
    fn round_is_over(&mut self, round: u32) {
        let left = if round < self.rounds {
            format!(", about {} left", duration(self.seconds_left(round)))
        } else {
            String::new()
        };
        let measured = self.measured.take();
        if let Some(bar) = &self.bar {
            bar.set_position(u64::from(round));
            bar.set_prefix(left);
        } else {
            let text = measured.map_or_else(|| "fitted again".into(), |(_, text)| text);
            let line = format!("round {round} of {}: {text}{left}", self.rounds);
            self.console.note("fitted", &line, json!({}));
        }
    }

    fn text_event(&mut self, event: &Event) {
        match event {
            Event::FittingPublicTables { mechanism } => {
                let text = format!("{mechanism}: fitting the public tables");
                self.console.note("fitting-public-tables", &text, json!({}));
            }
            Event::Started { mechanism, rounds, first_round, candidates, limit } => {
                if self.console.terminal {
                    self.show_bar();
                    return;
                }
                let from = if *first_round > 1 {
                    format!(", continued at round {first_round}")
                } else {
                    String::new()
                };
                let budget = short(limit.to_f64());
                let text = format!(
                    "{mechanism}: {rounds} rounds{from}, {candidates} cliques, rho {budget}"
                );
                self.console.note("started", &text, json!({}));
            }
            Event::Measured { round, clique, provenance, stddev, spent, limit, .. } => {
                // Not every round ends with a fit.
                if let Some((earlier, _)) = &self.measured {
                    self.round_is_over(*earlier);
                }
                let text = described(clique, provenance, *stddev, *spent, *limit);
                if let Some(bar) = &self.bar {
                    bar.set_length(u64::from(self.rounds));
                    bar.set_message(text.clone());
                }
                self.measured = Some((*round, text));
            }
            Event::Fitted { round, fit } => {
                if let FitRecord::BestResponses { records, proved, .. } = fit {
                    let text = format!("records found: {records}, proved best: {proved}");
                    self.measured = Some((*round, text));
                }
                self.round_is_over(*round);
            }
            Event::Notice(notice) => self.notice(notice),
            Event::Certified(certificate) => {
                let Certificate { loss, lower_bound, excess, .. } = certificate;
                let bound = if certificate.says_nothing() {
                    "no useful lower bound".into()
                } else {
                    format!("certified that none is below {}", short(*lower_bound))
                };
                let text = format!(
                    "fit: loss {}, {bound}; worst measurement {} sd beyond its noise",
                    short(*loss),
                    short(*excess)
                );
                self.console.note("certified", &text, json!({}));
            }
            _ => {}
        }
    }

    /// Prints information for the user: a note, or a warning if budget was wasted.
    fn notice(&self, notice: &Notice) {
        match Event::Notice(notice.clone()).facts().filter(|_| !notice.is_warning()) {
            Some((name, facts)) => self.console.note(name, &notice.to_string(), facts),
            None => self.console.warning(&notice.to_string()),
        }
    }

    fn json_event(&self, event: &Event) {
        if let Event::Notice(notice) = event {
            return self.notice(notice);
        }
        let Some((name, mut facts)) = event.facts() else { return };
        if let (Event::Fitted { round, .. }, Value::Object(facts)) = (event, &mut facts) {
            facts.insert("seconds_left".into(), self.seconds_left(*round).into());
        }
        self.console.note(name, "", facts);
    }
}

impl Observer for Progress {
    fn event(&mut self, event: &Event) {
        if let Event::Started { rounds, first_round, .. } = event {
            (self.rounds, self.first_round) = (*rounds, *first_round);
            self.started = Instant::now();
        }
        if let Event::Measured { rounds, .. } = event {
            // A mechanism may find that it needs fewer rounds.
            self.rounds = *rounds;
        }
        if self.console.quiet {
            // Warnings are still printed.
            if let Event::Notice(notice) = event {
                self.notice(notice);
            }
        } else if self.console.json {
            self.json_event(event);
        } else {
            self.text_event(event);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

/// `AGE x SEX, private, noise 12.3, 23 % spent`.
fn described(
    clique: &[String],
    provenance: &Provenance,
    stddev: f64,
    spent: Rho,
    limit: Rho,
) -> String {
    let from = match provenance {
        Provenance::Private => format!("private, noise {}", short(stddev)),
        Provenance::Public { source } => format!("public ({source})"),
    };
    let share = if limit.is_zero() { 0.0 } else { spent.to_f64() / limit.to_f64() };
    format!("{}, {from}; {} spent", clique.join(" x "), percent((share * 1e3).round() / 1e3))
}
