//! Which user keys of a shard came to be for which caller, so that each counts in its account
//! until it vanishes, however long the token that made it is valid.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use spillway::{Engine, Opener};

use crate::access::Account;

/// The accounts for which user keys came to be, and how many of them there are. Dropped, they
/// count no more.
#[derive(Debug, Default)]
pub(super) struct Openings(HashMap<Opener, (Arc<Account>, u32)>);

impl Openings {
    /// How the engine names an account.
    pub(super) fn opener(account: &Arc<Account>) -> Opener {
        Opener(account.number())
    }

    /// Takes in what came to be, for `account` alone, and what vanished.
    #[inline]
    pub(super) fn count(&mut self, engine: &mut Engine, account: Option<&Arc<Account>>) {
        for (opener, came) in engine.take_openings() {
            if !came {
                self.vanished(opener);
            } else if let Some(account) = account {
                account.opened_user(true);
                let known = self.0.entry(opener);
                known.or_insert_with(|| (Arc::clone(account), 0)).1 += 1;
            }
        }
    }

    fn vanished(&mut self, opener: Opener) {
        let Entry::Occupied(mut known) = self.0.entry(opener) else {
            return;
        };
        let (account, count) = known.get_mut();
        account.opened_user(false);
        *count -= 1;
        if *count == 0 {
            known.remove();
        }
    }
}

impl Drop for Openings {
    fn drop(&mut self) {
        for (account, count) in self.0.values() {
            (0..*count).for_each(|_| account.opened_user(false));
        }
    }
}
