//! A fit as a value, for people, files and programs.

use std::path::PathBuf;

use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::{Dataset, Labels, read_csv, write_csv_file, write_text};
use crate::domain::Schema;
use crate::error::{Contradiction, Error, Result};
use crate::estimation::{Certificate, Targets};
use crate::fit::outcome::{Fitted, FittedTables};
use crate::fit::{KnownTable, Origin};
use crate::graph::{JunctionTree, cells_within_mib};
use crate::model::{Drawing, MarkovRandomField, Model, WeightedSupport};
use crate::observe::Observer;
use crate::privacy::LedgerFile;
use crate::settings::{self, Form, file_name, settings};
use crate::survey::Emission;
use crate::synthesis::{Existing, NamedFile, PublicFile, SchemaSource, reserve_files};

/// Most MiB of a graphical model, unless stated.
const MODEL_MIB: f64 = 512.0;

settings! {
    /// A fit to tables of counts, with all its settings. It reads no private row.
    ///
    /// ```no_run
    /// use jointly::{fit::FitJob, observe::Silent};
    /// let mut job = FitJob { schema: "schema.json".into(), ..FitJob::default() };
    /// job.totals.push("age_sex.csv".parse()?);
    /// job.rounded.push("5:tenure.csv".into());
    /// job.out = Some("people.csv".into());
    /// let fitted = job.run(&mut Silent)?;
    /// println!("{} people; {}", fitted.model.total(), fitted.tables.guarantee);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    #[derive(Clone, Debug, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    pub struct FitJob {
        /// The schema: schema.json or domain.json.
        schema: SchemaSource = SchemaSource::default(), Tables, Form::File, "FILE";
        /// A table of counts that hold exactly, in the model and in the rows; NAME is its name [default: its file name];
        /// repeatable.
        ///
        /// CSV with a column of counts and columns of the schema; a combination that is not listed has none.
        totals: Vec<PublicFile> = Vec::new(), Tables, Form::NamedFiles, "[NAME=]FILE";
        /// A table of counts that are rounded to multiples of BASE, or, as random-BASE, up or down at random; repeatable.
        ///
        /// `5:tenure.csv` or `random-3:tenure=tenure.csv`. A cell may be `<10`, and a combination that is not listed is rounded to
        /// 0.
        rounded: Vec<String> = Vec::new(), Tables, Form::Texts, "BASE:[NAME=]FILE";
        /// A table in which counts below N are suppressed: empty, marked, or not listed; repeatable.
        ///
        /// `10:county.csv`. All other counts are as they are. Any cell that is no number is suppressed.
        suppressed: Vec<String> = Vec::new(), Tables, Form::Texts, "N:[NAME=]FILE";
        /// Noisy counts, as synth --measurements writes them; repeatable.
        measurements: Vec<PublicFile> = Vec::new(), Tables, Form::NamedFiles, "[NAME=]FILE";
        /// The ledger that paid for noisy counts of a private table.
        ledger: Option<PathBuf> = None, Tables, Form::File, "FILE";
        /// Names of tables, separated by commas, that come from private records and were cleared by hand: the fit is then NOT
        /// differentially private.
        cleared: Vec<String> = Vec::new(), Tables, Form::Names, "NAME,...";
        /// Number of records that the tables are about [default: that of the exact tables, or what the others say].
        total: Option<f64> = None, Tables, Form::Number, "N";
        /// Records to reweight, such as an older or neighboring table: the fit is then on them alone, and as near to them as the
        /// tables allow.
        ///
        /// CSV with all columns of the schema. Without it, the fit is the graphical model of maximum entropy.
        public: Option<PathBuf> = None, Tables, Form::File, "FILE";
        /// Largest graphical model to fit, in MiB (8 bytes per cell of each of its cliques); a larger one is refused.
        size_limit_mib: f64 = MODEL_MIB, Tables, Form::Number, "MIB";
        /// Number of records to draw [default: the number that the model represents].
        rows: Option<u64> = None, Output, Form::Whole, "N";
        /// What the records are.
        ///
        /// Weighted ones are those of `--public`, each once with its weight.
        emit: Emission = Emission::Population, Output, Form::Choice(Emission::NAMES), "WHAT";
        /// How to draw records.
        draw: Drawing = Drawing::Refined, Output, Form::Choice(Drawing::NAMES), "HOW";
        /// How to write categorical values.
        labels: Labels = Labels::Codes, Output, Form::Choice(Labels::NAMES), "HOW";
        /// Seed of the drawing, for reproducible rows.
        seed: Option<u64> = None, Output, Form::Whole, "S";
        /// Output file for records: CSV, compressed with gzip if the name ends in .gz.
        out: Option<PathBuf> = None, Output, Form::File, "FILE";
        /// Output file for the model, for sample and ask.
        model: Option<PathBuf> = None, Output, Form::File, "FILE";
        /// Output file for all tables with the fitted counts beside the given ones: CSV with a row for each cell.
        fitted: Option<PathBuf> = None, Output, Form::File, "FILE";
        /// Output file for a page that shows how near the fit comes to each table: self-contained HTML.
        report: Option<PathBuf> = None, Output, Form::File, "FILE";
    }
    and {
        /// What happens to output files that exist already.
        #[serde(skip)]
        existing: Existing;
    }
}

impl FitJob {
    /// A job from its JSON, where members that are missing have their defaults.
    ///
    /// # Errors
    /// A member of another form, or that is no setting.
    pub fn from_settings(settings: Value) -> Result<Self> {
        settings::read(settings, Self::SETTINGS, "fit")
    }

    /// Reads the tables, fits them, draws records if they are asked for, and writes the files.
    ///
    /// # Errors
    /// Settings that contradict one another, a file that cannot be read or written, tables that no distribution has together, or
    /// a model that is too large.
    pub fn run(&self, observer: &mut dyn Observer) -> Result<Fitted> {
        let files = self.files()?;
        self.check()?;
        let outputs = self.outputs();
        let _reserved = reserve_files(&self.inputs(&files), &outputs, self.existing)?;
        // Nothing here could contradict what is only unlikely.
        let schema = self.schema.read()?.without_unlikely()?;
        let ledger = self.ledger.as_deref().map(LedgerFile::read).transpose()?;
        let known = self.known(&schema, observer)?;
        let (model, certificate) = self.model_of(&schema, &known)?;
        let mut rng = match self.seed {
            Some(seed) => ChaCha20Rng::seed_from_u64(seed),
            None => ChaCha20Rng::from_rng(&mut rand::rng()),
        };
        let used = known.iter().any(|table| table.origin == Origin::Ledger);
        let tables = FittedTables::new(
            &schema,
            &model,
            &known,
            certificate,
            ledger.as_ref().filter(|_| used),
        )?;
        let mut fitted = Fitted { schema, model, known, tables };
        if let Some(path) = &self.out {
            let (rows, schema) = self.records(&mut fitted, &mut rng)?;
            write_csv_file(path, &rows, &schema, self.labels, rng.next_u64())?;
        }
        if let Some(path) = &self.model {
            fitted.model_file().write(path)?;
        }
        if let Some(path) = &self.fitted {
            write_text(path, &fitted.tidy()?)?;
        }
        if let Some(path) = &self.report {
            write_text(path, &fitted.page(&self.command())?)?;
        }
        Ok(fitted)
    }

    /// The command line of this job, with the names of files and without their folders; empty where the schema is in memory.
    fn command(&self) -> String {
        let members = |job: &Self| serde_json::to_value(job).unwrap_or_default();
        let (Some(_), own, default) =
            (self.schema.file(), members(self), members(&Self::default()))
        else {
            return String::new();
        };
        let words = Self::SETTINGS.iter().flat_map(|setting| {
            let value = &own[setting.name()];
            match (setting.form, value) {
                _ if *value == default[setting.name()] => Vec::new(),
                (Form::Texts, Value::Array(texts)) => {
                    let texts = texts.iter().filter_map(Value::as_str).map(in_short);
                    setting.words(&texts.collect())
                }
                _ => setting.words(value),
            }
        });
        let words = ["jointly".to_owned(), "fit".to_owned()].into_iter().chain(words);
        words.collect::<Vec<_>>().join(" ")
    }

    /// Refuses settings that say nothing together.
    fn check(&self) -> Result<()> {
        let needs = |what, needed| Err(Contradiction::Needs { what, needed }.into());
        if self.emit == Emission::Weighted {
            if self.public.is_none() {
                return needs("weighted records", "`public`, the records that get weights");
            }
            if self.rows.is_some() {
                let (first, second) = ("weighted records", "rows");
                let why = "they are the public records, each once";
                return Err(Contradiction::Together { first, second, why }.into());
            }
        }
        if self.rows == Some(0) || self.rows.is_some_and(|rows| u32::try_from(rows).is_err()) {
            return Err(Error::invalid_parameter(
                "rows",
                self.rows.unwrap_or(0),
                "from 1 to 4294967295",
            ));
        }
        if self.size_limit_mib.is_nan() || self.size_limit_mib <= 0.0 {
            return Err(Error::invalid_parameter(
                "size limit mib",
                self.size_limit_mib,
                "a positive number of MiB",
            ));
        }
        Ok(())
    }

    fn inputs<'a>(&'a self, files: &'a [PublicFile]) -> Vec<NamedFile<'a>> {
        let mut inputs: Vec<NamedFile<'_>> = Vec::new();
        inputs.extend(self.schema.file().map(|path| ("schema", path)));
        inputs.extend(files.iter().map(|file| ("a table of counts", &*file.path)));
        inputs.extend(self.ledger.iter().map(|path| ("ledger", &**path)));
        inputs.extend(self.public.iter().map(|path| ("public table", &**path)));
        inputs
    }

    fn outputs(&self) -> Vec<NamedFile<'_>> {
        let all = [
            ("synthetic table", &self.out),
            ("model", &self.model),
            ("fitted tables", &self.fitted),
            ("report", &self.report),
        ];
        all.into_iter().filter_map(|(name, path)| Some((name, path.as_deref()?))).collect()
    }

    /// The fit.
    fn model_of(&self, schema: &Schema, known: &[KnownTable]) -> Result<(Model, Certificate)> {
        let domain = schema.domain();
        let given = known.iter().map(|table| table.target.clone());
        let targets = Targets::new(&domain, given, self.total)?;
        let Some(path) = &self.public else {
            let cliques = targets.layout()?;
            if !JunctionTree::is_tractable(
                &domain,
                cliques.cliques(),
                cells_within_mib(self.size_limit_mib),
            ) {
                return Err(Error::too_large(
                    "the graphical model of these tables (a larger `size_limit_mib`, fewer tables, or records in `public` may do)",
                    None,
                    self.size_limit_mib,
                    "MiB",
                ));
            }
            let (model, certificate) = MarkovRandomField::fit_to(&targets)?;
            return Ok((model.into(), certificate));
        };
        let rows = read_csv(path, schema)?;
        let support = WeightedSupport::new(&rows, vec![1.0; rows.records()], targets.total())?;
        let (support, certificate) = support.fitted_to(&targets)?;
        Ok((support.into(), certificate))
    }

    /// The records that are written, with their schema.
    fn records(&self, fitted: &mut Fitted, rng: &mut ChaCha20Rng) -> Result<(Dataset, Schema)> {
        if self.emit == Emission::Weighted {
            return fitted.weighted();
        }
        let rows = self.rows.and_then(|rows| usize::try_from(rows).ok());
        let rows = rows.unwrap_or_else(|| fitted.model.records());
        let (rows, difference) = fitted.rows(rows, self.draw, rng)?;
        fitted.tables.rows_difference = difference;
        Ok((rows, fitted.schema.clone()))
    }
}

/// `BASE:[NAME=]FILE` without the file's folder.
fn in_short(text: &str) -> String {
    let end = text.find('=').or_else(|| text.find(':')).map_or(0, |at| at + 1);
    format!("{}{}", &text[..end], file_name(&text[end..]))
}

#[cfg(test)]
mod tests;
