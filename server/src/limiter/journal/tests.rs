//! What is in the file, and when.

use std::fs;

use tempfile::NamedTempFile;

use super::*;

fn end(permit: u64) -> Record<'static> {
    Record::Ended {
        permit: Permit(permit),
        at: Instant(0),
    }
}

fn lines(file: &NamedTempFile) -> usize {
    fs::read_to_string(file.path()).unwrap().lines().count()
}

#[test]
fn lines_that_are_gathered_are_written_together_and_once() {
    let file = NamedTempFile::new().unwrap();
    let journal = Journal::new(file.reopen().unwrap());
    let gathered = [1, 2].map(|permit| journal.gather(&end(permit)).unwrap());
    assert_eq!(lines(&file), 0);
    for line in gathered.iter().chain(&gathered) {
        line.write().unwrap();
        assert_eq!(lines(&file), 2);
    }
    let late = journal.gather(&end(3)).unwrap();
    gathered[0].write().unwrap();
    assert_eq!(lines(&file), 2, "it was there before");
    late.write().unwrap();
    assert_eq!(lines(&file), 3);
}

#[test]
fn what_is_written_at_once_takes_with_it_what_was_gathered_before() {
    let file = NamedTempFile::new().unwrap();
    let journal = Journal::new(file.reopen().unwrap());
    journal.gather(&end(1)).unwrap();
    journal.ended(Permit(2), Instant(0)).unwrap();
    let content = fs::read_to_string(file.path()).unwrap();
    let read = content.lines().map(|line| Record::read(line.as_bytes()));
    let read: Vec<_> = read.map(Result::unwrap).collect();
    assert_eq!(read, [end(1), end(2)]);
}

#[test]
fn what_is_gathered_is_bounded() {
    let file = NamedTempFile::new().unwrap();
    let journal = Journal::new(file.reopen().unwrap());
    while lines(&file) == 0 {
        journal.gather(&end(7)).unwrap();
        let gathered = journal.written().gathered.len();
        assert!(gathered <= GATHERED_BYTES_MAX, "{gathered}");
    }
}

#[test]
fn where_nothing_can_be_written_all_who_gathered_are_told() {
    let file = NamedTempFile::new().unwrap();
    let journal = Journal::new(File::open(file.path()).unwrap());
    let gathered = [1, 2].map(|permit| journal.gather(&end(permit)).unwrap());
    for line in &gathered {
        assert!(line.write().is_err());
    }
    assert!(journal.is_broken());
    assert!(journal.gather(&end(3)).is_err());
}
