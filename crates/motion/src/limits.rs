//! What the limits of joints and hand allow at each part of a path, as sections for a [`Law`](crate::law::Law).

use rosless_kinematics::Limits;

use crate::{
    law::Section,
    path::{Nominal, Path, Piece, Sample},
    plan::MotionLimits,
};

/// Planning keeps this distance from the limits, for what happens between two samples.
const MARGIN: f64 = 0.985;
/// Parts of a path whose speeds differ by more than this factor have limits of their own.
const SPLIT: f64 = 1.5;
/// Shares of acceleration and jerk that the bends of a blend may use; it is passed at an even speed, and the rest is for
/// a stop that comes right there.
const BLEND_SHARES: [f64; 2] = [0.95, 0.85];
/// The smallest derivative that counts: nothing is divided by less.
const TINY: f64 = 1e-12;

/// How much of acceleration and jerk the bends of a move may use; the rest is for its ramps. Which is best depends on the
/// move, so all are tried.
pub(crate) const SHARES: [[f64; 2]; 3] = [[0.6, 0.5], [0.3, 0.3], [0.85, 0.6]];

/// Whether the bends of a path limit its speed somewhere: only then does it matter how much of the limits they may use.
pub(crate) fn is_bent(path: &Path) -> bool {
    let widest = SHARES.iter().fold([f64::INFINITY; 2], |least, s| [least[0].min(s[0]), least[1].min(s[1])]);
    path.pieces.iter().filter(|piece| !piece.is_blend).any(|piece| {
        piece.samples.iter().any(|sample| {
            let free = piece.nominal.velocity.min(sample.least[0]);
            (widest[0] * sample.least[1]).sqrt() < free || (widest[1] * sample.least[2]).cbrt() < free
        })
    })
}

/// Everything that limits a motion.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds<'a> {
    pub(crate) joints: &'a Limits,
    pub(crate) hand: &'a MotionLimits,
}

/// One limited quantity at one place: its derivatives by path length, and its limits.
struct Quantity {
    derivatives: [f64; 3],
    limits: [f64; 3],
}

impl Bounds<'_> {
    fn quantities<'a>(
        &'a self,
        sample: &'a Sample,
        nominal: &Nominal,
    ) -> impl Iterator<Item = Quantity> + 'a {
        let hand = Quantity {
            derivatives: sample.hand,
            limits: [
                self.hand.velocity,
                self.hand.acceleration.min(nominal.hand_acceleration),
                self.hand.jerk,
            ],
        };
        let joints = self.joints.0.iter().enumerate().map(|(i, limit)| Quantity {
            derivatives: [sample.slope[i].abs(), sample.bend[i].abs(), sample.twist[i].abs()],
            limits: [limit.velocity, limit.acceleration, limit.jerk],
        });
        joints.chain([hand])
    }

    /// The smallest ratios of limit and derivative at one place: of speed, its square and its cube.
    pub(crate) fn ratios(&self, sample: &Sample, nominal: &Nominal) -> [f64; 3] {
        let mut least = [f64::INFINITY; 3];
        for quantity in self.quantities(sample, nominal) {
            for (i, least) in least.iter_mut().enumerate() {
                *least = least.min(quantity.limits[i] / quantity.derivatives[i].max(TINY));
            }
        }
        least
    }

    /// The limits of a part of a piece at which the speed is at most that which `least` allows.
    fn section(
        &self,
        piece: &Piece,
        samples: &[Sample],
        least: &[f64; 3],
        shares: [f64; 2],
        length: f64,
    ) -> Section {
        let nominal = &piece.nominal;
        let velocity = speed(least, shares, f64::INFINITY);
        let velocity = (velocity * MARGIN).min(nominal.velocity);
        let mut acceleration = f64::INFINITY;
        for sample in samples {
            for (i, quantity) in self.quantities(sample, nominal).enumerate() {
                let [d1, d2, d3] = quantity.derivatives;
                let [_, most, jerk] = quantity.limits;
                let bending = d2 * velocity * velocity;
                // At right angles both add up less than in line.
                let along = if i == self.joints.0.len() && piece.is_cartesian() {
                    (most * most - bending * bending).max(0.0).sqrt()
                } else {
                    most - bending
                };
                let spare = (jerk - d3 * velocity * velocity * velocity) / 2.0;
                acceleration =
                    acceleration.min(along / d1.max(TINY)).min(spare / (3.0 * d2 * velocity).max(TINY));
            }
        }
        acceleration = (acceleration.max(0.0) * MARGIN).min(nominal.acceleration);
        let mut jerk = f64::INFINITY;
        for sample in samples {
            for quantity in self.quantities(sample, nominal) {
                let [d1, d2, d3] = quantity.derivatives;
                let spare = quantity.limits[2]
                    - d3 * velocity * velocity * velocity
                    - 3.0 * d2 * velocity * acceleration;
                jerk = jerk.min(spare / d1.max(TINY));
            }
        }
        Section { length, velocity, acceleration, jerk: (jerk * MARGIN).max(f64::MIN_POSITIVE) }
    }

    /// The sections of `path` from `from` to its end.
    pub(crate) fn sections(&self, path: &Path, from: f64, shares: [f64; 2]) -> Vec<Section> {
        let mut sections = Vec::with_capacity(path.pieces.len() * 2);
        for piece in path.pieces.iter().filter(|piece| piece.start + piece.length > from) {
            let shares = if piece.is_blend { BLEND_SHARES } else { shares };
            // The sample before the beginning belongs to it.
            let first = piece.samples.partition_point(|sample| sample.s <= from).saturating_sub(1);
            self.split(piece, &piece.samples[first..], from.max(piece.start), shares, &mut sections);
        }
        sections
    }

    fn split(
        &self,
        piece: &Piece,
        samples: &[Sample],
        begin: f64,
        shares: [f64; 2],
        sections: &mut Vec<Section>,
    ) {
        let end = piece.start + piece.length;
        let (mut begin, mut first) = (begin, 0);
        let mut least = [f64::INFINITY; 3];
        let mut fastest = 0.0_f64;
        for (i, sample) in samples.iter().enumerate() {
            let here = sample.least;
            let together = [0, 1, 2].map(|k| least[k].min(here[k]));
            let local = speed(&here, shares, piece.nominal.velocity);
            let top = fastest.max(local);
            // A blend is one section: its speed is even anyway.
            if !piece.is_blend
                && i > first + 1
                && top > SPLIT * speed(&together, shares, piece.nominal.velocity)
            {
                // The border is where the new speed begins, or has just ended.
                let border = samples[i - 1].s;
                if border - begin > 1e-6 && end - border > 1e-6 {
                    sections.push(self.section(piece, &samples[first..i], &least, shares, border - begin));
                    (begin, first) = (border, i - 1);
                    let before = samples[i - 1].least;
                    least = [0, 1, 2].map(|k| before[k].min(here[k]));
                    fastest = local.max(speed(&before, shares, piece.nominal.velocity));
                    continue;
                }
            }
            (least, fastest) = (together, top);
        }
        if end > begin {
            sections.push(self.section(piece, &samples[first..], &least, shares, end - begin));
        }
    }
}

impl Piece {
    /// The share of the wanted speed that is possible at its worst place.
    pub(crate) fn worst_share(&self, shares: [f64; 2]) -> f64 {
        let piece = self;
        let slowest = piece.samples.iter().fold(f64::INFINITY, |slowest, sample| {
            slowest.min(speed(&sample.least, shares, piece.nominal.velocity))
        });
        slowest / piece.nominal.velocity
    }
}

fn speed(least: &[f64; 3], shares: [f64; 2], wanted: f64) -> f64 {
    least[0].min((shares[0] * least[1]).sqrt()).min((shares[1] * least[2]).cbrt()).min(wanted)
}
