//! The upstream of the storm.

use std::{
    net::{SocketAddr, TcpListener},
    process::{Child, Stdio},
    time::Duration,
};

use http::Request;
use http_body_util::Full;
use serde_json::Value;
use tokio::{
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::{
    PATIENCE, SCALE,
    support::{send, spillway},
};

/// The real lookalike, in a process of its own; killed when dropped.
pub struct Simulator {
    child: Child,
    address: SocketAddr,
}

impl Simulator {
    pub fn start(address: SocketAddr) -> Self {
        let child = spillway()
            .args(["simulate", "--listen", &address.to_string()])
            .args(["--time-scale", &SCALE.to_string(), "--log", "warn"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, address }
    }

    /// Its score, as soon as it answers.
    pub async fn stats(&self) -> Value {
        let asked = async {
            while TcpStream::connect(self.address).await.is_err() {
                sleep(Duration::from_millis(10)).await;
            }
            let request = Request::get("/_sim/stats").body(Full::default()).unwrap();
            send(self.address, request).await.json()
        };
        timeout(PATIENCE, asked).await.unwrap()
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that is free, and was not used before.
pub fn free_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}
