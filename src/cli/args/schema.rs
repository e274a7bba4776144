//! Flags of `jointly schema`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use jointly::domain::Encoding;

use super::named;

#[derive(Args, Debug)]
pub(in crate::cli) struct SchemaArgs {
    /// A public table: CSV, plain or gzip; repeatable
    #[arg(long, value_name = "FILE", required_unless_present_any = ["dictionary", "from", "schema"])]
    pub(in crate::cli) public: Vec<PathBuf>,
    /// A document that describes the table; KIND is pums, sdnist, frictionless, dpsynth or ddi
    #[arg(long, value_name = "KIND:FILE", conflicts_with = "dictionary")]
    pub(in crate::cli) from: Option<String>,
    /// A data dictionary in the CSV format of the US Census Bureau: --from pums:FILE
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) dictionary: Option<PathBuf>,
    /// A finished schema: with --to it is exported, with --public it gets unlikely combinations
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["from", "dictionary", "delimiter", "header", "header_file", "no_header", "encoding", "decimal", "dates"]
    )]
    pub(in crate::cli) schema: Option<PathBuf>,
    /// What to export the schema as, and the file to write; KIND is sdv, the metadata of SDV
    #[arg(long, value_name = "KIND:FILE", requires = "schema", conflicts_with_all = ["public", "out"])]
    pub(in crate::cli) to: Option<Export>,
    #[command(flatten)]
    pub(in crate::cli) members: MemberArgs,
    #[command(flatten)]
    pub(in crate::cli) table: TableArgs,
    /// Output file for the schema [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) out: Option<PathBuf>,
}

/// The units of the public tables, to find what their members do not have together. As for `synth`.
#[derive(Args, Debug)]
pub(in crate::cli) struct MemberArgs {
    /// With --schema: column that identifies the unit of each public record, such as a household; what its members do not have
    /// together becomes unlikely as well
    #[arg(long, value_name = "COLUMN", requires_all = ["schema", "public", "members"])]
    pub(in crate::cli) unit: Option<String>,
    /// Maximum number of records per unit
    #[arg(long, value_name = "K", requires = "unit")]
    pub(in crate::cli) max_records: Option<u32>,
    /// Columns of each member of a unit, separated by commas
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', requires_all = ["unit", "order", "max_records"])]
    pub(in crate::cli) members: Vec<String>,
    /// Column of numbers by which the members of a unit are ordered
    #[arg(long, value_name = "COLUMN", requires = "members")]
    pub(in crate::cli) order: Option<String>,
}

/// How tables are written as text; the schema keeps it, so that other commands read tables in the same way.
#[derive(Args, Debug)]
pub(in crate::cli) struct TableArgs {
    /// Character between cells: one ASCII character, or tab [default: found from the first table]
    #[arg(long, value_name = "CHAR", allow_hyphen_values = true)]
    pub(in crate::cli) delimiter: Option<String>,
    /// Tables have no header: these are the names of their columns, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAME,...", conflicts_with_all = ["header_file", "no_header"])]
    pub(in crate::cli) header: Vec<String>,
    /// Tables have no header: a file has the names of their columns, in one row or one per line
    #[arg(long, value_name = "FILE", conflicts_with = "no_header")]
    pub(in crate::cli) header_file: Option<PathBuf>,
    /// Tables have no header: name their columns column1, column2, ...
    #[arg(long)]
    pub(in crate::cli) no_header: bool,
    /// Encoding of tables without a byte-order mark; a mark for UTF-8 or UTF-16 decides by itself
    #[arg(long, value_parser = named::<Encoding>(Encoding::NAMES), default_value = "utf-8", value_name = "NAME")]
    pub(in crate::cli) encoding: Encoding,
    /// Decimal mark of numbers that may be read in two ways, such as 1,234 [default: found from the tables]
    #[arg(long, value_name = "MARK", value_parser = [",", "."])]
    pub(in crate::cli) decimal: Option<String>,
    /// How dates are written that may be read in two ways, such as DD/MM/YYYY [default: found from the tables]
    #[arg(long, value_name = "FORM")]
    pub(in crate::cli) dates: Option<String>,
}

/// A file to export a schema to. There is one kind: the metadata of SDV.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Export(pub(in crate::cli) PathBuf);

impl FromStr for Export {
    type Err = &'static str;

    /// Reads `KIND:FILE`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("sdv", path)) if !path.is_empty() => Ok(Self(path.into())),
            _ => Err("expected KIND:FILE with the kind sdv"),
        }
    }
}
