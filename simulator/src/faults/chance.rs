//! Misbehaviour by chance, drawn from the seed: the same calls fail in the same way each time.

use super::{BodyShape, Cut, Fault};
use crate::random::{hash, mix};
use crate::settings::Settings;

impl Fault {
    /// The fault of call number `call`, if it is one of the unlucky. Half of the failures come
    /// after the call was carried out.
    pub(crate) fn of_call(settings: &Settings, call: u64) -> Option<Self> {
        let random = draw(settings, "call fault", call)?;
        let fault = match random % 10 {
            0 => Self::error(429),
            1 => Self::told(429, "1"),
            2 => Self::error(500),
            3 => Self::error(502),
            4 => Self::told(503, "1"),
            5 => Self::error(503),
            6 => Self {
                body: Some(BodyShape::Html),
                ..Self::error(504)
            },
            7 => Self::cut(Cut::BeforeHeaders),
            8 => Self::cut(Cut::MidBody),
            _ => Self::error(504),
        };
        let acts = fault.status.is_some() && random & 0x100 != 0;
        Some(Self { acts, ..fault })
    }

    /// The fault of batch number `batch`, if it is one of the unlucky.
    pub(crate) fn of_batch(settings: &Settings, batch: u64) -> Option<Self> {
        let random = draw(settings, "batch fault", batch)?;
        Some(match random % 8 {
            0 | 1 => Self::error(424),
            2 => Self::told(429, "1"),
            3 => Self::error(500),
            4 => Self {
                body: Some(BodyShape::Html),
                ..Self::error(502)
            },
            5 => Self::error(503),
            6 => Self::cut(Cut::BeforeHeaders),
            _ => Self::cut(Cut::MidBody),
        })
    }

    fn error(status: u16) -> Self {
        Self {
            status: Some(status),
            ..Self::default()
        }
    }

    fn told(status: u16, retry_after: &str) -> Self {
        Self {
            retry_after: Some(retry_after.to_owned()),
            ..Self::error(status)
        }
    }

    fn cut(cut: Cut) -> Self {
        Self {
            cut: Some(cut),
            ..Self::default()
        }
    }
}

/// A random number for one of the unlucky.
fn draw(settings: &Settings, kind: &str, number: u64) -> Option<u64> {
    let random = hash(settings.seed, &[kind, &number.to_string()]);
    (random % 1_000 < u64::from(settings.faults_permille)).then(|| mix(random))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_unlucky_as_was_set_and_always_the_same() {
        let settings = Settings {
            faults_permille: 100,
            ..Settings::default()
        };
        let unlucky = |n: &u64| Fault::of_call(&settings, *n).is_some();
        let count = (0..10_000).filter(unlucky).count();
        assert!((800..1_200).contains(&count), "{count}");
        for n in 0..1_000 {
            assert_eq!(Fault::of_call(&settings, n), Fault::of_call(&settings, n));
            for fault in [Fault::of_call(&settings, n), Fault::of_batch(&settings, n)] {
                assert!(fault.is_none_or(|fault| fault.validate().is_ok()));
            }
        }
        let calm = Settings::default();
        assert!((0..1_000).all(|n| Fault::of_call(&calm, n).is_none()));
    }
}
