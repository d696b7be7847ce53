//! `spillway user`, beside no server: what it takes, what it says, and how it ends.

use std::{
    io::Write as _,
    path::Path,
    process::{Output, Stdio},
};

use crate::support::{NOBODY, config_text, spillway};

const PASSWORD: &str = "a long enough secret";

fn user(dir: &Path, arguments: &[&str], input: &str) -> Output {
    std::fs::write(dir.join("spillway.toml"), config_text(dir, NOBODY)).unwrap();
    let mut child = spillway()
        .arg("user")
        .args(arguments)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // One that needs no password does not read it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn said(output: Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Its exit code and its one line.
fn refused(output: &Output) -> (Option<i32>, String) {
    assert!(output.stdout.is_empty(), "{output:?}");
    let line = String::from_utf8(output.stderr.clone()).unwrap();
    (output.status.code(), line.trim_end().to_owned())
}

#[test]
fn accounts_are_made_listed_changed_and_removed_without_showing_a_password() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let added = said(user(dir, &["add", "ada", "--role", "admin"], PASSWORD));
    assert!(added.starts_with("added ada, admin ("), "{added}");
    said(user(
        dir,
        &["add", "bob\u{202e}", "--role", "viewer"],
        PASSWORD,
    ));
    let changed = said(user(dir, &["role", "bob\u{202e}", "operator"], ""));
    assert!(
        changed.starts_with("changed the role of bob\\u{202e}, operator ("),
        "{changed}"
    );
    said(user(dir, &["passwd", "ADA"], "another good secret\n"));

    let list = said(user(dir, &["list"], ""));
    let lines: Vec<_> = list.lines().collect();
    assert_eq!(lines.len(), 3, "{list}");
    assert!(
        lines[1].contains("  ada ") && lines[1].contains("  admin "),
        "{list}"
    );
    assert!(lines[2].contains("  bob\\u{202e}  operator  20"), "{list}");
    assert!(
        !list.contains("secret") && !list.contains("argon2"),
        "{list}"
    );

    said(user(dir, &["remove", "bob\u{202e}"], ""));
    assert_eq!(said(user(dir, &["list"], "")).lines().count(), 2);
}

#[test]
fn what_cannot_be_is_said_in_one_line_with_exit_code_2() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    said(user(dir, &["add", "ada", "--role", "admin"], PASSWORD));
    for (arguments, input, line) in [
        (
            &["add", "bob", "--role", "viewer"][..],
            "too short\n",
            "spillway: this password will not do: a password needs at least 12 characters",
        ),
        (
            &["add", "bob", "--role", "viewer"],
            "this is bobs secret",
            "spillway: this password will not do: a password may not contain the name of its account",
        ),
        (
            &["add", "bob", "--role", "viewer"],
            "",
            "spillway: no password: type it on the terminal, or write it to standard input as its first line",
        ),
        (
            &["add", "Ada", "--role", "viewer"],
            PASSWORD,
            "spillway: the accounts were not changed: an account has this name already",
        ),
        (
            &["passwd", "eve"],
            PASSWORD,
            "spillway: no account has the name or id \"eve\"; see `spillway user list`",
        ),
        (
            &["remove", "ada"],
            "",
            "spillway: the accounts were not changed: this is the only admin: make another one first",
        ),
    ] {
        let output = user(dir, arguments, input);
        assert_eq!(
            refused(&output),
            (Some(2), line.to_owned()),
            "{arguments:?}"
        );
    }
    for name in ["", " ada", "a\nb"] {
        let output = user(dir, &["add", name, "--role", "viewer"], PASSWORD);
        let (code, line) = refused(&output);
        assert_eq!(code, Some(2), "{name:?}");
        assert!(line.contains("must be 1 to 64 characters"), "{line}");
    }
}
