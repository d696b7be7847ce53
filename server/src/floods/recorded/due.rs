//! Minutes that are to be written down: the quietest are left out where they are too many.

use std::collections::HashMap;

use spillway::flood::{Component, ListKey, Minute};

use crate::store::FloodMinute;

#[derive(Debug)]
pub(super) struct Due {
    /// By what each stands for alone: its minute's or its day's number.
    waiting: HashMap<(ListKey, Component, i64), Minute>,
    max: usize,
    /// The highest count that was left out of each component's, by [`Component::ALL`].
    left_out: [Option<u32>; Component::ALL.len()],
}

impl Due {
    /// At most `max` wait.
    pub(super) fn new(max: usize) -> Self {
        Self {
            waiting: HashMap::new(),
            max,
            left_out: [None; Component::ALL.len()],
        }
    }

    /// This one is to be written, instead of one of its number with a lower count.
    pub(super) fn add(&mut self, number: i64, it: FloodMinute) {
        if self.waiting.len() >= self.max {
            self.leave_out();
        }
        let known = self.waiting.entry((it.key, it.component, number));
        let waits = known.or_insert(it.minute);
        if it.minute.count > waits.count {
            *waits = it.minute;
        }
    }

    /// A quarter goes, so that this is done rarely.
    fn leave_out(&mut self) {
        let mut counts: Vec<_> = self.waiting.values().map(|it| it.count).collect();
        let quarter = counts.len() / 4;
        let (_, bar, _) = counts.select_nth_unstable(quarter);
        let mut below = *bar;
        // Where a quarter has the same count, all of that count go.
        if self.waiting.values().all(|it| it.count >= below) {
            below = below.saturating_add(1);
        }
        let left_out = &mut self.left_out;
        self.waiting.retain(|(_, component, _), it| {
            let stays = it.count >= below;
            if !stays {
                let left = &mut left_out[*component as usize];
                *left = (*left).max(Some(it.count));
            }
            stays
        });
    }

    /// Hands over at most `most` of those that wait, each with its number.
    pub(super) fn take(&mut self, most: usize) -> Vec<(i64, FloodMinute)> {
        if self.waiting.len() <= most {
            return std::mem::take(&mut self.waiting)
                .into_iter()
                .map(taken)
                .collect();
        }
        let some: Vec<_> = self.waiting.keys().take(most).cloned().collect();
        let some = some.into_iter().filter_map(|key| {
            let minute = self.waiting.remove(&key)?;
            Some(taken((key, minute)))
        });
        some.collect()
    }

    /// The highest counts that were left out since this was last asked.
    pub(super) fn take_left_out(&mut self) -> Vec<(Component, u32)> {
        let left = std::mem::take(&mut self.left_out);
        let left = Component::ALL.into_iter().zip(left);
        left.filter_map(|(component, count)| Some((component, count?)))
            .collect()
    }

    /// So much was left out of a component's.
    pub(super) fn put_left_out(&mut self, component: Component, count: u32) {
        let left = &mut self.left_out[component as usize];
        *left = (*left).max(Some(count));
    }
}

fn taken(
    ((key, component, number), minute): ((ListKey, Component, i64), Minute),
) -> (i64, FloodMinute) {
    let minute = FloodMinute {
        key,
        component,
        minute,
    };
    (number, minute)
}

#[cfg(test)]
mod tests {
    use spillway::Instant;

    use super::*;

    fn minute(list: &str, count: u32) -> FloodMinute {
        FloodMinute {
            key: ListKey::new("s", list),
            component: Component::Alert,
            minute: Minute {
                starts: Instant(0),
                day: 0,
                count,
            },
        }
    }

    fn counts(due: &mut Due, most: usize) -> Vec<u32> {
        let mut counts: Vec<_> = due.take(most).iter().map(|it| it.1.minute.count).collect();
        counts.sort_unstable();
        counts
    }

    #[test]
    fn the_highest_count_of_each_is_written_and_the_quietest_are_left_out() {
        let mut due = Due::new(8);
        for count in [3, 5, 4] {
            due.add(1, minute("a", count));
        }
        due.add(2, minute("a", 1));
        assert_eq!(counts(&mut due, 9), [1, 5]);
        assert_eq!(due.take_left_out(), []);
        for n in 1..=9 {
            due.add(1, minute(&n.to_string(), n));
        }
        assert_eq!(due.take_left_out(), [(Component::Alert, 2)]);
        assert_eq!(due.take_left_out(), []);
        assert_eq!(counts(&mut due, 9), [3, 4, 5, 6, 7, 8, 9]);
        for n in 0..30 {
            due.add(1, minute(&n.to_string(), 7));
        }
        assert_eq!(due.take_left_out(), [(Component::Alert, 7)]);
        assert_eq!(counts(&mut due, 4).len(), 4);
        assert_eq!(counts(&mut due, 4).len(), 2);
    }
}
