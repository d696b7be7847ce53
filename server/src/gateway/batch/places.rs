//! Permits for the parts of a batch, waited for side by side.

use std::{pin::Pin, task::Poll};

use tokio::time::Instant;

use super::{
    super::{refusal::Refusal, slot::Slot},
    run::Job,
};

/// A place upstream.
pub(super) struct Place {
    pub(super) slot: Slot,
    /// Whether it is a breaker's probe, which goes alone.
    pub(super) probe: bool,
}

/// A place that is waited for.
pub(super) type Placed<'a> = Pin<Box<dyn Future<Output = Result<Place, Refusal>> + Send + 'a>>;

impl<'a> Job<'a> {
    /// Waits for a part's permit, at most until the hold ends. Dropped, it leaves no trace.
    pub(super) fn place(&self, part: usize) -> Placed<'a> {
        let (gateway, upstream) = (self.gateway, self.upstream);
        let (ask, turn) = (self.asks[part].clone(), self.turn.clone());
        let caller = self.caller;
        let hold = self.until.saturating_duration_since(Instant::now());
        Box::pin(async move {
            let Some(ask) = ask else {
                let slot = gateway.unlimited()?;
                return Ok(Place { slot, probe: false });
            };
            let workload = ask.call.workload;
            let dialect = upstream.workload(workload).1;
            let granted = caller.wait(async {
                let permit = upstream.limiter.acquire(&ask, hold).await;
                let permit = permit.map_err(|refused| Refusal::by_limiter(refused, dialect))?;
                let probe = permit.is_probe();
                Ok::<_, Refusal>((Slot::limited(permit), probe))
            });
            let granted = granted.await;
            let (slot, probe) =
                granted.map_err(|stopped| Refusal::by_caller(stopped, upstream.dialect()))??;
            upstream.still_good(turn.as_ref(), workload)?;
            Ok(Place {
                slot: slot.with(turn),
                probe,
            })
        })
    }
}

/// The permits that have come; at least one.
pub(super) async fn permits(
    waiting: &mut Vec<(usize, Placed<'_>)>,
) -> Vec<(usize, Result<Place, Refusal>)> {
    std::future::poll_fn(|context| {
        let mut come = Vec::new();
        waiting.retain_mut(|(part, placed)| match placed.as_mut().poll(context) {
            Poll::Ready(placed) => {
                come.push((*part, placed));
                false
            }
            Poll::Pending => true,
        });
        if come.is_empty() {
            Poll::Pending
        } else {
            Poll::Ready(come)
        }
    })
    .await
}

/// Whether a future is done already; it wakes this task later else.
pub(super) async fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut *future).poll(context))).await
}
