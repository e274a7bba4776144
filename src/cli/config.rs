//! The command line, checked: every value in range, every name resolved.

use std::path::{Path, PathBuf};

use jointly::Error;
use jointly::data::Units;
use jointly::domain::Domain;
use jointly::evaluation::ScoredCells;
use jointly::mechanism::{Aim, Ide, JamPgm, Mwem, MwemPgm};
use jointly::privacy::rho_from_epsilon_delta;
use jointly::privacy::{Delta, Epsilon, NeighboringRelation, NoiseSeed, RecordsPerUnit, Rho};
use jointly::query::Workload;

use super::args::{
    CellsName, ITERATIONS, IdeArgs, MechanismName, Neighbors, NoiseName, ReweightingArgs,
    SIZE_LIMIT_MIB, SynthArgs, TuningArgs, UnitArgs, WorkloadArgs,
};
use super::failure::{Failure, Outcome};

/// A privacy budget as asked for, and in the currency of the ledger.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) epsilon: Epsilon,
    /// `None`: pure differential privacy.
    pub(super) delta: Option<Delta>,
    pub(super) rho: Rho,
}

impl Budget {
    pub(super) fn new(epsilon: f64, delta: f64) -> Outcome<Self> {
        let (epsilon, delta) = (Epsilon::new(epsilon)?, Delta::new(delta)?);
        let rho = rho_from_epsilon_delta(epsilon, delta)?;
        Ok(Self { epsilon, delta: Some(delta), rho })
    }

    /// Without δ, for noise that is purely ε-private.
    fn pure(epsilon: f64) -> Outcome<Self> {
        let epsilon = Epsilon::new(epsilon)?;
        // The curator takes no more than 4096, and says so.
        let most = epsilon.value().min(4096.0);
        let rho = Rho::from_f64(0.5 * most * most)?;
        Ok(Self { epsilon, delta: None, rho })
    }

    /// δ, or 0.
    pub(super) fn delta(self) -> f64 {
        self.delta.map_or(0.0, Delta::value)
    }
}

/// How the mechanism works.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    pub(super) rounds: Option<u32>,
    pub(super) measure_share: f64,
    pub(super) size_limit_mib: f64,
    pub(super) relation: NeighboringRelation,
    pub(super) reweighting: ReweightingArgs,
}

impl Tuning {
    pub(super) fn new(
        args: &TuningArgs,
        reweighting: ReweightingArgs,
        mechanism: MechanismName,
    ) -> Outcome<Self> {
        let measure_share = args.measure_share.or(mechanism.measure_share()).unwrap_or(1.0);
        if args.rounds.is_some_and(|rounds| !(1..=100_000).contains(&rounds)) {
            let found = args.rounds.unwrap_or(0);
            return Err(Error::invalid_parameter("--rounds", found, "from 1 to 100,000").into());
        }
        if let Some(found) = args.measure_share
            && !(found > 0.0 && found < 1.0)
        {
            let expected = "a number strictly between 0 and 1";
            return Err(Error::invalid_parameter("--measure-share", found, expected).into());
        }
        if !(args.size_limit_mib > 0.0 && args.size_limit_mib.is_finite()) {
            let found = args.size_limit_mib;
            return Err(Error::invalid_parameter("--size-limit-mib", found, "above 0").into());
        }
        if reweighting.projections == Some(0) {
            return Err(Error::invalid_parameter("--projections", 0, "at least 1").into());
        }
        Ok(Self {
            rounds: args.rounds,
            measure_share,
            size_limit_mib: args.size_limit_mib,
            relation: args.neighbors.relation(),
            reweighting,
        })
    }
}

impl Neighbors {
    /// As the library has it.
    pub(super) const fn relation(self) -> NeighboringRelation {
        match self {
            Self::ReplaceOne => NeighboringRelation::ReplaceOne,
            Self::AddRemoveOne => NeighboringRelation::AddRemoveOne,
        }
    }
}

impl CellsName {
    /// As the library has it.
    pub(super) const fn scored(self) -> ScoredCells {
        match self {
            Self::All => ScoredCells::All,
            Self::Supported => ScoredCells::Supported,
        }
    }
}

impl MechanismName {
    /// The name as typed.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::JamPgm => "jam-pgm",
            Self::Aim => "aim",
            Self::Mst => "mst",
            Self::MwemPgm => "mwem-pgm",
            Self::Independent => "independent",
            Self::ResidualPlanner => "residual-planner",
            Self::Hdmm => "hdmm",
            Self::PublicOnly => "public-only",
            Self::Mwem => "mwem",
            Self::PmwPub => "pmw-pub",
            Self::Pep => "pep",
            Self::PepPub => "pep-pub",
            Self::Ide => "ide",
        }
    }

    /// Whether it reweights by rounds of queries.
    pub(super) const fn reweights(self) -> bool {
        matches!(self, Self::Mwem | Self::PmwPub | Self::Pep | Self::PepPub)
    }

    /// Whether there is no run without a public table.
    const fn needs_public_tables(self) -> bool {
        matches!(self, Self::PublicOnly | Self::PmwPub | Self::PepPub | Self::Ide)
    }

    /// A parameter of reweighting that is asked for and that the mechanism would not heed.
    pub(super) fn unheeded(self, asked: &ReweightingArgs) -> Option<&'static str> {
        let projects = matches!(self, Self::Pep | Self::PepPub);
        let useless = [
            ("selection", asked.selection.is_some() && !self.reweights()),
            ("queries", asked.queries.is_some() && !self.reweights()),
            ("iterate", asked.iterate.is_some() && !self.reweights()),
            ("projections", asked.projections.is_some() && !projects),
        ];
        useless.into_iter().find(|(_, is_useless)| *is_useless).map(|(name, _)| name)
    }

    /// Whether public tables go into the model.
    pub(super) const fn uses_public_tables(self) -> bool {
        matches!(self, Self::JamPgm | Self::PublicOnly | Self::PmwPub | Self::PepPub | Self::Ide)
    }

    /// The share of a round for measuring where nothing is asked for; `None` where rounds are not shared so.
    pub(super) fn measure_share(self) -> Option<f64> {
        match self {
            Self::JamPgm => Some(JamPgm::default().measure_share),
            Self::Aim => Some(Aim::default().measure_share),
            Self::MwemPgm => Some(MwemPgm::default().measure_share),
            Self::Mwem | Self::PmwPub | Self::Pep | Self::PepPub => {
                Some(Mwem::default().release.measure_share)
            }
            Self::Ide => Some(Ide::default().answer_share),
            Self::Mst
            | Self::Independent
            | Self::ResidualPlanner
            | Self::Hdmm
            | Self::PublicOnly => None,
        }
    }

    /// Whether its number of rounds is its own.
    pub(super) const fn has_fixed_rounds(self) -> bool {
        self.answers_at_once() || matches!(self, Self::Mst | Self::Independent | Self::Ide)
    }

    /// Whether it measures everything in one step.
    const fn answers_at_once(self) -> bool {
        matches!(self, Self::ResidualPlanner | Self::Hdmm)
    }

    /// Refuses flags that the mechanism would not heed.
    fn check(self, args: &SynthArgs) -> Outcome {
        let public_only = self == Self::PublicOnly;
        let is_ide = self == Self::Ide;
        let lists = self.reweights() || is_ide;
        let useless = [
            ("--rounds", args.tuning.rounds.is_some() && self.has_fixed_rounds()),
            (
                "--measure-share",
                args.tuning.measure_share.is_some() && self.measure_share().is_none(),
            ),
            (
                "--size-limit-mib",
                args.tuning.size_limit_mib.total_cmp(&SIZE_LIMIT_MIB).is_ne() && lists,
            ),
            ("--iterations", args.iterations != ITERATIONS && lists),
            ("--checkpoint", args.checkpoint.is_some() && (public_only || self.answers_at_once())),
            (args.ide.given().unwrap_or_default(), args.ide.given().is_some() && !is_ide),
            ("--ledger-from", args.ledger_from.is_some() && public_only),
        ];
        if let Some((flag, _)) = useless.iter().find(|(_, is_useless)| *is_useless) {
            let message = format!("{flag} is of no use with --mechanism {}", self.name());
            return Err(Failure::usage(message));
        }
        if let Some(name) = self.unheeded(&args.reweighting) {
            let message = format!("--{name} is of no use with --mechanism {}", self.name());
            return Err(Failure::usage(message));
        }
        if args.ledger_from.is_some() && args.checkpoint.is_some() {
            let message =
                "--ledger-from cannot go with --checkpoint: a run resumes from a ledger of its own";
            return Err(Failure::usage(message));
        }
        if self.needs_public_tables() && args.public.is_empty() {
            let message = format!("--mechanism {} needs a --public table", self.name());
            return Err(Failure::usage(message));
        }
        Ok(())
    }
}

/// A public table to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PublicFile {
    pub(super) name: String,
    pub(super) path: PathBuf,
}

impl PublicFile {
    /// `NAME=FILE`, or `FILE` named by its stem. A name holds no path separator.
    fn parse(text: &str) -> Outcome<Self> {
        let (name, path) = match text.split_once('=') {
            Some((name, path)) if !name.contains(['/', '\\']) => (name.to_owned(), path),
            _ => (stem(Path::new(text)), text),
        };
        if name.is_empty() || path.is_empty() {
            return Err(Failure::usage(format!("--public is '{text}', expected [NAME=]FILE")));
        }
        Ok(Self { name, path: path.into() })
    }

    pub(super) fn parse_all(texts: &[String]) -> Outcome<Vec<Self>> {
        let files = texts.iter().map(|text| Self::parse(text)).collect::<Outcome<Vec<_>>>()?;
        for (i, file) in files.iter().enumerate() {
            if files[..i].iter().any(|earlier| earlier.name == file.name) {
                return Err(Failure::usage(format!(
                    "two public tables are named '{}', expected distinct names (NAME=FILE)",
                    file.name
                )));
            }
        }
        Ok(files)
    }
}

/// A file's name without folder, `.gz` and `.csv`.
pub(super) fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.strip_suffix(".csv").unwrap_or(name).to_owned()
}

/// Everything `synth` needs, before any file is opened.
#[derive(Clone, Debug)]
pub(super) struct SynthConfig {
    pub(super) private: PathBuf,
    pub(super) public: Vec<PublicFile>,
    pub(super) schema: PathBuf,
    /// `None`: nothing may be spent.
    pub(super) budget: Option<Budget>,
    pub(super) mechanism: MechanismName,
    pub(super) workload: WorkloadArgs,
    pub(super) tuning: Tuning,
    pub(super) ide: IdeArgs,
    pub(super) units: Option<Units>,
    pub(super) iterations: u32,
    pub(super) rows: Option<usize>,
    pub(super) seed: Option<u64>,
    pub(super) out: PathBuf,
    pub(super) model: Option<PathBuf>,
    pub(super) ledger: Option<PathBuf>,
    pub(super) ledger_from: Option<PathBuf>,
    pub(super) report: Option<PathBuf>,
    pub(super) checkpoint: Option<PathBuf>,
}

impl SynthConfig {
    pub(super) fn new(args: &SynthArgs) -> Outcome<Self> {
        let budget = match (args.mechanism, args.epsilon, args.delta) {
            (_, Some(epsilon), Some(delta)) => Some(Budget::new(epsilon, delta)?),
            (MechanismName::Ide, Some(epsilon), None)
                if args.ide.noise == Some(NoiseName::Laplace) =>
            {
                Some(Budget::pure(epsilon)?)
            }
            (MechanismName::PublicOnly, None, None) => None,
            _ => return Err(Failure::usage("expected --epsilon and --delta together")),
        };
        args.mechanism.check(args)?;
        if args.iterations == 0 {
            return Err(Error::invalid_parameter("--iterations", 0, "at least 1").into());
        }
        let mut tuning = Tuning::new(&args.tuning, args.reweighting, args.mechanism)?;
        let units = units(&args.unit, &mut tuning)?;
        Ok(Self {
            private: args.private.clone(),
            public: PublicFile::parse_all(&args.public)?,
            schema: args.schema.clone(),
            budget,
            mechanism: args.mechanism,
            workload: args.workload.clone(),
            tuning,
            ide: args.ide.clone(),
            units,
            iterations: args.iterations,
            rows: args.rows.map(rows).transpose()?,
            seed: args.seed,
            out: args.out.clone(),
            model: args.model.clone(),
            ledger: args.ledger.clone(),
            ledger_from: args.ledger_from.clone(),
            report: args.report.clone(),
            checkpoint: args.checkpoint.clone(),
        })
    }

    pub(super) fn noise_seed(&self) -> NoiseSeed {
        self.seed.map_or(NoiseSeed::System, NoiseSeed::Fixed)
    }

    /// Input files, with the flags that name them.
    pub(super) fn inputs(&self) -> Vec<(&'static str, &Path)> {
        let mut inputs = vec![("--private", &*self.private), ("--schema", &*self.schema)];
        inputs.extend(self.public.iter().map(|file| ("--public", &*file.path)));
        inputs.extend(self.ledger_from.iter().map(|path| ("--ledger-from", &**path)));
        if !self.workload.workload.starts_with("all-") {
            inputs.push(("--workload", Path::new(&self.workload.workload)));
        }
        inputs
    }

    /// Output files, with the flags that name them.
    pub(super) fn outputs(&self) -> Vec<(&'static str, &Path)> {
        let more =
            [("--model", &self.model), ("--ledger", &self.ledger), ("--report", &self.report)];
        let more = more.into_iter().filter_map(|(flag, path)| Some((flag, path.as_deref()?)));
        std::iter::once(("--out", &*self.out)).chain(more).collect()
    }
}

/// The unit of privacy, which changes what neighboring tables are.
fn units(args: &UnitArgs, tuning: &mut Tuning) -> Outcome<Option<Units>> {
    let (Some(column), Some(most)) = (&args.unit, args.max_records) else { return Ok(None) };
    if tuning.relation != NeighboringRelation::AddRemoveOne {
        let message = "--unit needs --neighbors add-remove-one: replacing a unit changes the \
                       number of records, which is then private";
        return Err(Failure::usage(message));
    }
    tuning.relation = NeighboringRelation::AddRemoveUnit(RecordsPerUnit::new(most)?);
    Ok(Some(Units::new(column, most)?))
}

/// A number of records to draw.
pub(super) fn rows(rows: u64) -> Outcome<usize> {
    let fits = u32::try_from(rows).ok().filter(|rows| *rows > 0);
    fits.map(|rows| rows as usize)
        .ok_or_else(|| Failure::usage(format!("--rows is {rows}, expected 1 to {}", u32::MAX)))
}

/// A workload, and how many of its cliques had too many cells.
pub(super) fn workload(args: &WorkloadArgs, domain: &Domain) -> Outcome<(Workload, usize)> {
    let name = args.workload.as_str();
    let path = Path::new(name);
    // A file of that name is meant, unless the text has the form of a built-in workload.
    let built_in = name.starts_with("all-") && name.ends_with("-way");
    let workload = if !built_in && (path.exists() || name.contains(['/', '.'])) {
        Workload::read(path, domain)?
    } else {
        Workload::parse(name, domain)?
    };
    match args.max_cells {
        None => Ok((workload, 0)),
        Some(most) => Ok(workload.restrict(domain, most)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_tables_are_named_by_flag_or_file() {
        let parse = |text| PublicFile::parse(text).map(|file| (file.name, file.path));
        assert_eq!(parse("ohio=a/oh.csv").unwrap(), ("ohio".into(), "a/oh.csv".into()));
        assert_eq!(parse("a=b/oh.csv.gz").unwrap(), ("a".into(), "b/oh.csv.gz".into()));
        assert_eq!(parse("./a=b/oh.csv.gz").unwrap(), ("oh".into(), "./a=b/oh.csv.gz".into()));
        assert!(parse("=x.csv").is_err() && parse("x=").is_err());
        assert!(PublicFile::parse_all(&["a/oh.csv".into(), "b/oh.csv".into()]).is_err());
    }

    #[test]
    fn more_rows_than_can_be_counted_are_refused() {
        assert_eq!(rows(5).unwrap(), 5);
        assert!(rows(0).is_err() && rows(1 << 32).is_err());
    }
}
