//! How two policies differ, in words for people.

use std::fmt::Display;

use spillway::{Dimension, Layer, Policy, Scope};

/// One line for each difference; none: they are the same.
pub(super) fn differences(from: &Policy, to: &Policy) -> Vec<String> {
    let share = |policy: &Policy| policy.background_share().permille();
    let mut lines = Vec::new();
    if share(from) != share(to) {
        lines.push(line("background_share_permille", share(from), share(to)));
    }
    for layer in from.layers() {
        match limit(to, what(layer)) {
            None => lines.push(line(name(layer), layer.limit(), "none")),
            Some(limit) if limit != layer.limit() => {
                lines.push(line(name(layer), layer.limit(), limit));
            }
            Some(_) => {}
        }
    }
    let added = to.layers().iter();
    let added = added.filter(|layer| limit(from, what(layer)).is_none());
    lines.extend(added.map(|layer| line(name(layer), "none", layer.limit())));
    lines
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
fn name(layer: &Layer) -> String {
    match layer.dimension() {
        Dimension::Rate { window_ms } => format!("{} rate {window_ms} ms", layer.scope()),
        Dimension::Concurrency => format!("{} concurrency", layer.scope()),
    }
}

fn line(what: impl Display, from: impl Display, to: impl Display) -> String {
    format!("{what}: {from} -> {to}")
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
        assert_eq!(differences(&from, &from), [""; 0]);
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
        assert_eq!(differences(&from, &to), expected);
    }
}
