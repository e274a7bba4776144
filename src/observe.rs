//! Progress without printing: the events of a run. Events hold publishable numbers only.
//!
//! One exception: whether [`Notice::SameRows`] is sent depends on the private rows, and no ledger entry pays for it. It
//! warns the operator of a mistake. Do not publish it, or a log that could contain it.

mod text;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

pub use jointly_pgm::{Checks, Unstoppable};
use jointly_pgm::{Error as CommonError, Result};

use crate::estimation::Certificate;
use crate::measurement::Provenance;
use crate::mechanism::FitRecord;
use crate::privacy::Rho;

/// What happened. Every number in it was paid for in the ledger, or comes from public data or the model; the exception
/// is [`Notice::SameRows`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A model of the public tables is fitted, before the rounds begin.
    FittingPublicTables {
        /// Mechanism name.
        mechanism: &'static str,
    },
    /// The records were counted and the rounds begin.
    Started {
        /// Mechanism name.
        mechanism: &'static str,
        /// Rounds planned; AIM, which often needs fewer, changes its plan in every round.
        rounds: u32,
        /// First round to run; above 1 when a checkpoint is continued.
        first_round: u32,
        /// Cliques that may be measured.
        candidates: usize,
        /// Budget.
        limit: Rho,
    },
    /// A round's candidates were scored against the model.
    Scored {
        /// The round, counted from 1.
        round: u32,
        /// Candidates within the size limit, private and public ones together.
        candidates: usize,
        /// Cliques whose model marginal was computed exactly; ...
        exact: usize,
        /// ... and those estimated from records drawn from the model.
        sampled: usize,
    },
    /// A marginal was chosen and observed; its entry is durable.
    Measured {
        /// The round, counted from 1.
        round: u32,
        /// Rounds planned.
        rounds: u32,
        /// Names of the clique's attributes.
        clique: Vec<String>,
        /// Private or public.
        provenance: Provenance,
        /// Standard deviation of the noise; 0 for a public marginal.
        stddev: f64,
        /// Budget spent so far.
        spent: Rho,
        /// Budget.
        limit: Rho,
    },
    /// The model was fitted to all measurements.
    Fitted {
        /// The round, counted from 1.
        round: u32,
        /// What the fit came to.
        fit: FitRecord,
    },
    /// Something that the caller should know, and that does not end the run.
    Notice(Notice),
    /// The last fit was compared with the best possible one, and with its measurements.
    Certified(Certificate),
}

/// What a caller should know.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// Cliques of the workload have too many cells.
    CliquesLeftOut {
        /// How many.
        left_out: usize,
    },
    /// A public table of totals does not list all combinations of values; those have nobody.
    TotalsUnlisted {
        /// Its name.
        totals: String,
        /// How many are not listed.
        unlisted: u64,
        /// Of how many.
        cells: u64,
    },
    /// The model of the population does not have the totals: they are 0 where all of its records are, or contradict each other there.
    TotalsUnmet {
        /// The part of the population that would have to move for the farthest table to hold.
        share: f64,
    },
    /// What was measured contradicts some combinations that the schema takes to be unlikely, or too many others of them: they are
    /// dropped, and records may have them.
    UnlikelyMeasured {
        /// How many.
        contradicted: u64,
        /// Of how many.
        of: u64,
    },
    /// Rows got the columns that they lacked.
    RowsCompleted {
        /// The number of rows.
        rows: u64,
        /// How many of their values had no influence, as the model has no record with them and the others.
        left_out: u64,
    },
    /// The forbidden combinations of the schema would make too large a model: fits do not know all of them, and only drawn records
    /// keep to the others.
    ForbiddenLeftToDraws {
        /// How many sets of attributes have forbidden combinations that fits do not know.
        left: u64,
        /// How many have forbidden combinations.
        of: u64,
    },
    /// Rare values were merged before the mechanism runs.
    Compressed {
        /// Attributes with merged values.
        attributes: usize,
        /// Values of all attributes before.
        before: u64,
        /// And after.
        after: u64,
        /// What has been spent so far.
        spent: Rho,
        /// The budget.
        limit: Rho,
    },
    /// The workload's marginals are so large that counting them takes much time and memory.
    LargeWorkload {
        /// Cells of all of them.
        cells: u64,
        /// The attribute with the most values.
        attribute: String,
        /// Its number of values.
        values: u64,
    },
    /// Public tables are read for the report alone.
    PublicTablesUnused {
        /// The mechanism, which makes no use of them.
        mechanism: &'static str,
    },
    /// The run failed after it had spent.
    SpentBeforeFailure {
        /// What was spent.
        spent: Rho,
        /// The limit.
        limit: Rho,
        /// The ledger file that records it, if there is one.
        ledger: Option<PathBuf>,
    },
    /// The run will replace the ledger of an earlier one, whose cost it does not count.
    LedgerReplaced {
        /// The file.
        ledger: PathBuf,
        /// What the earlier run has spent.
        spent: Rho,
    },
    /// δ is at least 1/n: a mechanism that publishes one random record has such a δ.
    LargeDelta {
        /// δ.
        delta: f64,
        /// n, public or measured.
        records: u64,
    },
    /// ε is so large that it limits hardly anything.
    LargeEpsilon {
        /// ε.
        epsilon: f64,
    },
    /// A public table has the rows of the private one. **This depends on the private rows**: it is for the operator alone.
    SameRows {
        /// Name of the public table.
        table: String,
    },
    /// The run failed after it had spent, and can be resumed.
    SpentInCheckpoint {
        /// Where the state is.
        folder: PathBuf,
    },
    /// A replicate of the released table was written. It cost no privacy.
    Replicate {
        /// Its number, counted from 1.
        number: u32,
        /// How many there will be.
        of: u32,
    },
    /// The run succeeded, and not all of its files could be written.
    OutputsMissing {
        /// What was spent.
        spent: Rho,
    },
}

/// Receives the events of a run, and may stop it.
///
/// ```
/// use jointly::observe::{Event, Observer};
/// /// Counts the measurements.
/// #[derive(Default)]
/// struct Counting(usize);
/// impl Observer for Counting {
///     fn event(&mut self, event: &Event) {
///         self.0 += usize::from(matches!(event, Event::Measured { .. }));
///     }
/// }
/// let mut observer = Counting::default();
/// # let schema = jointly::Schema::from_json(r#"{"a": 2}"#, "domain.json")?;
/// # let rows = jointly::Dataset::from_rows(schema.domain(), &[[0], [1]])?;
/// # let rows = jointly::PrivateTable::of_records(rows, Default::default())?;
/// let mut job = jointly::Job::new(rows, schema, 1.0, 1e-6);
/// (job.mechanism, job.workload) = ("independent".into(), "all-1-way".into());
/// job.run(&mut observer)?;
/// assert_eq!(observer.0, 1);
/// # Ok::<(), jointly::Error>(())
/// ```
pub trait Observer: Send {
    /// Called in the order of the run, never with a number that was not paid for. One event depends on the private rows
    /// without a charge: [`Notice::SameRows`].
    fn event(&mut self, event: &Event);

    /// Whether the run should go on. Asked before every charge, and about once per oracle call of a fit, by whichever
    /// thread is at work; so it must be quick.
    ///
    /// [`ControlFlow::Break`] ends the run with [`CommonError::Interrupted`]. What was paid stays paid: the ledger or the
    /// checkpoint records it, and a run with a checkpoint resumes without paying for a round twice. The answer must not
    /// depend on private rows: when a run stopped is visible.
    fn check(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// An observer that any thread may ask, and that only its owner tells anything.
pub struct SharedObserver<'o>(Mutex<&'o mut dyn Observer>);

impl<'o> SharedObserver<'o> {
    /// Takes an observer.
    pub fn new(observer: &'o mut dyn Observer) -> Self {
        Self(Mutex::new(observer))
    }

    /// Reports an event.
    pub fn event(&mut self, event: &Event) {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).event(event);
    }
}

impl Checks for SharedObserver<'_> {
    fn check(&self) -> Result<()> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).check() {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(CommonError::Interrupted),
        }
    }
}

/// Passes on whether to stop, and nothing else: for runs within a run, whose rounds are not its own.
pub(crate) struct Quiet<'o>(pub(crate) &'o mut dyn Observer);

impl Observer for Quiet<'_> {
    fn event(&mut self, _: &Event) {}

    fn check(&mut self) -> ControlFlow<()> {
        self.0.check()
    }
}

/// Ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: &Event) {}
}
