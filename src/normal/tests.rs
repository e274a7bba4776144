use super::*;

#[test]
fn quantiles_are_those_of_tables() {
    // Computed with Python's statistics.NormalDist.
    let known = [
        (1e-9, 5.997_807_015_007_687),
        (1e-6, 4.753_424_308_822_899),
        (1e-4, 3.719_016_485_455_68),
        (0.01, 2.326_347_874_040_841),
        (0.025, 1.959_963_984_540_054),
        (0.05, 1.644_853_626_951_472),
        (0.3, 0.524_400_512_708_041),
        (0.5, 0.0),
        (0.9, -1.281_551_565_544_601),
        (0.975, -1.959_963_984_540_054),
        (0.999, -3.090_232_306_167_813),
    ];
    for (tail, expected) in known {
        let found = upper_quantile(tail);
        assert!(
            (found - expected).abs() < 1e-12 * expected.abs().max(1.0),
            "{tail}: {found}, expected {expected}"
        );
    }
}
