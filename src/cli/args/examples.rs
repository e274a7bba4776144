//! The examples at the end of each command's `--help`.

pub(in crate::cli) const DEMO: &str = "\
Examples:
  jointly demo
  jointly demo --dir /tmp/demo --epsilon 0.5";

pub(in crate::cli) const SYNTH: &str = "\
Examples:
  With a public table, and a report that anyone may read:
  jointly synth --private people.csv --public neighbors.csv --schema schema.json \\
      --epsilon 1 --delta 1e-6 --out synthetic.csv --report report.html --model model.json

  Without one; the same command resumes the run after a kill:
  jointly synth --private people.csv --schema schema.json --mechanism aim \\
      --epsilon 1 --delta 1e-6 --out synthetic.csv --checkpoint state

  Of the population behind a weighted sample:
  jointly synth --private acs.csv --public ohio.csv --schema schema.json --weight PWGTP \\
      --totals age-sex.csv --epsilon 1 --delta 1e-6 --out people.csv";

pub(in crate::cli) const ANSWER: &str = "\
Example:
  jointly answer --private people.csv --schema schema.json --workload all-2-way \\
      --epsilon 1 --delta 1e-6 --out tables.csv";

pub(in crate::cli) const EVALUATE: &str = "\
Examples:
  jointly evaluate --private people.csv --synthetic synthetic.csv --schema schema.json
  jointly evaluate --private people.csv --synthetic synthetic.csv --schema schema.json \\
      --report evaluation.html --measures k-marginal,singles-and-pairs --predict HICOV --by SEX";

pub(in crate::cli) const MIXTURE_ERROR: &str = "\
Examples:
  Exactly, for the holder of the records alone:
  jointly mixture-error --private people.csv --public neighbors.csv --schema schema.json

  With noise, for others:
  jointly mixture-error --private people.csv --public neighbors.csv --schema schema.json \\
      --epsilon 0.1";

pub(in crate::cli) const TRUST: &str = "\
Example:
  jointly trust --private people.csv --public neighbors.csv --public last-year.csv \\
      --schema schema.json --epsilon 0.1 --delta 1e-7 --ledger trust.json";

pub(in crate::cli) const THRESHOLDS: &str = "\
Examples:
  jointly thresholds --private people.csv --columns INCOME --public neighbors.csv \\
      --epsilon 1 --delta 1e-6 --out income.json
  jointly thresholds ask --in income.json \"INCOME <= 50000\" --quantile INCOME=0.5";

pub(in crate::cli) const COMPARE: &str = "\
Examples:
  jointly compare protocols/jam.toml
  jointly compare protocols/jam.toml --mechanism anchor-pgm,aim --epsilon 1 --seed 0,1,2";

pub(in crate::cli) const TUNE: &str = "\
Example:
  jointly tune --stand-in neighbors.csv --public last-year.csv --schema schema.json \\
      --epsilon 1 --delta 1e-6";

pub(in crate::cli) const PLAN: &str = "\
Examples:
  jointly plan --schema schema.json --records 50000 --epsilon 1 --delta 1e-6
  jointly plan --schema schema.json --records 50000 --epsilon 1 --delta 1e-6 \\
      --mechanism mst";

pub(in crate::cli) const BUDGET: &str = "\
Examples:
  jointly budget --epsilon 1 --delta 1e-6
  jointly budget --rho 0.02 --delta 1e-6";

pub(in crate::cli) const FIT: &str = "\
Examples:
  Records from published tables alone:
  jointly fit --schema schema.json --totals age-sex.csv --totals tenure.csv --out people.csv

  A public table, reweighted to them:
  jointly fit --schema schema.json --totals age-sex.csv --public neighbors.csv --out people.csv";

pub(in crate::cli) const SAMPLE: &str = "\
Examples:
  jointly sample --model model.json --out more.csv
  jointly sample --model model.json --given \"AGEP=18..64, SEX=2\" --rows 1000 --out women.csv
  jointly sample --model model.json --complete partial.csv --keep ID --out complete.csv";

pub(in crate::cli) const ASK: &str = "\
Examples:
  jointly ask --model model.json --marginal SEX,MAR
  jointly ask --model model.json --given AGEP=18..64 --by SEX --median PINCP \\
      --share \"ESR=1|2\"";

pub(in crate::cli) const COMBINE: &str = "\
Example:
  jointly combine --model model.json --synthetic synthetic.csv \\
      --difference \"AGEP: SEX=1 vs SEX=2\" --logistic \"HICOV=2 ~ AGEP\"";

pub(in crate::cli) const POSTERIOR: &str = "\
Example:
  jointly posterior --model model.json --columns AGEP,SEX,HICOV,MAR --tables 20 --out people.csv";

pub(in crate::cli) const SCHEMA: &str = "\
Examples:
  jointly schema --public neighbors.csv --out schema.json
  jointly schema --from pums:PUMS_Data_Dictionary.csv --public neighbors.csv --out schema.json
  jointly schema --schema finished.json --public neighbors.csv --out with-unlikely.json";

pub(in crate::cli) const EXPLAIN: &str = "\
Examples:
  jointly explain
  jointly explain epsilon
  jointly explain aim
  jointly explain 3";

pub(in crate::cli) const COMPLETIONS: &str = "\
Example:
  jointly completions bash";

pub(in crate::cli) const BINS: &str = "\
Example:
  jointly bins --private people.csv --schema ranges.json --columns INCOME,AGE \\
      --epsilon 0.1 --delta 1e-7 --out schema.json";

pub(in crate::cli) const COUNT: &str = "\
Examples:
  One of the parts that parts.txt lists; every part on any machine, with the same flags:
  jointly count --part parts/07.csv --of parts.txt --schema schema.json --out 07.counts

  A table in two files, on this machine, for synth --private all.counts:
  jointly count --part east.csv --part west.csv --schema schema.json --out all.counts";

pub(in crate::cli) const MERGE: &str = "\
Example:
  What count has counted of each part; then synth --private all.counts:
  jointly merge --counts east.counts west.counts --out all.counts";

#[cfg(test)]
mod tests;
