//! What Graph's reads look like over HTTP.

use serde_json::Value;

use crate::support::Lookalike;

/// The path and query of a link to the lookalike.
fn path_of(lookalike: &Lookalike, link: &Value) -> String {
    let base = format!("http://{}", lookalike.address);
    link.as_str()
        .unwrap()
        .strip_prefix(&base)
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn a_client_finds_its_way_by_links_alone() {
    let graph = Lookalike::quick().await;
    let notebooks = graph.get("/v1.0/me/onenote/notebooks").await.json();
    let notebook = &notebooks["value"][0];
    assert_eq!(notebook["userRole"], "Owner");
    let sections = graph
        .get(&path_of(&graph, &notebook["sectionsUrl"]))
        .await
        .json();
    let section = &sections["value"][0];
    assert_eq!(section["parentNotebook"]["id"], notebook["id"]);
    let pages = graph
        .get(&path_of(&graph, &section["pagesUrl"]))
        .await
        .json();
    assert_eq!(pages["value"].as_array().unwrap().len(), 20);
    let page = &pages["value"][0];
    assert_eq!(page["parentSection"]["id"], section["id"]);
    let content = graph.get(&path_of(&graph, &page["contentUrl"])).await;
    assert_eq!(
        content.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert!(content.text().contains("data-absolute-enabled=\"true\""));
}

#[tokio::test]
async fn images_in_pages_lead_to_images() {
    let graph = Lookalike::quick().await;
    let all = "/v1.0/me/onenote/pages?$orderby=order&$select=contentUrl,title";
    let first = &graph.get(all).await.json()["value"][0];
    assert!(first.get("id").is_none() && first.get("title").is_some());
    let html = graph.get(&path_of(&graph, &first["contentUrl"])).await;
    let src = html
        .text()
        .split("src=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .to_owned();
    let image = graph.get(&path_of(&graph, &src.into())).await;
    assert!(image.body.starts_with(b"\x89PNG"));
}

#[tokio::test]
async fn lists_link_from_part_to_part_to_the_end() {
    let graph = Lookalike::quick().await;
    let mut next = "/beta/users/u1/onenote/pages?$top=100&$count=true".to_owned();
    let mut ids = Vec::new();
    loop {
        let list = graph.get(&next).await.json();
        let context = list["@odata.context"].as_str().unwrap();
        assert!(
            context.ends_with("/beta/$metadata#users('u1')/onenote/pages"),
            "{context}"
        );
        ids.extend(
            list["value"]
                .as_array()
                .unwrap()
                .iter()
                .map(|page| page["id"].to_string()),
        );
        match list.get("@odata.nextLink") {
            Some(link) => next = path_of(&graph, link),
            None => break assert_eq!(list["@odata.count"], ids.len()),
        }
    }
    let total = ids.len();
    ids.sort();
    ids.dedup();
    assert!(total > 100 && ids.len() == total, "{total}");
}

#[tokio::test]
async fn section_groups_nest_and_all_sections_lists_the_nested_too() {
    let graph = Lookalike::quick().await;
    let all = graph.get("/v1.0/me/onenote/sections").await.json();
    let notebook = graph.get("/v1.0/me/onenote/notebooks").await.json()["value"][0].clone();
    let mut groups_url = path_of(&graph, &notebook["sectionGroupsUrl"]);
    let (mut depth, mut nested) = (0, 0);
    while let Some(group) = graph.get(&groups_url).await.json()["value"].get(0) {
        depth += 1;
        let sections = graph
            .get(&path_of(&graph, &group["sectionsUrl"]))
            .await
            .json();
        nested += sections["value"].as_array().unwrap().len();
        groups_url = path_of(&graph, &group["sectionGroupsUrl"]);
    }
    let listed = all["value"].as_array().unwrap();
    let in_groups = listed
        .iter()
        .filter(|section| !section["parentSectionGroup"].is_null());
    assert_eq!((depth, nested), (4, in_groups.count()));
}

#[tokio::test]
async fn headers_are_graphs() {
    let graph = Lookalike::quick().await;
    let answer = graph
        .send("GET", "/v1.0/users/p1", &["client-request-id: mine"], "")
        .await
        .unwrap();
    assert_eq!(answer.header("client-request-id"), Some("mine"));
    assert_eq!(answer.header("request-id").unwrap().len(), 36);
    for name in [
        "date",
        "cache-control",
        "x-ms-ags-diagnostic",
        "odata-version",
    ] {
        assert!(answer.header(name).is_some(), "{name}");
    }
    assert_eq!(answer.json()["id"], "p1");
    // What is not OneNote's is not limited.
    assert!(graph.simulator.stats().budgets.is_empty());
}

#[tokio::test]
async fn errors_have_their_dialect() {
    let graph = Lookalike::quick().await;
    for (path, status, code) in [
        ("/v1.0/me/onenote/pages/1-unknown", 404, "20102"),
        ("/v1.0/me/onenote/sections/1-x/pages", 404, "20102"),
        ("/v1.0/me/onenote/resources/1-x/$value", 404, "20102"),
        (
            "/v1.0/me/onenote/resources/large-67108865/$value",
            404,
            "20102",
        ),
        ("/v1.0/me/onenote/pages?$top=101", 400, "20129"),
        ("/v1.0/me/onenote/pages?$filter=x", 400, "10017"),
        ("/v1.0/me/onenote/notebooks?$orderby=x", 400, "10017"),
        ("/v1.0/me/onenote/nothing", 400, "BadRequest"),
        ("/v3.0/me", 400, "BadRequest"),
    ] {
        let answer = graph.get(path).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, code),
            "{path}"
        );
        let inner = &answer.json()["error"]["innerError"];
        assert_eq!(inner["request-id"].as_str(), answer.header("request-id"));
        assert_eq!(inner["date"].as_str().unwrap().len(), 19);
    }
    let nobody = graph.send("GET", "/v1.0/me", &[], "").await.unwrap();
    assert_eq!(
        (nobody.status, nobody.code().as_str()),
        (401, "InvalidAuthenticationToken")
    );
    let put = graph
        .send("PUT", "/v1.0/me/onenote/pages", &["x-sim-user: u"], "{}")
        .await
        .unwrap();
    assert_eq!((put.status, put.header("allow")), (405, Some("GET, POST")));
}

#[tokio::test]
async fn large_bodies_are_streamed() {
    let graph = Lookalike::quick().await;
    let answer = graph
        .get("/v1.0/me/onenote/resources/large-5000001/$value")
        .await;
    assert_eq!(answer.header("content-length"), Some("5000001"));
    assert_eq!(answer.body.len(), 5_000_001);
    assert_eq!(graph.in_flight("u1"), 0);
}
