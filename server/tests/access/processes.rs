//! Tokens between processes: the command line beside the real server.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::Path,
    time::{Duration, Instant},
};

use crate::PAGES;
use crate::support::{NOBODY, Process, config_text, raw, spillway};

fn command(dir: &Path, arguments: &[&str]) -> String {
    let output = spillway()
        .args(arguments)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

/// The status of a call that is not let through to anybody.
fn status(server: &Process, token: &str) -> String {
    let gateway = server.gateway;
    let answer = raw(
        gateway,
        &format!(
            "GET {PAGES} HTTP/1.1\r\nHost: {gateway}\r\nSpillway-Token: {token}\r\n\
             Authorization: Bearer opaque\r\nSpillway-Wait-Ms: 0\r\nConnection: close\r\n\r\n"
        ),
    );
    answer.split(' ').nth(1).unwrap().to_owned()
}

#[test]
fn a_token_made_or_revoked_beside_a_running_server_counts_within_a_second_and_is_never_logged() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let server = Process::serve_closed(dir, &config_text(dir, NOBODY));
    let create = [
        "token",
        "create",
        "--name",
        "bridge",
        "--role",
        "viewer",
        "--scope",
        "gateway,read",
    ];
    let token = command(dir, &create);
    // Nobody is upstream, which only those learn who are let in.
    assert_eq!(status(&server, &token), "502");

    let dashboard = server.dashboard;
    let state = format!(
        "GET /api/v1/state HTTP/1.1\r\nHost: {dashboard}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    );
    assert!(raw(dashboard, &state).starts_with("HTTP/1.1 200"));
    let begun = Instant::now();
    while command(dir, &["token", "list"]).contains(" never\n")
        || !command(dir, &["token", "list"]).contains("bridge")
    {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "its use is noted"
        );
    }
    command(dir, &["token", "revoke", "bridge"]);
    let revoked = Instant::now();
    while status(&server, &token) != "401" {
        assert!(
            revoked.elapsed() < Duration::from_secs(1),
            "{:?}",
            revoked.elapsed()
        );
    }
    assert!(raw(dashboard, &state).starts_with("HTTP/1.1 401"));

    for to in [server.gateway, dashboard] {
        let by_mistake = format!(
            "GET {PAGES}/{token}?t={token} HTTP/1.1\r\nHost: {to}\r\nX-Api-Key: {token}\r\n\
             Connection: close\r\n\r\n"
        );
        let reply = raw(to, &by_mistake);
        let refused = reply.starts_with("HTTP/1.1 4") || reply.contains("location: /sign-in\r\n");
        assert!(refused, "{reply}");
    }

    server.terminate();
    let (ended, log) = server.wait();
    assert_eq!(ended.code(), Some(0), "{log}");
    assert!(log.contains("\"reason\":\"unauthorized\""), "{log}");
    assert!(log.contains("(a path with a token)"), "{log}");
    assert!(
        !log.contains("spw_") && !log.contains(&token[4..24]),
        "{log}"
    );
}

/// Counters, keys and names of users are nobody else's business.
#[test]
fn every_file_that_the_server_makes_is_its_user_s_alone() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let server = Process::serve(dir, &config_text(dir, NOBODY));
    let gateway = server.gateway;
    let call = format!(
        "GET {PAGES} HTTP/1.1\r\nHost: {gateway}\r\nAuthorization: Bearer opaque\r\n\
         Spillway-Wait-Ms: 0\r\nConnection: close\r\n\r\n"
    );
    assert!(raw(gateway, &call).starts_with("HTTP/1.1 502"));
    let running = modes(dir);
    server.terminate();
    assert!(server.wait().0.success());
    let ended = modes(dir);
    for name in ["spillway.db", "spillway.lock", "caller-keys.secret"] {
        assert!(running.iter().any(|(it, _)| it == name), "{running:?}");
    }
    for (extension, files) in [
        ("db-wal", &running),
        ("journal", &running),
        ("full", &ended),
    ] {
        let named = |(name, _): &&(String, u32)| name.ends_with(extension);
        assert!(files.iter().any(|it| named(&it)), "{extension}: {files:?}");
    }
    for (name, mode) in running.iter().chain(&ended) {
        let expected = if name == "state" { 0o700 } else { 0o600 };
        assert_eq!(*mode, expected, "{name}: {mode:o}");
    }
}

/// Name and mode of all that lies in `dir`, but for the configuration.
fn modes(dir: &Path) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if name != "spillway.toml" {
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            found.push((name, mode));
        }
        if entry.path().is_dir() {
            found.extend(modes(&entry.path()));
        }
    }
    found
}
