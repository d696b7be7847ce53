//! Text to runs that are short enough, and few enough for one block.

use crate::{
    Kind, Known, Warnings, link,
    model::{self, Link, Look, Text},
    notion::{Content, RichText},
};

use super::FORMULA_CHARS_MAX;

/// Characters in a run's content (developers.notion.com/reference/request-limits, "rich text object"); counted in
/// UTF-16, the larger of the two ways to count them.
const CONTENT_CHARS_MAX: usize = 2_000;

/// Runs in a block (the same page: "any array of block types, including rich text objects").
const RUNS_MAX: usize = 100;

/// Bytes of JSON in one text: Notion says 500 kB for a request, and blocks should still be able to share one.
const TEXT_BYTES_MAX: usize = 100_000;

/// What a run's JSON takes at most beside its content and its link: braces, names and annotations.
const RUN_BYTES: usize = 240;

/// How much one text may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) bytes: usize,
}

/// What a block by itself may have.
pub(super) const NO_LIMITS_BUT_NOTIONS: Limits = Limits {
    bytes: TEXT_BYTES_MAX,
};

/// How long Notion thinks that a text is.
pub(super) fn length(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// A text as the texts of as many blocks as it needs; at least one, unless it is empty.
pub(super) fn pieces(
    text: Text,
    limits: Limits,
    known: &dyn Known,
    warnings: &mut Warnings,
) -> Vec<Vec<RichText>> {
    let mut cutter = Cutter {
        limits,
        done: Vec::new(),
        piece: Vec::new(),
        bytes: 0,
    };
    for run in text.runs {
        let (url, target) = lead(run.link.as_ref(), known);
        match run.content {
            model::Content::Letters(letters) => cutter.letters(&letters, run.look, url, target),
            model::Content::Formula(latex) if length(&latex) <= FORMULA_CHARS_MAX => {
                let bytes = json_length(&latex);
                let content = Content::Equation(latex);
                cutter.push(
                    RichText {
                        content,
                        look: run.look,
                        target: None,
                    },
                    bytes,
                );
            }
            model::Content::Formula(latex) => {
                warnings.add(Kind::FormulaLength, &latex, "");
                cutter.letters(
                    &latex,
                    Look {
                        code: true,
                        ..run.look
                    },
                    url,
                    target,
                );
            }
        }
    }
    cutter.end()
}

/// Where a run leads now, and where it will.
fn lead(link: Option<&Link>, known: &dyn Known) -> (Option<String>, Option<crate::Target>) {
    match link {
        None => (None, None),
        Some(Link::Web(url)) => (Some(url.clone()), None),
        Some(Link::Page(target)) => match known.page(target) {
            Some(page) => (Some(link::notion_url(&page)), None),
            None => (None, Some(target.clone())),
        },
    }
}

struct Cutter {
    limits: Limits,
    done: Vec<Vec<RichText>>,
    piece: Vec<RichText>,
    bytes: usize,
}

impl Cutter {
    fn letters(
        &mut self,
        letters: &str,
        look: Look,
        url: Option<String>,
        target: Option<crate::Target>,
    ) {
        let mut rest = letters;
        while !rest.is_empty() {
            let overhead = RUN_BYTES + url.as_deref().map_or(0, json_length);
            let room = self.limits.bytes.saturating_sub(overhead).max(MIN_BYTES);
            let (content, more, bytes) = cut(rest, room);
            rest = more;
            let content = Content::Text {
                content: content.to_owned(),
                url: url.clone(),
            };
            let run = RichText {
                content,
                look,
                target: target.clone(),
            };
            self.push(run, bytes + overhead - RUN_BYTES);
        }
    }

    fn push(&mut self, run: RichText, bytes: usize) {
        let bytes = bytes + RUN_BYTES;
        let full = self.piece.len() >= RUNS_MAX || self.bytes + bytes > self.limits.bytes;
        if full && !self.piece.is_empty() {
            self.done.push(std::mem::take(&mut self.piece));
            self.bytes = 0;
        }
        self.bytes += bytes;
        self.piece.push(run);
    }

    fn end(mut self) -> Vec<Vec<RichText>> {
        if !self.piece.is_empty() {
            self.done.push(self.piece);
        }
        self.done
    }
}

/// However little room there is, a run says something.
const MIN_BYTES: usize = 64;

/// As much of a text as one run takes and there is room for, the rest, and the bytes that it takes as JSON.
fn cut(text: &str, room: usize) -> (&str, &str, usize) {
    let (mut chars, mut bytes) = (0, 0);
    for (at, c) in text.char_indices() {
        let more = char_json_length(c);
        if chars + c.len_utf16() > CONTENT_CHARS_MAX || bytes + more > room {
            let (head, tail) = text.split_at(at);
            return (head, tail, bytes);
        }
        chars += c.len_utf16();
        bytes += more;
    }
    (text, "", bytes)
}

fn json_length(text: &str) -> usize {
    text.chars().map(char_json_length).sum()
}

fn char_json_length(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        c if c < ' ' => 6,
        c => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_up(text: Text) -> Vec<Vec<RichText>> {
        pieces(text, NO_LIMITS_BUT_NOTIONS, &(), &mut Warnings::default())
    }

    fn lengths(pieces: &[Vec<RichText>]) -> Vec<Vec<usize>> {
        let run = |run: &RichText| match &run.content {
            Content::Text { content, .. } => length(content),
            Content::Equation(latex) => length(latex),
        };
        pieces
            .iter()
            .map(|piece| piece.iter().map(run).collect())
            .collect()
    }

    #[test]
    fn runs_end_at_two_thousand_characters_as_notion_counts_them() {
        assert_eq!(lengths(&cut_up(Text::plain("a".repeat(2_000)))), [[2_000]]);
        assert_eq!(
            lengths(&cut_up(Text::plain("a".repeat(4_001)))),
            [[2_000, 2_000, 1]]
        );
        // Two units of UTF-16 each, and never cut in two.
        assert_eq!(
            lengths(&cut_up(Text::plain(format!("a{}", "😀".repeat(1_000))))),
            [[1_999, 2]]
        );
        assert_eq!(cut_up(Text::default()), Vec::<Vec<RichText>>::new());
    }

    #[test]
    fn a_block_has_a_hundred_runs_and_a_hundred_kilobytes() {
        let mut text = Text::default();
        for n in 0..250 {
            let look = Look {
                bold: n % 2 == 0,
                ..Look::PLAIN
            };
            text.push(model::Content::Letters(n.to_string()), look, None);
        }
        let counts: Vec<_> = cut_up(text).iter().map(Vec::len).collect();
        assert_eq!(counts, [100, 100, 50]);
        let pieces = cut_up(Text::plain("\u{1}ü".repeat(100_000)));
        assert!(
            pieces
                .iter()
                .all(|piece| serde_json::to_string(piece).unwrap().len() <= TEXT_BYTES_MAX)
        );
        assert_eq!(lengths(&pieces).iter().flatten().sum::<usize>(), 200_000);
    }
}
