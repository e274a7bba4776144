//! The paid steps of a run: each is paid for once, and its result is on disk before anyone sees it.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{CheckpointFault, Error, Result};
use crate::{Checkpoint, Curator, Inputs, LedgerEntry};

impl Curator<'_> {
    /// Keeps the paid steps of this curator in a checkpoint, and takes those that it has from there.
    #[must_use]
    pub fn with_checkpoint(mut self, checkpoint: Checkpoint) -> Self {
        self.checkpoint = Some(checkpoint);
        self
    }

    /// Whether this curator has a checkpoint: then it may pay within steps only.
    pub fn has_checkpoint(&self) -> bool {
        self.checkpoint.is_some()
    }

    /// Does a paid step, once: its result is on disk before this returns, or was there and is taken from there, at the cost
    /// that it had.
    ///
    /// All steps of a run come one after another, in an order that does not depend on the records. Without a checkpoint,
    /// nothing is kept.
    ///
    /// `step`: its name. `inputs`: what determines it, apart from the curator and its checkpoint. `pay`: must return
    /// publishable numbers only. `check`: refuses a result that its entries did not pay for, or that does not fit.
    ///
    /// # Errors
    /// Those of `pay`; another step in its place, one with other inputs or one that is refused; a file that cannot be
    /// written.
    ///
    /// ```
    /// use jointly_pgm::{Clique, Dataset, Domain};
    /// use jointly_privacy::{Budget, Checkpoint, Error, Inputs, NeighboringRelation, NoiseSeed};
    /// let private = Dataset::from_rows(Domain::new([("sex", 2)])?, &[[0], [1], [1]])?;
    /// let (budget, folder) = (Budget::approximate(1.0, 1e-9)?, tempfile::tempdir()?);
    /// let counted = || {
    ///     let curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
    ///     let mut curator = curator.with_checkpoint(Checkpoint::open(folder.path(), "survey of 2026")?);
    ///     curator.once(
    ///         "counts",
    ///         || Inputs::default().with("attribute", ["sex"]),
    ///         |curator| Ok(curator.measure(&Clique::new([0]), budget.rho())?.values),
    ///         |counts, paid| if (counts.len(), paid.len()) == (2, 1) { Ok(()) } else { Err("other counts") },
    ///     )
    /// };
    /// let first: Result<_, Error> = counted();
    /// assert_eq!(first?, counted()?); // noise from the system, drawn once
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn once<T: Serialize + DeserializeOwned, E: From<Error>>(
        &mut self,
        step: &str,
        inputs: impl FnOnce() -> Inputs,
        pay: impl FnOnce(&mut Self) -> Result<T, E>,
        check: impl FnOnce(&T, &[LedgerEntry]) -> Result<(), &'static str>,
    ) -> Result<T, E> {
        if let Some(found) = self.begin_step(step, inputs, check)? {
            return Ok(found);
        }
        let value = pay(self)?;
        self.keep_step(&value)?;
        Ok(value)
    }

    /// Begins a step whose result grows. What was kept of it is charged again and returned.
    ///
    /// # Errors
    /// As [`once`](Self::once).
    pub fn begin_step<T: DeserializeOwned>(
        &mut self,
        step: &str,
        inputs: impl FnOnce() -> Inputs,
        check: impl FnOnce(&T, &[LedgerEntry]) -> Result<(), &'static str>,
    ) -> Result<Option<T>> {
        if self.checkpoint.is_none() {
            return Ok(None);
        }
        if self.ledger.entries().len() != self.accounted {
            let (place, found) = ("a curator with a checkpoint", "an access between two steps");
            let expected = "none: a resumed run would pay for it again";
            return Err(Error::invalid_specification(place, found, expected));
        }
        let inputs = self.own_inputs().and(inputs());
        self.before_step = self.accounted;
        let Some(checkpoint) = &mut self.checkpoint else { return Ok(None) };
        let spent = self.ledger.entries();
        let Some((value, entries)) = checkpoint.begin::<T>(step, inputs, spent)? else {
            return Ok(None);
        };
        let wrong = |why| self.refused(CheckpointFault::Inconsistent(why));
        check(&value, &entries).map_err(wrong)?;
        let charged = self.resume(&entries);
        charged.map_err(|error| self.refused(CheckpointFault::Ledger(Box::new(error))))?;
        Ok(Some(value))
    }

    /// Makes the result of the step in progress durable, with what it has cost, and the ledger. Both are on disk when this
    /// returns.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn keep_step(&mut self, value: &impl Serialize) -> Result<()> {
        if let Some(mut checkpoint) = self.checkpoint.take() {
            let kept = checkpoint.keep(value, &self.whole_ledger(), self.before_step);
            self.checkpoint = Some(checkpoint);
            kept?;
            self.accounted = self.ledger.entries().len();
        }
        self.save_ledger()
    }

    /// Charges what an interrupted run has paid for. Its results are known, so nothing is drawn. Call
    /// [`begin_round`](Self::begin_round) before the next access.
    ///
    /// # Errors
    /// A curator that has drawn noise itself, as the interrupted run did with other noise; an entry of another relation,
    /// before the current round, above what is left, or whose cost does not cover its mechanism.
    pub fn resume(&mut self, entries: &[LedgerEntry]) -> Result<()> {
        let refused = |found: String, expected| {
            Err(Error::invalid_specification("ledger to continue", found, expected))
        };
        if self.ledger.entries().len() != self.accounted {
            let found = format!("a curator that has spent {}", self.spent());
            return refused(found, "before it spends anything itself");
        }
        let mut resumed = self.ledger.clone();
        let mut round = self.round;
        for entry in entries {
            let place = || format!("round {}, {}", entry.round, entry.purpose);
            if entry.lacks_score() {
                return refused(
                    format!("{}: a selection without 'score'", place()),
                    "the parts of its sensitivity",
                );
            }
            // A step has no entries of other commands.
            let is_own = entry.records_per_unit.is_none() && entry.is_of(self.relation());
            if !is_own || entry.round < round {
                let expected = "an access of this relation, of the current round or a later one";
                return refused(place(), expected);
            }
            resumed.charge(entry.clone())?;
            round = entry.round;
        }
        self.accounted = resumed.entries().len();
        (self.ledger, self.round, self.noise) = (resumed, round, None);
        Ok(())
    }

    /// An error that names the checkpoint.
    pub fn refused(&self, fault: CheckpointFault) -> Error {
        match &self.checkpoint {
            Some(checkpoint) => checkpoint.refused(fault),
            None => Error::Checkpoint { path: "none".into(), fault },
        }
    }

    /// What this curator adds to the inputs of its steps. All of it is public.
    fn own_inputs(&self) -> Inputs {
        let (limit, delta) = (self.ledger.limit().units(), self.ledger.delta_limit().to_bits());
        let budget = format!("{limit} {:?} {delta}", self.ledger.epsilon_limit());
        let attributes = self.domain().attributes().iter();
        Inputs::default()
            .with("budget", [budget])
            .with("neighboring relation", [self.relation().to_string()])
            .with("noise seed", [format!("{:?}", self.seed())])
            .with("number of private records", [format!("{:?}", self.records())])
            .with("attributes", attributes.map(|a| format!("{} {}", a.cardinality, a.name)))
    }
}
