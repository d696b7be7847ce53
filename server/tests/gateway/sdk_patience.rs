//! Case 7 [graph-docs#5592, sdk-javascript#1514]: clients that repeat by themselves, and for how
//! long. Whatever they do without a header, they are held, or told a wait that they honour.

use std::{net::SocketAddr, time::Duration};

use http::StatusCode;
use spillway_server::{
    config::Config,
    http::Shutdown,
    serve::{self, Options, Ready},
};
use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::calls::{PATIENCE, assert_blocked, call};
use crate::support::{
    Reply, config_text,
    peer::{Peer, ok},
};

/// Ten times as fast as the wall clock: a minute passes in six seconds.
const TIME_SCALE: u32 = 10;

/// How often the handlers of Microsoft's SDKs repeat a call by default (JavaScript 3.0.7, .NET
/// and Python Kiota).
const RETRIES: usize = 3;

/// What .NET's handler waits where it is told nothing, in seconds.
const WAITS_S: [u64; RETRIES] = [3, 6, 12];

/// A server whose time runs faster.
struct Fast {
    gateway: SocketAddr,
    shutdown: Shutdown,
    task: JoinHandle<Result<(), serve::Error>>,
    _dir: tempfile::TempDir,
}

impl Fast {
    async fn start(upstreams: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = Config::parse(&config_text(dir.path(), upstreams)).unwrap();
        let options = Options {
            open: true,
            time_scale: TIME_SCALE,
            ..Options::default()
        };
        let shutdown = Shutdown::new();
        let (tell, told) = oneshot::channel::<Ready>();
        let task = tokio::spawn(serve::run(config, options, shutdown.clone(), |ready| {
            drop(tell.send(ready));
        }));
        let gateway = told.await.unwrap().gateway;
        Self {
            gateway: gateway.authority().as_str().parse().unwrap(),
            shutdown,
            task,
            _dir: dir,
        }
    }

    async fn stop(self) {
        self.shutdown.begin();
        self.task.await.unwrap().unwrap();
    }
}

/// One call of each user a minute or an hour.
fn one_in(peer: &Peer, window_ms: u64) -> String {
    format!(
        "[upstreams.graph]\nbase_url = 'http://{}/'\nhold_max_ms = 20000\n\
         [[upstreams.graph.workloads]]\nname = 'pages'\npaths = ['/v1.0']\n\
         layers = [{{ scope = 'user', dimension = 'rate', window_ms = {window_ms}, limit = 1 }}]\n",
        peer.address
    )
}

/// The wait as all three handlers read it: a fraction is an error to Python's and three seconds
/// to .NET's; from 180 s on Python's gives up and the others come too early.
fn told_s(refused: &Reply) -> u64 {
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{refused:?}");
    let told = refused.header("retry-after");
    assert!(told.bytes().all(|byte| byte.is_ascii_digit()), "{told:?}");
    let seconds = told.parse().unwrap();
    assert!((1..=179).contains(&seconds), "{seconds}");
    seconds
}

/// A client that obeys; how often it had to repeat.
async fn obeying(gateway: SocketAddr, user: &str) -> usize {
    for repeated in 0..=RETRIES {
        let reply = call(gateway, user, 0).await;
        if reply.status == StatusCode::OK {
            return repeated;
        }
        sleep(Duration::from_secs(told_s(&reply))).await;
    }
    panic!("gave up")
}

#[tokio::test]
async fn a_client_that_waits_3_6_and_12_seconds_survives_an_empty_minute() {
    let peer = Peer::start(|_| async { ok("answer") }).await;
    let app = Fast::start(&one_in(&peer, 60_000)).await;
    let gateway = app.gateway;
    for user in ["held", "told", "early"] {
        assert_eq!(call(gateway, user, 0).await.status, StatusCode::OK);
    }

    let held = tokio::spawn(async move { call(gateway, "held", 20_000).await });
    let told = tokio::spawn(obeying(gateway, "told"));
    // One that knows no header comes too early each time. That reaches nobody, and puts it off by
    // a minute at most, however often it asks.
    for seconds in WAITS_S {
        assert_blocked(&call(gateway, "early", 0).await, "user/rate/60s");
        sleep(Duration::from_secs(seconds) / TIME_SCALE).await;
    }
    let last = told_s(&call(gateway, "early", 0).await);
    assert!(last <= 13, "two minutes are twelve seconds: {last}");
    assert_eq!(peer.counts().arrived, 3);
    assert!(obeying(gateway, "early").await <= 1);

    let held = timeout(PATIENCE, held).await.unwrap().unwrap();
    assert_eq!(held.status, StatusCode::OK, "once held, it sees no 429");
    let repeated = timeout(PATIENCE, told).await.unwrap().unwrap();
    assert_eq!(repeated, 1, "what it was told was enough");
    assert_eq!(peer.counts().arrived, 6);
    app.stop().await;
}

/// Half an hour of the wall clock: five of the limit's.
#[tokio::test]
async fn a_wait_of_half_an_hour_is_told_in_parts_that_every_sdk_obeys() {
    let peer = Peer::start(|_| async { ok("answer") }).await;
    let app = Fast::start(&one_in(&peer, 5 * 3_600_000)).await;
    assert_eq!(call(app.gateway, "ann", 0).await.status, StatusCode::OK);
    for _ in 0..=RETRIES {
        let refused = call(app.gateway, "ann", 20_000).await;
        assert_blocked(&refused, "user/rate/18000s");
        assert!(told_s(&refused) >= 120, "it would only come for nothing");
    }
    assert_eq!(peer.counts().arrived, 1);
    app.stop().await;
}

/// Case 10 [sdk-dotnet#250], its end: a block ends on time, for those who are held and for those
/// who come when they were told to.
#[tokio::test]
async fn a_block_ends_on_time() {
    let peer = Peer::start(|request: http::Request<hyper::body::Incoming>| async move {
        let first = request.headers().contains_key("first");
        let mut answer = ok("answer");
        if first {
            *answer.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            answer.headers_mut().insert("retry-after", 2.into());
        }
        answer
    })
    .await;
    let app = Fast::start(&peer.onenote()).await;
    let request = http::Request::get(crate::calls::PAGES)
        .header("spillway-user", "ann")
        .header("spillway-wait-ms", "0")
        .header("first", "1");
    let request = request.body(http_body_util::Full::default()).unwrap();
    let blocked_at = tokio::time::Instant::now();
    assert_eq!(told_s(&crate::support::send(app.gateway, request).await), 2);
    let gateway = app.gateway;
    let held = tokio::spawn(async move { call(gateway, "ann", 20_000).await });
    let refused = call(gateway, "ann", 0).await;
    assert_blocked(&refused, "user/breaker");
    assert!(told_s(&refused) <= 2);
    assert_eq!(peer.counts().arrived, 1);

    peer.until(|counts| counts.arrived == 2).await;
    let blocked = blocked_at.elapsed();
    assert!(blocked >= Duration::from_secs(2), "{blocked:?}");
    assert_eq!(held.await.unwrap().status, StatusCode::OK);
    assert_eq!(call(gateway, "ann", 20_000).await.status, StatusCode::OK);
    app.stop().await;
}
