//! Misbehaviour on demand: what can be injected, and the list of what waits. Pure.

mod chance;

use std::collections::{BTreeMap, VecDeque};

use axum::http::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

/// The most faults that may wait.
pub(crate) const FAULTS_MAX: usize = 100;
const COUNT_MAX: u32 = 1_000_000;
const LATENCY_MS_MAX: u64 = 600_000;
const HEADERS_MAX: usize = 20;

/// One order: spend `fault` on the next `count` calls that match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    /// A part of the path and query; empty matches every call.
    #[serde(default, rename = "match")]
    pub(crate) matches: String,
    /// Only this user's calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// How many calls are left: 1 to 1,000,000.
    #[serde(default = "one")]
    pub(crate) count: u32,
    pub(crate) fault: Fault,
}

/// What happens to a call. The parts combine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fault {
    /// An error answer, 400 to 599, instead of the real one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    /// The `Retry-After` of the error answer, as it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after: Option<String>,
    /// The shape of the error answer's body; left out, OneNote's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<BodyShape>,
    /// The code in the error answer's body; left out, the usual one of the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    /// Whether the call is carried out before its error answer, as a write that was committed
    /// and is then answered 504. Graph's alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) acts: bool,
    /// How long the call takes, in wall-clock milliseconds whatever the time scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) latency_ms: Option<u64>,
    /// Where the connection breaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cut: Option<Cut>,
    /// Headers to add to the answer, or to replace in it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) headers: BTreeMap<String, String>,
}

/// The shapes in which throttling and failure have been seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BodyShape {
    /// `{"error":{"code":"20166",…}}`.
    Onenote,
    /// `{"code":"20166",…}`, the code at the root.
    Root,
    /// Nothing.
    Empty,
    /// A proxy's error page.
    Html,
}

/// Where a connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cut {
    /// Before any byte of the answer.
    BeforeHeaders,
    /// After half of the body.
    MidBody,
}

/// Why an order is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OrderError {
    #[error("{FAULTS_MAX} faults are waiting already")]
    Full,
    #[error("{0}")]
    Invalid(String),
}

/// The orders that wait, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    orders: VecDeque<Order>,
    spent: u64,
    /// Whether nothing fails by chance any more.
    calm: bool,
}

impl Faults {
    /// Takes an order and says how many wait.
    pub(crate) fn add(&mut self, order: Order) -> Result<usize, OrderError> {
        order.validate().map_err(OrderError::Invalid)?;
        if self.orders.len() >= FAULTS_MAX {
            return Err(OrderError::Full);
        }
        self.orders.push_back(order);
        Ok(self.orders.len())
    }

    /// The fault for this call: one of the oldest order that matches it.
    pub(crate) fn take(&mut self, path_and_query: &str, user: &str) -> Option<Fault> {
        let index = self
            .orders
            .iter()
            .position(|order| order.fits(path_and_query, user))?;
        let order = self.orders.get_mut(index)?;
        let fault = order.fault.clone();
        order.count = order.count.saturating_sub(1);
        if order.count == 0 {
            self.orders.remove(index);
        }
        self.spent += 1;
        Some(fault)
    }

    /// A fault that nobody ordered, unless there are to be none.
    pub(crate) fn by_chance(&mut self, fault: Option<Fault>) -> Fault {
        let fault = fault.filter(|_| !self.calm);
        self.spent += u64::from(fault.is_some());
        fault.unwrap_or_default()
    }

    /// Forgets every order, and ends what fails by chance.
    pub(crate) fn clear(&mut self) {
        self.orders.clear();
        self.calm = true;
    }

    /// The orders that wait.
    pub(crate) fn orders(&self) -> Vec<Order> {
        self.orders.iter().cloned().collect()
    }

    /// Calls and batches that a fault was spent on.
    pub(crate) fn spent(&self) -> u64 {
        self.spent
    }
}

impl Order {
    fn fits(&self, path_and_query: &str, user: &str) -> bool {
        let for_user = self.user.as_deref().is_none_or(|named| named == user);
        for_user && path_and_query.contains(&self.matches)
    }

    fn validate(&self) -> Result<(), String> {
        if !(1..=COUNT_MAX).contains(&self.count) {
            return Err(format!("count must be from 1 to {COUNT_MAX}"));
        }
        self.fault.validate()
    }
}

impl Fault {
    /// The extra headers; [`Self::validate`] made sure that all are legal.
    pub(crate) fn header_pairs(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        self.headers
            .iter()
            .filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)))
    }

    fn validate(&self) -> Result<(), String> {
        if *self == Self::default() {
            return Err("fault does nothing: give status, latency_ms, cut or headers".to_owned());
        }
        self.validate_error()?;
        if self.latency_ms.is_some_and(|ms| ms > LATENCY_MS_MAX) {
            return Err(format!("latency_ms must be at most {LATENCY_MS_MAX}"));
        }
        if self.headers.len() > HEADERS_MAX {
            return Err(format!("headers must be at most {HEADERS_MAX}"));
        }
        self.headers
            .iter()
            .try_for_each(|(name, value)| validate_header(name, value))
    }

    fn validate_error(&self) -> Result<(), String> {
        match self.status {
            Some(status) if !(400..=599).contains(&status) => {
                return Err("status must be from 400 to 599".to_owned());
            }
            Some(_) if self.cut == Some(Cut::BeforeHeaders) => {
                return Err("cut before_headers leaves no room for a status".to_owned());
            }
            None if self.retry_after.is_some() || self.body.is_some() || self.code.is_some() => {
                return Err("retry_after, body and code need a status".to_owned());
            }
            None if self.acts => return Err("acts needs a status".to_owned()),
            _ => {}
        }
        match self.retry_after.as_deref().map(HeaderValue::from_str) {
            Some(Err(_)) => Err("retry_after cannot stand in a header".to_owned()),
            _ => Ok(()),
        }
    }
}

/// Headers that would break the framing of the answer are not taken.
fn validate_header(name: &str, value: &str) -> Result<(), String> {
    const FRAMING: [&str; 4] = [
        "connection",
        "content-length",
        "transfer-encoding",
        "upgrade",
    ];
    let legal =
        HeaderName::from_bytes(name.as_bytes()).is_ok() && HeaderValue::from_str(value).is_ok();
    if !legal || FRAMING.contains(&name.to_ascii_lowercase().as_str()) {
        return Err(format!("headers: {name:?} cannot be set"));
    }
    Ok(())
}

fn one() -> u32 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(json: &str) -> Order {
        serde_json::from_str(json).unwrap()
    }

    fn refusal(json: &str) -> String {
        Faults::default().add(order(json)).unwrap_err().to_string()
    }

    #[test]
    fn an_order_is_spent_on_the_calls_that_match_oldest_first() {
        let mut faults = Faults::default();
        faults
            .add(order(
                r#"{"match":"/pages","count":2,"fault":{"status":429}}"#,
            ))
            .unwrap();
        faults
            .add(order(r#"{"user":"u1","fault":{"latency_ms":5}}"#))
            .unwrap();
        assert_eq!(faults.take("/v1.0/me", "u2"), None);
        assert_eq!(faults.take("/v1.0/me", "u1").unwrap().latency_ms, Some(5));
        assert_eq!(faults.take("/v1.0/me", "u1"), None);
        for _ in 0..2 {
            assert_eq!(
                faults
                    .take("/v1.0/me/onenote/pages?$top=1", "u1")
                    .unwrap()
                    .status,
                Some(429)
            );
        }
        assert_eq!(faults.take("/v1.0/me/onenote/pages", "u1"), None);
        assert_eq!(faults.spent(), 3);
    }

    #[test]
    fn the_list_is_bounded_and_can_be_cleared() {
        let mut faults = Faults::default();
        let any = order(r#"{"fault":{"status":503}}"#);
        for n in 1..=FAULTS_MAX {
            assert_eq!(faults.add(any.clone()), Ok(n));
        }
        assert_eq!(faults.add(any.clone()), Err(OrderError::Full));
        faults.clear();
        assert_eq!((faults.orders().len(), faults.add(any)), (0, Ok(1)));
    }

    #[test]
    fn orders_that_make_no_sense_say_why() {
        assert!(refusal(r#"{"fault":{}}"#).starts_with("fault does nothing"));
        assert!(refusal(r#"{"count":0,"fault":{"status":500}}"#).starts_with("count"));
        assert!(refusal(r#"{"fault":{"status":200}}"#).starts_with("status"));
        assert!(refusal(r#"{"fault":{"retry_after":"1"}}"#).contains("need a status"));
        assert!(refusal(r#"{"fault":{"status":500,"cut":"before_headers"}}"#).contains("no room"));
        assert!(
            refusal(r#"{"fault":{"status":429,"retry_after":"1\r\nx: y"}}"#)
                .starts_with("retry_after")
        );
        assert!(refusal(r#"{"fault":{"latency_ms":600001}}"#).starts_with("latency_ms"));
        assert!(
            refusal(r#"{"fault":{"headers":{"Content-Length":"1"}}}"#).contains("Content-Length")
        );
        assert!(refusal(r#"{"fault":{"headers":{"a b":"1"}}}"#).contains("a b"));
    }

    #[test]
    fn unknown_fields_are_named() {
        let error = serde_json::from_str::<Order>(r#"{"fault":{"statsu":500}}"#).unwrap_err();
        assert!(
            error.to_string().contains("unknown field `statsu`"),
            "{error}"
        );
    }
}
