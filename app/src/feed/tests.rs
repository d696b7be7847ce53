use super::*;

fn started(at: &str, as_of: &str) -> State {
    State {
        as_of: as_of.to_owned(),
        started_at: at.to_owned(),
        ..State::default()
    }
}

fn with_feed(test: impl FnOnce(Feed)) {
    let owner = Owner::new_root(None);
    owner.with(|| test(Feed::provide()));
}

#[test]
fn a_restart_is_news_and_a_lost_line_is_not() {
    with_feed(|feed| {
        feed.connecting(1_000);
        feed.snapshot(started("a", "1"), 1_100);
        feed.lost(2_000, 2_500);
        feed.snapshot(started("a", "2"), 3_000);
        assert!(
            !feed
                .connection
                .with_untracked(|it| it.restart_is_news(3_000))
        );
        feed.lost(4_000, 4_500);
        feed.snapshot(started("b", "3"), 5_000);
        assert!(
            feed.connection
                .with_untracked(|it| it.restart_is_news(5_000))
        );
        assert_eq!(feed.freshness.get_untracked(), Freshness::Live);
    });
}

#[test]
fn a_loss_counts_from_its_beginning() {
    with_feed(|feed| {
        feed.lost(2_000, 2_500);
        feed.lost(2_600, 3_600);
        let line = feed.connection.with_untracked(|it| it.line);
        assert_eq!(
            line,
            Line::Lost {
                since_ms: 2_000,
                retry_at_ms: 3_600
            }
        );
    });
}

#[test]
fn the_servers_clock_goes_on_between_its_words_and_stands_still_with_the_page() {
    with_feed(|feed| {
        let clock = || feed.clock_ms.get_untracked();
        feed.snapshot(started("a", "1970-01-01T00:01:00Z"), 5_000);
        assert_eq!(clock(), 60_000);
        feed.tick(5_750);
        assert_eq!(clock(), 60_750);
        feed.toggle_pause();
        feed.tick(9_000);
        assert_eq!(clock(), 60_750);
        feed.toggle_pause();
        feed.snapshot(started("a", "1970-01-01T00:01:05Z"), 10_000);
        feed.lost(10_250, 11_000);
        feed.tick(10_500);
        assert_eq!(clock(), 65_000);
    });
}

#[test]
fn a_standstill_shows_the_newest_when_it_ends() {
    with_feed(|feed| {
        feed.snapshot(started("a", "1"), 1_000);
        feed.toggle_pause();
        feed.delta(started("a", "1").delta_to(&started("a", "2")), 9_000);
        feed.tick(9_000);
        let shown = || feed.shown.with_untracked(|it| it.state.as_of.clone());
        assert_eq!(
            (shown(), feed.freshness.get_untracked()),
            ("1".to_owned(), Freshness::Paused)
        );
        assert_eq!(feed.age.get_untracked(), "8.0 s old");
        feed.toggle_pause();
        assert_eq!(
            (shown(), feed.freshness.get_untracked()),
            ("2".to_owned(), Freshness::Live)
        );
    });
}
