//! A line of text as it grows: white space collapses as browsers show it.

use crate::model::{Content, Link, Look, Text};

/// Text that no block has yet.
#[derive(Debug, Default)]
pub(super) struct Line {
    text: Text,
    /// Whether a space is owed, if more follows; and how it would look.
    space: Option<(Look, Option<Link>)>,
    /// Whether what comes next begins a line, so that spaces before it are not shown.
    mid: bool,
}

impl Line {
    /// Puts text behind, in which runs of white space are one space.
    pub(super) fn push(&mut self, text: &str, look: Look, link: Option<&Link>) {
        let mut letters = String::with_capacity(text.len());
        for c in text.chars() {
            if matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}') {
                if self.mid && self.space.is_none() {
                    self.space = Some((look, link.cloned()));
                }
            } else if is_shown(c) {
                self.pay_space(&mut letters, look, link);
                letters.push(c);
                self.mid = true;
            }
        }
        self.text.push(Content::Letters(letters), look, link);
    }

    /// Puts the owed space where it belongs: to what it was written with.
    fn pay_space(&mut self, letters: &mut String, look: Look, link: Option<&Link>) {
        let Some((space_look, space_link)) = self.space.take() else {
            return;
        };
        if (space_look, space_link.as_ref()) == (look, link) {
            letters.push(' ');
        } else {
            let space = Content::Letters(" ".to_owned());
            self.text.push(space, space_look, space_link.as_ref());
        }
    }

    /// Puts text behind as it is, white space included.
    pub(super) fn push_verbatim(&mut self, text: &str, look: Look, link: Option<&Link>) {
        self.space = None;
        let text: String = text
            .replace("\r\n", "\n")
            .chars()
            .filter(|c| is_shown(*c))
            .collect();
        self.mid = !text.ends_with('\n');
        self.text.push(Content::Letters(text), look, link);
    }

    pub(super) fn formula(&mut self, latex: String, look: Look, link: Option<&Link>) {
        let mut space = String::new();
        self.pay_space(&mut space, look, link);
        self.text.push(Content::Letters(space), look, link);
        self.text.push(Content::Formula(latex), look, link);
        self.mid = true;
    }

    /// Ends a line; the text goes on.
    pub(super) fn break_line(&mut self) {
        self.space = None;
        self.mid = false;
        let look = self.text.runs.last().map_or(Look::PLAIN, |run| run.look);
        let link = self.text.runs.last().and_then(|run| run.link.clone());
        self.text
            .push(Content::Letters("\n".to_owned()), look, link.as_ref());
    }

    /// How much there is, to be compared.
    pub(super) fn length(&self) -> usize {
        let lengths = self
            .text
            .runs
            .iter()
            .rev()
            .take(1)
            .map(|run| match &run.content {
                Content::Letters(text) | Content::Formula(text) => text.len(),
            });
        self.text.runs.len() + lengths.sum::<usize>()
    }

    /// The text, without line breaks at its ends; empty if nobody would see it.
    pub(super) fn take(&mut self) -> Text {
        let mut text = std::mem::take(self).text;
        if text.is_blank() {
            return Text::default();
        }
        trim(&mut text);
        text
    }
}

fn trim(text: &mut Text) {
    while let Some(run) = text.runs.last_mut() {
        let Content::Letters(letters) = &mut run.content else {
            break;
        };
        letters.truncate(letters.trim_end_matches('\n').len());
        if !letters.is_empty() {
            break;
        }
        text.runs.pop();
    }
    let blank = text
        .runs
        .iter_mut()
        .map_while(|run| match &mut run.content {
            Content::Letters(letters) => {
                let begin = letters.len() - letters.trim_start_matches('\n').len();
                letters.drain(..begin);
                letters.is_empty().then_some(())
            }
            Content::Formula(_) => None,
        });
    let blank = blank.count();
    text.runs.drain(..blank);
}

/// Whether a character is shown at all: no control, and no place holder of what is not there.
fn is_shown(c: char) -> bool {
    c == '\n' || c == '\t' || !(c.is_control() || c == '\u{fffc}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_collapses_and_keeps_its_look() {
        let bold = Look {
            bold: true,
            ..Look::PLAIN
        };
        let mut line = Line::default();
        line.push("  a \n\t b", Look::PLAIN, None);
        line.push(" c ", bold, None);
        line.push(" d\u{fffc}\u{7}\u{a0}", Look::PLAIN, None);
        line.break_line();
        line.push(" e", Look::PLAIN, None);
        line.break_line();
        let text = line.take();
        assert_eq!(text.letters(), "a b c d\u{a0}\ne");
        assert_eq!(text.runs[1].content, Content::Letters(" c ".to_owned()));
        line.push(" \u{a0} ", bold, None);
        assert_eq!(line.take(), Text::default());
    }

    #[test]
    fn verbatim_text_keeps_its_spaces() {
        let mut line = Line::default();
        line.push_verbatim("  a\r\n    b\n", Look::PLAIN, None);
        assert_eq!(line.take().letters(), "  a\n    b");
    }
}
