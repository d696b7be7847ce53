//! Where a password comes from: a terminal that does not show it, or standard input.

use std::io::{self, BufRead as _, IsTerminal as _};

use super::Error;

/// More than the longest password, in bytes.
const LINE_BYTES_MAX: u64 = 1_024;

/// What is typed twice on the terminal, or the first line of standard input where that is none.
pub(super) fn password(name: &str) -> Result<String, Error> {
    if !io::stdin().is_terminal() {
        return first_line(io::stdin().lock());
    }
    // The name may be anything; nothing in it may steer the terminal.
    let name = name.escape_debug();
    let ask = |prompt| rpassword::prompt_password(prompt).map_err(Error::Terminal);
    let password = ask(format!("Password for {name}: "))?;
    if ask("The same again: ".to_owned())? == password {
        Ok(password)
    } else {
        Err(Error::Differ)
    }
}

fn first_line(input: impl io::BufRead) -> Result<String, Error> {
    let mut line = String::new();
    let read = input.take(LINE_BYTES_MAX).read_line(&mut line);
    read.map_err(Error::Terminal)?;
    let line = line.strip_suffix('\n').unwrap_or(&line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.is_empty() {
        return Err(Error::NoPassword);
    }
    Ok(line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_the_password_whatever_ends_it() {
        for text in [
            "secret of mine",
            "secret of mine\n",
            "secret of mine\r\nmore",
        ] {
            assert_eq!(first_line(text.as_bytes()).unwrap(), "secret of mine");
        }
        for text in ["", "\n"] {
            let error = first_line(text.as_bytes()).unwrap_err();
            assert!(matches!(error, Error::NoPassword), "{error}");
        }
    }
}
