//! JSON objects whose members keep their order and their text.
//!
//! A part's body is its sender's: numbers, escapes and the order of members reach the other
//! side as they were written. So only the frame is read; values stay raw slices of the
//! message they came in.

use std::fmt;

use bytes::Bytes;
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// The members of one object, in their order.
#[derive(Debug)]
pub(super) struct Members<'a>(pub(super) Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor).map(Self)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members: Vec<(String, &RawValue)> = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
            // Which of two a reader takes, and whether case counts, is anyone's guess.
            if members
                .iter()
                .any(|(other, _)| other.eq_ignore_ascii_case(&name))
            {
                return Err(A::Error::custom(format!(
                    "the member `{name}` is given twice"
                )));
            }
            members.push((name, value));
        }
        Ok(members)
    }
}

impl<'a> Members<'a> {
    /// Reads an object.
    pub(super) fn read(json: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(json)
    }

    /// The member of exactly this name.
    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let member = self.0.iter().find(|(other, _)| other == name);
        member.map(|(_, value)| *value)
    }

    /// The member of exactly this name as a `T`; `None` where it is missing or something else.
    pub(super) fn get_as<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }
}

/// The part of `message` that `raw` is.
pub(super) fn slice_of(message: &Bytes, raw: &RawValue) -> Bytes {
    message.slice_ref(raw.get().as_bytes())
}

/// Appends `"name":value`, after a comma where something is before it in the object.
pub(super) fn push_member(json: &mut Vec<u8>, name: &str, value: &[u8]) {
    if json.last() != Some(&b'{') {
        json.push(b',');
    }
    push_string(json, name);
    json.push(b':');
    json.extend_from_slice(value);
}

/// Appends a JSON string.
pub(super) fn push_string(json: &mut Vec<u8>, text: &str) {
    json.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_as_they_were_written() {
        let message = Bytes::from_static(br#"{"b": 1.50e+2, "a":{"z":"\u00e9\/","y":[ ]} }"#);
        let members = Members::read(&message).unwrap();
        let names: Vec<_> = members.0.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        let mut json = b"{".to_vec();
        for (name, value) in &members.0 {
            push_member(&mut json, name, &slice_of(&message, value));
        }
        assert_eq!(json, br#"{"b":1.50e+2,"a":{"z":"\u00e9\/","y":[ ]}"#);
    }

    #[test]
    fn a_member_that_is_given_twice_is_an_error_whatever_its_case() {
        for json in [
            &br#"{"url":"/a","url":"/b"}"#[..],
            br#"{"url":"/a","URL":"/b"}"#,
            br#"{"url":"/a","\u0075rl":"/b"}"#,
        ] {
            let error = Members::read(json).unwrap_err().to_string();
            assert!(error.contains("is given twice"), "{error}");
        }
        assert!(Members::read(b"[]").is_err());
    }

    #[test]
    fn depth_is_no_danger() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(Members::read(deep.as_bytes()).is_ok());
    }
}
