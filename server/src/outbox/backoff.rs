//! When a message is tried again: pure, chance is an argument.

/// How long after the first failure, doubling with each further one.
const FIRST_MS: i64 = 5_000;

/// The most that chance adds, per mille: upward only, so that nothing comes earlier than was
/// promised, and what failed together does not come back together.
const JITTER_PERMILLE: i64 = 250;

/// Nobody takes any message: asked once a minute at most, so that mail goes out within about a
/// minute of its server's return.
pub const DOWN_MS_MAX: i64 = 60_000;

/// This message was not taken for now: a mailbox that is full, or a server that wants to see it
/// come back.
pub const LATER_MS_MAX: i64 = 3_600_000;

/// How long after failure number `failures`, where `chance` is from 0 to 1000.
#[must_use]
pub fn delay_ms(failures: u32, ms_max: i64, chance: u16) -> i64 {
    let doublings = failures.saturating_sub(1).min(30);
    let plain = FIRST_MS.saturating_mul(1 << doublings).min(ms_max);
    let chance = i64::from(chance.min(1_000));
    plain + plain * JITTER_PERMILLE / 1_000 * chance / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_bound_and_chance_only_adds() {
        let plain: Vec<_> = (1..=6).map(|n| delay_ms(n, DOWN_MS_MAX, 0)).collect();
        assert_eq!(plain, [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
        for failures in [0, 1, 5, u32::MAX] {
            let plain = delay_ms(failures, LATER_MS_MAX, 0);
            for chance in [1, 500, 1_000, u16::MAX] {
                let delay = delay_ms(failures, LATER_MS_MAX, chance);
                assert!(delay >= plain && delay <= plain + plain / 4);
            }
        }
        assert_eq!(delay_ms(u32::MAX, LATER_MS_MAX, 0), LATER_MS_MAX);
    }
}
