//! Waiting in a caller's name: for no longer than what let it in does.

use std::{
    future::{pending, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use jiff::Timestamp;

use super::{Account, Caller, Full, NotValid, Taken};

/// Why a caller does not wait, or no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// Its token ended.
    #[error(transparent)]
    Ended(#[from] NotValid),
    /// As many wait in its name as may.
    #[error(transparent)]
    Full(#[from] Full),
}

impl Caller {
    /// Whether what let it in still does, now.
    ///
    /// # Errors
    /// Why it does not.
    pub fn still_valid(&self) -> Result<(), NotValid> {
        match self {
            Self::Token(token) => token.validity.check(Timestamp::now()),
            Self::Session(session) => session.validity.check(Timestamp::now()),
            Self::Anyone | Self::Guest | Self::Network(_) => Ok(()),
        }
    }

    /// Waits until what let it in does no more, and says why.
    pub async fn ended(&self) -> NotValid {
        match self {
            Self::Token(token) => token.validity.ended(Timestamp::now).await,
            Self::Session(session) => session.validity.ended(Timestamp::now).await,
            Self::Anyone | Self::Guest | Self::Network(_) => pending().await,
        }
    }

    /// Does `work`, which may have to wait, and counts then among the caller's waiting calls.
    /// Work that waits when the caller's token ends is dropped, and so is what it comes to at
    /// that instant: both must leave no trace then.
    ///
    /// # Errors
    /// Its token ended meanwhile, or as many wait as may.
    pub async fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, Stopped> {
        let mut work = pin!(work);
        let at_once = poll_fn(|context| Poll::Ready(work.as_mut().poll(context)));
        if let Poll::Ready(done) = at_once.await {
            return Ok(done);
        }
        let _place = self.take(Account::wait)?;
        let done = tokio::select! {
            biased;
            done = work => done,
            not = self.ended() => return Err(not.into()),
        };
        self.still_valid()?;
        Ok(done)
    }

    /// A live stream of its own; nothing where only what all take is bounded.
    ///
    /// # Errors
    /// It has as many as it may.
    pub fn stream(&self) -> Result<Option<Taken>, Full> {
        self.take(Account::stream)
    }

    fn take(
        &self,
        take: impl FnOnce(&Arc<Account>) -> Result<Taken, Full>,
    ) -> Result<Option<Taken>, Full> {
        self.account().map(take).transpose()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::sync::oneshot;

    use super::*;
    use crate::access::tokens::tests::plain_token;

    /// A grant that is given back where it is dropped.
    type Grant = Arc<()>;

    #[tokio::test]
    async fn what_need_not_wait_is_not_asked_for_its_token() {
        let token = plain_token();
        token.validity.revoke();
        let done = Caller::Token(token).wait(async { 7 }).await;
        assert_eq!(done, Ok(7));
    }

    #[tokio::test]
    async fn who_waits_leaves_at_once_and_its_work_is_dropped() {
        let (token, (grant, work)) = (plain_token(), oneshot::channel::<Grant>());
        let caller = Caller::Token(Arc::clone(&token));
        let mut waits = Box::pin(caller.wait(work));
        assert!(waits.as_mut().now_or_never().is_none());
        token.validity.revoke();
        assert_eq!(waits.await, Err(NotValid::Revoked.into()));
        assert!(grant.is_closed());
    }

    #[tokio::test]
    async fn a_grant_that_comes_as_the_token_ends_is_given_back() {
        let (token, (grant, work)) = (plain_token(), oneshot::channel::<Grant>());
        let caller = Caller::Token(Arc::clone(&token));
        let mut waits = Box::pin(caller.wait(work));
        assert!(waits.as_mut().now_or_never().is_none());
        let kept = Grant::default();
        grant.send(Arc::clone(&kept)).unwrap();
        token.validity.revoke();
        assert_eq!(waits.await, Err(NotValid::Revoked.into()));
        assert_eq!(Arc::strong_count(&kept), 1);
    }

    #[tokio::test]
    async fn who_has_no_token_waits_on() {
        let (grant, work) = oneshot::channel::<Grant>();
        let mut waits = Box::pin(Caller::Anyone.wait(work));
        assert!(waits.as_mut().now_or_never().is_none());
        grant.send(Grant::default()).unwrap();
        assert!(waits.await.is_ok());
    }
    #[tokio::test]
    async fn only_so_many_wait_in_one_name_and_a_place_is_free_again() {
        let caller = Caller::Token(plain_token());
        let (_first, work) = oneshot::channel::<Grant>();
        let mut waits = Box::pin(caller.wait(work));
        assert!(waits.as_mut().now_or_never().is_none());
        let (second, work) = oneshot::channel::<Grant>();
        let refused = caller.wait(work).await;
        assert!(matches!(refused, Err(Stopped::Full(_))), "{refused:?}");
        assert!(second.is_closed());
        assert!(caller.wait(async {}).await.is_ok(), "it need not wait");
        drop(waits);
        let (grant, work) = oneshot::channel::<Grant>();
        let mut waits = Box::pin(caller.wait(work));
        assert!(waits.as_mut().now_or_never().is_none());
        grant.send(Grant::default()).unwrap();
        assert!(waits.await.is_ok());
    }
}
