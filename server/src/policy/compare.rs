//! How two policies differ, in words for people.

use std::fmt;

use spillway::{Dimension, Layer, Policy, Scope};

use super::words;

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
    all
}

/// Those that were, in their order, then those that are new.
fn layers(from: &Policy, to: &Policy) -> Vec<Difference> {
    let changed = from.layers().iter().filter_map(|layer| {
        let now = limit(to, what(layer));
        (now != Some(layer.limit())).then(|| difference(what(layer), Some(layer.limit()), now))
    });
    let added = to.layers().iter();
    let added = added.filter(|layer| limit(from, what(layer)).is_none());
    let added = added.map(|layer| difference(what(layer), None, Some(layer.limit())));
    changed.chain(added).collect()
}

fn difference(what: (Scope, Dimension), from: Option<u32>, to: Option<u32>) -> Difference {
    Difference {
        name: name(what),
        words: words::limited(what.0, what.1),
        from: from.map(|limit| limit.to_string()),
        to: to.map(|limit| limit.to_string()),
    }
}

fn what(layer: &Layer) -> (Scope, Dimension) {
    (layer.scope(), layer.dimension())
}

fn limit(policy: &Policy, what: (Scope, Dimension)) -> Option<u32> {
    let mut layers = policy.layers_at(what.0);
    layers
        .find(|layer| layer.dimension() == what.1)
        .map(Layer::limit)
}

/// `user rate 60000 ms`: a window in its own unit, so that none looks like another.
fn name((scope, dimension): (Scope, Dimension)) -> String {
    match dimension {
        Dimension::Rate { window_ms } => format!("{scope} rate {window_ms} ms"),
        Dimension::Concurrency => format!("{scope} concurrency"),
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
}
