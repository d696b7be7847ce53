//! The limiter on a real database and real files, on the runtime's paused clock.

use std::{fs, path::PathBuf};

use spillway::Lane;
use tempfile::TempDir;
use tokio::time::{advance, pause, resume};

use super::shards::{SHARDS, shard_of};
use super::*;
use crate::{config::Config, store::Store};

mod steps;

const NO_HOLD: Duration = Duration::ZERO;
const HOUR: Duration = Duration::from_secs(3_602);
const MINUTE: Duration = Duration::from_millis(60_032);

/// A folder with a database and counters; limiters come and go on it.
pub(super) struct Place {
    folder: TempDir,
    config: Config,
    store: Store,
}

impl Place {
    pub(super) async fn new() -> Self {
        Self::with("").await
    }

    /// One whose server is set up like this.
    pub(super) async fn with(server: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display();
        let text = format!(
            "[server]\ndatabase_url = 'sqlite://{path}/spillway.db'\nstate_dir = '{path}'\n{server}\n\
             [upstreams.graph]\nbase_url = 'http://127.0.0.1:9/'\npresets = ['onenote']\n"
        );
        let config = Config::parse(&text).unwrap();
        let store = Store::open(&config.server.database_url).await.unwrap();
        Self {
            folder,
            config,
            store,
        }
    }

    /// Limiters as they start. Their clock stands still but for [`advance`].
    pub(super) async fn open(&self, recovery: Recovery) -> Limiters {
        self.open_in(SHARDS, recovery).await
    }

    /// The same with so many shards.
    pub(super) async fn open_in(&self, shards: usize, recovery: Recovery) -> Limiters {
        let limiters = Limiters::open_in(shards, &self.config, &self.store, recovery, 1.into())
            .await
            .unwrap();
        pause();
        limiters
    }

    /// The newest journal that has this app's lines.
    pub(super) fn journal_of(&self, app: &str) -> PathBuf {
        let ending = format!(".{}.journal", shard_of(app, SHARDS));
        let all = self.files("journal").into_iter();
        let its = all.filter(|path| path.to_str().unwrap().ends_with(&ending));
        its.max().unwrap()
    }

    fn files(&self, suffix: &str) -> Vec<PathBuf> {
        let files = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path());
        files
            .filter(|path| path.extension().is_some_and(|it| it == suffix))
            .collect()
    }
}

/// Who does what, and why.
pub(super) fn note() -> Note {
    Note {
        who: "a test".to_owned(),
        reason: "why".to_owned(),
        at_ms: 7,
    }
}

/// The process is killed: nothing is written any more.
pub(super) fn kill(limiters: Limiters) {
    limiters.kill();
    resume();
}

/// From here on nothing can be written, until the keeper begins anew.
pub(super) fn break_journal(limiters: &Limiters) {
    let closed = super::journal::Journal::closed();
    limiters.all()[0].inner.replace_journals(&closed);
}

async fn ask(limiters: &Limiters, user: &str, hold: Duration) -> Result<Permit, Refused> {
    let ask = Ask {
        call: Call {
            workload: 0,
            app: "app".into(),
            tenant: String::new(),
            user: user.into(),
            lane: Lane::Foreground,
            weight: 1,
        },
        account: None,
    };
    limiters.all()[0].acquire(&ask, hold).await
}

/// How many of `calls` go now, each ending at once.
async fn go(limiters: &Limiters, calls: usize) -> usize {
    let mut gone = 0;
    for _ in 0..calls {
        if let Ok(permit) = ask(limiters, "ana", NO_HOLD).await {
            permit.complete();
            gone += 1;
        }
    }
    gone
}

/// 390 of the hour's 400, over three minutes.
async fn spend_390(limiters: &Limiters) {
    for calls in [120, 120, 120, 30] {
        assert_eq!(go(limiters, calls).await, calls);
        advance(MINUTE).await;
    }
}

fn wait(refused: Result<Permit, Refused>) -> Duration {
    match refused {
        Err(Refused::Busy(busy)) => busy.wait,
        other => panic!("expected to wait, got {other:?}"),
    }
}

/// Case 36 [nvcf#975], the limiter's part.
#[tokio::test]
async fn of_400_an_hour_with_390_spent_10_go_after_a_kill() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    spend_390(&limiters).await;
    kill(limiters);
    let limiters = place.open(Recovery::AssumeFull).await;
    assert_eq!(go(&limiters, 100).await, 10);
}

#[tokio::test]
async fn a_call_that_ran_at_the_kill_holds_its_slot_until_its_lease_is_over() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    for _ in 0..5 {
        // Dropped: the server dies with the calls running.
        drop(ask(&limiters, "ana", NO_HOLD).await.unwrap());
    }
    kill(limiters);
    let limiters = place.open(Recovery::AssumeFull).await;
    let told = wait(ask(&limiters, "ana", NO_HOLD).await);
    assert!(
        told > Duration::from_secs(119) && told <= Permit::LEASE,
        "{told:?}"
    );
    let state = limiters.state(None, None, 1).unwrap();
    let user = state
        .workload("graph", "onenote")
        .unwrap()
        .budgets
        .last()
        .unwrap()
        .clone();
    assert_eq!(user.layers[2].lingering, 5);
    advance(Permit::LEASE).await;
    assert_eq!(go(&limiters, 115).await, 115, "its weight has landed");
    advance(MINUTE).await;
    assert_eq!(go(&limiters, 120).await, 120);
}

#[tokio::test]
async fn counts_survive_many_generations_of_files() {
    let place = Place::new().await;
    let mut limiters = place.open(Recovery::AssumeFull).await;
    for whole in [false, false, true, false] {
        assert_eq!(go(&limiters, 20).await, 20);
        limiters.all()[0].inner.next_generation(whole).unwrap();
        assert_eq!(go(&limiters, 10).await, 10);
        kill(limiters);
        limiters = place.open(Recovery::AssumeFull).await;
    }
    assert_eq!(go(&limiters, 10).await, 0, "120 a minute are spent");
    resume();
    limiters.close().await.unwrap();
    assert_eq!(
        (
            place.files("full").len(),
            place.files("journal").len(),
            place.files("delta").len()
        ),
        (1, SHARDS, 0)
    );
    let limiters = place.open(Recovery::AssumeFull).await;
    assert_eq!(go(&limiters, 10).await, 0);
}

#[tokio::test]
async fn a_fresh_database_starts_empty_and_lost_counters_mean_full_budgets() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    assert_eq!(go(&limiters, 1).await, 1);
    kill(limiters);
    place
        .files("full")
        .iter()
        .for_each(|file| fs::remove_file(file).unwrap());

    let limiters = place.open(Recovery::AssumeFull).await;
    let state = limiters.state(None, None, 1).unwrap();
    let onenote = state.workload("graph", "onenote").unwrap();
    assert!(onenote.full_until.is_some());
    assert_eq!(
        onenote.budgets[0].layers[1].used, 800,
        "shown full though never seen"
    );
    let wait = wait(ask(&limiters, "never seen", NO_HOLD).await);
    assert!(wait > Duration::from_secs(3_590) && wait < HOUR, "{wait:?}");
    advance(HOUR).await;
    assert_eq!(go(&limiters, 120).await, 120);
    kill(limiters);

    place
        .files("full")
        .iter()
        .for_each(|file| fs::remove_file(file).unwrap());
    let limiters = place.open(Recovery::AssumeEmpty).await;
    assert_eq!(go(&limiters, 120).await, 120, "somebody knew better");
}

#[tokio::test]
async fn an_unfinished_last_line_is_dropped_and_other_damage_means_full_budgets() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    assert_eq!(go(&limiters, 100).await, 100);
    kill(limiters);
    let journal = || place.journal_of("app");
    let mut content = fs::read(journal()).unwrap();
    content.extend_from_slice(b"0badc0de {\"lease\":{\"per");
    fs::write(journal(), &content).unwrap();
    let limiters = place.open(Recovery::AssumeFull).await;
    assert_eq!(go(&limiters, 100).await, 20);
    kill(limiters);

    let mut content = fs::read(journal()).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 1;
    fs::write(journal(), &content).unwrap();
    let limiters = place.open(Recovery::AssumeFull).await;
    assert!(wait(ask(&limiters, "ana", NO_HOLD).await) > Duration::from_secs(3_590));
}

#[tokio::test]
async fn journals_whose_generation_was_never_begun_are_not_missed() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    assert_eq!(go(&limiters, 100).await, 100);
    kill(limiters);
    let newest = place.files("journal").into_iter().max().unwrap();
    let content = fs::read(&newest).unwrap();
    let header = content.split_inclusive(|byte| *byte == b'\n').next();
    // Killed while it made the next ones, the last shard's first; this is torn.
    for (shard, bytes) in [(SHARDS - 1, usize::MAX), (SHARDS - 2, 30)] {
        let made = place
            .folder
            .path()
            .join(format!("graph.000002.{shard}.journal"));
        let header = header.unwrap();
        fs::write(made, &header[..header.len().min(bytes)]).unwrap();
    }
    let limiters = place.open(Recovery::AssumeFull).await;
    assert_eq!(go(&limiters, 100).await, 20);
}

#[tokio::test]
async fn a_shard_s_lost_journal_means_full_budgets() {
    for lost in 0..SHARDS {
        let place = Place::new().await;
        let limiters = place.open(Recovery::AssumeFull).await;
        assert_eq!(go(&limiters, 1).await, 1);
        kill(limiters);
        let path = place
            .folder
            .path()
            .join(format!("graph.000001.{lost}.journal"));
        fs::remove_file(path).unwrap();
        let limiters = place.open(Recovery::AssumeFull).await;
        let told = wait(ask(&limiters, "ana", NO_HOLD).await);
        assert!(told > Duration::from_secs(3_590), "shard {lost}: {told:?}");
        resume();
    }
}

#[tokio::test]
async fn a_waiting_call_goes_when_its_time_has_come() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    assert_eq!(go(&limiters, 120).await, 120);
    assert!(
        matches!(
            ask(&limiters, "ana", Duration::from_secs(50)).await,
            Err(Refused::Busy(_))
        ),
        "not within its hold"
    );
    let before = tokio::time::Instant::now();
    // The paused clock moves by itself while all wait.
    ask(&limiters, "ana", Duration::from_secs(70))
        .await
        .unwrap()
        .complete();
    let held = before.elapsed();
    assert!(
        held >= Duration::from_millis(60_031) && held < Duration::from_millis(60_100),
        "{held:?}"
    );
}

#[tokio::test]
async fn who_stops_waiting_leaves_no_trace() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    assert_eq!(go(&limiters, 119).await, 119);
    let running = ask(&limiters, "ana", NO_HOLD).await.unwrap();
    for _ in 0..50 {
        let gone =
            tokio::time::timeout(Duration::from_millis(1), ask(&limiters, "ana", HOUR)).await;
        assert!(gone.is_err(), "it waits");
    }
    // What was not sent costs nothing: one more fits at once, and is not given to who has gone.
    running.refund();
    assert_eq!(go(&limiters, 2).await, 1);
}

#[tokio::test]
async fn nothing_is_granted_that_cannot_be_written_down() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    break_journal(&limiters);
    assert_eq!(limiters.ready(), Err(Refused::Storage));
    assert!(matches!(
        ask(&limiters, "ana", NO_HOLD).await,
        Err(Refused::Storage)
    ));
    let state = limiters.state(None, None, 1).unwrap();
    assert!(state.upstreams[0].unwritable);
    let onenote = state.workload("graph", "onenote").unwrap();
    assert_eq!(onenote.lanes.foreground.refused, 1);
    // The keeper's next round begins a new journal.
    limiters.all()[0].inner.next_generation(false).unwrap();
    assert_eq!(limiters.ready(), Ok(()));
    assert_eq!(go(&limiters, 121).await, 120);
}

#[tokio::test]
async fn who_waits_at_the_end_is_told() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    assert_eq!(go(&limiters, 120).await, 120);
    let waiting = ask(&limiters, "ana", HOUR);
    let (outcome, ()) = tokio::join!(waiting, async { limiters.refuse_all() });
    assert!(matches!(outcome, Err(Refused::Closing)));
    assert!(matches!(
        ask(&limiters, "ben", NO_HOLD).await,
        Err(Refused::Closing)
    ));
}

#[tokio::test]
async fn the_state_shows_counts_and_pages_users() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    assert_eq!(go(&limiters, 30).await, 30);
    ask(&limiters, "ben", NO_HOLD).await.unwrap().complete();
    let state = limiters.state(Some("graph"), None, 1).unwrap();
    let onenote = state.workload("graph", "onenote").unwrap();
    let seen: Vec<_> = onenote
        .budgets
        .iter()
        .map(|it| (it.user.as_str(), it.layers[0].used, it.layers[0].limit))
        .collect();
    assert_eq!(seen, [("", 31, 240), ("ana", 30, 120)]);
    assert_eq!((onenote.users, onenote.lanes.foreground.admitted), (2, 31));
    let next = limiters
        .state(None, onenote.next_cursor.as_deref(), 1)
        .unwrap();
    let next = next.workload("graph", "onenote").unwrap();
    assert_eq!(next.budgets.last().unwrap().user, "ben");
    assert_eq!(limiters.state(None, Some("x"), 1), Err(BadCursor));
}

/// What an upstream says of time is wall time, wherever it says it.
#[tokio::test]
async fn all_that_an_upstream_says_of_time_is_scaled() {
    let place = Place::new().await;
    let limiters = Limiters::open(&place.config, &place.store, Recovery::AssumeFull, 60).await;
    let limiters = limiters.unwrap();
    let said = spillway::signal::read(&spillway::signal::Answer {
        status: 429,
        headers: &[
            ("retry-after", b"2"),
            ("ratelimit-remaining", b"7"),
            ("ratelimit-reset", b"3"),
        ],
        body: b"",
        unix_ms: 0,
    });
    let scaled = limiters.all()[0].inner.in_engine_time(&said);
    assert_eq!(scaled.retry_after_ms, Some(120_000));
    let remaining = scaled.remaining.unwrap();
    assert_eq!(
        (remaining.remaining, remaining.reset_ms),
        (7, Some(180_000))
    );
    limiters.close().await.unwrap();
}
