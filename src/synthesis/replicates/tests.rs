use std::path::Path;

use super::replicate_path;

#[test]
fn replicates_lie_beside_the_table_and_keep_its_form() {
    for (table, expected) in [
        ("synthetic.csv", "synthetic.replicate-2.csv"),
        ("a/b.csv.gz", "a/b.replicate-2.csv.gz"),
        ("a.b/c.parquet", "a.b/c.replicate-2.parquet"),
        ("table", "table.replicate-2"),
        ("table.gz", "table.replicate-2.gz"),
        ("2024.01.csv", "2024.01.replicate-2.csv"),
    ] {
        assert_eq!(replicate_path(Path::new(table), 2), Path::new(expected), "{table}");
    }
}
