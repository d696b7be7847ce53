//! What can be read of a user's notebooks: lists, part by part, and pages.

use futures_util::{StreamExt as _, stream};
use http::Uri;
use serde::Deserialize;

use super::client::{Client, Error};
use crate::demo::settings::UPSTREAM;

/// The most parts of one list that are asked for.
const PARTS_MAX: usize = 100;

/// One user's notebooks, behind the gateway.
#[derive(Clone, Debug)]
pub(super) struct Notebooks {
    client: Client,
}

/// A part of a list, as Graph answers.
#[derive(Debug, Deserialize)]
struct Part {
    value: Vec<Entry>,
    #[serde(rename = "@odata.nextLink")]
    next: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    id: String,
}

impl Notebooks {
    pub(super) fn new(client: Client) -> Self {
        Self { client }
    }

    /// The ids of all notebooks.
    pub(super) async fn all(&self) -> Result<Vec<String>, Error> {
        self.list("notebooks?$select=id,displayName".to_owned())
            .await
    }

    /// The ids of all sections, those in section groups included.
    pub(super) async fn sections(&self) -> Result<Vec<String>, Error> {
        self.list("sections?$select=id,displayName".to_owned())
            .await
    }

    /// The ids of the sections directly in a notebook.
    pub(super) async fn sections_of(&self, notebook: &str) -> Result<Vec<String>, Error> {
        self.list(format!(
            "notebooks/{notebook}/sections?$select=id,displayName"
        ))
        .await
    }

    /// The ids of a section's pages.
    pub(super) async fn pages_of(&self, section: &str) -> Result<Vec<String>, Error> {
        self.list(format!("sections/{section}/pages?$select=id,title"))
            .await
    }

    /// Reads the pages, `at_once` of them at a time, in order. One that cannot be read is left
    /// out. Dropped, it asks for nothing more: no task outlives its reader.
    pub(super) async fn read(&self, pages: Vec<String>, at_once: usize) {
        let read = async |page| {
            let page = onenote(&format!("pages/{page}/content"));
            drop(self.client.get(&page).await);
        };
        let reading = stream::iter(pages).map(read);
        reading.buffer_unordered(at_once).collect::<()>().await;
    }

    async fn list(&self, path: String) -> Result<Vec<String>, Error> {
        let mut ids = Vec::new();
        let mut next = Some(onenote(&path));
        for _ in 0..PARTS_MAX {
            let Some(path) = next else {
                break;
            };
            let part: Part = serde_json::from_slice(&self.client.get(&path).await?)?;
            ids.extend(part.value.into_iter().map(|entry| entry.id));
            next = part.next.as_deref().and_then(behind_gateway);
        }
        Ok(ids)
    }
}

fn onenote(path: &str) -> String {
    format!("/v1.0/me/onenote/{path}")
}

/// Path and query of a link to the next part, as the gateway's base takes them: the link
/// names the upstream itself, or the gateway already.
fn behind_gateway(link: &str) -> Option<String> {
    let link: Uri = link.parse().ok()?;
    let path = link.path_and_query()?.as_str();
    let rest = path
        .strip_prefix('/')
        .and_then(|path| path.strip_prefix(UPSTREAM));
    Some(
        rest.filter(|rest| rest.starts_with('/'))
            .unwrap_or(path)
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_the_next_part_leads_through_the_gateway() {
        let expected = Some("/v1.0/me/onenote/pages?$select=id&$skip=20".to_owned());
        for base in [
            "http://127.0.0.1:3002",
            "http://127.0.0.1:3001/graph",
            "https://graph.microsoft.com",
        ] {
            assert_eq!(
                behind_gateway(&format!("{base}/v1.0/me/onenote/pages?$select=id&$skip=20")),
                expected
            );
        }
        assert_eq!(
            behind_gateway("http://host/graphics/x"),
            Some("/graphics/x".to_owned())
        );
        assert_eq!(behind_gateway("not a link"), None);
    }
}
