//! `jointly fit`: a model, rows and tables from tables of counts. It reads no private row.

use std::fmt::Write;
use std::path::Path;

use jointly::fit::{FitJob, Fitted, FittedTables, Group};

use super::args::FitArgs;
use super::console::{self, Console};
use super::failure::{Failure, Outcome};
use super::format::{grouped, short};
use super::progress::Progress;

pub(super) fn run(args: &FitArgs, console: Console) -> Outcome {
    let job = FitJob { existing: console.existing, ..args.settings.0.clone() };
    let files = [&job.out, &job.model, &job.fitted, &job.report];
    if files.into_iter().flatten().any(|path| path == Path::new("-")) {
        return Err(Failure::usage(
            "an output of fit is -, expected a file: standard output has the summary",
        ));
    }
    let mut progress = Progress::new(console);
    let fitted = job.run(&mut progress);
    progress.finish();
    let fitted = fitted?;
    if !fitted.tables.private {
        console.warning(&fitted.tables.guarantee);
    }
    if args.json {
        console::json_result(&fitted.tables)
    } else {
        console::result(&text(&fitted, &job))
    }
}

fn text(fitted: &Fitted, job: &FitJob) -> String {
    let FittedTables { guarantee, model_mib, certificate, groups, rows_difference, .. } =
        &fitted.tables;
    let mut text = format!("{guarantee}\n\n");
    let width = groups.iter().map(|group| group.name.len()).max().unwrap_or(0).max(5);
    _ = writeln!(text, "{:width$}  tables  cells  counts", "file");
    for group in groups {
        let Group { name, kind, origin, tables, cells, .. } = group;
        let (tables, cells) = (grouped(*tables as u64), grouped(*cells as u64));
        _ = writeln!(
            text,
            "{name:width$}  {tables:>6}  {cells:>5}  {}, {}; {}",
            kind.name(),
            origin.name(),
            group.difference()
        );
    }
    let certainty = if certificate.loss > 0.0 {
        format!(
            "; loss {}, at most {} above the least there is",
            short(certificate.loss),
            short(certificate.gap())
        )
    } else {
        String::new()
    };
    _ = writeln!(
        text,
        "\nmodel of {} records, {} MiB{certainty}",
        grouped(fitted.model.records() as u64),
        short(*model_mib)
    );
    if let Some(difference) = rows_difference {
        _ = match difference {
            0.0 => writeln!(text, "every exact count is that of the records"),
            off => writeln!(
                text,
                "the records are off an exact count, scaled to their number, by {} at most",
                short(*off)
            ),
        };
    }
    let written = [
        ("records", &job.out),
        ("model", &job.model),
        ("fitted tables", &job.fitted),
        ("report", &job.report),
    ];
    for (what, path) in written.into_iter().filter_map(|(what, path)| Some((what, path.as_ref()?)))
    {
        _ = writeln!(text, "{what}: {}", path.display());
    }
    text
}
