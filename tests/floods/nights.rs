//! A rule that fires itself all night, beside lists that behave.

use spillway::Instant;
use spillway::flood::{Component, Day, Decision, Event, Guard, Policy, Settings, Trigger};

const DAY: u64 = 86_400_000;
const EVENTS: u64 = 500_000;
const TWELVE_HOURS: u64 = DAY / 2;

/// A midnight, so that the twelve hours are within one day.
const MIDNIGHT: u64 = 20_787 * DAY;

fn ask(guard: &mut Guard, at: u64, list: &str) -> spillway::flood::Answer {
    let number = at / DAY;
    let event = Event {
        site: "site",
        list,
        component: Component::Action,
        trigger: Trigger::Event,
        at: Instant(at),
        day: Day {
            number: number as i32,
            ends: Instant((number + 1) * DAY),
        },
    };
    guard.ask(Instant(at), &event).expect("there is room")
}

#[test]
fn half_a_million_events_in_a_night() {
    let settings = Settings {
        lists_max: 1_000,
        seed: 3,
    };
    let mut guard = Guard::new(settings, [Policy::THIRD; 4]);
    let (mut handled, mut strikes, mut mails, mut graced) = (0, 0, 0, 0);
    for n in 0..EVENTS {
        let at = MIDNIGHT + n * TWELVE_HOURS / EVENTS;
        let answer = ask(&mut guard, at, "fires itself");
        handled += u64::from(answer.decision == Decision::Handle);
        strikes = strikes.max(answer.strikes);
        mails += u32::from(answer.strike.is_some_and(|strike| strike.disables));
        // What the three graced minutes carry.
        graced += u64::from(at < MIDNIGHT + 3 * 60_000);
        if n % 500 == 0 {
            let quiet = ask(&mut guard, at, &format!("quiet {}", n % 100));
            assert_eq!((quiet.decision, quiet.strikes), (Decision::Handle, 0));
            guard.forget(Instant(at));
        }
    }
    assert_eq!((strikes, mails), (20, 1));
    assert_eq!(graced, 2_084);
    assert_eq!(handled, graced + (20 - 3) * 100);
    assert!(guard.len() <= 101);
}
