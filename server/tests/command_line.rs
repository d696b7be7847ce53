//! The command line as a user meets it: the real binary, its exit codes and its one line.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic"
)]

mod support;

use std::{net::TcpListener, path::Path};

use support::{NOBODY, config_text, spillway};

struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn run(dir: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Ended {
    let output = spillway()
        .args(arguments)
        .envs(variables.iter().copied())
        .current_dir(dir)
        .output()
        .unwrap();
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn served(dir: &Path, config: &str, variables: &[(&str, &str)]) -> Ended {
    std::fs::write(dir.join("spillway.toml"), config).unwrap();
    run(dir, &["serve", "--open", "--log", "off"], variables)
}

/// `config_text` with one of its lines changed.
fn changed(dir: &Path, from: &str, to: &str) -> String {
    let text = config_text(dir, NOBODY);
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

#[test]
fn what_is_wrong_ends_with_one_line_that_names_the_key_and_exit_code_2() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let workload = "[[upstreams.graph.workloads]]\nname = 'x'\npaths = ['/x']\nlayers = [{ scope = 'app', dimension = 'concurrency', limit = 0 }]";
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("listen = '{}'", taken.local_addr().unwrap());
    let at = dir.display();
    let missing = format!(
        "server.database_url: cannot open {at}/missing/spillway.db: No such file or directory (os error 2)\n"
    );
    let folder = format!("server.database_url: cannot open {at}: is a directory\n");
    let cases = [
        (
            changed(dir, "state_dir", "state_dri"),
            "server.state_dri: unknown key; did you mean `state_dir`?",
        ),
        (
            changed(dir, "listen = '127.0.0.1:0'", "listen = '127.0.0.1:99999'"),
            "server.listen: must be an IP address",
        ),
        (
            changed(dir, "listen = '127.0.0.1:0'", "listen = '192.0.2.1:80'"),
            "server.listen: 192.0.2.1:80 is not a loopback",
        ),
        (
            changed(dir, "listen = '127.0.0.1:0'", "listen = '0.0.0.0:0'"),
            "server.listen: 0.0.0.0:0 is not a loopback address, and --open serves on loopback only",
        ),
        (
            changed(dir, "listen = '127.0.0.1:0'", &taken),
            "server.listen: cannot listen on 127.0.0.1:",
        ),
        (
            changed(dir, "http://127.0.0.1:9/", "127.0.0.1:9"),
            "upstreams.graph.base_url: must be an absolute address",
        ),
        (
            changed(dir, "onenote", "twonote"),
            "upstreams.graph.presets[0]: there is no preset \"twonote\"",
        ),
        (
            changed(dir, "presets", "hold_max_ms = 0\npresets"),
            "upstreams.graph.hold_max_ms: must be from 1",
        ),
        (
            format!("{}{workload}", config_text(dir, NOBODY)),
            "upstreams.graph.workloads[0].layers[0].limit: a limit of 0",
        ),
        (changed(dir, "spillway.db", "missing/spillway.db"), &missing),
        (changed(dir, "/spillway.db", ""), &folder),
        (
            changed(dir, "sqlite:", "postgres:"),
            "server.database_url: PostgreSQL is not supported yet",
        ),
        (
            changed(dir, "/state'", "/spillway.toml'"),
            "server.state_dir: cannot write into ",
        ),
        (
            changed(dir, "[upstreams", "tls_key = 'k'\n[upstreams"),
            "server.tls_cert: is needed where server.tls_key is given",
        ),
        (
            format!("{}[mail]\n", config_text(dir, NOBODY)),
            "mail.smtp_url: is missing",
        ),
        ("[server\n".to_owned(), "spillway.toml: line 1: "),
    ];
    for (config, expected) in cases {
        let ended = served(dir, &config, &[]);
        assert_eq!(ended.code, Some(2), "{}\n{config}", ended.stderr);
        let line = ended
            .stderr
            .strip_prefix("spillway: ")
            .unwrap_or_else(|| panic!("{}", ended.stderr));
        assert!(line.starts_with(expected), "{line}\nis not\n{expected}");
        assert_eq!(line.matches('\n').count(), 1, "{line}");
        assert_eq!(ended.stdout, "");
    }
}

#[test]
fn nothing_listens_before_everything_is_right() {
    let dir = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = format!("listen = '{}'", port.local_addr().unwrap());
    // The port is taken: had it been tried first, the message would be about the port.
    for (from, to, key) in [
        ("/spillway.db", "", "server.database_url"),
        ("/state'", "/spillway.toml'", "server.state_dir"),
        ("presets", "preset", "upstreams.graph.preset"),
    ] {
        let config = changed(dir.path(), from, to).replacen("listen = '127.0.0.1:0'", &listen, 1);
        let ended = served(dir.path(), &config, &[]);
        let line = format!("spillway: {key}: ");
        assert!(
            ended.stderr.starts_with(&line),
            "{} is not about {key}",
            ended.stderr
        );
    }
}

#[test]
fn variables_override_the_file_and_their_mistakes_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let config = config_text(dir.path(), NOBODY);
    for (variable, value, expected) in [
        (
            "SPILLWAY__UPSTREAMS__GRAPH__BASE_URL",
            "nowhere",
            "upstreams.graph.base_url: must be",
        ),
        (
            "SPILLWAY__SERVER__LISTN",
            "127.0.0.1:0",
            "server.listn: unknown key; did you mean `listen`?",
        ),
        ("SPILLWAY__SERVER", "x", "server: invalid type"),
    ] {
        let ended = served(dir.path(), &config, &[(variable, value)]);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(
            ended.stderr.starts_with(&format!("spillway: {expected}")),
            "{}",
            ended.stderr
        );
    }
}

const CREATE: [&str; 8] = [
    "token", "create", "--name", "bridge", "--role", "member", "--scope", "gateway",
];

/// A folder with a configuration, and no database yet.
fn configured() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let config = config_text(dir.path(), NOBODY);
    std::fs::write(dir.path().join("spillway.toml"), config).unwrap();
    dir
}

#[test]
fn a_token_is_printed_once_and_alone_then_listed_without_its_secret_and_revoked() {
    let dir = configured();
    let made = run(dir.path(), &CREATE, &[]);
    assert_eq!((made.code, made.stderr.as_str()), (Some(0), ""));
    let secret = made.stdout.strip_suffix('\n').unwrap();
    assert!(
        secret.starts_with("spw_") && secret.len() == 47 && !secret.contains(char::is_whitespace)
    );
    let database = std::fs::read(dir.path().join("spillway.db")).unwrap();
    assert!(
        !database
            .windows(20)
            .any(|part| part == &secret.as_bytes()[4..24])
    );

    let again = run(dir.path(), &CREATE, &[]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(2), ""));
    assert_eq!(
        again.stderr,
        "spillway: the tokens were not changed: a valid token has this name already\n"
    );

    let listed = run(dir.path(), &["token", "list"], &[]);
    assert_eq!((listed.code, listed.stderr.as_str()), (Some(0), ""));
    let lines: Vec<_> = listed.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{}", listed.stdout);
    assert!(
        lines[0].starts_with("ID") && lines[0].ends_with("LAST USED"),
        "{}",
        lines[0]
    );
    let id = lines[1].split_whitespace().next().unwrap();
    let rest: Vec<_> = lines[1].split_whitespace().skip(1).collect();
    assert_eq!(rest, ["bridge", "member", "gateway", "-", "never", "never"]);
    assert!(!listed.stdout.contains(&secret[4..]), "{}", listed.stdout);

    let revoked = run(dir.path(), &["token", "revoke", "bridge"], &[]);
    assert_eq!((revoked.code, revoked.stderr.as_str()), (Some(0), ""));
    assert_eq!(revoked.stdout, format!("revoked bridge ({id})\n"));
    let again = run(dir.path(), &["token", "revoke", id], &[]);
    assert_eq!(again.code, Some(2));
    assert!(
        again.stderr.contains("no valid token has the name or id"),
        "{}",
        again.stderr
    );
    assert_eq!(
        run(dir.path(), &["token", "list"], &[])
            .stdout
            .lines()
            .count(),
        1
    );
}

#[test]
fn tokens_that_cannot_be_are_refused_with_one_line_and_exit_code_2() {
    let dir = configured();
    let create = ["token", "create", "--name", "a"];
    for (arguments, expected) in [
        (
            &["--role", "member", "--scope", "read"][..],
            "no such token can be: the role member may not have the scope read: it needs the role viewer",
        ),
        (
            &["--role", "viewer", "--scope", "gateway,write"],
            "no such token can be: the role viewer may not have the scope write: it needs the role operator",
        ),
        (
            &["--role", "viewer", "--scope", "read", "--app", "x"],
            "no such token can be: the scope read shows all apps",
        ),
        (
            &["--role", "member", "--scope", "permits", "--act-for-users"],
            "no such token can be: acting for users says nothing without the scope gateway",
        ),
        (
            &["--role", "member", "--scope", "gateway", "--site", "s"],
            "no such token can be: a site says nothing without the scope events or write",
        ),
        (
            &[
                "--role",
                "member",
                "--scope",
                "gateway",
                "--upstream",
                "grahp",
            ],
            "there is no upstream \"grahp\"; configured: graph",
        ),
        (
            &[
                "--role",
                "member",
                "--scope",
                "gateway",
                "--expires",
                "2020-01-01T00:00:00Z",
            ],
            "its end must lie ahead",
        ),
    ] {
        let ended = run(dir.path(), &[&create[..], arguments].concat(), &[]);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(2), ""),
            "{arguments:?}"
        );
        let line = ended
            .stderr
            .strip_prefix("spillway: ")
            .unwrap_or(&ended.stderr);
        assert!(line.starts_with(expected), "{line}\nis not\n{expected}");
        assert_eq!(line.lines().count(), 1, "{line}");
        let said: Vec<_> = line.trim_end().split(": ").collect();
        let once: std::collections::BTreeSet<_> = said.iter().collect();
        assert_eq!(said.len(), once.len(), "said twice: {line}");
    }
    // What clap refuses names the option.
    for (arguments, named) in [
        (&["--role", "boss", "--scope", "gateway"][..], "--role"),
        (&["--role", "member", "--scope", "gateway,fly"], "--scope"),
        (&["--role", "member"], "--scope"),
        (&["--scope", "gateway"], "--role"),
        (
            &["--role", "member", "--scope", "gateway", "--lane", "middle"],
            "--lane",
        ),
        (
            &[
                "--role",
                "member",
                "--scope",
                "gateway",
                "--expires",
                "soon",
            ],
            "--expires",
        ),
    ] {
        let ended = run(dir.path(), &[&create[..], arguments].concat(), &[]);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(2), ""),
            "{arguments:?}"
        );
        assert!(ended.stderr.contains(named), "{}", ended.stderr);
    }
    assert_eq!(
        run(dir.path(), &["token", "list"], &[])
            .stdout
            .lines()
            .count(),
        1
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let ended = run(
        dir.path(),
        &["serve", "--open", "--config", "other.toml"],
        &[],
    );
    assert_eq!(ended.code, Some(2));
    assert!(
        ended
            .stderr
            .starts_with("spillway: other.toml: cannot be read: "),
        "{}",
        ended.stderr
    );
}

#[test]
fn every_command_explains_itself() {
    let dir = tempfile::tempdir().unwrap();
    let version = run(dir.path(), &["--version"], &[]);
    assert_eq!(
        version.stdout,
        format!("spillway {}\n", env!("CARGO_PKG_VERSION"))
    );
    let help = run(dir.path(), &["--help"], &[]).stdout;
    for command in ["serve", "demo", "simulate", "token"] {
        assert!(help.contains(command), "{help}");
        let ended = run(dir.path(), &[command, "--help"], &[]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        assert!(
            ended.stdout.contains("Usage: spillway "),
            "{}",
            ended.stdout
        );
    }
}

/// Faster limits would let too much through to a real upstream.
#[test]
fn only_limits_of_a_lookalike_on_this_machine_run_faster() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let elsewhere = changed(dir, "http://127.0.0.1:9/", "https://graph.example/");
    std::fs::write(dir.join("spillway.toml"), elsewhere).unwrap();
    let open = ["serve", "--open", "--log", "off", "--time-scale"];
    let ended = run(dir, &[&open[..], &["60"]].concat(), &[]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    let told = "spillway: upstreams.graph.base_url: graph.example is not this machine";
    assert!(ended.stderr.starts_with(told), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1);
    for wrong in [
        &["serve", "--time-scale", "60"][..],
        &[&open[..], &["0"]].concat(),
    ] {
        let ended = run(dir, wrong, &[]);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains("--open") || ended.stderr.contains("--time-scale"));
    }
}
