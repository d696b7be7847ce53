//! No stuck budget: when all has ended and half an hour is over, nothing is left of anybody,
//! and everybody can go again at full rate.

use std::collections::BTreeSet;

use spillway::{Answer, Call, Lane, Permit};

use super::{Invariant, require};
use crate::seen::{Scene, Seen};

/// Looks at the end.
pub struct NothingLeft;

impl Invariant for NothingLeft {
    fn name(&self) -> &'static str {
        "no stuck budget"
    }

    fn see(&mut self, seen: &Seen<'_>, scene: &mut Scene<'_>) -> Result<(), String> {
        if !matches!(seen, Seen::Quiet) {
            return Ok(());
        }
        let records = scene.driver.records(scene.now);
        require(records.is_empty(), || format!("left: {records:?}"))?;
        let wake_at = scene.driver.wake_at();
        require(wake_at.is_none(), || format!("wakes at {wake_at:?}"))?;
        for workload in 0..scene.script.policies.len() {
            let view = scene.driver.view(scene.now, workload);
            let empty = view.users_total == 0 && view.shared_total == 0;
            require(empty, || format!("workload {workload} holds {view:?}"))?;
        }
        everybody(scene)
            .iter()
            .try_for_each(|call| full_rate(call, scene))
    }
}

/// One call of each user that took part, in each lane.
fn everybody(scene: &Scene<'_>) -> Vec<Call> {
    let callers = scene.script.callers.iter();
    let keys: BTreeSet<_> = callers
        .map(|it| (it.workload, it.app, it.tenant, it.user, it.lane))
        .collect();
    let call = |(workload, app, tenant, user, lane)| Call {
        workload,
        app: format!("app{app}"),
        tenant: format!("tenant{tenant}"),
        user: format!("user{user}"),
        lane,
        weight: 1,
    };
    keys.into_iter().map(call).collect()
}

/// So many calls go at once as the tightest layer allows, and no more.
fn full_rate(call: &Call, scene: &Scene<'_>) -> Result<(), String> {
    let policy = &scene.script.policies[call.workload];
    let caps = policy.layers().iter();
    let cap = caps.map(|layer| policy.cap(layer, call.lane)).min();
    let (mut engine, mut out): (_, Vec<Permit>) = (scene.driver.fork(), Vec::new());
    while let Answer::Granted(grant) = engine.ask(scene.now, call, scene.now) {
        out.push(grant.permit);
    }
    let went = u32::try_from(out.len()).unwrap_or(u32::MAX);
    let lane: Lane = call.lane;
    require(Some(went) == cap, || {
        format!("{went} calls go, {cap:?} should ({lane}): {call:?}")
    })?;
    out.into_iter()
        .for_each(|permit| engine.refund(scene.now, permit));
    let again = engine.ask(scene.now, call, scene.now);
    require(matches!(again, Answer::Granted(_)), || {
        format!("refunds free nothing: {again:?} for {call:?}")
    })
}
