//! No call too many: no window, fixed at any phase, sliding or begun by the first call, and
//! no concurrency limit is exceeded, whenever between grant and end the upstream counts; and
//! background calls never hold more than their share.

use spillway::{Call, Key, Lane};

use super::{Invariant, require};
use crate::referee::span_ms;
use crate::seen::{Scene, Seen};

/// Judges each grant. Only calls granted by then and not ended more than a window before can
/// share an interval of a window's length that ends with it, and the last grant of any
/// overfull interval is such a moment: to judge each grant is to judge every interval.
pub struct NoCallTooMany;

impl Invariant for NoCallTooMany {
    fn name(&self) -> &'static str {
        "no call too many"
    }

    fn see(&mut self, seen: &Seen<'_>, scene: &mut Scene<'_>) -> Result<(), String> {
        match seen {
            Seen::Granted { call, .. } => judge(call, scene),
            Seen::Overfull { call, layer } => {
                Err(format!("the upstream rejects {call:?} by its own {layer}"))
            }
            _ => Ok(()),
        }
    }
}

fn judge(call: &Call, scene: &Scene<'_>) -> Result<(), String> {
    let policy = &scene.script.policies[call.workload];
    for layer in policy.layers() {
        let key = Key::of(call, layer.scope());
        let used = scene.referee.used(&key, layer, scene.now, span_ms(layer));
        let limit = u64::from(layer.limit());
        require(used.total() <= limit, || {
            format!("{used:?} in one window of {layer:?} for {key:?}")
        })?;
        let cap = u64::from(policy.cap(layer, Lane::Background));
        let within = call.lane == Lane::Foreground || used.background <= cap;
        require(within, || {
            format!("{used:?} in {layer:?} for {key:?}, background's cap is {cap}")
        })?;
    }
    Ok(())
}
