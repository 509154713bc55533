//! Repeatable randomness.

/// Numbers that are the same for the same seed on every machine and in every version (SplitMix64).
#[derive(Debug, Clone)]
pub struct Seeded(pub u64);

impl Seeded {
    /// Uniform in `min..max`.
    pub fn range(&mut self, min: f64, max: f64) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        min + (max - min) * ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}
