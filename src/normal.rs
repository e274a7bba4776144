//! Quantiles of the normal distribution, and one of the Laplace distribution.

/// The 97.5 % quantile: half the width of a 95 % interval, in standard deviations.
pub(crate) const TWO_SIDED: f64 = 1.959_963_984_540_054;

/// The 97.5 % quantile of the Laplace distribution, in standard deviations: `ln 20 / √2`. That of sums of such noise is
/// smaller.
pub(crate) const LAPLACE: f64 = 2.118_3;

/// The numerators and denominators of the central part.
const CENTER: ([f64; 6], [f64; 6]) = (
    [
        -39.696_830_286_653_76,
        220.946_098_424_520_5,
        -275.928_510_446_968_7,
        138.357_751_867_269,
        -30.664_798_066_147_16,
        2.506_628_277_459_239,
    ],
    [
        -54.476_098_798_224_06,
        161.585_836_858_040_9,
        -155.698_979_859_886_6,
        66.801_311_887_719_72,
        -13.280_681_552_885_72,
        1.0,
    ],
);
/// Those of the tails.
const TAIL: ([f64; 6], [f64; 5]) = (
    [
        -0.007_784_894_002_430_293,
        -0.322_396_458_041_136_5,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ],
    [
        0.007_784_695_709_041_462,
        0.322_467_129_070_039_8,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ],
);
/// Where the tails begin.
const TAIL_BEGINS: f64 = 0.024_25;

/// The number that a standard normal variable exceeds with probability `tail`, with a relative error below 1.2 · 10⁻⁹
/// (the rational approximation of P. J. Acklam, 2003).
///
/// `tail`: in (0, 1). The upper tail is the argument, so that small ones keep their precision.
pub(crate) fn upper_quantile(tail: f64) -> f64 {
    let polynomial =
        |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    if tail > 1.0 - TAIL_BEGINS {
        return -upper_quantile(1.0 - tail);
    }
    if tail < TAIL_BEGINS {
        let x = (-2.0 * tail.ln()).sqrt();
        return -polynomial(&TAIL.0, x) / polynomial(&TAIL.1, x);
    }
    let x = 0.5 - tail;
    let square = x * x;
    x * polynomial(&CENTER.0, square) / polynomial(&CENTER.1, square)
}

#[cfg(test)]
mod tests;
