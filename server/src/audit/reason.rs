//! Why somebody does something, in one line.

/// The longest reason, in characters: a sentence or two.
pub const REASON_CHARS_MAX: usize = 500;

/// A text that is no reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "reason must be 1 to {REASON_CHARS_MAX} characters that can be seen, without control characters"
)]
pub struct NoReason;

/// What it says, without the blanks around it.
///
/// # Errors
/// It says nothing, too much, or has line ends.
pub fn reason(text: &str) -> Result<&str, NoReason> {
    let reason = text.trim();
    let sound = reason.chars().any(is_visible)
        && reason.chars().count() <= REASON_CHARS_MAX
        && !reason.chars().any(char::is_control);
    if sound { Ok(reason) } else { Err(NoReason) }
}

/// Whether a character leaves ink: not a blank, a join, or a mark of direction.
fn is_visible(char: char) -> bool {
    let formats = matches!(
        char,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    );
    !(formats || char.is_whitespace() || char.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_says_something_on_one_line() {
        assert_eq!(reason(" é \t"), Ok("é"));
        assert!(reason(&"é".repeat(REASON_CHARS_MAX)).is_ok());
        for text in [
            "",
            "  ",
            "\u{200b}\u{202e}",
            "a\nb",
            &"x".repeat(REASON_CHARS_MAX + 1),
        ] {
            assert_eq!(reason(text), Err(NoReason), "{text}");
        }
    }
}
