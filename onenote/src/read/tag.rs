//! Note tags: `data-tag="to-do:completed,important"`.

use super::flow::Flow;

/// What a page's tags come to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tags {
    /// Whether it is to be done, and if so, whether it is.
    pub(super) to_do: Option<bool>,
    /// The signs of the others, each with a space behind it.
    pub(super) signs: String,
}

/// Tags with a box to tick (learn.microsoft.com/graph/onenote-note-tags).
fn has_box(name: &str) -> bool {
    matches!(
        name,
        "to-do"
            | "to-do-priority-1"
            | "to-do-priority-2"
            | "client-request"
            | "discuss-with-person-a"
            | "discuss-with-person-b"
            | "discuss-with-manager"
            | "schedule-meeting"
            | "call-back"
    )
}

/// A sign for a tag that is not a box; for a box, what it says beside that.
fn sign(name: &str) -> String {
    let sign = match name {
        "to-do" => return String::new(),
        "to-do-priority-1" => "❗1",
        "to-do-priority-2" => "❗2",
        "important" => "⭐",
        "question" => "❓",
        "critical" => "❗",
        "idea" => "💡",
        "password" => "🔑",
        "definition" => "📖",
        "highlight" => "🖍️",
        "contact" => "👤",
        "address" => "🏠",
        "phone-number" => "📞",
        "web-site-to-visit" => "🌐",
        "remember-for-later" => "📌",
        "movie-to-see" => "🎬",
        "book-to-read" => "📚",
        "music-to-listen-to" => "🎵",
        "send-in-email" => "✉️",
        other => return format!("[{}] ", other.chars().take(60).collect::<String>()),
    };
    format!("{sign} ")
}

/// Reads the attribute.
pub(super) fn tags(value: &str) -> Tags {
    let mut tags = Tags::default();
    for tag in value
        .split(',')
        .map(str::trim)
        .filter(|tag| !tag.is_empty())
    {
        let (name, state) = tag.split_once(':').unwrap_or((tag, ""));
        let done = state == "completed";
        if has_box(name) {
            // Ticked when all of them are.
            tags.to_do = Some(tags.to_do.is_none_or(|before| before) && done);
        }
        tags.signs.push_str(&sign(name));
    }
    tags
}

impl Flow {
    /// Takes an element's tags over to the line that begins.
    pub(super) fn tag(&mut self, value: &str) {
        let tags = tags(value);
        self.to_do = tags.to_do.or(self.to_do);
        self.sign.push_str(&tags.signs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_ticked_and_other_tags_have_signs() {
        for (value, to_do, signs) in [
            ("to-do", Some(false), ""),
            ("to-do:completed", Some(true), ""),
            ("to-do:completed,call-back", Some(false), "[call-back] "),
            ("important, question", None, "⭐ ❓ "),
            ("project-a", None, "[project-a] "),
            ("", None, ""),
        ] {
            let signs = signs.to_owned();
            assert_eq!(tags(value), Tags { to_do, signs }, "{value}");
        }
    }
}
