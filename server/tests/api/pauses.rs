//! Pauses as they are shown: in the state, on a user's page, with their ends.

use std::time::Duration;

use http::{
    Request, StatusCode,
    header::{CONTENT_TYPE, HOST},
};
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{net::TcpStream, task::JoinHandle, time::timeout};

use crate::support::{NOBODY, TestApp, send};

const LANE: &str = "/api/v1/lanes/graph/background";

/// Begins or ends a pause; says what is in force.
async fn steer(app: &TestApp, act: &str, mut wish: Value) -> Value {
    wish["reason"] = "a test".into();
    let request = Request::post(format!("{LANE}/{act}")).header(CONTENT_TYPE, "application/json");
    let request = request.body(Full::from(wish.to_string())).unwrap();
    let reply = send(app.dashboard, request).await;
    assert!(reply.status.is_success(), "{reply:?}");
    if reply.status == StatusCode::NO_CONTENT {
        return Value::Null;
    }
    reply.json()
}

/// Those in force; of each, who did it and why is looked at here.
async fn pauses(app: &TestApp) -> Value {
    let state = app.get("/api/v1/state").await.json();
    unsigned(state["upstreams"][0]["pauses"].clone())
}

fn unsigned(mut pauses: Value) -> Value {
    for pause in pauses.as_array_mut().into_iter().flatten() {
        let by = pause.as_object_mut().unwrap().remove("by").unwrap();
        assert_eq!(
            (&by["who"], &by["reason"]),
            (&json!("anyone"), &json!("a test"))
        );
        assert!(by["at"].as_str().unwrap().ends_with('Z'), "{by}");
    }
    pauses
}

async fn pauses_of(app: &TestApp, user: &str) -> Vec<String> {
    let path = format!("/api/v1/users/graph/onenote?user={user}&tenant=t&app=a");
    let user = app.get(&path).await.json();
    let pauses = user["pauses"].as_array().cloned().unwrap_or_default();
    let scope = |pause: &Value| pause["scope"].as_str().unwrap().to_owned();
    pauses.iter().map(scope).collect()
}

/// The live stream, read event by event.
struct Stream {
    body: Incoming,
    text: String,
    connection: JoinHandle<Result<(), hyper::Error>>,
}

impl Stream {
    /// Opens it and reads the snapshot.
    async fn open(app: &TestApp) -> Self {
        let socket = TcpStream::connect(app.dashboard).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(socket))
            .await
            .unwrap();
        let connection = tokio::spawn(connection);
        let request = Request::get("/api/v1/live").header(HOST, app.dashboard.to_string());
        let request = request.body(Empty::<bytes::Bytes>::new()).unwrap();
        let body = sender.send_request(request).await.unwrap().into_body();
        let mut stream = Self {
            body,
            text: String::new(),
            connection,
        };
        let snapshot = stream.event().await;
        assert_eq!(snapshot["upstreams"][0]["name"], "graph", "{snapshot}");
        stream
    }

    /// What the next event says.
    async fn event(&mut self) -> Value {
        let whole = async {
            loop {
                if let Some((event, rest)) = self.text.split_once("\n\n") {
                    let data = event.lines().find_map(|line| line.strip_prefix("data:"));
                    let data = serde_json::from_str(data.unwrap()).unwrap();
                    self.text = rest.to_owned();
                    return data;
                }
                let frame = self.body.frame().await.unwrap().unwrap();
                let bytes = frame.into_data().unwrap();
                self.text += std::str::from_utf8(&bytes).unwrap();
            }
        };
        timeout(Duration::from_secs(20), whole).await.unwrap()
    }

    /// The pauses, as soon as an event says that they are others.
    async fn pauses(&mut self) -> Value {
        loop {
            let event = self.event().await;
            let pauses = &event["upstreams"][0]["pauses"];
            if !pauses.is_null() {
                return unsigned(pauses.clone());
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

#[tokio::test]
async fn the_state_shows_the_pauses_in_force_the_widest_first() {
    let app = TestApp::start(NOBODY).await;
    assert_eq!(pauses(&app).await, Value::Null);
    let user = json!({ "scope": "user", "app": "a", "tenant": "t", "user": "u" });
    let tenant = json!({ "scope": "tenant", "app": "a", "tenant": "t" });
    let user_until = steer(&app, "pause", user.clone()).await["until"].clone();
    steer(&app, "pause", tenant).await;
    steer(&app, "pause", json!({ "scope": "app", "app": "b" })).await;
    let all_until = steer(&app, "pause", json!({})).await["until"].clone();
    let shown = pauses(&app).await;
    assert_eq!(shown[0], json!({ "scope": "upstream", "until": all_until }));
    assert_eq!(
        (&shown[1]["scope"], &shown[1]["app"]),
        (&json!("app"), &json!("b"))
    );
    assert_eq!(
        (&shown[2]["scope"], &shown[2]["tenant"]),
        (&json!("tenant"), &json!("t"))
    );
    let mut expected = user.clone();
    expected["until"] = user_until;
    assert_eq!(shown[3], expected);
    // Asked again, it is the same pause with a new end, and each is shown once.
    assert_eq!(shown.as_array().unwrap().len(), 4);
    steer(&app, "resume", json!({})).await;
    assert_eq!(pauses(&app).await.as_array().unwrap().len(), 3);
    app.stop().await;
}

#[tokio::test]
async fn a_user_is_shown_the_pauses_that_stop_it() {
    let app = TestApp::start(NOBODY).await;
    steer(&app, "pause", json!({ "scope": "app", "app": "other" })).await;
    let user = json!({ "scope": "user", "app": "a", "tenant": "t", "user": "u" });
    steer(&app, "pause", user).await;
    assert_eq!(pauses_of(&app, "u").await, ["user"]);
    assert_eq!(pauses_of(&app, "v").await, [""; 0]);
    steer(&app, "pause", json!({})).await;
    let tenant = json!({ "scope": "tenant", "app": "a", "tenant": "t" });
    steer(&app, "pause", tenant).await;
    // Another user: what was computed of one is given again for a moment.
    assert_eq!(pauses_of(&app, "w").await, ["upstream", "tenant"]);
    app.stop().await;
}

#[tokio::test]
async fn the_stream_tells_of_a_pause_and_of_its_end() {
    let app = TestApp::start(NOBODY).await;
    let mut stream = Stream::open(&app).await;
    let told = steer(&app, "pause", json!({})).await;
    let pauses = stream.pauses().await;
    assert_eq!(
        pauses,
        json!([{ "scope": "upstream", "until": told["until"] }])
    );
    steer(&app, "resume", json!({})).await;
    assert_eq!(stream.pauses().await, json!([]));
    app.stop().await;
}

/// Who forced a breaker, and why, stands beside it, also after a restart.
#[tokio::test]
async fn who_forced_a_breaker_is_shown_beside_it() {
    let app = TestApp::start(NOBODY).await;
    let reason = "</script>\u{202e}";
    let wish = json!({ "scope": "app", "app": "a", "reason": reason });
    let request = Request::post("/api/v1/breakers/graph/onenote/open");
    let request = request.header(CONTENT_TYPE, "application/json");
    let request = request.body(Full::from(wish.to_string())).unwrap();
    let forced = send(app.dashboard, request).await.json();
    assert_eq!(forced["by"]["reason"], reason);
    let app = TestApp::start_in(app.stop().await, NOBODY).await;
    let state = app.get("/api/v1/state").await.json();
    let workloads = state["upstreams"][0]["workloads"].as_array().unwrap();
    let onenote = workloads.iter().find(|it| it["name"] == "onenote").unwrap();
    let budgets = onenote["budgets"].as_array().unwrap();
    let budget = budgets.iter().find(|it| it["app"] == "a").unwrap();
    assert_eq!(budget["breaker"]["by"], forced["by"], "{budget}");
    app.stop().await;
}
