//! Stopping: running answers end first.

use std::time::Duration;

use spillway_simulator::{Latency, Settings, Simulator, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

#[tokio::test]
async fn a_running_answer_is_finished_before_it_stops() {
    let settings = Settings {
        latency: Latency {
            min_ms: 200,
            max_ms: 200,
        },
        ..Settings::default()
    };
    let simulator = Simulator::new(settings).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(serve(listener, simulator.clone(), async {
        let _ = stopped.await;
    }));
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = "GET /v1.0/me HTTP/1.1\r\nHost: x\r\nx-sim-user: u\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    while simulator.stats().arrived == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    stop.send(()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    tokio::time::timeout(Duration::from_secs(6), server)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
}
