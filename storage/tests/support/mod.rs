//! A disk that crashes, a model of what a store must keep, and the workload that compares them.

pub mod disk;
pub mod model;
pub mod sim;

/// A small seeded generator: the same seed, the same run.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 up to, without, `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.draw() % bound.max(1)
    }

    pub fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }

    /// From 1 to `most`, small ones as likely as large ones.
    pub fn skewed(&mut self, most: u64) -> u64 {
        let bits = self.below(64 - u64::from(most.leading_zeros())) + 1;
        (self.below(1 << bits) + 1).min(most)
    }
}
