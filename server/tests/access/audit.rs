//! `spillway audit verify`, beside the real server and over a file that somebody changed.

use std::{path::Path, process::Output};

use crate::support::{NOBODY, Process, config_text, raw, spillway};

fn run(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = spillway();
    command.args(arguments).current_dir(dir).output().unwrap()
}

/// Its exit code, and what it printed on either stream.
fn verify(dir: &Path, head: Option<&str>) -> (i32, String) {
    let mut arguments = vec!["audit", "verify"];
    arguments.extend(head.iter().flat_map(|head| ["--head", head]));
    let ended = run(dir, &arguments);
    let text = [ended.stdout, ended.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    (ended.status.code().unwrap(), text.trim_end().to_owned())
}

fn head(printed: &str) -> String {
    let (_, head) = printed.rsplit_once("head ").unwrap();
    head.to_owned()
}

fn pause(server: &Process, token: &str, reason: &str) {
    let (dashboard, body) = (server.dashboard, format!(r#"{{"reason":"{reason}"}}"#));
    let answer = raw(
        dashboard,
        &format!(
            "POST /api/v1/lanes/graph/background/pause HTTP/1.1\r\nHost: {dashboard}\r\n\
             Authorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        ),
    );
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

fn token(dir: &Path) -> String {
    let create = "token create --name bridge --role operator --scope write";
    let made = run(dir, &create.split(' ').collect::<Vec<_>>());
    assert!(made.status.success(), "{made:?}");
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

/// Writes other bytes of the same length into the database's file.
fn edit(dir: &Path, from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let path = dir.join("spillway.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let mut changed = 0;
    for at in 0..bytes.len() - from.len() {
        if bytes[at..].starts_with(from.as_bytes()) {
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
            changed += 1;
        }
    }
    assert!(changed > 0, "{from} is not in the file");
    std::fs::write(&path, bytes).unwrap();
}

#[test]
fn a_log_is_whole_until_somebody_changes_it_and_every_entry_is_in_the_server_s_log_too() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let server = Process::serve_closed(dir, &config_text(dir, NOBODY));
    let token = token(dir);
    pause(&server, &token, "first reason");
    let (code, early) = verify(dir, None);
    assert_eq!(code, 0, "beside the running server: {early}");
    // Seeds of both limits and of the components' flood policies, the start, the token, the pause.
    assert!(
        early.starts_with("9 entries, all as written; head 9:"),
        "{early}"
    );
    pause(&server, &token, "again, </script>\u{202e}");
    server.terminate();
    let (ended, log) = server.wait();
    assert!(ended.success(), "{log}");
    let (code, late) = verify(dir, None);
    assert_eq!(code, 0, "{late}");
    assert_eq!(verify(dir, Some(&head(&early))), (0, late.clone()));

    // What the server did is in its log with the same number and hash: a head to keep.
    let line = log
        .lines()
        .rfind(|line| line.contains("spillway::audit"))
        .unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let fields = line.get("fields").unwrap_or(&line);
    let logged = format!("{}:{}", fields["seq"], fields["hash"].as_str().unwrap());
    assert_eq!(logged, head(&late));
    assert_eq!(fields["action"], "lane.pause");
    assert!(
        !log.contains('\u{202e}') && !log.contains(&token[4..24]),
        "{log}"
    );

    edit(dir, "first reason", "other reason");
    let (code, said) = verify(dir, None);
    assert_eq!(code, 1, "{said}");
    assert_eq!(
        said,
        "spillway: the audit log is not as it was written: entry 9 was changed, moved or put in: \
         its hash does not follow from entry 8"
    );
    edit(dir, "other reason", "first reason");
    assert_eq!(verify(dir, None), (0, late.clone()));

    // An end that is cut off shows only to who has kept a head.
    let missing = format!("20:{}", "ab".repeat(32));
    let (code, said) = verify(dir, Some(&missing));
    assert!(
        code == 1 && said.ends_with("the log ends with entry 10"),
        "{said}"
    );
    let another = format!("5:{}", "ab".repeat(32));
    let (code, said) = verify(dir, Some(&another));
    assert!(
        code == 1 && said.contains("entry 5 is not the one"),
        "{said}"
    );
}

#[test]
fn where_there_is_no_database_there_is_nothing_to_verify() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    std::fs::write(dir.join("spillway.toml"), config_text(dir, NOBODY)).unwrap();
    let (code, said) = verify(dir, None);
    assert_eq!(code, 2, "{said}");
    assert!(
        said.starts_with("spillway: server.database_url: cannot open "),
        "{said}"
    );
    assert!(!dir.join("spillway.db").exists(), "none was made");
    let ended = run(dir, &["audit", "verify", "--head", "7"]);
    assert_eq!(ended.status.code(), Some(2));
}
