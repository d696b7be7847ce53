//! Where log lines wait to be written.
//!
//! A line that is written by itself costs a call of the system, and a reader that is slow or
//! stopped would stop the server. So lines are gathered for a moment and written together by a
//! thread of their own; warnings are not kept waiting. What finds no room is lost, and the loss
//! is said.

use std::{
    io::{self, Write},
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

use super::{Format, Line};

/// How much may wait, in bytes: of calls' lines some ten thousand, a tenth of a second at the
/// most that one processor serves.
const WAITING_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How long lines are gathered. A process that is killed loses as much of them.
const GATHER: Duration = Duration::from_millis(20);

/// Takes lines and keeps nobody waiting. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Sink(Arc<Shared>);

struct Shared {
    waiting: Mutex<Waiting>,
    more: Condvar,
    /// How what is said of losses looks.
    format: Format,
    /// Held while lines are written, so that they keep their order.
    out: Mutex<Box<dyn Write + Send>>,
}

#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    /// How many found no room.
    lost: u64,
    /// Whether one of them is not to be kept waiting.
    urgent: bool,
}

/// Writes one line at a time.
#[derive(Debug)]
pub(super) struct Pen<'a> {
    sink: &'a Sink,
    urgent: bool,
}

impl Sink {
    /// Lines go to `out`, written by a thread of their own.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(super) fn to(out: impl Write + Send + 'static, format: Format) -> io::Result<Self> {
        let sink = Self::unwritten(out, format);
        let shared = Arc::clone(&sink.0);
        let writer = thread::Builder::new().name("log".into());
        let begun = writer.spawn(move || shared.write_forever());
        begun.map(|_| sink)
    }

    fn unwritten(out: impl Write + Send + 'static, format: Format) -> Self {
        Self(Arc::new(Shared {
            waiting: Mutex::default(),
            more: Condvar::new(),
            format,
            out: Mutex::new(Box::new(out)),
        }))
    }

    /// Takes a whole line, with its line feed.
    pub(super) fn take(&self, line: &[u8], urgent: bool) {
        let mut waiting = self.waiting();
        if waiting.lines.len() + line.len() > WAITING_BYTES_MAX {
            waiting.lost += 1;
            return;
        }
        let wakes = waiting.lines.is_empty() || (urgent && !waiting.urgent);
        waiting.lines.extend_from_slice(line);
        waiting.urgent |= urgent;
        drop(waiting);
        if wakes {
            self.0.more.notify_one();
        }
    }

    /// Writes what waits, now.
    pub(super) fn flush(&self) {
        self.0.flush(&mut Vec::new());
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.0.waiting)
    }
}

impl Shared {
    fn write_forever(&self) {
        let mut written = Vec::new();
        loop {
            let waiting = lock(&self.waiting);
            let some = self.more.wait_while(waiting, |it| it.lines.is_empty());
            let some = some.unwrap_or_else(PoisonError::into_inner);
            drop(self.more.wait_timeout_while(some, GATHER, |it| !it.urgent));
            self.flush(&mut written);
        }
    }

    /// Writes what waits; `spare` is what lines are gathered in next.
    fn flush(&self, spare: &mut Vec<u8>) {
        let mut out = lock(&self.out);
        let lost = {
            let mut waiting = lock(&self.waiting);
            mem::swap(&mut waiting.lines, spare);
            waiting.urgent = false;
            mem::take(&mut waiting.lost)
        };
        if lost > 0 {
            let message = "log lines were lost, since they are not read as fast as they come";
            let now = jiff::Timestamp::now();
            let mut line = Line::begin(self.format, now, " WARN", "spillway::log", message);
            line.number("lines", lost);
            spare.extend_from_slice(&line.end());
        }
        // Nobody is left to tell where standard error is closed.
        let _ = out.write_all(spare);
        spare.clear();
    }
}

/// Lines are whole at any point of a panic.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sink").finish_non_exhaustive()
    }
}

impl<'a> MakeWriter<'a> for Sink {
    type Writer = Pen<'a>;

    fn make_writer(&'a self) -> Pen<'a> {
        Pen {
            sink: self,
            urgent: false,
        }
    }

    fn make_writer_for(&'a self, of: &Metadata<'_>) -> Pen<'a> {
        Pen {
            sink: self,
            urgent: *of.level() <= Level::WARN,
        }
    }
}

impl Write for Pen<'_> {
    /// `tracing-subscriber` writes each line at once.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.sink.take(line, self.urgent);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// What was written, one write at a time.
    struct Reader(mpsc::Sender<String>);

    impl Write for Reader {
        fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
            let text = String::from_utf8(lines.to_vec()).unwrap();
            self.0.send(text).map_err(io::Error::other)?;
            Ok(lines.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_are_written_in_their_order_and_by_themselves() {
        let (out, written) = mpsc::channel();
        let sink = Sink::to(Reader(out), Format::Compact).unwrap();
        for n in 0..100 {
            sink.take(format!("{n}\n").as_bytes(), n == 99);
        }
        let mut text = String::new();
        while !text.ends_with("99\n") {
            text += &written.recv().unwrap();
        }
        let lines: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(lines, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn what_finds_no_room_is_lost_and_counted() {
        let (out, written) = mpsc::channel();
        let sink = Sink::unwritten(Reader(out), Format::Compact);
        let line = [b'x'; 1024];
        for _ in 0..WAITING_BYTES_MAX / line.len() + 3 {
            sink.take(&line, false);
        }
        sink.flush();
        drop(sink);
        let text: String = written.into_iter().collect();
        let (lines, loss) = text.split_at(WAITING_BYTES_MAX);
        assert!(lines.bytes().all(|byte| byte == b'x'));
        assert!(
            loss.contains(" WARN ") && loss.ends_with(" lines=3\n"),
            "{loss}"
        );
    }
}
