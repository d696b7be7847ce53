//! How many files the process may have open.
//!
//! Every connection is one, to clients and to upstreams. Most systems give a process 1,024
//! to begin with, for programs that still use `select`, and let it have many more.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What two listeners full of clients, their upstreams and the files need.
const WANTED: u64 = 18_432;

/// Raises the process's own limit as far as it is wanted and the system allows. What is
/// allowed is logged where it is less than wanted: connections then wait.
pub fn raise() {
    let limit = getrlimit(Resource::Nofile);
    let Some(raised) = raised(limit.current, limit.maximum) else {
        return;
    };
    let asked = Rlimit {
        current: Some(raised),
        maximum: limit.maximum,
    };
    match setrlimit(Resource::Nofile, asked) {
        Err(error) => tracing::info!(%error, "the limit of open files could not be raised"),
        Ok(()) if raised < WANTED => tracing::info!(
            limit = raised,
            wanted = WANTED,
            "few files may be open: see `ulimit -Hn`, or LimitNOFILE"
        ),
        Ok(()) => {}
    }
}

/// What to ask for; `None`: there is enough already. No limit is none.
fn raised(current: Option<u64>, maximum: Option<u64>) -> Option<u64> {
    let current = current?;
    let most = maximum.map_or(WANTED, |maximum| maximum.min(WANTED));
    (current < most).then_some(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_raised_as_far_as_it_may_be_and_never_lowered() {
        assert_eq!(raised(Some(1_024), Some(1_048_576)), Some(WANTED));
        assert_eq!(raised(Some(1_024), Some(4_096)), Some(4_096));
        assert_eq!(raised(Some(1_024), None), Some(WANTED));
        assert_eq!(raised(Some(1_048_576), Some(1_048_576)), None);
        assert_eq!(raised(Some(4_096), Some(4_096)), None);
        assert_eq!(raised(None, None), None);
    }

    #[test]
    fn the_system_does_as_it_is_asked() {
        raise();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(raised(limit.current, limit.maximum), None);
    }
}
