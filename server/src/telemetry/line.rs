//! One line of the log, written by hand: what `tracing-subscriber` writes of the same fields,
//! for a fraction of the time.

use std::{fmt::Display, io::Write as _};

use jiff::{Timestamp, fmt::temporal::DateTimePrinter};

use super::Format;

/// Most lines fit in so many bytes.
const LINE_USUAL: usize = 640;

/// Microseconds, as the other lines have them.
const TIMES: DateTimePrinter = DateTimePrinter::new().precision(Some(6));

/// A line that is being written.
#[derive(Debug)]
pub struct Line {
    format: Format,
    bytes: Vec<u8>,
}

impl Line {
    /// A line of this level, of five letters.
    pub(super) fn begin(
        format: Format,
        at: Timestamp,
        level: &str,
        target: &str,
        message: &str,
    ) -> Self {
        let mut line = Self {
            format,
            bytes: Vec::with_capacity(LINE_USUAL),
        };
        match format {
            Format::Compact => {
                line.time(at);
                line.raw(" ").raw(level).raw(" ");
                line.raw(target).raw(": ").raw(message);
            }
            Format::Json => {
                line.raw("{\"timestamp\":\"");
                line.time(at);
                line.raw("\",\"level\":\"").raw(level.trim_start());
                line.raw("\",\"target\":\"").raw(target);
                line.raw("\",\"message\":\"").raw(message).raw("\"");
            }
        }
        line
    }

    /// A text that may hold anything.
    pub fn text(&mut self, name: &'static str, text: &str) -> &mut Self {
        self.name(name);
        if is_plain(text) {
            return self.raw("\"").raw(text).raw("\"");
        }
        match self.format {
            Format::Compact => self.display(format_args!("{text:?}")),
            Format::Json => self.json(text),
        }
    }

    /// A text without quotes: one word where it is read by people. It is escaped, so that it
    /// cannot steer a terminal.
    pub fn word(&mut self, name: &'static str, text: &str) -> &mut Self {
        self.name(name);
        let escaped;
        let text = if is_plain(text) {
            text
        } else {
            escaped = text.escape_debug().to_string();
            &escaped
        };
        match self.format {
            Format::Compact => self.raw(text),
            Format::Json if is_plain(text) => self.raw("\"").raw(text).raw("\""),
            Format::Json => self.json(text),
        }
    }

    /// A number.
    pub fn number(&mut self, name: &'static str, number: impl Into<u64>) -> &mut Self {
        self.name(name);
        self.display(number.into())
    }

    /// The whole line, with its line feed.
    pub(super) fn end(mut self) -> Vec<u8> {
        if self.format == Format::Json {
            self.raw("}");
        }
        self.raw("\n");
        self.bytes
    }

    fn name(&mut self, name: &'static str) {
        match self.format {
            Format::Compact => self.raw(" ").raw(name).raw("="),
            Format::Json => self.raw(",\"").raw(name).raw("\":"),
        };
    }

    fn raw(&mut self, text: &str) -> &mut Self {
        self.bytes.extend_from_slice(text.as_bytes());
        self
    }

    fn display(&mut self, value: impl Display) -> &mut Self {
        // Memory takes everything.
        let _ = write!(self.bytes, "{value}");
        self
    }

    fn json(&mut self, text: &str) -> &mut Self {
        let _ = serde_json::to_writer(&mut self.bytes, text);
        self
    }

    fn time(&mut self, at: Timestamp) {
        let _ = TIMES.print_timestamp(&at, &mut self.bytes);
    }
}

/// Whether a text is the same in quotes, in JSON and bare.
fn is_plain(text: &str) -> bool {
    let plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\'' | b'\\');
    text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::{Layer as _, fmt, layer::SubscriberExt as _};

    use super::*;

    /// Hostile to quotes, to JSON and to terminals.
    const TEXTS: [&str; 4] = ["plain", "a \"b\" 'c' \\d", "\u{1b}[31mred\n", "ä\u{7f}"];

    /// What `tracing-subscriber` writes.
    fn library(format: Format, text: &str) -> String {
        let written = Arc::new(Mutex::new(Vec::new()));
        let out = Arc::clone(&written);
        let make = move || Shared(Arc::clone(&out));
        let lines = match format {
            Format::Compact => fmt::layer()
                .compact()
                .with_ansi(false)
                .with_writer(make)
                .boxed(),
            Format::Json => fmt::layer()
                .json()
                .flatten_event(true)
                .with_writer(make)
                .boxed(),
        };
        let subscriber = tracing_subscriber::registry().with(lines);
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(
                target: "a::b",
                quoted = text,
                word = %text.escape_debug(),
                number = 7_u64,
                "done"
            );
        });
        let bytes = written.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn own(format: Format, text: &str) -> String {
        let at = "2026-01-02T03:04:05.000678Z".parse().unwrap();
        let mut line = Line::begin(format, at, " INFO", "a::b", "done");
        line.text("quoted", text)
            .word("word", text)
            .number("number", 7_u64);
        String::from_utf8(line.end()).unwrap()
    }

    #[test]
    fn people_read_what_the_library_would_write() {
        for text in TEXTS {
            let own = own(Format::Compact, text);
            let library = library(Format::Compact, text);
            let (time, rest) = own.split_once(' ').unwrap();
            assert_eq!(time, "2026-01-02T03:04:05.000678Z");
            assert_eq!(rest, library.split_once(' ').unwrap().1);
            assert_eq!(time.len(), library.split_once(' ').unwrap().0.len());
        }
    }

    #[test]
    fn machines_read_what_the_library_would_write() {
        for text in TEXTS {
            let read = |line: String| -> serde_json::Value {
                let mut line: serde_json::Value = serde_json::from_str(&line).unwrap();
                line["timestamp"].take();
                line
            };
            assert_eq!(
                read(own(Format::Json, text)),
                read(library(Format::Json, text))
            );
        }
    }
}
