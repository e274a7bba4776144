//! Sizes that a message cannot have.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_ipc::{CompressionType, root_as_footer};

use super::check_message;

/// The message and the body of the only batch of a file.
fn batch(compression: Option<CompressionType>) -> (Vec<u8>, Vec<u8>) {
    let column: ArrayRef = Arc::new(StringArray::from(vec!["female"; 400]));
    let batch = RecordBatch::try_from_iter([("sex", column)]).unwrap();
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut writer =
        FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    let file = writer.into_inner().unwrap();
    let (rest, tail) = file.split_at(file.len() - 10);
    let size = i32::from_le_bytes(tail[..4].try_into().unwrap());
    let footer = root_as_footer(&rest[rest.len() - usize::try_from(size).unwrap()..]).unwrap();
    let block = footer.recordBatches().unwrap().get(0);
    let start = usize::try_from(block.offset()).unwrap();
    let body = start + usize::try_from(block.metaDataLength()).unwrap();
    let end = body + usize::try_from(block.bodyLength()).unwrap();
    (file[start..body].to_vec(), file[body..end].to_vec())
}

#[test]
fn what_a_writer_writes_is_possible() {
    for compression in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        let (message, body) = batch(compression);
        assert_eq!(check_message(&message, &body), Ok(()));
    }
}

#[test]
fn a_buffer_cannot_hold_more_than_its_bytes_stand_for() {
    for compression in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let (message, body) = batch(Some(compression));
        // The texts, 2,400 bytes of them, in less than 200.
        let size = 2400_i64.to_le_bytes();
        let at = body.windows(8).rposition(|bytes| bytes == size).unwrap();
        for (content, is_possible) in
            [(-1, true), (9600, true), (1 << 31, false), (i64::MAX, false)]
        {
            let mut body = body.clone();
            body[at..at + 8].copy_from_slice(&i64::to_le_bytes(content));
            let found = check_message(&message, &body);
            assert_eq!(found.is_ok(), is_possible, "{content}: {found:?}");
        }
        let error = check_message(&message, &body[..body.len() - 64]).unwrap_err();
        assert!(error.contains("outside its batch"), "{error}");
        let error = check_message(&message[..6], &body).unwrap_err();
        assert!(error.contains("cut short"), "{error}");
    }
}
