//! Several apps on real files and the runtime's paused clock.

use std::{
    collections::BTreeSet,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use spillway::{Lane, PAUSES_MAX, Whose};
use spillway_app::live;
use tokio::time::advance;

use super::*;
use crate::access::Account;
use crate::limiter::{
    Ask, Call, HandedOut, Limiters, NotDone, Owner, Permit, Recovery, Refused,
    tests::{Place, kill, note},
};

const NO_HOLD: Duration = Duration::ZERO;
const HOUR: Duration = Duration::from_secs(3_602);

/// Apps of which each is in another of the usual shards.
fn apps() -> Vec<String> {
    let app_of = |shard| {
        let mut names = (0..).map(|n| format!("app {n}"));
        names.find(|app| shard_of(app, SHARDS) == shard).unwrap()
    };
    (0..SHARDS).map(app_of).collect()
}

fn call(app: &str, user: &str, lane: Lane) -> Ask {
    Ask {
        call: Call {
            workload: 0,
            app: app.into(),
            tenant: String::new(),
            user: user.into(),
            lane,
            weight: 1,
        },
        account: None,
    }
}

async fn ask(limiters: &Limiters, app: &str, user: &str) -> Result<Permit, Refused> {
    let call = call(app, user, Lane::Foreground);
    limiters.all()[0].acquire(&call, NO_HOLD).await
}

async fn take(limiters: &Limiters, app: &str) -> HandedOut {
    let call = call(app, "ann", Lane::Foreground);
    let taken = limiters.all()[0].hand_out(Owner::OPEN, call, NO_HOLD);
    taken.await.unwrap()
}

fn workload(limiters: &Limiters, cursor: Option<&str>, users_max: usize) -> live::Workload {
    let state = limiters.state(None, cursor, users_max).unwrap();
    state.workload("graph", "onenote").unwrap().clone()
}

/// How much of its minute each app's user has used.
fn used(limiters: &Limiters) -> Vec<u32> {
    let of = |app: String| {
        let left = limiters.all()[0].left(&call(&app, "ann", Lane::Foreground));
        let headroom = left.unwrap().headroom;
        headroom.limit - headroom.remaining
    };
    apps().into_iter().map(of).collect()
}

#[tokio::test]
async fn a_busy_app_blocks_no_other() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    let (apps, limiter) = (apps(), limiters.all()[0].clone());
    let busy = limiter.inner.shards.lock(limiter.inner.shards.of(&apps[0]));
    let (done, is_done) = mpsc::channel();
    let (runtime, other) = (tokio::runtime::Handle::current(), limiter.clone());
    let others = apps[1..].to_vec();
    let thread = thread::spawn(move || {
        let _runtime = runtime.enter();
        for app in others {
            let ask = call(&app, "ann", Lane::Foreground);
            let asked = other.acquire(&ask, NO_HOLD);
            let granted = futures_util::FutureExt::now_or_never(asked).unwrap();
            granted.unwrap().complete();
        }
        done.send(()).unwrap();
    });
    let within = is_done.recv_timeout(Duration::from_secs(30));
    drop(busy);
    thread.join().unwrap();
    assert_eq!(within, Ok(()), "they waited for the busy app");
}

#[tokio::test]
async fn apps_share_the_bound_on_users_and_idle_ones_make_room() {
    let place = Place::with("max_users = 8").await;
    let limiters = place.open(Recovery::AssumeFull).await;
    let apps = apps();
    for app in &apps {
        ask(&limiters, app, "ann").await.unwrap().complete();
    }
    for app in &apps {
        let refused = ask(&limiters, app, "ben").await;
        assert!(matches!(refused, Err(Refused::Capacity)), "{app}");
        ask(&limiters, app, "ann").await.unwrap().complete();
    }
    let refused = workload(&limiters, None, 10).lanes.foreground.refused;
    assert_eq!(refused, 8, "each is counted once");
    // Nobody's calls count any more; the bound is one app's as well.
    advance(HOUR).await;
    for user in 0..8 {
        let granted = ask(&limiters, &apps[0], &user.to_string()).await;
        granted.unwrap().complete();
    }
    let refused = ask(&limiters, &apps[1], "ann").await;
    assert!(matches!(refused, Err(Refused::Capacity)));
}

#[tokio::test]
async fn one_view_shows_the_apps_of_all_shards_page_by_page() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    for (n, app) in apps().iter().enumerate() {
        for _ in 0..=n {
            ask(&limiters, app, "ann").await.unwrap().complete();
        }
        ask(&limiters, app, "ben").await.unwrap().complete();
    }
    advance(Duration::from_secs(1)).await;
    let all = workload(&limiters, None, 100);
    assert_eq!((all.users, all.shared), (16, 8));
    assert_eq!(all.lanes.foreground.admitted, 36 + 8);
    let recent = all.recent.iter().map(|second| second.admitted);
    assert!(recent.sum::<u32>() <= 44);
    let users = |of: &live::Workload| -> Vec<_> {
        let users = of.budgets.iter().filter(|it| it.scope == live::Scope::User);
        users.map(|it| (it.app.clone(), it.user.clone())).collect()
    };
    let (mut paged, mut cursor) = (Vec::new(), None);
    loop {
        let page = workload(&limiters, cursor.as_deref(), 3);
        paged.extend(users(&page));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(paged, users(&all));
    assert_eq!(
        paged[0],
        (apps()[7].clone(), "ann".to_owned()),
        "closest first"
    );
    assert_eq!(paged.iter().collect::<BTreeSet<_>>().len(), 16);
}

#[tokio::test]
async fn permits_and_counts_of_all_apps_outlive_kills_and_other_numbers_of_shards() {
    let place = Place::new().await;
    let mut limiters = place.open_in(SHARDS, Recovery::AssumeFull).await;
    let (mut numbers, mut out, mut calls) = (BTreeSet::new(), Vec::new(), 0);
    for (round, shards) in [3, 1, 8, 5, 8].into_iter().enumerate() {
        calls += 3;
        for app in apps() {
            let [ended, returned] = [take(&limiters, &app).await, take(&limiters, &app).await];
            out.push(take(&limiters, &app).await.id);
            out.push(ended.id);
            let limiter = &limiters.all()[0];
            limiter.give_back(&Owner::OPEN, returned.id).unwrap();
            complete(&limiters, ended.id);
            let permit = ask(&limiters, &app, "ann").await.unwrap();
            assert!(numbers.insert(permit.into_number()), "given out before");
        }
        if round % 2 == 1 {
            limiters.all()[0].inner.next_generation(round == 3).unwrap();
        }
        kill(limiters);
        limiters = place.open_in(shards, Recovery::AssumeFull).await;
        assert_eq!(used(&limiters), [calls; SHARDS]);
        out.iter().for_each(|id| complete(&limiters, *id));
        assert_eq!(used(&limiters), [calls; SHARDS], "each counts once");
        // Those that nobody ends keep their slots until then, and five may run.
        advance(Permit::LEASE + Duration::from_secs(62)).await;
        calls = 0;
        assert_eq!(used(&limiters), [0; SHARDS]);
    }
}

fn complete(limiters: &Limiters, id: crate::limiter::PermitId) {
    let signal = spillway::signal::read(&spillway::signal::Answer {
        status: 200,
        headers: &[],
        body: &[],
        unix_ms: 0,
    });
    let completed = limiters.all()[0].complete(&Owner::OPEN, id, &signal);
    assert_eq!(completed, Ok(()));
}

#[tokio::test]
async fn a_pause_of_the_upstream_is_every_app_s_and_an_app_s_its_own() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    let app = Whose::App {
        app: apps()[2].clone(),
    };
    limiters.all()[0].pause(app.clone(), HOUR, &note()).unwrap();
    assert_eq!(paused(&limiters).await, [2]);
    limiters.all()[0]
        .pause(Whose::Upstream, HOUR, &note())
        .unwrap();
    assert_eq!(limiters.all()[0].resume(&app), Ok(true));
    assert_eq!(limiters.all()[0].resume(&app), Ok(false));
    assert_eq!(paused(&limiters).await, (0..SHARDS).collect::<Vec<_>>());
    for generations in 0..2 {
        for _ in 0..generations {
            limiters.all()[0].inner.next_generation(false).unwrap();
        }
    }
    kill(limiters);
    let limiters = place.open_in(3, Recovery::AssumeFull).await;
    assert_eq!(paused(&limiters).await.len(), SHARDS);
    assert_eq!(limiters.all()[0].resume(&Whose::Upstream), Ok(true));
    assert_eq!(paused(&limiters).await, [0; 0]);
}

/// Which of the apps may make no background call.
async fn paused(limiters: &Limiters) -> Vec<usize> {
    let mut paused = Vec::new();
    for (n, app) in apps().iter().enumerate() {
        let ask = call(app, "ann", Lane::Background);
        let asked = limiters.all()[0].acquire(&ask, NO_HOLD);
        match asked.await {
            Ok(permit) => permit.refund(),
            Err(_) => paused.push(n),
        }
    }
    paused
}

#[tokio::test]
async fn all_shards_share_the_bound_on_pauses() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    let user = |n: usize| Whose::User {
        app: apps()[n % SHARDS].clone(),
        tenant: String::new(),
        user: n.to_string(),
    };
    let limiter = &limiters.all()[0];
    for n in 0..PAUSES_MAX {
        limiter.pause(user(n), HOUR, &note()).unwrap();
    }
    for one_more in [user(PAUSES_MAX), Whose::Upstream] {
        let refused = limiter.pause(one_more, HOUR, &note());
        assert!(matches!(refused, Err(NotDone::TooMany(_))));
    }
    limiter.pause(user(0), HOUR, &note()).unwrap();
}

/// A million of one caller's users push out nobody's, and leave room for others'.
#[tokio::test]
async fn a_caller_s_users_are_bounded_over_all_shards_and_push_out_nobody() {
    const OF_ONE: usize = 40;
    let place = Place::with(&format!("max_users = 100\nmax_users_per_token = {OF_ONE}")).await;
    let limiters = place.open(Recovery::AssumeFull).await;
    let limiter = &limiters.all()[0];
    let (greedy, other) = (account(OF_ONE), account(OF_ONE));
    let of = |account: &Arc<Account>, app: usize, user: &str| Ask {
        account: Some(Arc::clone(account)),
        ..call(&format!("app {app}"), user, Lane::Foreground)
    };
    let known = limiter.acquire(&of(&other, 1, "victim"), NO_HOLD).await;
    let known = known.unwrap();
    let mut granted = Vec::new();
    for n in 0..1_000_000 {
        let ask = of(&greedy, n % 20, &format!("user {n}"));
        match limiter.acquire(&ask, NO_HOLD).await {
            Ok(permit) => granted.push(permit),
            Err(refused) => assert!(matches!(refused, Refused::Full(_)), "{refused:?}"),
        }
    }
    assert_eq!(granted.len(), OF_ONE);
    assert_eq!(limiter.inner.shards.users(), OF_ONE + 1);
    let others = limiter.acquire(&of(&other, 2, "new"), NO_HOLD).await;
    others.unwrap().refund();
    known.complete();
    granted.into_iter().for_each(Permit::refund);
    let again = limiter.acquire(&of(&greedy, 3, "again"), NO_HOLD).await;
    again.unwrap().refund();
}

fn account(users: usize) -> Arc<Account> {
    Account::new(crate::config::PerToken {
        waiters: 1,
        permits: 1,
        streams: 1,
        users: u32::try_from(users).unwrap(),
    })
}
