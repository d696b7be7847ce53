use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;

use super::*;
use crate::{
    access::TrustedProxies,
    api::{self, Api},
    audit::Trail,
    config::Config,
    floods::Floods,
    http::Shutdown,
    limiter::{Limiters, Recovery},
    live::Publisher,
    metrics::{Counters, Metrics},
    policy::Policies,
    store::Store,
};

fn text() -> Value {
    serde_json::from_slice(&document_text()).unwrap()
}

/// The server's API, as [`serve`](crate::serve) puts it together.
async fn router() -> (axum::Router, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().display();
    let config = Config::parse(&format!(
        "[server]\ndatabase_url = 'sqlite://{at}/a.db'\nstate_dir = '{at}'\n\
         [upstreams.graph]\nbase_url = 'http://127.0.0.1:9/'\npresets = ['onenote']\n"
    ))
    .unwrap();
    let store = Store::open(&config.server.database_url).await.unwrap();
    let limiters = Limiters::open(&config, &store, Recovery::AssumeEmpty, 1);
    let limiters = Arc::new(limiters.await.unwrap());
    let publisher = Arc::new(Publisher::new(Arc::clone(&limiters)));
    let metrics = Metrics::new(Arc::clone(&limiters), Counters::new().unwrap());
    let shutdown = Shutdown::new();
    let policies = Policies::new(store.clone(), Arc::clone(&limiters), false);
    let history = crate::history::History::new(store.clone(), Arc::clone(&limiters));
    let outbox = crate::outbox::Outbox::default();
    let floods = Floods::open(store.clone(), Arc::clone(&limiters), dir.path(), outbox);
    let floods = floods.await.unwrap();
    let trail = Trail {
        store: store.clone(),
        proxies: TrustedProxies::default(),
    };
    let health = Health {
        store,
        limiters: Arc::new(|| Ok(())),
        shutdown: shutdown.clone(),
    };
    (
        Api::new(
            api::Parts {
                limiters,
                publisher,
                metrics,
                policies,
                history,
                floods,
            },
            trail,
            shutdown,
        )
        .routes(health),
        dir,
    )
}

/// The paths of a router. It tells them to people alone.
fn paths(router: &axum::Router) -> BTreeSet<String> {
    let shown = format!("{router:?}");
    let quoted = shown.split('"').skip(1).step_by(2);
    quoted
        .filter(|text| text.starts_with('/'))
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn every_route_of_the_router_is_in_the_document() {
    let (router, _dir) = router().await;
    let mut routes = paths(&router);
    // Whatever else is asked for ends there, as a problem.
    for nowhere in ["/", "/{*__private__axum_fallback}", "/api/{*rest}"] {
        assert!(routes.remove(nowhere), "{routes:?}");
    }
    let documented: BTreeSet<String> = document().paths.paths.into_keys().collect();
    assert!(documented.len() > 10);
    assert_eq!(routes, documented);
}

#[test]
fn it_is_3_1_and_every_operation_is_told_apart() {
    let text = text();
    assert_eq!(text["openapi"], "3.1.0");
    let items = text["paths"].as_object().unwrap().values();
    let operations: Vec<_> = items
        .flat_map(|item| item.as_object().unwrap().values())
        .collect();
    let names: BTreeSet<_> = operations
        .iter()
        .map(|it| it["operationId"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), operations.len());
    for operation in operations {
        let name = &operation["operationId"];
        assert!(operation["summary"].is_string(), "{name}");
        assert_eq!(operation["tags"].as_array().unwrap().len(), 1, "{name}");
        for (status, answer) in operation["responses"].as_object().unwrap() {
            assert!(answer["description"].is_string(), "{name} {status}");
            if status.starts_with(['4', '5']) {
                let problem = &answer["content"]["application/problem+json"]["schema"]["$ref"];
                assert!(problem.is_string(), "{name} {status}");
            }
        }
        let with_token = !operation["security"].is_null();
        let free = ["getHealth", "getReadiness", "getOpenApi"];
        assert_eq!(
            with_token,
            !free.contains(&name.as_str().unwrap()),
            "{name}"
        );
        assert_eq!(
            with_token,
            operation["responses"]["401"].is_object(),
            "{name}"
        );
        for status in ["400", "403", "406", "421"] {
            assert!(
                operation["responses"][status].is_object(),
                "{name} {status}"
            );
        }
    }
}

/// Whatever is pointed at is there.
#[test]
fn no_reference_leads_nowhere() {
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                let own = members.get("$ref").and_then(Value::as_str);
                found.extend(own.map(str::to_owned));
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let text = text();
    let mut found = Vec::new();
    references(&text, &mut found);
    assert!(found.len() > 20);
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(text.pointer(pointer).is_some(), "{reference}");
    }
}
