//! How two policies differ, in words for people.

use std::fmt;

use spillway::{Dimension, Layer, Override, OwnLimit, Policy, Scope};

use super::{WrittenBreakers, words};

/// Something in which two policies differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is of, as files and programs name it.
    pub name: String,
    /// The same in words.
    pub words: String,
    /// What it was; `None`: it was not there.
    pub from: Option<String>,
    /// What it is; `None`: it is gone.
    pub to: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |it: &Option<String>| it.clone().unwrap_or_else(|| "none".to_owned());
        write!(f, "{}: {} -> {}", self.name, of(&self.from), of(&self.to))
    }
}

/// All of them; none: they are the same.
#[must_use]
pub fn differences(from: &Policy, to: &Policy) -> Vec<Difference> {
    let mut all = Vec::new();
    let share = |policy: &Policy| policy.background_share().permille();
    if share(from) != share(to) {
        all.push(Difference {
            name: "background_share_permille".to_owned(),
            words: "background's share, per mille".to_owned(),
            from: Some(share(from).to_string()),
            to: Some(share(to).to_string()),
        });
    }
    all.extend(layers(from, to));
    all.extend(breakers(from, to));
    all.extend(overrides(from, to));
    all
}

/// Each number in which the rules for breakers differ.
fn breakers(from: &Policy, to: &Policy) -> Vec<Difference> {
    let numbers = |policy: &Policy| {
        let it = WrittenBreakers::from(policy.breakers());
        [
            (
                "soft_permille",
                "background refused from, reported per mille",
                it.soft_permille,
            ),
            (
                "cool_down_ms_min",
                "shortest cool-down, ms",
                it.cool_down_ms_min,
            ),
            (
                "cool_down_ms_max",
                "longest cool-down, ms",
                it.cool_down_ms_max,
            ),
            (
                "outage_failures",
                "an outage is failures in a row",
                it.outage_failures,
            ),
            ("outage_ms", "an outage lasts, ms", it.outage_ms),
            ("outage_users", "an outage hits users", it.outage_users),
        ]
    };
    let both = numbers(from).into_iter().zip(numbers(to));
    let changed = both.filter(|(from, to)| from.2 != to.2);
    let changed = changed.map(|((name, words, from), (.., to))| Difference {
        name: format!("breakers.{name}"),
        words: words.to_owned(),
        from: Some(from.to_string()),
        to: Some(to.to_string()),
    });
    changed.collect()
}

/// Each limit of each key in which they differ.
fn overrides(from: &Policy, to: &Policy) -> Vec<Difference> {
    let of = |policy: &Policy, own: &Override, dimension| {
        let mut all = policy.overrides().iter();
        let same = |it: &&Override| (it.scope(), it.names()) == (own.scope(), own.names());
        all.find(same)?.limit(dimension)
    };
    let all = |policy: &'_ Policy| -> Vec<(Override, OwnLimit)> {
        let all = policy.overrides().iter();
        all.flat_map(|own| own.limits().iter().map(move |it| (own.clone(), *it)))
            .collect()
    };
    let changed = all(from).into_iter().filter_map(|(own, was)| {
        let now = of(to, &own, was.dimension);
        let changed = now != Some(was.limit);
        changed.then(|| own_difference(&own, was.dimension, Some(was.limit), now))
    });
    let added = all(to).into_iter().filter_map(|(own, is)| {
        let new = of(from, &own, is.dimension).is_none();
        new.then(|| own_difference(&own, is.dimension, None, Some(is.limit)))
    });
    changed.chain(added).collect()
}

fn own_difference(
    own: &Override,
    dimension: Dimension,
    from: Option<u32>,
    to: Option<u32>,
) -> Difference {
    let whose = words::whose(own);
    Difference {
        name: format!("override {whose}: {}", dimension_name(dimension)),
        words: format!("{whose}, {}", words::calls(dimension)),
        from: from.map(|limit| limit.to_string()),
        to: to.map(|limit| limit.to_string()),
    }
}

/// Those that were, in their order, then those that are new.
fn layers(from: &Policy, to: &Policy) -> Vec<Difference> {
    let changed = from.layers().iter().filter_map(|layer| {
        let now = limit(to, what(layer));
        let was = Some(held(layer));
        (now != was).then(|| difference(what(layer), was, now))
    });
    let added = to.layers().iter();
    let added = added.filter(|layer| limit(from, what(layer)).is_none());
    let added = added.map(|layer| difference(what(layer), None, Some(held(layer))));
    changed.chain(added).collect()
}

fn difference(what: (Scope, Dimension), from: Option<String>, to: Option<String>) -> Difference {
    Difference {
        name: name(what),
        words: words::limited(what.0, what.1),
        from,
        to,
    }
}

/// How much a layer holds, and whether it only counts.
fn held(layer: &Layer) -> String {
    match layer.is_shadow() {
        true => format!("{} (only counts)", layer.limit()),
        false => layer.limit().to_string(),
    }
}

fn what(layer: &Layer) -> (Scope, Dimension) {
    (layer.scope(), layer.dimension())
}

fn limit(policy: &Policy, what: (Scope, Dimension)) -> Option<String> {
    let mut layers = policy.layers_at(what.0);
    layers.find(|layer| layer.dimension() == what.1).map(held)
}

/// `user rate 60000 ms`: a window in its own unit, so that none looks like another.
fn name((scope, dimension): (Scope, Dimension)) -> String {
    format!("{scope} {}", dimension_name(dimension))
}

fn dimension_name(dimension: Dimension) -> String {
    match dimension {
        Dimension::Rate { window_ms } => format!("rate {window_ms} ms"),
        Dimension::Concurrency => "concurrency".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use spillway::policy::Share;

    use super::*;

    fn policy(share: u16, layers: &[(Scope, Dimension, u32)]) -> Policy {
        let layers = layers.iter();
        let layers = layers.map(|(scope, what, limit)| Layer::new(*scope, *what, *limit).unwrap());
        Policy::new(layers.collect(), Share::new(share).unwrap()).unwrap()
    }

    fn lines(from: &Policy, to: &Policy) -> Vec<String> {
        let all = differences(from, to);
        all.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_difference_is_a_line() {
        let rate = |window_ms| Dimension::Rate { window_ms };
        let from = policy(
            500,
            &[
                (Scope::User, rate(60_000), 120),
                (Scope::User, rate(100), 9),
                (Scope::App, Dimension::Concurrency, 5),
            ],
        );
        assert_eq!(lines(&from, &from), [""; 0]);
        let to = policy(
            1_000,
            &[
                (Scope::App, Dimension::Concurrency, 5),
                (Scope::User, rate(60_000), 60),
                (Scope::Tenant, Dimension::Concurrency, 3),
            ],
        );
        let expected = [
            "background_share_permille: 500 -> 1000",
            "user rate 60000 ms: 120 -> 60",
            "user rate 100 ms: 9 -> none",
            "tenant concurrency: none -> 3",
        ];
        assert_eq!(lines(&from, &to), expected);
    }

    #[test]
    fn what_only_counts_breakers_and_overrides_are_told_apart() {
        let from = policy(500, &[(Scope::User, Dimension::Concurrency, 5)]);
        let shadow = from.layers()[0].counting_only();
        let own = |limit| {
            let names = ["a\u{202e}", "", "ann"].map(str::to_owned);
            let dimension = Dimension::Concurrency;
            Override::new(Scope::User, names, vec![OwnLimit { dimension, limit }]).unwrap()
        };
        let mut rules = *from.breakers();
        rules.soft_permille = 700;
        let to = Policy::new(vec![shadow], Share::HALF).unwrap();
        let to = to.with_breakers(rules).unwrap();
        let to = to.with_overrides(vec![own(2)]).unwrap();
        let expected = [
            "user concurrency: 5 -> 5 (only counts)",
            "breakers.soft_permille: 800 -> 700",
            "override user \"ann\" of app \"a\\u{202e}\": concurrency: none -> 2",
        ];
        assert_eq!(lines(&from, &to), expected);
        let other = to.clone().with_overrides(vec![own(3)]).unwrap();
        let expected = "override user \"ann\" of app \"a\\u{202e}\": concurrency: 2 -> 3";
        assert_eq!(lines(&to, &other), [expected]);
    }
}
