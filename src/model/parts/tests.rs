use super::*;
use crate::data::read_csv;
use crate::domain::Clique;
use crate::model::MarkovRandomField;
use crate::observe::Unstoppable;

fn schema() -> Schema {
    Schema::from_json(r#"{"a": 2, "b": 3, "c": 5}"#, "domain.json").unwrap()
}

fn model() -> Model {
    MarkovRandomField::uniform(&schema().domain(), 100.0).unwrap().into()
}

/// The files of a run, by name.
fn written(records: u64, part_rows: u64, seed: u64, form: PartForm) -> Vec<(String, Vec<u8>)> {
    let (folder, model, schema) = (tempfile::tempdir().unwrap(), model(), schema());
    let parts = Parts {
        model: &model,
        schema: &schema,
        refinement: &vec![Clique::new([0, 1])].into(),
        drawing: Drawing::Refined,
        labels: Labels::Codes,
        form,
        records,
        part_rows,
        seed,
    };
    let inside = folder.path().join("new/folder");
    assert_eq!(parts.write(&inside, &Unstoppable).unwrap(), records.div_ceil(part_rows));
    let error = parts.write(&inside, &Unstoppable).unwrap_err().to_string();
    assert!(error.contains("of another table"), "{error}");
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(&inside)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            if form == PartForm::Csv {
                read_csv(&path, &schema).unwrap();
            }
            (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn parts_depend_on_the_seed_and_their_number_alone() {
    let files = written(1050, 100, 7, PartForm::Csv);
    assert_eq!(files.len(), 11);
    assert_eq!((&*files[0].0, &*files[10].0), ("part-00000.csv", "part-00010.csv"));
    let lines =
        |(_, bytes): &(String, Vec<u8>)| std::str::from_utf8(bytes).unwrap().lines().count();
    assert_eq!(files.iter().map(lines).collect::<Vec<_>>(), [&[101; 10][..], &[51]].concat());
    // More records leave the parts before as they are.
    assert_eq!(written(1300, 100, 7, PartForm::Csv)[..10], files[..10]);
    assert_ne!(written(1050, 100, 8, PartForm::Csv), files);
    assert_ne!(files[0].1, files[1].1);
    let threads = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(threads.install(|| written(1050, 100, 7, PartForm::Csv)), files);
}

#[test]
fn parts_of_many_records_are_written_in_slices_with_the_same_bytes() {
    let (model, schema) = (model(), schema());
    let records = u64::from(SLICE) + 10;
    let files = written(records, records, 3, PartForm::Csv);
    let mut hash = Sha256::new();
    hash.update("jointly part");
    hash.update(3_u64.to_le_bytes());
    hash.update(0_u64.to_le_bytes());
    let mut rng = ChaCha20Rng::from_seed(hash.finalize().into());
    let refinement = Refinement::from(vec![Clique::new([0, 1])]);
    let count = usize::try_from(records).unwrap();
    let rows = model.rows(count, Drawing::Refined, &refinement, &mut rng).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.csv");
    crate::data::write_csv_file(&path, &rows, &schema, Labels::Codes, rng.next_u64()).unwrap();
    assert!(fs::read(path).unwrap() == files[0].1);
}

#[test]
fn forms_differ_in_their_names() {
    assert_eq!(written(5, 10, 1, PartForm::CsvGz)[0].0, "part-00000.csv.gz");
    if cfg!(feature = "parquet") {
        let files = written(25, 10, 1, PartForm::Parquet);
        assert_eq!(files[2].0, "part-00002.parquet");
        assert!(files.iter().all(|(_, bytes)| bytes.starts_with(b"PAR1")));
    }
}

/// Stops after some questions.
struct After(AtomicU64);

impl Checks for After {
    fn check(&self) -> jointly_pgm::Result<()> {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        left.map(drop).map_err(|_| crate::CommonError::Interrupted)
    }
}

#[test]
fn an_interrupted_run_leaves_whole_parts_only() {
    let (folder, model, schema) = (tempfile::tempdir().unwrap(), model(), schema());
    let parts = Parts {
        model: &model,
        schema: &schema,
        refinement: &Refinement::default(),
        drawing: Drawing::Independent,
        labels: Labels::Codes,
        form: PartForm::Csv,
        records: 1000,
        part_rows: 100,
        seed: 1,
    };
    let error = parts.write(folder.path(), &After(AtomicU64::new(4))).unwrap_err();
    assert!(matches!(error, Error::Common(crate::CommonError::Interrupted)));
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(files.len(), 4);
    assert!(files.iter().all(|path| read_csv(path, &schema).unwrap().records() == 100));
}

#[test]
fn no_record_and_parts_of_none_are_refused() {
    let (folder, model, schema) = (tempfile::tempdir().unwrap(), model(), schema());
    for (records, part_rows, found) in [(0, 10, "rows is 0"), (10, 0, "rows of a part is 0")] {
        let parts = Parts {
            model: &model,
            schema: &schema,
            refinement: &Refinement::default(),
            drawing: Drawing::Independent,
            labels: Labels::Codes,
            form: PartForm::Csv,
            records,
            part_rows,
            seed: 1,
        };
        let error = parts.write(folder.path(), &Unstoppable).unwrap_err().to_string();
        assert!(error.contains(found), "{error}");
    }
}
