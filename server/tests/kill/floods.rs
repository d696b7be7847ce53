//! `kill -9` at random moments while lists flood, are re-enabled, paused and resumed: what was
//! answered is so afterwards, once.
//!
//! Each list has one caller, who remembers what it was told and holds every later answer against it,
//! whatever was killed in between. What was under way at a kill may have been done or not: the next
//! answer says. At the end the database is counted. Minutes last a tenth of a second.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use spillway::flood::ListKey;
use spillway_server::store::{FloodAct, FloodOperation, Store, Strike};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

use crate::support::{NOBODY, Process, config_text};

const TIME_SCALE: u32 = 600;
const LISTS: usize = 8;

/// Each kill takes about a second, so the tests of a change do some; `SPILLWAY_KILLS=100` does as
/// many.
const KILLS: usize = 6;

const PER_MINUTE: u64 = 5;
const STRIKES_PER_DAY: u64 = 3;

/// A list, and what its caller was told.
#[derive(Debug, Default)]
struct List {
    name: String,
    /// Whether it is disabled; none: something under way was killed.
    disabled: Option<bool>,
    paused: Option<bool>,
    /// The strikes that it was told of last, and the most of each day: a lower number is a new day's.
    strikes: u64,
    days: Vec<u64>,
    /// What was answered, and what was not, by what was asked.
    done: BTreeMap<&'static str, u32>,
    lost: BTreeMap<&'static str, u32>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_of_floods_survives_kill_9_once() {
    let kills = std::env::var("SPILLWAY_KILLS");
    let kills = kills.map_or(KILLS, |kills| kills.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let config = config_text(dir.path(), NOBODY);
    let mut lists: Vec<_> = (0..LISTS).map(List::new).collect();
    let started = start(dir.path(), &config);
    set_policy(started.dashboard).await;
    tell_of_the_site(started.dashboard).await;
    started.kill();
    for kill in 0..kills {
        let process = start(dir.path(), &config);
        let to = process.dashboard;
        let mut callers = JoinSet::new();
        for mut list in lists.drain(..) {
            callers.spawn(async move {
                while list.step(to).await {}
                list
            });
        }
        let after = Duration::from_millis(rand::random_range(0..700));
        tokio::time::sleep(after).await;
        process.kill();
        lists = callers.join_all().await;
        println!("kill {kill} after {after:?}");
    }
    let process = start(dir.path(), &config);
    for list in &mut lists {
        list.settle(process.dashboard).await;
    }
    process.kill();
    count(dir.path(), &lists).await;
}

fn start(dir: &Path, config: &str) -> Process {
    Process::serve_scaled(dir, config, "info", TIME_SCALE)
}

async fn set_policy(to: SocketAddr) {
    let path = "/api/v1/flood-policies/action";
    let policy =
        json!({ "per_minute": PER_MINUTE, "strikes_per_day": STRIKES_PER_DAY, "grace": 1 });
    let wish = json!({ "policy": policy, "reason": "a test" });
    let (status, body) = ask(to, "PUT", path, "If-Match: \"1\"\r\n", &wish)
        .await
        .unwrap();
    assert_eq!(status, 200, "{body}");
}

/// Its one admin is owed a letter for each disablement. No mail server is configured, so that all of
/// them stay.
async fn tell_of_the_site(to: SocketAddr) {
    let site = json!({ "title": "Orders", "admins": ["a@example.org"] });
    let told = ask(to, "PUT", "/api/v1/sites/s1", "", &site).await;
    assert_eq!(told.unwrap().0, 200);
}

impl List {
    fn new(n: usize) -> Self {
        Self {
            name: format!("l{n}"),
            disabled: Some(false),
            paused: Some(false),
            ..Self::default()
        }
    }

    fn path(&self, what: &str) -> String {
        format!("/api/v1/sites/s1/lists/{}/{what}", self.name)
    }

    /// Asks for something, and compares the answer. False: the server is gone.
    async fn step(&mut self, to: SocketAddr) -> bool {
        match rand::random_range(0..10) {
            0 if self.paused != Some(true) => self.pause(to).await,
            0..3 if self.paused != Some(false) => self.resume(to).await,
            0..4 if self.disabled == Some(true) => self.enable(to).await,
            _ => self.report(to).await,
        }
    }

    async fn report(&mut self, to: SocketAddr) -> bool {
        let event =
            json!({ "site": "s1", "list": self.name, "component": "action", "trigger": "event" });
        let events = json!(vec![event; rand::random_range(1..9)]);
        let Some((status, body)) = ask(to, "POST", "/api/v1/events", "", &events).await else {
            *self.lost.entry("strike").or_default() += 1;
            if self.disabled == Some(false) {
                self.disabled = None;
            }
            return false;
        };
        assert_eq!(status, 200, "{body}");
        body.as_array().unwrap().iter().for_each(|it| self.told(it));
        true
    }

    fn told(&mut self, answer: &Value) {
        let paused = answer["decision"] == "paused";
        assert!(
            self.paused.is_none_or(|was| was == paused),
            "{self:?} {answer}"
        );
        self.paused = Some(paused);
        let strikes = answer["strikes"]
            .as_u64()
            .unwrap_or_else(|| panic!("{answer}"));
        self.struck(strikes);
        if paused {
            return;
        }
        let disabled = answer["decision"] == "disabled";
        assert!(
            self.disabled.is_none_or(|was| was == disabled),
            "{self:?} {answer}"
        );
        // The strike that disables is handled: what comes behind it is not.
        let count = answer["count"].as_u64().unwrap();
        let strike = !disabled && count >= PER_MINUTE && strikes >= STRIKES_PER_DAY;
        self.disabled = Some(disabled || (strike && answer["decision"] == "handle"));
    }

    fn struck(&mut self, strikes: u64) {
        match self.days.last_mut() {
            Some(most) if strikes >= self.strikes => *most = strikes.max(*most),
            _ => self.days.push(strikes),
        }
        self.strikes = strikes;
    }

    async fn pause(&mut self, to: SocketAddr) -> bool {
        let until = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
        let wish = json!({ "until": format!("{until:.3}"), "reason": "a test" });
        let done = self.operate(to, "pause", &wish, 200).await;
        self.paused = done.then_some(true);
        done
    }

    async fn resume(&mut self, to: SocketAddr) -> bool {
        let done = self.operate(to, "resume", &json!({}), 204).await;
        self.paused = done.then_some(false);
        done
    }

    async fn enable(&mut self, to: SocketAddr) -> bool {
        let wish = json!({ "component": "action", "reason": "a test" });
        let done = self.operate(to, "enable", &wish, 204).await;
        self.disabled = done.then_some(false);
        done
    }

    async fn operate(&mut self, to: SocketAddr, what: &'static str, wish: &Value, ok: u16) -> bool {
        let asked = ask(to, "POST", &self.path(what), "", wish).await;
        let Some((status, body)) = asked else {
            *self.lost.entry(what).or_default() += 1;
            return false;
        };
        // It was done by what was killed.
        let was_so = status == 409 && what == "resume" && self.paused.is_none();
        assert!(status == ok || was_so, "{status} {body} {self:?}");
        if status == ok {
            *self.done.entry(what).or_default() += 1;
        }
        true
    }

    /// Finds out how it stands, and holds it against what was told.
    async fn settle(&mut self, to: SocketAddr) {
        assert!(self.report(to).await);
        let (status, shown) = ask(
            to,
            "GET",
            self.path("").trim_end_matches('/'),
            "",
            &Value::Null,
        )
        .await
        .unwrap();
        assert_eq!(status, 200, "{shown}");
        let disabled = shown["components"][0]["state"] == "disabled";
        assert!(
            self.disabled.is_none_or(|was| was == disabled),
            "{self:?} {shown}"
        );
        let paused = shown["paused_until"].is_string();
        assert_eq!(self.paused, Some(paused), "{self:?} {shown}");
    }
}

/// What the database has is what was answered, and at most what was under way at a kill.
async fn count(dir: &Path, lists: &[List]) {
    let url = format!("sqlite://{}/spillway.db", dir.display());
    let store = Store::open(&url).await.unwrap();
    let acts = store.flood_acts_since(spillway::Instant(0)).await.unwrap();
    let mut disabled = 0;
    for list in lists {
        let strikes = strikes_of(&acts, &list.name);
        list.check_strikes(&strikes);
        let of_list = strikes.iter().filter(|it| it.strike.disables).count();
        disabled += of_list;
        let key = ListKey::new("s1", &list.name);
        let letters = store.flood_letters(&key, 1_000_000).await.unwrap();
        let letters: BTreeSet<_> = letters.into_iter().map(|it| it.message.uid).collect();
        assert_eq!(letters.len(), of_list, "letters: {list:?}");
        let history = store.flood_history(&key, None, 1_000_000).await;
        let history = history.unwrap();
        for kind in ["pause", "resume", "enable"] {
            let there = history.iter().filter(|it| it.kind == kind).count() as u32;
            let done = list.done.get(kind).copied().unwrap_or_default();
            let lost = list.lost.get(kind).copied().unwrap_or_default();
            assert!(
                (done..=done + lost).contains(&there),
                "{kind}: {there} {list:?}"
            );
        }
    }
    println!(
        "{} strikes and re-enablements, {disabled} disablements, as many letters",
        acts.len()
    );
    assert!(disabled > LISTS, "the test did too little: {disabled}");
    store.close().await;
}

/// A list's strikes in their order. Of one minute there are two only where a person re-enabled the
/// component between them.
fn strikes_of<'a>(acts: &'a [FloodAct], list: &str) -> Vec<&'a Strike> {
    let (mut strikes, mut enabled) = (Vec::<&Strike>::new(), true);
    for act in acts {
        match act {
            FloodAct::Strike(strike) if strike.list == list => {
                let twice = strikes
                    .last()
                    .is_some_and(|it| it.strike.minute == strike.strike.minute);
                assert!(!twice || enabled, "{strike:?}");
                (_, enabled) = (strikes.push(strike), false);
            }
            FloodAct::Operated(it) if it.list == list => {
                enabled |= matches!(it.operation, FloodOperation::Enable(_));
            }
            _ => {}
        }
    }
    strikes
}

impl List {
    fn check_strikes(&self, strikes: &[&Strike]) {
        let mut days: Vec<(i32, u64)> = Vec::new();
        for it in strikes {
            match days.last_mut() {
                Some((day, most)) if *day == it.day.number => *most += 1,
                _ => days.push((it.day.number, 1)),
            }
            // Neither lost nor doubled: each day's are numbered without a gap.
            let number = u64::from(it.strike.number);
            assert_eq!(days.last(), Some(&(it.day.number, number)), "{it:?}");
        }
        // Every day of which something was told has as many, in their order.
        let mut there = days.iter();
        for told in self.days.iter().filter(|told| **told > 0) {
            assert!(there.any(|(_, most)| most >= told), "{days:?} {self:?}");
        }
        let told: u64 = self.days.iter().sum();
        let lost = u64::from(self.lost.get("strike").copied().unwrap_or_default());
        // A list of events is of one minute or two.
        assert!(strikes.len() as u64 <= told + 2 * lost, "{days:?} {self:?}");
    }
}

/// Counts and ids that were written down come back; what an id was answered is answered again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_and_ids_survive_kill_9() {
    let dir = tempfile::tempdir().unwrap();
    let config = config_text(dir.path(), NOBODY);
    let process = Process::serve(dir.path(), &config);
    // Of one minute, whatever the clock does meanwhile.
    let at = jiff::Timestamp::now().to_string();
    let event =
        json!({ "site": "s1", "list": "l1", "component": "action", "trigger": "event", "at": at });
    let mut named = event.clone();
    named["id"] = "7f9f".into();
    let mut events = vec![event.clone(); 40];
    events.push(named.clone());
    let path = "/api/v1/events";
    let (_, answers) = ask(process.dashboard, "POST", path, "", &json!(events))
        .await
        .unwrap();
    assert_eq!(answers[40]["count"], 41, "{answers}");
    until_written(dir.path());
    process.kill();

    let process = Process::serve(dir.path(), &config);
    let again = json!([named, event]);
    let (_, answers) = ask(process.dashboard, "POST", path, "", &again)
        .await
        .unwrap();
    assert_eq!(
        (&answers[0]["count"], &answers[1]["count"]),
        (&json!(41), &json!(42))
    );
    process.kill();
}

/// Both are written each second.
fn until_written(dir: &Path) {
    let begun = Instant::now();
    let bytes =
        |name: &str| std::fs::metadata(dir.join("state").join(name)).map_or(0, |it| it.len());
    while bytes("floods.counts") == 0 || bytes("floods.ids") == 0 {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "nothing is written"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The status and the body of an answer; none: it did not come whole.
async fn ask(
    to: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    body: &Value,
) -> Option<(u16, Value)> {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {to}\r\nContent-Type: application/json\r\n{headers}\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(to).await.ok()?;
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.ok()?;
    let answer = String::from_utf8(answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    if status == 204 {
        return Some((status, Value::Null));
    }
    Some((status, serde_json::from_str(body).ok()?))
}
