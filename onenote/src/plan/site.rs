//! The second pass: links to pages that were not at Notion yet.

use serde_json::{Value, json};

use super::{Request, Under};
use crate::{
    Known, Target, link,
    notion::{Block, Body, Content},
};

/// A block with links that lead nowhere yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The request that makes it, by its place in the plan.
    pub request: usize,
    /// Where in the request it is: the place among its blocks, then among that one's children, and so on.
    pub path: Vec<usize>,
    /// Whether the request's answer has its id: `results[path[0]]`. Otherwise the children of what is above it are to
    /// be listed, level by level.
    pub is_answered: bool,
    /// Where its links should lead, each once.
    pub targets: Vec<Target>,
    body: Body,
}

impl Site {
    /// What `PATCH /v1/blocks/{id}` is sent, so that its links lead to the pages that are known now; `None` as long as
    /// none of them is.
    pub fn update(&self, known: &dyn Known) -> Option<Value> {
        let mut body = self.body.clone();
        let mut found = false;
        for text in body.texts_mut() {
            let page = text.target.as_ref().and_then(|target| known.page(target));
            if let (Some(page), Content::Text { url, .. }) = (page, &mut text.content) {
                *url = Some(link::notion_url(&page));
                found = true;
            }
        }
        if !found {
            return None;
        }
        match &body {
            // Its file stays what it is.
            Body::Upload { kind, caption, .. } => Some(json!({ *kind: { "caption": caption } })),
            body => serde_json::to_value(body).ok(),
        }
    }

    /// The targets that are not known.
    pub fn missing(&self, known: &dyn Known) -> Vec<&Target> {
        let targets = self.targets.iter();
        targets
            .filter(|target| known.page(target).is_none())
            .collect()
    }
}

pub(super) fn sites(requests: &[Request]) -> Vec<Site> {
    let mut sites = Vec::new();
    for (place, request) in requests.iter().enumerate() {
        let mut path = Vec::new();
        within(
            place,
            request.under,
            &request.children,
            &mut path,
            &mut sites,
        );
    }
    sites
}

fn within(
    request: usize,
    under: Under,
    blocks: &[Block],
    path: &mut Vec<usize>,
    sites: &mut Vec<Site>,
) {
    for (place, block) in blocks.iter().enumerate() {
        path.push(place);
        let mut targets: Vec<Target> = Vec::new();
        for target in block.body.texts().filter_map(|text| text.target.as_ref()) {
            if !targets.contains(target) {
                targets.push(target.clone());
            }
        }
        if !targets.is_empty() {
            sites.push(Site {
                request,
                path: path.clone(),
                is_answered: under != Under::NewPage && path.len() == 1,
                targets,
                body: block.body.clone(),
            });
        }
        within(request, under, &block.children, path, sites);
        path.pop();
    }
}
