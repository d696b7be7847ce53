use http::Method;
use proptest::prelude::*;

use super::super::order::order;
use super::*;

const LONG: Duration = Duration::from_secs(600);

fn plan(parts: &[(Method, &[usize])]) -> Plan {
    let depends_on: Vec<Vec<usize>> = parts.iter().map(|(_, on)| on.to_vec()).collect();
    let order = order(&depends_on).unwrap();
    let retries = parts.iter().map(|(method, _)| Retries::of(method));
    Plan::new(depends_on.into_iter().zip(retries).collect(), order)
}

fn answered(part: usize, status: u16) -> Ended {
    let trouble = match status {
        429 => Some(Trouble::Throttled),
        502..=504 => Some(Trouble::Unavailable),
        _ => None,
    };
    Ended {
        part,
        status: Some(status),
        trouble,
        told: None,
    }
}

fn hold_all(plan: &mut Plan, now: Instant) {
    for part in plan.in_order() {
        if plan.may_ask(part, now) {
            plan.held(part);
        }
    }
}

#[test]
fn parts_go_as_they_are_listed_with_what_they_depend_on() {
    let now = Instant::now();
    let mut plan = plan(&[(Method::GET, &[1]), (Method::GET, &[2]), (Method::GET, &[])]);
    assert!(!plan.may_ask(0, now) && !plan.may_ask(1, now) && plan.may_ask(2, now));
    hold_all(&mut plan, now);
    assert_eq!(plan.send_held(), [(0, vec![1]), (1, vec![2]), (2, vec![])]);
}

/// Case 17 [sdk-java-core#71].
#[test]
fn what_was_held_up_by_a_part_that_goes_again_goes_again_whatever_its_method() {
    let now = Instant::now();
    let mut plan = plan(&[
        (Method::POST, &[1]),
        (Method::GET, &[2]),
        (Method::GET, &[]),
    ]);
    hold_all(&mut plan, now);
    plan.send_held();
    let round = [answered(0, 424), answered(1, 503), answered(2, 200)];
    assert_eq!(plan.absorb(&round, now, LONG, || 0), [2]);
    let later = plan.next_at(now).unwrap();
    assert!(!plan.may_ask(1, now) && plan.may_ask(1, later) && !plan.may_ask(0, later));
    hold_all(&mut plan, later);
    assert_eq!(
        plan.send_held(),
        [(0, vec![1]), (1, vec![])],
        "2 was answered"
    );
    assert_eq!(
        plan.absorb(&[answered(0, 201), answered(1, 200)], later, LONG, || 0),
        [1, 0]
    );
    assert!(plan.is_over());
}

/// Case 13 [graph-docs#4694].
#[test]
fn all_that_go_again_wait_for_the_longest_of_their_waits() {
    let now = Instant::now();
    let mut plan = plan(&[(Method::GET, &[]), (Method::GET, &[]), (Method::GET, &[])]);
    hold_all(&mut plan, now);
    plan.send_held();
    let told = |part, seconds| Ended {
        told: Some(Duration::from_secs(seconds)),
        ..answered(part, 429)
    };
    assert_eq!(
        plan.absorb(
            &[answered(0, 200), told(1, 5), told(2, 17)],
            now,
            LONG,
            || 0
        ),
        [0]
    );
    let at = now + Duration::from_secs(17);
    assert_eq!(plan.next_at(now), Some(at));
    let early = at - Duration::from_millis(1);
    assert!(!plan.may_ask(1, early) && plan.may_ask(1, at) && plan.may_ask(2, at));
}

/// Cases 11 and 18.
#[test]
fn what_may_have_acted_is_final_and_what_depends_on_it_is_in_vain() {
    let now = Instant::now();
    for status in [429, 503, 504] {
        let mut plan = plan(&[(Method::POST, &[]), (Method::GET, &[0])]);
        plan.held(0);
        plan.send_held();
        assert_eq!(plan.absorb(&[answered(0, status)], now, LONG, || 0), [0]);
        assert!(plan.is_in_vain(1) && !plan.may_ask(1, now));
    }
}

#[test]
fn a_probe_takes_nothing_along() {
    let now = Instant::now();
    let mut plan = plan(&[(Method::GET, &[]), (Method::GET, &[0])]);
    plan.send_alone(0);
    assert!(!plan.may_ask(1, now));
}

/// One batch, and what befalls it: for each step a random number.
#[derive(Clone, Debug)]
struct Fate {
    methods: Vec<bool>,
    depends_on: Vec<Vec<usize>>,
    dice: Vec<u8>,
}

fn fates() -> impl Strategy<Value = Fate> {
    (1..=20_usize).prop_flat_map(|count| {
        let methods = proptest::collection::vec(any::<bool>(), count);
        // Only on those behind it in a shuffled line: no circles.
        let line = Just((0..count).collect::<Vec<_>>()).prop_shuffle();
        let picks = proptest::collection::vec(
            proptest::collection::vec(any::<prop::sample::Index>(), 0..3),
            count,
        );
        let dice = proptest::collection::vec(any::<u8>(), 400);
        (methods, line, picks, dice).prop_map(move |(methods, line, picks, dice)| {
            let mut depends_on = vec![Vec::new(); count];
            for (place, picks) in picks.iter().enumerate().skip(1) {
                let mut on: Vec<usize> = picks.iter().map(|pick| line[pick.index(place)]).collect();
                on.sort_unstable();
                on.dedup();
                depends_on[line[place]] = on;
            }
            Fate {
                methods,
                depends_on,
                dice,
            }
        })
    })
}

/// What a checker knows of the parts.
struct Seen {
    well: Vec<Option<bool>>,
    may_have_run: Vec<bool>,
}

impl Seen {
    fn conclude(&mut self, part: usize, well: bool) {
        assert_eq!(self.well[part], None, "answered once");
        self.well[part] = Some(well);
    }
}

proptest! {
    #[test]
    fn each_part_is_answered_once_and_nothing_goes_that_must_not(fate in fates()) {
        let count = fate.methods.len();
        let get = |part: usize| fate.methods[part];
        let methods = fate.methods.iter().map(|get| if *get { Method::GET } else { Method::POST });
        let retries = methods.map(|method| Retries::of(&method));
        let line = order(&fate.depends_on).unwrap();
        let mut plan = Plan::new(fate.depends_on.iter().cloned().zip(retries).collect(), line);
        let mut seen = Seen { well: vec![None; count], may_have_run: vec![false; count] };
        let mut now = Instant::now();
        let mut dice = fate.dice.iter().copied().chain(std::iter::repeat(0));
        let mut rounds = 0;
        while !plan.is_over() {
            for part in plan.in_order() {
                if plan.is_in_vain(part) {
                    plan.answered(part, false);
                    seen.conclude(part, false);
                } else if plan.may_ask(part, now) {
                    match dice.next().unwrap() {
                        240.. => { plan.answered(part, false); seen.conclude(part, false); }
                        200..240 => {}
                        _ => plan.held(part),
                    }
                }
            }
            let round = plan.send_held();
            for (part, along) in &round {
                prop_assert!(get(*part) || !seen.may_have_run[*part], "{part} may have acted");
                for on in &fate.depends_on[*part] {
                    let goes = round.iter().any(|(other, _)| other == on);
                    prop_assert!(goes != (seen.well[*on] == Some(true)), "{part} needs {on}");
                    prop_assert_eq!(goes, along.contains(on));
                }
            }
            let mut failed = vec![false; count];
            let ended: Vec<Ended> = plan.in_order().into_iter().filter(|part| round.iter().any(|(other, _)| other == part)).map(|part| {
                let held_up = fate.depends_on[part].iter().any(|on| failed[*on]);
                let ended = match dice.next().unwrap() {
                    _ if held_up => answered(part, 424),
                    0..120 => answered(part, 200),
                    120..160 => answered(part, 429),
                    160..200 => answered(part, 504),
                    200..220 => answered(part, 404),
                    220..240 => Ended { part, status: None, trouble: Some(Trouble::Broken), told: None },
                    _ => Ended { part, status: None, trouble: Some(Trouble::Unsent), told: None },
                };
                failed[part] = ended.status.is_none_or(|status| status >= 400);
                seen.may_have_run[part] |= !held_up && ended.trouble != Some(Trouble::Unsent);
                ended
            }).collect();
            for part in plan.absorb(&ended, now, LONG, || 7) {
                let ended = ended.iter().find(|ended| ended.part == part).unwrap();
                seen.conclude(part, ended.status.is_some_and(|status| status < 400));
            }
            now = plan.next_at(now).unwrap_or(now);
            rounds += 1;
            prop_assert!(rounds < 1_000, "it ends");
        }
        prop_assert!(seen.well.iter().all(Option::is_some));
    }
}
