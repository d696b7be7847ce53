//! What every integration test stands on: a whole server in this process ([`TestApp`]),
//! or the real binary ([`Process`]).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic"
)]
#![allow(dead_code, unused_imports, reason = "each test file uses its part")]

pub mod coded;
pub mod peer;
pub mod people;
mod process;
pub mod tls;

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use spillway_server::{
    access::{Rights, Role, Scope, TokenHash, TokenSecret},
    audit::By,
    config::Config,
    http::Shutdown,
    serve::{self, Options, Ready},
    store::{Store, StoredToken},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::oneshot,
    task::JoinHandle,
};

pub use process::{Process, raw, spillway};

/// An upstream that nobody is to reach.
pub const NOBODY: &str =
    "[upstreams.graph]\nbase_url = 'http://127.0.0.1:9/'\npresets = ['onenote']\n";

/// A whole server on ports of its own, with files of its own.
pub struct TestApp {
    pub dashboard: SocketAddr,
    pub gateway: SocketAddr,
    /// What makes the first admin, if there is none.
    pub set_up: Option<String>,
    shutdown: Shutdown,
    task: JoinHandle<Result<(), serve::Error>>,
    dir: tempfile::TempDir,
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl TestApp {
    /// Starts it with these `[upstreams.…]` sections.
    pub async fn start(upstreams: &str) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), upstreams).await
    }

    /// Starts it on the files of an earlier one, see [`TestApp::stop`].
    pub async fn start_in(dir: tempfile::TempDir, upstreams: &str) -> Self {
        Self::start_with(dir, "", upstreams).await
    }

    /// Starts it with more keys in its `[server]` section.
    pub async fn start_with(dir: tempfile::TempDir, server: &str, upstreams: &str) -> Self {
        Self::run(dir, server, upstreams, 1).await
    }

    /// Starts it with limits and permits that run so many times faster than the clock.
    pub async fn start_scaled(dir: tempfile::TempDir, upstreams: &str, time_scale: u32) -> Self {
        Self::run(dir, "", upstreams, time_scale).await
    }

    /// Starts it with an engine's clock that begins at `at`, which is to come.
    pub async fn start_at(dir: tempfile::TempDir, upstreams: &str, at: jiff::Timestamp) -> Self {
        let text = config_text(dir.path(), upstreams);
        let at = u64::try_from(at.as_millisecond()).unwrap();
        let options = Options {
            open: true,
            not_before: spillway::Instant(at),
            ..Options::default()
        };
        Self::run_as(dir, &text, options).await
    }

    async fn run(dir: tempfile::TempDir, server: &str, upstreams: &str, time_scale: u32) -> Self {
        let text = with_server(&config_text(dir.path(), upstreams), server);
        let options = Options {
            open: true,
            time_scale,
            ..Options::default()
        };
        Self::run_as(dir, &text, options).await
    }

    /// Starts it as it is meant to run: it lets in who brings a token ([`TestApp::token`]).
    pub async fn closed(upstreams: &str) -> Self {
        Self::closed_with("", upstreams).await
    }

    /// The same with more keys in its `[server]` section.
    pub async fn closed_with(server: &str, upstreams: &str) -> Self {
        Self::closed_in(tempfile::tempdir().unwrap(), server, upstreams).await
    }

    /// The same on the files of an earlier one, see [`TestApp::stop`].
    pub async fn closed_in(dir: tempfile::TempDir, server: &str, upstreams: &str) -> Self {
        let text = with_server(&config_text(dir.path(), upstreams), server);
        Self::run_as(dir, &text, Options::default()).await
    }

    /// The same with limits and permits that run so many times faster than the clock.
    pub async fn closed_scaled(upstreams: &str, time_scale: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let text = config_text(dir.path(), upstreams);
        let options = Options {
            time_scale,
            ..Options::default()
        };
        Self::run_as(dir, &text, options).await
    }

    async fn run_as(dir: tempfile::TempDir, text: &str, options: Options) -> Self {
        let config = Config::parse(text).unwrap();
        let shutdown = Shutdown::new();
        let (tell, told) = oneshot::channel::<Ready>();
        let task = tokio::spawn(serve::run(config, options, shutdown.clone(), |ready| {
            let _ = tell.send(ready);
        }));
        let Ok(ready) = told.await else {
            panic!("did not start: {:?}", task.await);
        };
        Self {
            dashboard: address(ready.dashboard.authority().as_str()),
            gateway: address(ready.gateway.authority().as_str()),
            set_up: ready.set_up.map(|key| key.reveal().to_owned()),
            shutdown,
            task,
            dir,
        }
    }

    /// Makes a token beside the running server, as the command line does.
    pub async fn token(&self, rights: Rights) -> String {
        self.token_until(rights, None).await
    }

    /// The same, with an end.
    pub async fn token_until(&self, rights: Rights, expires_at: Option<jiff::Timestamp>) -> String {
        rights.check().unwrap();
        let secret = TokenSecret::random();
        let id = format!("{:016x}", rand::random::<u64>());
        let token = StoredToken {
            name: id.clone(),
            id,
            secret_sha256: secret.hash().to_vec(),
            rights: serde_json::to_string(&rights).unwrap(),
            created_at_ms: 0,
            expires_at_ms: expires_at.map(jiff::Timestamp::as_millisecond),
            last_used_at_ms: None,
        };
        let store = self.store().await;
        store
            .add_token(&token, 100, &By::command_line())
            .await
            .unwrap();
        store.close().await;
        secret.reveal()
    }

    /// Revokes a token beside the running server, as the command line does.
    pub async fn revoke(&self, token: &str) {
        let hash = TokenHash::of(token.as_bytes()).unwrap().to_vec();
        let store = self.store().await;
        let tokens = store.tokens().await.unwrap();
        let token = tokens.iter().find(|token| token.secret_sha256 == hash);
        let revoked = store
            .revoke_token(&token.unwrap().id, 0, &By::command_line())
            .await
            .unwrap();
        assert!(revoked.is_some());
        store.close().await;
    }

    /// The database, on connections of their own.
    pub async fn store(&self) -> Store {
        let url = format!("sqlite://{}/spillway.db", self.dir.path().display());
        Store::open(&url).await.unwrap()
    }

    /// `GET` from the dashboard's listener.
    pub async fn get(&self, path: &str) -> Reply {
        let request = Request::get(path).body(Full::default()).unwrap();
        send(self.dashboard, request).await
    }

    /// Begins to shut it down.
    pub fn begin_shutdown(&self) {
        self.shutdown.begin();
    }

    /// Shuts it down and hands its files over.
    pub async fn stop(self) -> tempfile::TempDir {
        self.shutdown.begin();
        self.task.await.unwrap().unwrap();
        self.dir
    }
}

impl Reply {
    /// The body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {:?}", self.text()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header, empty where it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }
}

/// Holds a paused clock (`start_paused`) where it is, though a test waits for sockets: only
/// `tokio::time::advance` moves it.
pub struct Frozen(std::sync::mpsc::Sender<()>);

impl Frozen {
    /// Until it is dropped. The runtime lets its clock run on by itself whenever it is idle, but
    /// not while a thread is at work for it.
    pub fn hold() -> Self {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        tokio::task::spawn_blocking(move || ended.recv());
        Self(end)
    }
}

/// Rights without bindings.
pub fn rights(role: Role, scopes: &[Scope]) -> Rights {
    Rights {
        role,
        scopes: scopes.iter().copied().collect(),
        upstreams: [].into(),
        apps: [].into(),
        sites: [].into(),
        lane: None,
        act_for_users: false,
    }
}

/// A configuration on free ports and files in `dir`.
pub fn config_text(dir: &std::path::Path, upstreams: &str) -> String {
    let dir = dir.display();
    format!(
        "[server]\nlisten = '127.0.0.1:0'\ngateway_listen = '127.0.0.1:0'\n\
         database_url = 'sqlite://{dir}/spillway.db'\nstate_dir = '{dir}/state'\nsite_dir = '{dir}/site'\n{upstreams}"
    )
}

/// `config` with more keys in its `[server]` section.
pub fn with_server(config: &str, keys: &str) -> String {
    config.replacen("[server]\n", &format!("[server]\n{keys}"), 1)
}

/// Sends `request` on a connection of its own and reads the whole answer. Adds `Host`
/// where the request has none.
pub async fn send(to: SocketAddr, mut request: Request<Full<Bytes>>) -> Reply {
    let host = to.to_string().parse().unwrap();
    request.headers_mut().entry(header::HOST).or_insert(host);
    let stream = TcpStream::connect(to).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    let response = sender.send_request(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    connection.abort();
    Reply {
        status: parts.status,
        headers: parts.headers,
        body,
    }
}

/// Writes `request` as it is and reads until the server closes.
pub async fn raw_async(to: SocketAddr, request: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(to).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A server that closes on what it has not read resets the connection.
    let _ = stream.read_to_end(&mut answer).await;
    answer
}

fn address(authority: &str) -> SocketAddr {
    authority.parse().unwrap()
}
