//! Integration tests, one module a subject.

#[path = "integration/anchor.rs"]
mod anchor;
#[path = "integration/architecture.rs"]
mod architecture;
#[cfg(feature = "cli")]
#[path = "integration/ask.rs"]
mod ask;
#[path = "integration/bins_cli.rs"]
mod bins_cli;
#[path = "integration/catalogue.rs"]
mod catalogue;
#[path = "integration/checkpoints.rs"]
mod checkpoints;
#[cfg(feature = "cli")]
#[path = "integration/cli.rs"]
mod cli;
#[cfg(feature = "cli")]
#[path = "integration/compare.rs"]
mod compare;
#[cfg(feature = "cli")]
#[path = "integration/complete_cli.rs"]
mod complete_cli;
#[cfg(feature = "cli")]
#[path = "integration/compression.rs"]
mod compression;
#[cfg(feature = "cli")]
#[path = "integration/config_cli.rs"]
mod config_cli;
#[path = "integration/corpus.rs"]
mod corpus;
#[cfg(all(feature = "cli", unix))]
#[path = "integration/counted.rs"]
mod counted;
#[cfg(feature = "cli")]
#[path = "integration/documents.rs"]
mod documents;
#[path = "integration/error_bars.rs"]
mod error_bars;
#[cfg(all(feature = "cli", unix))]
#[path = "integration/faults.rs"]
mod faults;
#[cfg(all(feature = "cli", unix))]
#[path = "integration/faults_checkpoint.rs"]
mod faults_checkpoint;
#[cfg(feature = "cli")]
#[path = "integration/fit_cli.rs"]
mod fit_cli;
#[cfg(feature = "cli")]
#[path = "integration/hostile.rs"]
mod hostile;
#[cfg(feature = "cli")]
#[path = "integration/households.rs"]
mod households;
#[path = "integration/ide.rs"]
mod ide;
#[cfg(feature = "cli")]
#[path = "integration/ide_cli.rs"]
mod ide_cli;
#[path = "integration/input.rs"]
mod input;
#[cfg(all(feature = "cli", unix))]
#[path = "integration/interrupts.rs"]
mod interrupts;
#[cfg(feature = "cli")]
#[path = "integration/labels_cli.rs"]
mod labels_cli;
#[path = "integration/ledger_cli.rs"]
mod ledger_cli;
#[cfg(feature = "cli")]
#[path = "integration/made.rs"]
mod made;
#[path = "integration/mechanism.rs"]
mod mechanism;
#[cfg(feature = "cli")]
#[path = "integration/member_rules.rs"]
mod member_rules;
#[cfg(feature = "cli")]
#[path = "integration/mixture_cli.rs"]
mod mixture_cli;
#[path = "integration/models.rs"]
mod models;
#[path = "integration/options.rs"]
mod options;
#[cfg(all(feature = "cli", unix))]
#[path = "integration/outputs.rs"]
mod outputs;
#[cfg(feature = "cli")]
#[path = "integration/overwriting.rs"]
mod overwriting;
#[cfg(feature = "cli")]
#[path = "integration/pap.rs"]
mod pap;
#[cfg(all(feature = "cli", feature = "parquet"))]
#[path = "integration/parquet.rs"]
mod parquet;
#[cfg(all(feature = "cli", feature = "parquet"))]
#[path = "integration/parquet_damage.rs"]
mod parquet_damage;
#[path = "integration/prior.rs"]
mod prior;
#[path = "integration/prior_real.rs"]
mod prior_real;
#[path = "integration/products.rs"]
mod products;
#[path = "integration/query_game.rs"]
mod query_game;
#[path = "integration/query_release.rs"]
mod query_release;
#[cfg(feature = "cli")]
#[path = "integration/query_release_cli.rs"]
mod query_release_cli;
#[path = "quick.rs"]
mod quick;
#[cfg(feature = "cli")]
#[path = "integration/raw_files.rs"]
mod raw_files;
#[path = "integration/real_data.rs"]
mod real_data;
#[path = "integration/refinement.rs"]
mod refinement;
#[cfg(feature = "cli")]
#[path = "integration/road.rs"]
mod road;
#[cfg(feature = "cli")]
#[path = "integration/schema_cli.rs"]
mod schema_cli;
#[cfg(feature = "cli")]
#[path = "integration/several_tables.rs"]
mod several_tables;
#[path = "integration/standard_input.rs"]
mod standard_input;
#[path = "integration/stopping.rs"]
mod stopping;
#[path = "integration/strategies.rs"]
mod strategies;
#[path = "integration/structural_zeros.rs"]
mod structural_zeros;
#[path = "integration/support.rs"]
mod support;
#[path = "integration/surface.rs"]
mod surface;
#[cfg(feature = "cli")]
#[path = "integration/surveys.rs"]
mod surveys;
#[path = "integration/trust.rs"]
mod trust;
#[cfg(feature = "cli")]
#[path = "integration/tune_cli.rs"]
mod tune_cli;
#[cfg(feature = "cli")]
#[path = "integration/two_tables.rs"]
mod two_tables;
#[path = "integration/unlikely.rs"]
mod unlikely;
#[path = "integration/without_public.rs"]
mod without_public;
