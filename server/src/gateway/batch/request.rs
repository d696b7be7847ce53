//! A batch as its client sends it, read and checked as Graph does.
//!
//! Rules: learn.microsoft.com/graph/json-batching. What a lenient reader might take
//! differently than a strict one (a member twice, or in other case; an absolute address; a
//! batch within the batch) is refused: a part must be charged as what the upstream serves.

use bytes::Bytes;
use http::HeaderValue;
use serde_json::value::RawValue;

use super::{
    super::links::Links,
    malformed::Malformed,
    message::{Members, push_member, slice_of},
    order::order,
    part::{Part, PartReader, key_of},
};

/// The most parts of one batch.
pub(super) const PARTS_MAX: usize = 20;

/// A batch that may be sent.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) parts: Vec<Part>,
    /// The parts so that each comes after all that it depends on.
    pub(super) order: Vec<usize>,
    /// What is beside the parts, as it was written.
    others: Vec<(String, Bytes)>,
}

/// Where a batch was sent, and by whom.
pub(super) struct Envelope<'a> {
    /// The path of the batch behind the base, percent-decoded, without `$batch`: `/v1.0/`.
    pub(super) root: &'a str,
    /// The same as the gateway's own links have it: `/graph/v1.0/`.
    pub(super) own_root: &'a str,
    /// The batch's `Authorization`.
    pub(super) authorization: Option<&'a HeaderValue>,
    /// What addresses of the gateway's mean upstream.
    pub(super) links: Option<&'a Links>,
}

impl Batch {
    /// Reads and checks a batch.
    pub(super) fn read(message: &Bytes, envelope: &Envelope<'_>) -> Result<Self, Malformed> {
        let members = Members::read(message).map_err(|_| Malformed::Format)?;
        let requests: Vec<&RawValue> = members.get_as("requests").ok_or(Malformed::Format)?;
        if requests.is_empty() {
            return Err(Malformed::Format);
        }
        if requests.len() > PARTS_MAX {
            return Err(Malformed::TooMany);
        }
        let reader = PartReader { message, envelope };
        let read = requests.iter().enumerate();
        let read = read
            .map(|(n, raw)| reader.part(n, raw))
            .collect::<Result<Vec<_>, _>>()?;
        let (mut parts, named): (Vec<Part>, Vec<Vec<String>>) = read.into_iter().unzip();
        refuse_doubled(&parts)?;
        for (n, names) in named.into_iter().enumerate() {
            parts[n].depends_on = dependencies(&parts, &parts[n], names)?;
        }
        let depends_on: Vec<_> = parts.iter().map(|part| part.depends_on.clone()).collect();
        let others = members.0.iter().filter(|(name, _)| name != "requests");
        let others = others.map(|(name, raw)| (name.clone(), slice_of(message, raw)));
        Ok(Self {
            order: order(&depends_on).ok_or(Malformed::Cycle)?,
            others: others.collect(),
            parts,
        })
    }

    /// The batch of these parts, each with what it still depends on.
    pub(super) fn write(&self, round: &[(usize, Vec<usize>)]) -> Bytes {
        let mut json = b"{\"requests\":[".to_vec();
        for (n, (part, depends_on)) in round.iter().enumerate() {
            if n > 0 {
                json.push(b',');
            }
            self.write_part(&mut json, *part, depends_on);
        }
        json.push(b']');
        for (name, value) in &self.others {
            push_member(&mut json, name, value);
        }
        json.push(b'}');
        json.into()
    }

    fn write_part(&self, json: &mut Vec<u8>, part: usize, depends_on: &[usize]) {
        json.push(b'{');
        for (name, value) in &self.parts[part].members {
            push_member(json, name, value);
        }
        if !depends_on.is_empty() {
            let ids = depends_on.iter().map(|other| &self.parts[*other].id_json);
            let ids: Vec<&[u8]> = ids.map(AsRef::as_ref).collect();
            let mut list = b"[".to_vec();
            list.extend_from_slice(&ids.join(&b','));
            list.push(b']');
            push_member(json, "dependsOn", &list);
        }
        json.push(b'}');
    }
}

fn refuse_doubled(parts: &[Part]) -> Result<(), Malformed> {
    for (n, part) in parts.iter().enumerate() {
        if parts[..n].iter().any(|other| other.key == part.key) {
            let id = serde_json::from_slice(&part.id_json).unwrap_or_default();
            return Err(Malformed::DoubledId(id));
        }
    }
    Ok(())
}

/// The places of the parts of these ids, each once.
fn dependencies(parts: &[Part], part: &Part, ids: Vec<String>) -> Result<Vec<usize>, Malformed> {
    let mut places = Vec::new();
    for id in ids {
        let key = key_of(&id);
        let place = parts.iter().position(|other| other.key == key);
        let Some(place) = place else {
            return Err(Malformed::UnknownDependency {
                id: serde_json::from_slice(&part.id_json).unwrap_or_default(),
                other: id,
            });
        };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests;
