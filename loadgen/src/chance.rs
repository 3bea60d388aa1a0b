//! Everything that is drawn at random: pure functions of the load's seed and of what is drawn, so that a run can be
//! repeated, and so that every thread and every shard draws the same.

/// What is drawn, so that no two kinds of draws are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum What {
    /// Gaps between arrivals.
    Gap = 1,
    /// How a stretch of arrivals is divided.
    Split = 2,
    /// A number in a body.
    Number = 3,
    /// A UUID in a body.
    Uuid = 4,
}

/// 64 random bits (SplitMix64's mixing of its parts).
pub(crate) const fn bits(seed: u64, what: What, index: u64) -> u64 {
    let stream = mix(seed ^ mix(what as u64));
    mix(stream ^ mix(index))
}

const fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number over 0 and up to 1.
pub(crate) fn unit(seed: u64, what: What, index: u64) -> f64 {
    ((bits(seed, what, index) >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// A number of the exponential distribution with mean 1.
pub(crate) fn exponential(seed: u64, what: What, index: u64) -> f64 {
    -unit(seed, what, index).ln()
}

/// A number of the standard normal distribution (Box and Muller).
pub(crate) fn normal(seed: u64, what: What, index: u64) -> f64 {
    let radius = (2.0 * exponential(seed, what, 2 * index)).sqrt();
    radius * (std::f64::consts::TAU * unit(seed, what, 2 * index + 1)).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_moments_of_their_distributions() {
        let n = 100_000;
        let moments = |draw: fn(u64) -> f64| {
            let mean = (0..n).map(draw).sum::<f64>() / n as f64;
            let variance = (0..n).map(|i| (draw(i) - mean).powi(2)).sum::<f64>() / n as f64;
            (mean, variance)
        };
        let (mean, variance) = moments(|i| exponential(7, What::Gap, i));
        assert!(
            (mean - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.04,
            "{mean} {variance}"
        );
        let (mean, variance) = moments(|i| normal(7, What::Split, i));
        assert!(
            mean.abs() < 0.02 && (variance - 1.0).abs() < 0.04,
            "{mean} {variance}"
        );
    }

    #[test]
    fn draws_depend_on_each_of_their_parts() {
        let one = bits(1, What::Gap, 1);
        assert_eq!(one, bits(1, What::Gap, 1));
        for other in [
            bits(2, What::Gap, 1),
            bits(1, What::Split, 1),
            bits(1, What::Gap, 2),
        ] {
            assert_ne!(one, other);
        }
    }
}
