//! A lookalike on a real port, and the plainest HTTP client there can be.

use std::future::pending;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use spillway_simulator::{Settings, Simulator, bearer, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A running lookalike; it ends with the test's runtime.
pub struct Lookalike {
    pub address: SocketAddr,
    pub simulator: Simulator,
}

/// An answer, or what came of it before the connection broke.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Lookalike {
    pub async fn start(settings: Settings) -> Self {
        let simulator = Simulator::new(settings).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(listener, simulator.clone(), pending()));
        Self { address, simulator }
    }

    /// With calls that take a few milliseconds.
    pub async fn quick() -> Self {
        Self::start(Settings {
            time_scale: 100,
            ..Settings::default()
        })
        .await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.get_as("u1", path).await
    }

    pub async fn get_as(&self, user: &str, path: &str) -> Answer {
        let token = format!("Authorization: Bearer {}", bearer(user, "t1", "notes"));
        self.send("GET", path, &[&token], "").await.unwrap()
    }

    pub async fn inject(&self, order: &str) -> Answer {
        let json = "Content-Type: application/json";
        self.send("POST", "/_sim/faults", &[json], order)
            .await
            .unwrap()
    }

    /// Sends a request and reads until the connection ends; none where not a byte came back.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[&str],
        body: &str,
    ) -> Option<Answer> {
        let mut stream = self.request(method, path, headers, body).await;
        let mut bytes = Vec::new();
        // A connection that breaks may end with an error; what came before it counts.
        let _ = stream.read_to_end(&mut bytes).await;
        (!bytes.is_empty()).then(|| parse(&bytes))
    }

    /// Sends a request and leaves the answer to the caller.
    pub async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[&str],
        body: &str,
    ) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.address);
        for header in headers {
            head += &format!("{header}\r\n");
        }
        head += &format!(
            "Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    }

    /// Waits until `done` says so of the calls in flight of a user; fails after ten seconds.
    pub async fn until_in_flight(&self, user: &str, done: impl Fn(u32) -> bool) {
        let wait = async {
            while !done(self.in_flight(user)) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), wait)
            .await
            .unwrap();
    }

    pub fn in_flight(&self, user: &str) -> u32 {
        let budgets = self.simulator.stats().budgets;
        let budget = budgets.iter().find(|budget| budget.user == user);
        budget.and_then(|b| b.layers.last()?.in_flight).unwrap_or(0)
    }
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let header = self
            .headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name));
        header.map(|(_, value)| value.as_str())
    }

    /// The code in an error body.
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap().to_owned()
    }
}

fn parse(bytes: &[u8]) -> Answer {
    let split = bytes.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let head = std::str::from_utf8(&bytes[..split]).unwrap();
    let mut lines = head.lines();
    let status = lines
        .next()
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let pair = |line: &str| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_owned(), value.trim().to_owned())
    };
    Answer {
        status,
        headers: lines.map(pair).collect(),
        body: bytes[split + 4..].to_vec(),
    }
}
