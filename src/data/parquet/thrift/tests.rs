//! Walks through structs.

use super::{DEEPEST, Part, Stop, walk};

type Values = Vec<(Vec<i16>, Part)>;

fn seen(bytes: &[u8]) -> Result<(usize, Values), Stop> {
    let mut seen = Vec::new();
    let length = walk(bytes, &mut |path, value| {
        seen.push((path.to_vec(), value));
        Ok(())
    })?;
    Ok((length, seen))
}

#[test]
fn a_walk_sees_every_value_with_its_fields() {
    // 1: -2; 3: "ab"; 4: [{1: true}, {}]; 20: {7: 300}; then a byte of something else.
    let bytes = [
        0x15, 0x03, 0x28, 0x02, b'a', b'b', 0x19, 0x2c, 0x11, 0x00, 0x00, 0x0c, 0x28, 0x75, 0xd8,
        0x04, 0x00, 0x00, 0xff,
    ];
    let (length, seen) = seen(&bytes).unwrap();
    assert_eq!(length, bytes.len() - 1);
    assert_eq!(
        seen,
        [
            (vec![1], Part::Number(-2)),
            (vec![3], Part::Other),
            (vec![4], Part::List(2)),
            (vec![4], Part::Element),
            (vec![4, 1], Part::Truth(true)),
            (vec![4], Part::Element),
            (vec![20], Part::Other),
            (vec![20, 7], Part::Number(300)),
        ]
    );
}

#[test]
fn lengths_beyond_the_bytes_are_short() {
    // A list, a set, a map and a text of 2^31 - 1; numbers and ends that are missing.
    let many = [0xff, 0xff, 0xff, 0xff, 0x07];
    for start in [&[0x19, 0xfc][..], &[0x1a, 0xf3], &[0x1b], &[0x18]] {
        let bytes = [start, &many, &[0; 100]].concat();
        assert_eq!(seen(&bytes), Err(Stop::Short), "{start:?}");
    }
    for bytes in [&[][..], &[0x15], &[0x15, 0x80], &[0x15, 0x02], &[0x17, 1, 2, 3], &[0x1c]] {
        assert_eq!(seen(bytes), Err(Stop::Short), "{bytes:?}");
    }
}

#[test]
fn what_is_no_struct_of_parquet_is_refused() {
    let wrong = |bytes: &[u8]| matches!(seen(bytes), Err(Stop::Wrong(_)));
    // Unknown types, a list of truth values, a number of 71 bits, and structs without end inside one another.
    assert!(wrong(&[0x1d, 0]) && wrong(&[0x1f, 0]) && wrong(&[0x19, 0x11, 1, 0]));
    assert!(wrong(&[&[0x16][..], &[0x80; 10], &[0]].concat()));
    assert!(wrong(&vec![0x1c; 1 << 20]));
    let deep = [vec![0x1c; DEEPEST - 1], vec![0; DEEPEST]].concat();
    assert_eq!(seen(&deep).unwrap().0, deep.len());
    // The error of the visitor.
    let refused = walk(&[0x15, 0x02, 0x00], &mut |_, _| Err("no".into()));
    assert_eq!(refused, Err(Stop::Wrong("no".into())));
}
