//! The demo as the person who starts it sees it: the real binary, judged by the
//! simulator's own count. Hours of the limits' time pass in seconds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic"
)]

mod support;

use std::{
    io::{BufRead, BufReader},
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use http::{Request, StatusCode, Version};
use http_body_util::Full;
use serde_json::Value;
use spillway_server::demo::people::Person;
use spillway_simulator::{BudgetStats, LayerStats, Scope, Stats};
use support::{send, spillway};

const HOUR_MS: u64 = 3_600_000;

/// How long a demo may take to start or to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often a running demo is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// A running demo; killed when a test fails.
struct Demo {
    child: Child,
    banner: String,
    dashboard: SocketAddr,
    simulator: SocketAddr,
}

impl Demo {
    fn start(arguments: &[&str]) -> Self {
        let free = [
            "--listen",
            "--gateway-listen",
            "--simulator-listen",
            "--mailbox-listen",
        ]
        .map(|flag| [flag, "127.0.0.1:0"]);
        let mut child = spillway()
            .arg("demo")
            .args(free.concat())
            // The page is not what is tested here: that it is not built is no matter.
            .args(["--log", "warn,spillway_server::dashboard=error"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let banner = banner(stdout);
        Self {
            dashboard: address(&banner, "Open\n\n      ", "/\n"),
            simulator: address(&banner, "Simulator   http://", "/_sim/stats"),
            child,
            banner,
        }
    }

    async fn stats(&self) -> Stats {
        serde_json::from_value(get(self.simulator, "/_sim/stats").await).unwrap()
    }

    /// The live data of OneNote.
    async fn workload(&self) -> Value {
        let state = get(self.dashboard, "/api/v1/state").await;
        let workloads = state["upstreams"][0]["workloads"].as_array().unwrap();
        let onenote = workloads.iter().find(|it| it["name"] == "onenote");
        onenote.unwrap().clone()
    }

    /// Shows the score to `look` again and again until so many of the limits' hours have passed.
    async fn until_hour(&self, hours: u64, mut look: impl FnMut(&Stats)) -> Stats {
        loop {
            let stats = self.stats().await;
            look(&stats);
            if stats.as_of_ms >= hours * HOUR_MS {
                return stats;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Where its files are.
    fn folder(&self) -> PathBuf {
        let (_, rest) = self.banner.split_once("Its files are in ").unwrap();
        rest.split_once(" (removed at the end)").unwrap().0.into()
    }

    /// Ends it as Ctrl-C does; it must say nothing more and leave nothing behind.
    fn end(mut self) {
        let folder = self.folder();
        assert!(folder.join("spillway.db").is_file());
        let begun = Instant::now();
        let interrupt = format!("kill -INT {}", self.child.id());
        assert!(
            Command::new("sh")
                .args(["-c", &interrupt])
                .status()
                .unwrap()
                .success()
        );
        let status = self.child.wait().unwrap();
        let log = std::io::read_to_string(self.child.stderr.take().unwrap()).unwrap();
        assert!(status.success(), "{status}: {log}");
        assert_eq!(log, "");
        assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
        assert!(!folder.exists());
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

fn banner(stdout: impl BufRead) -> String {
    let mut banner = String::new();
    for line in stdout.lines() {
        let line = line.unwrap();
        banner.push_str(&line);
        banner.push('\n');
        if line.contains("Ctrl-C") {
            return banner;
        }
    }
    panic!("ended before it was ready: {banner}")
}

fn address(banner: &str, before: &str, after: &str) -> SocketAddr {
    let (_, rest) = banner.split_once(before).unwrap();
    let (address, _) = rest.split_once(after).unwrap();
    let scheme = address.find("://").map_or(0, |at| at + 3);
    address[scheme..].parse().unwrap()
}

async fn get(from: SocketAddr, path: &str) -> Value {
    let reply = send(from, Request::get(path).body(Full::default()).unwrap()).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    reply.json()
}

fn of<'a>(stats: &'a Stats, person: &Person) -> Option<&'a BudgetStats> {
    stats
        .budgets
        .iter()
        .find(|budget| budget.user == person.user && budget.tenant == person.tenant)
}

fn layer(budget: &BudgetStats, window_ms: Option<u64>) -> &LayerStats {
    budget
        .layers
        .iter()
        .find(|layer| layer.window_ms == window_ms)
        .unwrap()
}

fn last_hour(budget: Option<&BudgetStats>) -> f64 {
    budget.map_or(0.0, |budget| {
        f64::from(layer(budget, Some(HOUR_MS)).last_window.unwrap())
    })
}

/// No call was refused upstream, and none could have been, whatever the phase of its windows.
fn assert_clean(stats: &Stats) {
    assert_eq!((stats.rejected, stats.faulted), (0, 0));
    for budget in &stats.budgets {
        for layer in &budget.layers {
            assert!(
                layer.peak <= layer.limit && layer.rejected == 0,
                "{}: {layer:?}",
                budget.key
            );
        }
    }
}

#[tokio::test]
async fn five_hours_of_crawls_and_scans_meet_no_limit_upstream() {
    let demo = Demo::start(&["--time-scale", "300"]);
    let crawled: Vec<_> = Person::crawled(2).collect();
    let mut hours = Vec::new();
    let stats = demo
        .until_hour(5, |stats| {
            if stats.as_of_ms > 2 * HOUR_MS {
                hours.push(
                    crawled
                        .iter()
                        .map(|person| last_hour(of(stats, person)))
                        .sum::<f64>(),
                );
            }
        })
        .await;
    assert_clean(&stats);
    assert!(stats.arrived > 5 * 500, "{}", stats.arrived);

    // Half of each of their users' limits, and so at most half of the app's.
    for person in &crawled {
        let budget = of(&stats, person).unwrap();
        let peaks =
            [Some(60_000), Some(HOUR_MS), None].map(|window_ms| layer(budget, window_ms).peak);
        assert!(
            peaks[0] <= 60 && peaks[1] <= 200 && peaks[2] <= 2,
            "{person:?}: {peaks:?}"
        );
    }
    let used = hours.iter().sum::<f64>() / hours.len() as f64 / 400.0;
    assert!(
        (0.85..=1.0).contains(&used),
        "the crawls use {used} of their share"
    );

    let people: Vec<_> = Person::scanning(12)
        .filter(|person| of(&stats, person).is_some())
        .collect();
    assert_eq!(people.len(), 12);
    let app = stats
        .budgets
        .iter()
        .find(|budget| budget.scope == Scope::App)
        .unwrap();
    assert!(layer(app, Some(HOUR_MS)).peak >= 600, "{app:?}");

    let workload = demo.workload().await;
    let [foreground, background] =
        ["foreground", "background"].map(|lane| &workload["lanes"][lane]);
    let hold_ms = |lane: &Value| lane["hold_ms_mean"].as_u64().unwrap();
    assert!(
        hold_ms(foreground) < hold_ms(background),
        "{foreground} {background}"
    );
    assert_eq!(foreground["refused"], 0);
    demo.end();
}

#[tokio::test]
async fn one_who_always_asks_uses_a_whole_hour() {
    let demo = Demo::start(&[
        "--time-scale",
        "240",
        "--saturate",
        "--scan-users",
        "1",
        "--crawl-users",
        "1",
    ]);
    let person = Person::saturating();
    let mut hours = Vec::new();
    let stats = demo
        .until_hour(5, |stats| {
            // An hour to fill, and a bit for the first calls to come round.
            if stats.as_of_ms > HOUR_MS + HOUR_MS / 5 {
                hours.push(last_hour(of(stats, &person)));
            }
        })
        .await;
    assert_clean(&stats);
    let used = hours.iter().sum::<f64>() / hours.len() as f64 / 400.0;
    assert!(used >= 0.98, "{used} of the hour");
    demo.end();
}

#[tokio::test]
async fn over_tls_its_users_and_whoever_trusts_its_authority_are_served() {
    let demo = Demo::start(&["--tls", "--time-scale", "300"]);
    let ca = std::fs::read_to_string(demo.folder().join("ca.pem")).unwrap();
    let client = support::tls::client(&ca, rustls::ALL_VERSIONS, &["h2"]);
    let request = Request::get("/healthz").body(Full::default()).unwrap();
    let (version, reply) = client.send(demo.dashboard, request).await;
    assert_eq!((version, reply.status), (Version::HTTP_2, StatusCode::OK));
    while demo.stats().await.arrived < 20 {
        tokio::time::sleep(LOOK).await;
    }
    assert_clean(&demo.stats().await);
    demo.end();
}

#[test]
fn what_cannot_be_listened_on_is_named_by_its_flag() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let flags = [
        "--listen",
        "--gateway-listen",
        "--simulator-listen",
        "--mailbox-listen",
    ];
    for flag in flags {
        for (address, problem) in [
            (taken.as_str(), "cannot listen on"),
            ("192.0.2.1:80", "192.0.2.1:80 is not a loopback"),
        ] {
            let addresses = flags.map(|other| {
                [
                    other,
                    if other == flag {
                        address
                    } else {
                        "127.0.0.1:0"
                    },
                ]
            });
            let output = spillway()
                .arg("demo")
                .args(addresses.concat())
                .output()
                .unwrap();
            let line = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{line}");
            assert!(
                line.starts_with(&format!("spillway: {flag}: {problem}")),
                "{line}"
            );
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            assert_eq!(output.stdout, b"");
        }
    }
}

/// Anybody may look; who signs in with one of the accounts that it printed may steer.
#[tokio::test]
async fn steering_takes_one_of_the_accounts_that_it_prints() {
    let demo = Demo::start(&["--scan-users", "0", "--crawl-users", "0"]);
    let pause = async |cookie: Option<&str>| {
        let request = Request::post("/api/v1/lanes/graph/background/pause")
            .header("content-type", "application/json")
            .header("cookie", cookie.unwrap_or_default());
        let body = r#"{"reason":"a test"}"#;
        send(demo.dashboard, request.body(body.into()).unwrap()).await
    };
    let guest = pause(None).await;
    assert_eq!(guest.status, StatusCode::FORBIDDEN);
    assert!(
        guest.text().contains("accounts that the demo printed"),
        "{}",
        guest.text()
    );
    let overview = send(
        demo.dashboard,
        Request::get("/").body(Full::default()).unwrap(),
    )
    .await;
    assert_eq!(overview.status, StatusCode::OK);

    for name in ["operator", "admin"] {
        let line = demo
            .banner
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        let password = line.unwrap().split_whitespace().nth(1).unwrap();
        let request =
            Request::post("/sign-in").header("content-type", "application/x-www-form-urlencoded");
        let body = format!("name={name}&password={password}&to=/");
        let reply = send(demo.dashboard, request.body(body.into()).unwrap()).await;
        assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.text());
        let cookie = support::people::cookie(&reply);
        assert_eq!(pause(Some(&cookie)).await.status, StatusCode::OK);
    }
    demo.end();
}

/// Its form platform asks from the start; the list whose rule fires itself is disabled, the import
/// paused, the others are left alone, and the mails have a page.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_fires_itself_is_disabled_and_the_mails_have_a_page() {
    let demo = Demo::start(&[
        "--time-scale",
        "300",
        "--scan-users",
        "0",
        "--crawl-users",
        "0",
    ]);
    let lists = |site: &'static str| {
        let dashboard = demo.dashboard;
        async move { get(dashboard, &format!("/api/v1/sites/{site}/lists")).await }
    };
    let state = |lists: &Value, name: &str| {
        let lists = lists["lists"].as_array().unwrap();
        let list = lists.iter().find(|it| it["list"] == name);
        list.map(|it| {
            it["components"][0]["state"]
                .as_str()
                .unwrap_or("none")
                .to_owned()
        })
    };
    let begun = Instant::now();
    while state(&lists("garden").await, "Loyalty points").as_deref() != Some("disabled") {
        assert!(begun.elapsed() < 3 * PATIENCE, "it is not disabled");
        tokio::time::sleep(LOOK).await;
    }
    let garden = lists("garden").await;
    assert_eq!(
        state(&garden, "Orders").as_deref(),
        Some("open"),
        "{garden}"
    );
    let school = lists("school").await;
    let import = school["lists"].as_array().unwrap().iter();
    let import = import.filter(|it| it["list"].as_str().unwrap().contains("2019"));
    assert!(
        import.clone().all(|it| it["paused_until"].is_string()),
        "{school}"
    );
    assert_eq!(import.count(), 1, "{school}");
    let mails = address(&demo.banner, "Mail        http://", "/mails");
    let page = Request::get("/mails").body(Full::default()).unwrap();
    let page = send(mails, page).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text().contains("Mail of the demo"), "{}", page.text());
    let elsewhere = Request::get("/mails").header("host", "evil.example");
    let elsewhere = send(mails, elsewhere.body(Full::default()).unwrap()).await;
    assert_eq!(elsewhere.status, StatusCode::MISDIRECTED_REQUEST);
    demo.end();
}
