//! Sizes that a file cannot have.

use std::io::Read;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::{Page, check_footer, checked_metadata};

/// A number in base 128.
fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
    bytes
}

/// A file of one column with two values.
fn file(compression: Compression) -> Vec<u8> {
    let column: ArrayRef = Arc::new(StringArray::from(vec!["f", "m", "f"]));
    let batch = RecordBatch::try_from_iter([("sex", column)]).unwrap();
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn reason(file: Vec<u8>) -> String {
    checked_metadata(&Bytes::from(file)).unwrap_err()
}

#[test]
fn a_footer_cannot_state_more_than_it_holds() {
    let check = |parts: &[&[u8]]| check_footer(&parts.concat());
    // Lists of 2^31 - 1 columns and row groups, which the libraries would allocate.
    let most = varint(i32::MAX.cast_unsigned().into());
    for field in [0x29, 0x49] {
        let error = check(&[&[field, 0xfc], &most, &[0; 1000]]).unwrap_err();
        assert!(error.contains("states more than it holds"), "{error}");
    }
    // As many row groups as there are bytes, but more than a file has.
    let error = check(&[&[0x49, 0xfc], &varint(40_000), &vec![0; 50_000]]).unwrap_err();
    assert!(error.contains("40000 row groups"), "{error}");
    // One column with 2^30 children, or with as many as follow it.
    let column = |children: u64| [&[0x55][..], &varint(children << 1), &[0]].concat();
    let error = check(&[&[0x29, 0x1c], &column(1 << 30), &[0]]).unwrap_err();
    assert!(error.contains("1073741824 columns in a group, but 0 follow it"), "{error}");
    assert_eq!(check(&[&[0x29, 0x2c], &column(1), &[0, 0]]), Ok(()));
    // A chain of groups that would exhaust the stack.
    let chain: Vec<u8> = (0..100_000).flat_map(|_| column(1)).collect();
    let error = check(&[&[0x29, 0xfc], &varint(100_001), &chain, &[0, 0]]).unwrap_err();
    assert!(error.contains("inside one another"), "{error}");
    // A number where a list belongs, which the library would read as a list.
    assert!(check(&[&[0x45], &most, &[0]]).unwrap_err().contains("no list"));
}

#[test]
fn columns_lie_inside_the_file_and_pages_inside_their_column() {
    let whole = file(Compression::SNAPPY);
    assert!(checked_metadata(&Bytes::from(whole.clone())).is_ok());
    // Without its first pages, the columns end beyond the footer, which is found from the end.
    let shorter = reason([b"PAR1", &whole[50..]].concat());
    assert!(shorter.ends_with("in column 'sex' of row group 0"), "{shorter}");
    assert!(reason(whole[..whole.len() - 4].to_vec()).contains("no footer"));
    assert!(reason(b"PAR1".to_vec()).contains("no footer"));
    let longer = [&[0xff, 0xff, 0xff, 0x7f][..], b"PAR1"].concat();
    assert!(reason(longer).contains("a footer of 2147483647 bytes in a shorter file"));
    // The first page, whose header begins after the mark: its kind, then its two sizes.
    let mut other = whole;
    assert_eq!((other[4..7].to_vec(), other[8]), (vec![0x15, 0x04, 0x15], 0x15));
    other[9] = 0x7e;
    assert!(reason(other).starts_with("a page of 63 bytes where "));
}

#[test]
fn a_page_cannot_hold_more_than_its_compression_makes_of_it() {
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let page = |uncompressed| Page { uncompressed, ..Page::default() };
    let most = [(Compression::SNAPPY, 22), (Compression::LZ4_RAW, 255), (zstd, 1 << 15)];
    for (compression, most) in most {
        assert!(page(1000 * most).check(1000, compression).is_ok(), "{compression}");
        let error = page(2000 * most).check(1000, compression).unwrap_err();
        assert!(error.starts_with("a page of 1000 bytes with "), "{error}");
        assert!(page(-1).check(1000, compression).is_err(), "{compression}");
    }
    // 2^31 values in a dictionary of 100 bytes.
    let dictionary = Page { distinct: 1 << 31, compressed: 100, ..page(100) };
    for compression in [Compression::SNAPPY, Compression::UNCOMPRESSED] {
        let error = dictionary.check(100, compression).unwrap_err();
        assert_eq!(error, "a dictionary of 2147483648 values in 100 bytes");
    }
}

#[test]
fn a_page_in_brotli_holds_what_it_states() {
    // 64 MiB of zeros in a hundred bytes.
    let mut page = Vec::new();
    let zeros = std::io::repeat(0).take(1 << 26);
    std::io::copy(&mut brotli::CompressorReader::new(zeros, 1 << 16, 9, 22), &mut page).unwrap();
    assert!(page.len() < 200, "{}", page.len());
    let stated = |uncompressed, levels| Page { uncompressed, levels, ..Page::default() };
    assert_eq!(stated(1 << 26, 0).check_brotli(&page), Ok(()));
    let error = stated(1000, 0).check_brotli(&page).unwrap_err();
    assert_eq!(error, "a page with more than 1000 bytes in it");
    let error = stated(1 << 27, 0).check_brotli(&page).unwrap_err();
    assert_eq!(error, "a page with 67108864 bytes in it instead of 134217728");
    // After levels of nulls, which are not compressed; and a page of nulls alone.
    let with_levels = [&[7, 7, 7][..], &page].concat();
    assert_eq!(stated((1 << 26) + 3, 3).check_brotli(&with_levels), Ok(()));
    assert_eq!(stated(3, 3).check_brotli(&[7, 7, 7]), Ok(()));
    assert!(stated(1000, 0).check_brotli(b"no Brotli").is_err());
    // The page of a whole file.
    let whole = file(Compression::BROTLI(BrotliLevel::default()));
    assert!(checked_metadata(&Bytes::from(whole)).is_ok());
}
