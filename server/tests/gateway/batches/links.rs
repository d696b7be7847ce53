//! Links in the parts of batches and in their answers, against the lookalike.

use std::future::pending;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use spillway_simulator::{Latency, Settings, Simulator, bearer, serve};
use tokio::net::TcpListener;

use super::{Batches, answer_of, answers, batch_with, envelope};
use crate::support::{TestApp, send};

fn get(id: &str, url: &str) -> Value {
    json!({"id": id, "method": "GET", "url": url})
}

#[tokio::test]
async fn what_a_batch_answers_leads_on_through_the_gateway() {
    let settings = Settings {
        latency: Latency {
            min_ms: 1,
            max_ms: 1,
        },
        ..Settings::default()
    };
    let simulator = Simulator::new(settings).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, simulator.clone(), pending()));
    let config =
        format!("[upstreams.graph]\nbase_url = 'http://{address}/'\npresets = ['onenote']\n");
    let app = TestApp::start(&config).await;
    let here = format!("http://{}/graph/v1.0/", app.gateway);
    let token = format!("Bearer {}", bearer("ann", "t", "app"));
    let headers = [("authorization", token.as_str())];

    let listed = batch_with(&app, &headers, vec![get("1", "/me/onenote/pages?$top=100")]).await;
    let pages = answer_of(&listed, "1")["body"].clone();
    let next = pages["@odata.nextLink"].as_str().unwrap();
    assert!(next.starts_with(&here), "{next}");
    let follow = http::Request::get(next).header("authorization", &token);
    assert_eq!(
        send(app.gateway, follow.body(Default::default()).unwrap())
            .await
            .status,
        200
    );

    // The address of a page's content, made relative as an SDK does it.
    let with_image = pages["value"].as_array().unwrap().iter().map(|page| {
        let url = page["contentUrl"].as_str().unwrap();
        assert!(url.starts_with(&here), "{url}");
        get(
            page["id"].as_str().unwrap(),
            url.strip_prefix(&format!("http://{}", app.gateway))
                .unwrap(),
        )
    });
    let contents = batch_with(&app, &headers, with_image.take(4).collect()).await;
    assert!(
        answers(&contents).iter().all(|(_, status)| *status == 200),
        "{contents:?}"
    );
    let mut images = 0;
    for told in contents.json()["responses"].as_array().unwrap() {
        let html = STANDARD.decode(told["body"].as_str().unwrap()).unwrap();
        let html = String::from_utf8(html).unwrap();
        for source in html.split("src=\"").skip(1) {
            assert!(source.starts_with(&here), "{source}");
            images += 1;
        }
        assert!(!html.contains(&address.to_string()));
    }
    assert!(images > 0, "one page in three has an image");
    app.stop().await;
}

#[tokio::test]
async fn what_a_client_kept_goes_up_as_the_upstream_s_own() {
    let upstream = Batches::start(|_, _| envelope(200, Vec::new())).await;
    let app = TestApp::start(&upstream.rate(100)).await;
    let there = format!("http://{}/v1.0/x", upstream.peer.address);
    let here = format!("http://{}/graph/v1.0/x", app.gateway);
    let page = |url: &str| STANDARD.encode(format!("<img src=\"{url}\">"));
    let text = |url: &str| format!("<p>ü</p>\n<object data='{url}'></object>");
    let parts = |url: &str, root: &str| {
        vec![
            json!({"id": "1", "method": "POST", "url": format!("{root}me?@id={url}"), "body": {"a@odata.bind": url}}),
            json!({"id": "2", "method": "POST", "url": "me", "headers": {"Content-Type": "text/html"}, "body": page(url)}),
            json!({"id": "3", "method": "POST", "url": "me", "headers": {"content-type": "Text/HTML; charset=utf-8"}, "body": text(url)}),
            json!({"id": "4", "method": "POST", "url": "me", "headers": {"Content-Type": "text/plain"}, "body": text(&here)}),
        ]
    };
    batch_with(
        &app,
        &[("spillway-user", "ann")],
        parts(&here, "/graph/v1.0/"),
    )
    .await;
    assert_eq!(upstream.rounds()[0].parts, parts(&there, "/"));
    app.stop().await;
}

/// Graph takes an object for JSON, whatever its part says.
#[tokio::test]
async fn a_part_s_object_is_json_without_a_type_and_its_page_may_be_plain_text() {
    let upstream = Batches::start(|_, parts| {
        let link = parts[0]["body"]["link"].as_str().unwrap();
        let page = format!("<p title=\"ü\"></p><img src=\"{link}/i\">");
        envelope(
            200,
            vec![
                json!({"id": "1", "status": 200, "body": {"value": [{"contentUrl": link}], "@odata.nextLink": link}}),
                json!({"id": "2", "status": 200, "headers": {"content-type": "text/html"}, "body": page}),
            ],
        )
    })
    .await;
    let app = TestApp::start(&upstream.rate(100)).await;
    let there = format!("http://{}/v1.0/x", upstream.peer.address);
    let here = format!("http://{}/graph/v1.0/x", app.gateway);
    let parts = vec![
        json!({"id": "1", "method": "POST", "url": "/me", "body": {"link": there}}),
        get("2", "/me"),
    ];
    let reply = batch_with(&app, &[("spillway-user", "ann")], parts).await;
    assert_eq!(
        answer_of(&reply, "1")["body"],
        json!({"value": [{"contentUrl": here}], "@odata.nextLink": here})
    );
    assert_eq!(
        answer_of(&reply, "2")["body"],
        format!("<p title=\"ü\"></p><img src=\"{here}/i\">")
    );
    app.stop().await;
}
