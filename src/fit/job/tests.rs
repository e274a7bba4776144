use super::*;

#[test]
fn the_command_line_names_files_without_their_folders() {
    let mut job = FitJob { schema: "data/schema.json".into(), ..FitJob::default() };
    assert_eq!(job.command(), "jointly fit --schema schema.json");
    job.totals.extend(["old/age.csv".parse().unwrap(), "sex=old/sexes.csv".parse().unwrap()]);
    job.rounded.extend(["5:old/work.csv".into(), "random-3:home=old/homes.csv".into()]);
    job.rows = Some(7);
    job.report = Some("out/page.html".into());
    assert_eq!(
        job.command(),
        "jointly fit --schema schema.json --totals age=age.csv --totals sex=sexes.csv --rounded 5:work.csv --rounded \
         random-3:home=homes.csv --rows 7 --report page.html"
    );
}
