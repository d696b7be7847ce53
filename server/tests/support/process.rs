//! The real binary.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread::JoinHandle,
    time::Duration,
};

/// How long anything may take before a test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(30);

/// The binary, with no `SPILLWAY…` variable of the machine's own.
pub fn spillway() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_spillway"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SPILLWAY") {
            command.env_remove(name);
        }
    }
    command
}

/// `spillway serve`, running.
pub struct Process {
    child: Child,
    log: JoinHandle<String>,
    lines: mpsc::Receiver<String>,
    pub dashboard: SocketAddr,
    pub gateway: SocketAddr,
}

impl Process {
    /// Starts it with `config` as its file, in `dir`, and waits until it is ready.
    pub fn serve(dir: &Path, config: &str) -> Self {
        Self::start(dir, config, &["serve", "--open", "--log", "debug"])
    }

    /// The same without `--open`.
    pub fn serve_closed(dir: &Path, config: &str) -> Self {
        Self::start(dir, config, &["serve", "--log", "debug"])
    }

    /// The same with a log of less, which must have the line that says where it is.
    pub fn serve_logging(dir: &Path, config: &str, filter: &str) -> Self {
        Self::start(dir, config, &["serve", "--open", "--log", filter])
    }

    /// The same with limits and permits that run so many times faster than the clock.
    pub fn serve_scaled(dir: &Path, config: &str, filter: &str, time_scale: u32) -> Self {
        let scale = time_scale.to_string();
        let command = ["serve", "--open", "--time-scale", &scale, "--log", filter];
        Self::start(dir, config, &command)
    }

    fn start(dir: &Path, config: &str, command: &[&str]) -> Self {
        let file = dir.join("spillway.toml");
        std::fs::write(&file, config).unwrap();
        let mut child = spillway()
            .args(command)
            .args(["--log-format", "json", "--config"])
            .arg(&file)
            .current_dir(dir)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (tell_ready, ready) = mpsc::channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (tell_line, lines) = mpsc::channel();
        let log = std::thread::spawn(move || collect(stderr, &tell_ready, &tell_line));
        let Ok((dashboard, gateway)) = ready.recv_timeout(PATIENCE) else {
            let _ = child.kill();
            panic!("did not get ready:\n{}", log.join().unwrap());
        };
        Self {
            child,
            log,
            lines,
            dashboard,
            gateway,
        }
    }

    /// Its process, for the system to be asked about.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line of its log, of those that were not waited for yet.
    pub fn until_logged(&self, text: &str) {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            if line
                .unwrap_or_else(|_| panic!("never logged: {text}"))
                .contains(text)
            {
                return;
            }
        }
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        self.signal("TERM");
    }

    /// Sends a signal.
    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(
            Command::new("sh")
                .args(["-c", &kill])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Sends SIGKILL and waits.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end; its exit status and all that it logged.
    pub fn wait(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        (status, self.log.join().unwrap())
    }
}

/// Writes `request` as it is and reads until the server closes.
pub fn raw(to: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn collect(
    stderr: impl BufRead,
    tell_ready: &mpsc::Sender<(SocketAddr, SocketAddr)>,
    tell_line: &mpsc::Sender<String>,
) -> String {
    let mut log = String::new();
    for line in stderr.lines() {
        let line = line.unwrap();
        if let Some(ready) = addresses(&line) {
            let _ = tell_ready.send(ready);
        }
        log.push_str(&line);
        log.push('\n');
        let _ = tell_line.send(line);
    }
    log
}

fn addresses(line: &str) -> Option<(SocketAddr, SocketAddr)> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    let address = |name: &str| line[name].as_str()?.split_once("://")?.1.parse().ok();
    Some((address("dashboard")?, address("gateway")?))
}
