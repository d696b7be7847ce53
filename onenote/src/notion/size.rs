//! How many bytes something takes as JSON, without making it.

use std::io;

use serde::Serialize;

use super::{Body, FileId};

/// An id as Notion writes them: 36 characters.
const SOME_ID: &str = "00000000-0000-0000-0000-000000000000";

/// What a note takes more than the file in whose place it stands, if that cannot be had.
const NOTE_BYTES: usize = 1_000;

/// The bytes of a block's JSON, without its children; a file that is not uploaded yet counts as if it were, or as a
/// note that it is missing, whichever takes more.
pub fn json_bytes(body: &Body) -> usize {
    match body {
        Body::Upload {
            kind,
            file: FileId::Wanted(_),
            caption,
        } => {
            let file = FileId::Uploaded(SOME_ID.to_owned());
            json_bytes(&Body::Upload {
                kind,
                file,
                caption: caption.clone(),
            }) + NOTE_BYTES
        }
        // The type beside the object: `{"type":"…",…}`.
        body => bytes(body) + body.name().len() + r#"{"type":"","#.len(),
    }
}

/// The bytes of anything's JSON; as many as there can be if it has none.
pub(crate) fn bytes(value: &impl Serialize) -> usize {
    let mut counter = Counter(0);
    match serde_json::to_writer(&mut counter, value) {
        Ok(()) => counter.0,
        Err(_) => usize::MAX / 4,
    }
}

struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::Look,
        notion::{Block, Content, RichText},
    };

    #[test]
    fn the_count_is_that_of_the_json() {
        let text = vec![RichText {
            content: Content::Text {
                content: "a\"\n\u{1}ü".to_owned(),
                url: Some("https://a.example/".to_owned()),
            },
            look: Look {
                bold: true,
                ..Look::PLAIN
            },
            target: None,
        }];
        let file = FileId::Uploaded(SOME_ID.to_owned());
        for body in [
            Body::Paragraph(text.clone()),
            Body::Divider,
            Body::TableRow(vec![text.clone(), Vec::new()]),
            Body::Upload {
                kind: "image",
                file,
                caption: text,
            },
        ] {
            let block = Block {
                body,
                children: Vec::new(),
            };
            let counted = json_bytes(&block.body);
            let json = serde_json::to_string(&block).unwrap();
            assert!(
                (json.len()..=json.len() + 2).contains(&counted),
                "{counted}: {json}"
            );
        }
    }

    #[test]
    fn a_file_that_is_not_there_cannot_be_sent() {
        let body = Body::Upload {
            kind: "image",
            file: FileId::Wanted(3),
            caption: Vec::new(),
        };
        let error = serde_json::to_string(&body).unwrap_err();
        assert_eq!(error.to_string(), "file 3 is not uploaded yet");
        assert!((NOTE_BYTES..NOTE_BYTES + 200).contains(&json_bytes(&body)));
    }
}
