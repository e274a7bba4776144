//! Numbers of values inside pages.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};

use super::super::sizes::checked_metadata;
use super::lengths;

/// A list of `numbers` numbers, all 0, in one block.
fn list(numbers: &[u8]) -> Vec<u8> {
    [&[0x80, 0x01, 4][..], numbers, &[0, 0, 0, 0, 0, 0]].concat()
}

#[test]
fn a_list_of_numbers_is_passed_whole_or_not_at_all() {
    let passed = |bytes: &[u8], most: u32| {
        let mut rest = bytes;
        lengths(&mut rest, most).map(|()| rest.len())
    };
    // One number has no block; three have one, whose parts have no bits here.
    assert_eq!(passed(&[0x80, 0x01, 4, 1, 6, 99], 1), Some(1));
    assert_eq!(passed(&list(&[3]), 3), Some(0));
    assert_eq!(passed(&list(&[3]), 2), None);
    // Parts of 32 numbers of 2 bits take 8 bytes; those after the last number take none.
    let wide = [&[0x80, 0x01, 4, 3, 0, 0, 2, 9, 9, 9][..], &[7; 8], &[1]].concat();
    assert_eq!(passed(&wide, 3), Some(1));
    assert_eq!(passed(&wide[..wide.len() - 2], 3), None);
    // 2^42 numbers, no parts, and parts of nothing.
    assert_eq!(passed(&list(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]), u32::MAX), None);
    assert_eq!(passed(&[0x80, 0x01, 0, 3, 0, 0, 0], 3), None);
    assert_eq!(passed(&[0, 4, 3, 0, 0, 0, 0, 0, 0], 3), None);
}

#[test]
fn a_page_cannot_state_more_texts_than_its_header() {
    for encoding in [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
                let texts = (0..200).map(|row| (row % 9 > 0).then(|| format!("text {row}")));
                let column: ArrayRef = Arc::new(texts.collect::<StringArray>());
                let batch = RecordBatch::try_from_iter([("text", column)]).unwrap();
                let form = WriterProperties::builder().set_dictionary_enabled(false);
                let form = form.set_encoding(encoding).set_compression(compression);
                let form = form.set_writer_version(version).build();
                let mut writer =
                    ArrowWriter::try_new(Vec::new(), batch.schema(), Some(form)).unwrap();
                writer.write(&batch).unwrap();
                let file = writer.into_inner().unwrap();
                assert!(checked_metadata(&Bytes::from(file.clone())).is_ok(), "{encoding}");
                if compression != Compression::UNCOMPRESSED {
                    continue;
                }
                // The list's start: blocks of 128 in 4 parts, 177 numbers; now 2^40 of them and more.
                let start = [0x80, 0x01, 0x04, 0xb1, 0x01];
                let at = file.windows(5).position(|window| window == start).unwrap();
                let mut bomb = file;
                bomb[at + 3..at + 9].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
                let error = checked_metadata(&Bytes::from(bomb)).unwrap_err();
                assert!(error.contains("without its 200 values"), "{error}");
            }
        }
    }
}
