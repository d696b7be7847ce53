//! `spillway policy` beside the real server.

use std::{
    path::Path,
    process::Output,
    time::{Duration, Instant},
};

use crate::support::{NOBODY, Process, config_text, raw, spillway, with_server};

fn run(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = spillway();
    command.args(arguments).current_dir(dir).output().unwrap()
}

/// What a command that must succeed prints.
fn done(dir: &Path, arguments: &[&str]) -> String {
    let ended = run(dir, arguments);
    assert!(ended.status.success(), "{arguments:?}: {ended:?}");
    String::from_utf8(ended.stdout).unwrap()
}

/// The exit code of one that must not, and its one line.
fn refused(dir: &Path, arguments: &[&str]) -> (i32, String) {
    let ended = run(dir, arguments);
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(!ended.status.success() && ended.stdout.is_empty(), "{said}");
    (ended.status.code().unwrap(), said.trim_end().to_owned())
}

fn get(server: &Process, path: &str) -> serde_json::Value {
    let dashboard = server.dashboard;
    let head = format!("GET {path} HTTP/1.1\r\nHost: {dashboard}\r\nConnection: close\r\n\r\n");
    let answer = raw(dashboard, &head);
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

fn write(dir: &Path, text: &str) {
    std::fs::write(dir.join("limits.toml"), text).unwrap();
}

const APPLY: [&str; 5] = [
    "policy",
    "apply",
    "limits.toml",
    "--reason",
    "the vendor's mail",
];
const DIFF: [&str; 3] = ["policy", "diff", "limits.toml"];
const ONENOTE: &str = "/api/v1/policies/graph/onenote";

#[test]
fn limits_are_exported_compared_and_applied_and_a_running_server_takes_them_up() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let server = Process::serve(dir, &config_text(dir, NOBODY));
    let exported = done(dir, &["policy", "export"]);
    assert!(
        exported.contains("\n[graph.onenote]\nversion = 1\n"),
        "{exported}"
    );
    assert!(exported.contains("\n[graph._global]\n"), "{exported}");
    write(dir, &exported);
    assert_eq!(done(dir, &DIFF), "");

    let line = "{ scope = \"user\", dimension = \"rate\", window_ms = 60000, limit = 120 }";
    let changed = exported.replacen(line, &line.replace("120", "60"), 1);
    assert_ne!(changed, exported, "{exported}");
    write(dir, &changed);
    let diff = "graph/onenote:\n  user rate 60000 ms: 120 -> 60\n";
    assert_eq!(done(dir, &DIFF), diff);
    let applied = done(dir, &APPLY);
    let begun = Instant::now();
    assert_eq!(
        applied,
        "graph/_global: unchanged, version 1\ngraph/onenote: version 2\n"
    );
    while get(&server, ONENOTE)["in_force"] != true {
        assert!(begun.elapsed() < Duration::from_secs(10), "it is taken up");
    }
    println!("taken up after {:?}", begun.elapsed());
    let user = get(&server, "/api/v1/users/graph/onenote?user=u");
    let budgets = user["budgets"].as_array().unwrap();
    let layers = budgets.iter().find(|it| it["scope"] == "user").unwrap();
    let layers = layers["layers"].as_array().unwrap();
    assert!(layers.iter().any(|it| it["limit"] == 60), "{user}");
    let audited = get(&server, "/api/v1/audit?action=policy.change");
    let entry = &audited["entries"][0];
    assert_eq!(entry["actor"]["kind"], "command_line");
    assert_eq!(
        (&entry["reason"], &entry["after"]["version"]),
        (&"the vendor's mail".into(), &2.into())
    );

    // The file is of version 1, and somebody has been there since: it was this very file.
    let again = changed.replace("limit = 60 ", "limit = 61 ");
    write(dir, &again);
    let said = done(dir, &DIFF);
    assert!(
        said.starts_with("graph/onenote: the file is of version 1, the newest is 2\n"),
        "{said}"
    );
    let (code, said) = refused(dir, &APPLY);
    let late = "spillway: the limits were not changed: the limits of graph/onenote are at version 2 by now, not 1";
    assert_eq!((code, said.as_str()), (1, late));
    server.terminate();
    assert!(server.wait().0.success());
    // Without a server as well.
    write(
        dir,
        &done(dir, &["policy", "export"]).replace("limit = 60 ", "limit = 61 "),
    );
    assert!(done(dir, &APPLY).contains("graph/onenote: version 3\n"));
}

#[test]
fn what_cannot_be_applied_is_said_and_nothing_is_changed() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let config = config_text(dir, NOBODY);
    let server = Process::serve(dir, &config);
    server.terminate();
    assert!(server.wait().0.success());
    let exported = done(dir, &["policy", "export"]);
    for (from, to, says) in [
        (
            "limit = 120 ",
            "limit = 0 ",
            "spillway: limits.toml: graph.onenote.layers[0].limit: a limit of 0",
        ),
        (
            "[graph.onenote]",
            "[graph.twonote]",
            "spillway: limits.toml: there is no workload graph.twonote; configured: graph.onenote, graph._global",
        ),
        (
            "limit = 120 ",
            "limit = 120, burst = 9 ",
            "spillway: limits.toml: line ",
        ),
        (
            "version = 1",
            "version = 1.5",
            "spillway: limits.toml: line ",
        ),
    ] {
        let changed = exported.replace(from, to);
        assert_ne!(changed, exported, "{from}");
        write(dir, &changed);
        let (code, said) = refused(dir, &APPLY);
        assert_eq!(code, 2, "{said}");
        assert!(said.starts_with(says), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    write(dir, &exported);
    assert_eq!(refused(dir, &APPLY[..3]).0, 2, "a reason is needed");
    assert_eq!(
        refused(dir, &["policy", "apply", "limits.toml", "--reason", " "]).0,
        2
    );
    assert_eq!(refused(dir, &["policy", "diff", "none.toml"]).0, 2);
    assert_eq!(done(dir, &["policy", "export"]), exported);
    let files = with_server(&config, "policy_source = 'file'\n");
    std::fs::write(dir.join("spillway.toml"), files).unwrap();
    let (code, said) = refused(dir, &APPLY);
    assert!(
        code == 2 && said.starts_with("spillway: server.policy_source: "),
        "{said}"
    );
}
