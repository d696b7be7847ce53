//! Events are decided, one after another, and what must be durable is handed to the writer.

use spillway::flood::Event;

use super::{
    Decided, Disabling, Floods, NotTold, Report, Told,
    ids::{self, Known},
    writer::{Durable, Place},
};
use crate::store::{FloodAct, Strike};

/// Decides events, one after another, keeping room for a strike meanwhile.
#[derive(Debug)]
pub struct Deciding<'a> {
    floods: &'a Floods,
    place: Option<Place<'a>>,
}

impl Floods {
    /// Begins to decide some events.
    #[must_use]
    pub const fn deciding(&self) -> Deciding<'_> {
        Deciding {
            floods: self,
            place: None,
        }
    }
}

impl<'a> Deciding<'a> {
    /// Decides an event. It is answered by [`Decided::told`].
    ///
    /// # Errors
    /// See [`NotTold`]; nothing was counted.
    pub fn decide(&mut self, report: &Report<'_>) -> Result<Decided, NotTold> {
        let Floods { inner } = self.floods;
        // Whoever could not write a strike down must not count up to it.
        let place = match self.place.take() {
            Some(place) => place,
            None => inner.writer.reserve().map_err(|_| NotTold::Busy)?,
        };
        let id = ids::digest(report);
        let mut ids = id.map(|id| inner.shards.ids(id));
        let mut shard = inner.shards.of(&report.site);
        let now = self.floods.now();
        let at = self.floods.at(now, report.at)?;
        if let (Some(id), Some(ids)) = (id, &mut ids)
            && let Some((told, struck)) = ids.seen(now, id)
        {
            // Its first answer may not be durable yet: what is behind it in the queue is later.
            let durable = self.behind(place, struck);
            return Ok(Decided { told, durable });
        }
        let day = shard.days.of(&report.site, at);
        let event = Event {
            site: &report.site,
            list: &report.list,
            component: report.component,
            trigger: report.trigger,
            at,
            day,
        };
        let answer = shard.guard.ask(now, &event)?;
        let told = Told::from(&answer);
        if let (Some(id), Some(ids)) = (id, &mut ids) {
            ids.note(Known {
                id,
                at: now,
                told,
                struck: answer.strike.is_some(),
            });
        }
        let Some(strike) = answer.strike else {
            self.place = Some(place);
            return Ok(Decided {
                told,
                durable: None,
            });
        };
        let disabling = strike.disables.then(|| Disabling {
            policy: shard
                .guard
                .policy(&report.site, &report.list, report.component),
            minute_at: self.floods.clock().timestamp(strike.minute),
            day_ends_at: self.floods.clock().timestamp(day.ends),
        });
        // While its shard is locked: in the order in which they were decided.
        let durable = place.write(FloodAct::Strike(Strike {
            site: report.site.clone().into_owned(),
            list: report.list.clone().into_owned(),
            component: report.component,
            strike,
            day,
            at: now,
            wall_ms: self.floods.clock().wall_now().as_millisecond(),
            disabling,
        }));
        Ok(Decided {
            told,
            durable: Some(durable),
        })
    }

    /// What has to be waited for where an answer is given again.
    fn behind(&mut self, place: Place<'a>, struck: bool) -> Option<Durable> {
        if struck {
            return Some(place.after_all());
        }
        self.place = Some(place);
        None
    }
}
