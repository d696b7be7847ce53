//! Nobody starves: where nothing disturbs, a foreground call that waits is served within a
//! bound, and so is who comes exactly as told where everybody does.

use std::collections::BTreeMap;

use spillway::{Answer, Call, Instant, Lane, Policy};

use super::{Invariant, require};
use crate::referee::{bucket_ms, span_ms};
use crate::script::{Asking, Caller, Ending, Fault, Script};
use crate::seen::{Scene, Seen, Waiting};

/// Who asks, where the call's caller is all that is known: workload, keys, lane and weight.
type Who = (usize, String, String, String, Lane, u32);

/// Since when callers ask in vain.
pub struct Served {
    /// Nothing disturbs: calls that wait are served.
    healthy: bool,
    /// And everybody comes as told: they are served too.
    patient: bool,
    /// For each workload, how long one turn can take at most.
    turn_ms: Vec<u64>,
    in_vain: BTreeMap<Who, (Instant, u64)>,
}

impl Served {
    pub fn new(script: &Script) -> Self {
        let healthy = !script.faults.iter().any(Fault::disturbs);
        let returns = |caller: &Caller| caller.asking == Asking::Return;
        Self {
            healthy,
            patient: healthy && script.callers.iter().all(returns),
            turn_ms: script
                .policies
                .iter()
                .map(|it| turn_ms(script, it))
                .collect(),
            in_vain: BTreeMap::new(),
        }
    }

    fn waits(&self, waiting: &Waiting, scene: &Scene<'_>) -> Result<(), String> {
        let call = &waiting.call;
        let waited_ms = scene.now.ms_since(waiting.since);
        let turn_ms = self.turn_ms[call.workload];
        if !self.healthy || call.lane == Lane::Background || waited_ms <= turn_ms {
            return Ok(());
        }
        let bound_ms = turn_ms * rounds(call, scene.script);
        require(waited_ms <= bound_ms, || {
            format!("waits for {waited_ms} ms, {bound_ms} are enough: {waiting:?}")
        })
    }

    fn returns(&mut self, call: &Call, served: bool, scene: &Scene<'_>) -> Result<(), String> {
        let who = who(call);
        if served {
            self.in_vain.remove(&who);
            return Ok(());
        }
        let (since, times) = self.in_vain.entry(who).or_insert((scene.now, 0));
        *times += 1;
        let bound_ms = self.turn_ms[call.workload] * rounds(call, scene.script);
        let waited_ms = scene.now.ms_since(*since);
        require(waited_ms <= bound_ms, || {
            format!("came as told {times} times in {waited_ms} ms, {bound_ms} are enough: {call:?}")
        })
    }
}

impl Invariant for Served {
    fn name(&self) -> &'static str {
        "nobody starves"
    }

    fn see(&mut self, seen: &Seen<'_>, scene: &mut Scene<'_>) -> Result<(), String> {
        match seen {
            Seen::Settled => {
                let mut waiting = scene.waiting.values();
                waiting.try_for_each(|waiting| self.waits(waiting, scene))
            }
            Seen::Dismissed { waiting, .. } => self.waits(waiting, scene),
            Seen::Asked { call, answer, .. } if self.patient => match answer {
                Answer::Refused(spillway::Refusal::Busy(_)) => self.returns(call, false, scene),
                _ => self.returns(call, true, scene),
            },
            _ => Ok(()),
        }
    }
}

/// One turn: whatever runs ends, and has landed for a window.
fn turn_ms(script: &Script, policy: &Policy) -> u64 {
    let layers = policy.layers().iter();
    let longest_ms = layers.map(|layer| span_ms(layer) + bucket_ms(layer)).max();
    let renews = |caller: &Caller| matches!(caller.ending, Ending::Renew { .. });
    let renewals_ms = if script.callers.iter().any(renews) {
        script.sizes.renewals_ms_max
    } else {
        0
    };
    let away_ms: u64 = script.faults.iter().map(|fault| fault.lasts_ms).sum();
    longest_ms.unwrap_or(0) + script.sizes.lease_ms + renewals_ms + away_ms + script.timer_lag_ms
}

/// How many turns until a call's own: every caller of the app may go once before each of the
/// calls of its user that came first; and one turn in 20 is the background's.
fn rounds(call: &Call, script: &Script) -> u64 {
    let same_app = |caller: &&Caller| {
        caller.workload == call.workload && call.app == format!("app{}", caller.app)
    };
    let app = script.callers.iter().filter(same_app);
    let user = |caller: &&Caller| {
        call.user == format!("user{}", caller.user)
            && call.tenant == format!("tenant{}", caller.tenant)
    };
    let own = app.clone().filter(user).count() as u64;
    let users: std::collections::BTreeSet<_> =
        app.map(|caller| (caller.tenant, caller.user)).collect();
    2 * own.max(1) * (users.len() as u64).max(1)
}

fn who(call: &Call) -> Who {
    (
        call.workload,
        call.app.clone(),
        call.tenant.clone(),
        call.user.clone(),
        call.lane,
        call.weight,
    )
}
