use super::*;
use crate::random::mix;

const MINUTE: u64 = 60_000_000;

fn ledger(windows: Windows, rejected: Rejected) -> Ledger {
    let settings = Settings {
        windows,
        rejected,
        ..Settings::default()
    };
    Ledger::new(Upstream::Graph, &settings)
}

fn caller(user: &str) -> Caller {
    Caller {
        app: "notes".to_owned(),
        tenant: "t".to_owned(),
        user: user.to_owned(),
    }
}

/// A call that is over at once.
fn call(ledger: &mut Ledger, now_us: u64, user: &str) -> Result<(), Refusal> {
    let ticket = ledger.arrive(now_us, &caller(user))?;
    ledger.leave(&ticket);
    Ok(())
}

fn score(ledger: &mut Ledger, now_us: u64, key: &str) -> BudgetStats {
    let scores = ledger.scores(now_us);
    scores.into_iter().find(|b| b.key == key).unwrap()
}

#[test]
fn the_121st_call_of_a_user_within_a_minute_is_refused() {
    let mut ledger = ledger(Windows::Sliding, Rejected::Ignore);
    for n in 0..120 {
        assert_eq!(call(&mut ledger, n * 1000, "u1"), Ok(()));
    }
    let refused = Err(Refusal::Limit(Scope::User));
    assert_eq!(call(&mut ledger, 200_000, "u1"), refused);
    assert_eq!(call(&mut ledger, MINUTE - 1, "u1"), refused);
    assert_eq!(call(&mut ledger, MINUTE, "u1"), Ok(()));
    let user = score(&mut ledger, MINUTE, "notes/t/u1");
    let minute = &user.layers[0];
    assert_eq!((minute.peak, minute.rejected, minute.limit), (122, 2, 120));
    assert_eq!(ledger.rejected(), 2);
}

#[test]
fn an_application_is_full_at_240_a_minute_over_all_its_users() {
    let mut ledger = ledger(Windows::Sliding, Rejected::Ignore);
    for n in 0..240 {
        assert_eq!(call(&mut ledger, n, &format!("u{}", n % 3)), Ok(()));
    }
    assert_eq!(
        call(&mut ledger, 300, "u9"),
        Err(Refusal::Limit(Scope::App))
    );
    // What the application refuses must not use up the user.
    let u9 = score(&mut ledger, 300, "notes/t/u9");
    assert_eq!(u9.layers.iter().map(|layer| layer.rejected).sum::<u64>(), 0);
    let app = score(&mut ledger, 300, "notes");
    assert_eq!((app.layers[0].peak, app.layers[0].rejected), (241, 1));
}

#[test]
fn five_calls_at_a_time_per_user_and_twenty_per_application() {
    let mut ledger = ledger(Windows::Fixed, Rejected::Ignore);
    let mut tickets = Vec::new();
    for n in 0..20 {
        tickets.push(ledger.arrive(n, &caller(&format!("u{}", n / 5))).unwrap());
    }
    assert_eq!(
        call(&mut ledger, 30, "u0"),
        Err(Refusal::Limit(Scope::User))
    );
    assert_eq!(call(&mut ledger, 31, "u7"), Err(Refusal::Limit(Scope::App)));
    let ended = tickets.remove(0);
    ledger.leave(&ended);
    assert_eq!(call(&mut ledger, 32, "u7"), Ok(()));
    let user = score(&mut ledger, 33, "notes/t/u0");
    assert_eq!(
        (user.layers[2].peak, user.layers[2].in_flight),
        (6, Some(4))
    );
    assert_eq!(user.layers[2].window_ms, None);
}

#[test]
fn fixed_windows_let_two_limits_pass_around_a_boundary_and_the_referee_sees_it() {
    let mut ledger = ledger(Windows::Fixed, Rejected::Ignore);
    // Fill the window that is open at each instant; the boundary comes somewhere in the second
    // minute, as seed and key decide.
    let passed = (0..2400)
        .filter(|n| call(&mut ledger, n * 50_000, "u1").is_ok())
        .count();
    assert!((240..=360).contains(&passed), "{passed}");
    let minute = score(&mut ledger, 2 * MINUTE, "notes/t/u1").layers[0].clone();
    // 1,200 a minute came; the referee stops telling them apart at 1,000.
    assert_eq!(minute.peak, 1000);
}

#[test]
fn phases_differ_between_keys_and_windows() {
    let ledger = ledger(Windows::Fixed, Rejected::Ignore);
    let gates = ["a", "b", "c", "d"].map(|user| {
        let key = ledger.rules.keys(&caller(user)).remove(0);
        format!("{:?}", ledger.rules.budget(&key).gate)
    });
    let different: BTreeSet<_> = gates.iter().collect();
    assert_eq!(different.len(), 4);
}

#[test]
fn refused_calls_count_only_when_told_to() {
    for (rejected, passes) in [(Rejected::Ignore, true), (Rejected::Count, false)] {
        let mut ledger = ledger(Windows::Sliding, rejected);
        for n in 0..480 {
            let _ = call(&mut ledger, n * 250_000, "u1");
        }
        // Two minutes of twice the limit; then, one window after the last call that passed.
        let mut calls = (0..10).map(|n| call(&mut ledger, 2 * MINUTE + n, "u1").is_ok());
        assert_eq!(calls.any(|passed| passed), passes, "{rejected:?}");
    }
}

#[test]
fn no_enforced_window_ever_holds_more_than_the_limit() {
    for seed in 0..20_u64 {
        let mut ledger = ledger(Windows::Sliding, Rejected::Ignore);
        let (mut random, mut now_us, mut passed) = (mix(seed), 0_u64, Vec::new());
        for _ in 0..3000 {
            random = mix(random);
            now_us += between(random, 0, 400_000);
            if call(&mut ledger, now_us, "u1").is_ok() {
                passed.push(now_us);
            }
        }
        for (window_us, limit) in [(MINUTE, 120), (60 * MINUTE, 400)] {
            let worst = passed.iter().map(|start| {
                let inside = passed
                    .iter()
                    .filter(|t| (*start..start + window_us).contains(*t));
                inside.count()
            });
            assert!(worst.max().unwrap() <= limit, "seed {seed}");
        }
    }
}

#[test]
fn idle_budgets_make_room_and_stay_in_the_score() {
    let mut ledger = ledger(Windows::Sliding, Rejected::Ignore);
    ledger.rules.limits.truncate(1);
    for n in 0..BUDGETS_MAX {
        assert_eq!(call(&mut ledger, 0, &format!("u{n}")), Ok(()));
    }
    assert_eq!(call(&mut ledger, 1, "one-more"), Err(Refusal::Capacity));
    let hour = 60 * MINUTE;
    assert_eq!(call(&mut ledger, hour, "one-more"), Ok(()));
    let scores = ledger.scores(hour);
    assert_eq!(scores.len(), 2);
    assert_eq!((scores[1].key.as_str(), scores[1].layers[1].peak), ("*", 1));
}

#[test]
fn time_never_runs_backwards() {
    let mut ledger = ledger(Windows::Sliding, Rejected::Ignore);
    assert_eq!(call(&mut ledger, MINUTE, "u1"), Ok(()));
    assert_eq!(call(&mut ledger, 0, "u1"), Ok(()));
    assert_eq!(
        score(&mut ledger, 0, "notes/t/u1").layers[0].last_window,
        Some(2)
    );
}
