//! A preview of ten minutes of the demo, held against the same calls under the limits that it
//! tried. The demo's own users call, and its own simulator answers, on a virtual clock.

use std::{sync::Arc, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use clap::Parser;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Empty};
use spillway::{Call, Layer, Preset};
use spillway_simulator::{Settings as SimulatorSettings, Simulator};
use tokio::{
    task::JoinSet,
    time::{Instant as Time, sleep, sleep_until},
};
use tower::ServiceExt as _;

use super::*;
use crate::{
    demo::{
        Demo,
        workload::{Gateway, Workload},
    },
    limiter::{
        Ask, Limiters, Recovery, Refused,
        tests::{Place, kill},
    },
};

/// As the gateway holds calls in the demo.
const HOLD: Duration = Duration::from_secs(30);

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    demo: Demo,
}

fn halved(policy: &Policy) -> Policy {
    let half = |layer: &Layer| {
        let limit = (layer.limit() / 2).max(1);
        Layer::new(layer.scope(), layer.dimension(), limit).unwrap()
    };
    let layers = policy.layers().iter().map(half).collect();
    Policy::new(layers, policy.background_share()).unwrap()
}

fn ask(user: String, lane: Lane) -> Ask {
    let call = Call {
        workload: 0,
        app: "note-bridge".into(),
        tenant: String::new(),
        user,
        lane,
        weight: 1,
    };
    Ask {
        call,
        account: None,
    }
}

/// The gateway as far as limits go: asks for a permit, calls the simulator, and ends the permit.
async fn pass(
    limiter: Limiter,
    simulator: Simulator,
    request: Request<Empty<Bytes>>,
) -> (StatusCode, HeaderMap, Bytes) {
    let text = |name: &str| {
        let value = request.headers().get(name);
        value.map_or("", |value| value.to_str().unwrap()).to_owned()
    };
    let lane = match &*text("spillway-lane") {
        "background" => Lane::Background,
        _ => Lane::Foreground,
    };
    // Who it is stands in the bearer, whatever is in it.
    let permit = match limiter
        .acquire(&ask(text("authorization"), lane), HOLD)
        .await
    {
        Ok(permit) => permit,
        Err(Refused::Busy(busy)) => {
            let mut headers = HeaderMap::new();
            let seconds = busy.wait.as_millis().div_ceil(1_000).max(1);
            headers.insert(header::RETRY_AFTER, u64::try_from(seconds).unwrap().into());
            return (StatusCode::TOO_MANY_REQUESTS, headers, Bytes::new());
        }
        Err(other) => panic!("{other:?}"),
    };
    let answer = simulator
        .router()
        .oneshot(request.map(|_| Body::empty()))
        .await
        .unwrap();
    let (parts, body) = answer.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    permit.complete();
    (parts.status, parts.headers, body)
}

/// Ten minutes of the demo: a bell rings in their middle.
async fn demo(limiter: &Limiter) {
    // As many as keep a tenth of an hour busy, at the pace of the clock.
    let busy = "demo --time-scale 1 --saturate --scan-users 24 --crawl-users 4";
    let Arguments { demo } = Arguments::parse_from(busy.split(' '));
    let settings = SimulatorSettings {
        time_scale: 1,
        ..SimulatorSettings::default()
    };
    let simulator = Simulator::new(settings).unwrap();
    let limiter = limiter.clone();
    let gateway = Gateway::direct(Arc::new(move |request: Request<Empty<Bytes>>| {
        // The simulator knows paths without the upstream's name.
        let (mut parts, body) = request.into_parts();
        parts.uri = parts
            .uri
            .path_and_query()
            .unwrap()
            .as_str()
            .parse()
            .unwrap();
        let request = Request::from_parts(parts, body);
        Box::pin(pass(limiter.clone(), simulator.clone(), request))
    }));
    let users = Workload::start(&demo, gateway);
    sleep(Duration::from_secs(600)).await;
    drop(users);
}

/// Makes the calls again that were recorded, and says how many were refused in each lane.
async fn replayed(limiter: &Limiter, calls: &[Seen]) -> PerLane<u64> {
    let (begun, first) = (Time::now(), calls[0].at);
    let usual_ms = usual_ms(calls);
    let mut callers = JoinSet::new();
    for call in calls.iter().copied() {
        let limiter = limiter.clone();
        callers.spawn(async move {
            sleep_until(begun + Duration::from_millis(call.at.ms_since(first))).await;
            let ask = ask(format!("{:x}", call.user), call.lane);
            match limiter
                .acquire(&ask, Duration::from_millis(call.hold_ms))
                .await
            {
                Ok(permit) => {
                    let ran_ms = match call.fate {
                        Fate::Ran(ms) => ms,
                        Fate::Open | Fate::Refused => usual_ms,
                    };
                    sleep(Duration::from_millis(ran_ms)).await;
                    permit.complete();
                    (call.lane, 0)
                }
                Err(_) => (call.lane, 1),
            }
        });
    }
    let mut refused = PerLane::default();
    while let Some(ended) = callers.join_next().await {
        let (lane, count) = ended.unwrap();
        *refused.get_mut(lane) += count;
    }
    refused
}

async fn open(place: &Place) -> Limiters {
    place.open(Recovery::AssumeFull).await
}

#[tokio::test]
async fn a_preview_of_halved_limits_predicts_the_demo_s_refusals_within_two_per_cent() {
    let halved = halved(&Preset::OneNote.policy().unwrap());
    let recorded = Place::new().await;
    let limiters = open(&recorded).await;
    let limiter = &limiters.all()[0];
    demo(limiter).await;
    let preview = limiter.preview(0, &halved);
    let (calls, _) = limiter.recent();

    kill(limiters);
    let applied = Place::new().await;
    let limiters = open(&applied).await;
    let limiter = &limiters.all()[0];
    assert!(limiter.put_in_force(0, 2, &halved));
    let after = replayed(limiter, &calls).await;

    println!(
        "of {} calls, {after:?} refused; {preview}; {preview:?}",
        calls.len()
    );
    assert!(calls.len() > 200, "{}", calls.len());
    let predicted = |lane| preview.changed.get(lane).refused;
    let both = |of: &dyn Fn(Lane) -> u64| of(Lane::Foreground) + of(Lane::Background);
    let (all, really) = (both(&predicted), both(&|lane| *after.get(lane)));
    assert!(really > 10, "halved limits refuse: {really}");
    assert!(
        all.abs_diff(really) * 50 <= really,
        "{all} predicted, {really} refused"
    );
}
