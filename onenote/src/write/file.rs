//! What is to be uploaded, and under which name.

use crate::{
    Resource,
    model::{Attachment, Picture},
};

/// Bytes of a file's name (developers.notion.com/reference/create-a-file-upload).
const NAME_BYTES_MAX: usize = 900;

/// A file that blocks show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Where it is read from.
    pub resource: Resource,
    /// At most 900 bytes, without slashes.
    pub name: String,
    /// As OneNote says it, if it does.
    pub media_type: Option<String>,
    /// What it is shown as.
    pub media: Media,
}

/// What Notion shows a file as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "said by their names")]
pub enum Media {
    Image,
    Pdf,
    Audio,
    Video,
    File,
}

impl Media {
    /// The type of its block.
    pub fn name(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Pdf => "pdf",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::File => "file",
        }
    }
}

impl File {
    /// Pictures have no names of their own: they are numbered.
    pub(super) fn number(&mut self, place: usize) {
        if self.media == Media::Image {
            self.name = format!("picture-{}{}", place + 1, self.name);
        }
    }
}

/// Its name is what it ends in.
pub(super) fn of_picture(picture: &Picture) -> File {
    let end = match picture.media_type.as_deref() {
        Some("image/jpeg" | "image/jpg") => ".jpg",
        Some("image/gif") => ".gif",
        Some("image/bmp") => ".bmp",
        Some("image/tiff") => ".tiff",
        Some("image/webp") => ".webp",
        Some("image/svg+xml") => ".svg",
        _ => ".png",
    };
    File {
        resource: picture.resource.clone(),
        name: end.to_owned(),
        media_type: picture.media_type.clone(),
        media: Media::Image,
    }
}

pub(super) fn of_attachment(attachment: &Attachment) -> File {
    let name = attachment.name.replace(['/', '\\'], "_");
    let name = if name.trim().is_empty() {
        "file".to_owned()
    } else {
        shorten(&name)
    };
    File {
        resource: attachment.resource.clone(),
        media: media(attachment.media_type.as_deref().unwrap_or(""), &name),
        name,
        media_type: attachment.media_type.clone(),
    }
}

fn media(media_type: &str, name: &str) -> Media {
    let end = name
        .rsplit_once('.')
        .map_or("", |(_, end)| end)
        .to_ascii_lowercase();
    match (media_type, &*end) {
        ("application/pdf", _) | (_, "pdf") => Media::Pdf,
        (_, "aac" | "flac" | "m4a" | "mp3" | "oga" | "ogg" | "wav" | "wma") => Media::Audio,
        (_, "avi" | "m4v" | "mkv" | "mov" | "mp4" | "mpeg" | "webm" | "wmv") => Media::Video,
        (kind, _) if kind.starts_with("audio/") => Media::Audio,
        (kind, _) if kind.starts_with("video/") => Media::Video,
        _ => Media::File,
    }
}

/// Its end says what it is, so the cut is before that.
fn shorten(name: &str) -> String {
    if name.len() <= NAME_BYTES_MAX {
        return name.to_owned();
    }
    let (stem, end) = name
        .rsplit_once('.')
        .filter(|(_, end)| end.len() <= 16)
        .unwrap_or((name, ""));
    let dot = if end.is_empty() { "" } else { "." };
    let room = NAME_BYTES_MAX - end.len() - dot.len();
    let cut = (0..=room)
        .rev()
        .find(|at| stem.is_char_boundary(*at))
        .unwrap_or(0);
    format!("{}{dot}{end}", stem.get(..cut).unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, media_type: &str) -> File {
        of_attachment(&Attachment {
            resource: Resource {
                path: String::new(),
                id: String::new(),
            },
            name: name.to_owned(),
            media_type: Some(media_type.to_owned()),
        })
    }

    #[test]
    fn files_are_shown_as_what_they_are() {
        for (name, media_type, media) in [
            ("a.pdf", "application/octet-stream", Media::Pdf),
            ("a", "application/pdf", Media::Pdf),
            ("a.MP3", "", Media::Audio),
            ("a.bin", "video/mp4", Media::Video),
            ("a.docx", "application/vnd.openxmlformats", Media::File),
        ] {
            assert_eq!(named(name, media_type).media, media, "{name}");
        }
    }

    #[test]
    fn names_are_short_and_harmless() {
        assert_eq!(named("../a\\b.txt", "").name, ".._a_b.txt");
        assert_eq!(named(" ", "").name, "file");
        let long = named(&format!("{}.docx", "ü".repeat(600)), "").name;
        assert!(long.len() <= 900 && long.ends_with("ü.docx"), "{long}");
    }
}
