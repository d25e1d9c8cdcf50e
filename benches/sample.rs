//! Order statistics over timings.

use std::time::Duration;

/// Timings of one measure, in the order taken.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    taken: Vec<f64>,
}

impl Samples {
    /// Adds a timing.
    pub fn push(&mut self, elapsed: Duration) {
        self.taken.push(elapsed.as_secs_f64() * 1e6);
    }

    /// Adds a number that is not a time.
    pub fn push_number(&mut self, number: f64) {
        self.taken.push(number);
    }

    /// The value below which `percent` in a hundred lie, in microseconds (or as pushed); 0 when empty.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> f64 {
        let mut sorted = self.taken.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        let place = (last as f64 * percent / 100.0).round() as usize;
        sorted.get(place).copied().unwrap_or_default()
    }

    /// The middle value.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.percentile(50.0)
    }

    /// The largest value.
    #[must_use]
    pub fn worst(&self) -> f64 {
        self.percentile(100.0)
    }
}

/// The median of pairwise ratios: each round's `left` over the same round's `right`.
#[must_use]
pub fn median_ratio(left: &[f64], right: &[f64]) -> f64 {
    let mut ratios = Samples::default();
    for (left, right) in left.iter().zip(right) {
        ratios.push_number(left / right);
    }
    ratios.median()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_ratio_is_taken_round_by_round() {
        assert!((median_ratio(&[10.0, 40.0, 90.0], &[10.0, 10.0, 30.0]) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn percentiles_of_nothing_are_zero() {
        assert!(Samples::default().median().abs() < 1e-9);
    }
}
