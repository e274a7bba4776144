//! Tests of other encodings.

use std::io::BufReader;

use super::*;

fn read(bytes: &[u8], encoding: Encoding, capacity: usize) -> Vec<u8> {
    let mut text = Vec::new();
    let source = BufReader::with_capacity(capacity, bytes);
    Utf8Reader::open(source, encoding).unwrap().read_to_end(&mut text).unwrap();
    text
}

fn utf16(text: &str, big: bool) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units.flat_map(|u: u16| if big { u.to_be_bytes() } else { u.to_le_bytes() }).collect()
}

#[test]
fn utf_16_is_known_by_its_mark_and_latin_1_on_request() {
    let text = "name,n\nMüller € 𝄞,1\n".repeat(3000);
    for big in [false, true] {
        for capacity in [3, 7, 1 << 16] {
            for encoding in [Encoding::Utf8, Encoding::Latin1] {
                assert!(read(&utf16(&text, big), encoding, capacity) == text.as_bytes());
            }
        }
    }
    assert_eq!(read(b"M\xfcller \x80", Encoding::Latin1, 64), "Müller €".as_bytes());
    assert_eq!(read(b"M\xfcller", Encoding::Utf8, 64), b"M\xfcller", "refused where it is read");
    let marked = "\u{feff}Müller".as_bytes();
    assert_eq!(read(marked, Encoding::Latin1, 64), marked, "a mark decides");
}

#[test]
fn what_cannot_be_decoded_is_no_text() {
    let mut bytes = utf16("ab", false);
    bytes.extend([0x00, 0xd8, b'c', 0]);
    assert_eq!(read(&bytes, Encoding::Utf8, 64), b"ab\xffc", "half a pair");
    bytes.push(b'd');
    assert_eq!(read(&bytes, Encoding::Utf8, 64), b"ab\xffc\xff", "half a unit");
}
