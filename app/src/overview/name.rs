//! How names are shown that clients chose: users, tenants, apps.
//!
//! A name can hold anything that fits into a header or a token: characters that turn the
//! text around them, that nobody sees, or nothing at all. Shown as they are they could make
//! one user look like another, or rewrite the sentence that names them.

/// What stands for a name of nothing but spaces.
const BLANK: &str = "(blank)";

/// The name with everything invisible or misleading as a visible escape, `\u{202e}`, and
/// `(blank)` for nothing.
#[must_use]
pub fn visible(name: &str) -> String {
    if name.trim_matches(' ').is_empty() {
        return BLANK.to_owned();
    }
    let mut text = String::with_capacity(name.len());
    let mut spaced = true;
    for c in name.chars() {
        if is_misleading(c) || (c == ' ' && spaced) {
            text.extend(c.escape_unicode());
        } else {
            text.push(c);
        }
        spaced = c == ' ';
    }
    if spaced {
        // A browser shows no space at the end.
        text.truncate(text.trim_end_matches(' ').len());
        text += "\\u{20}";
    }
    text
}

/// The name within a sentence: [`visible`], and kept from ordering the words around it by
/// its own direction. Where a name has its own element, `<bdi>` does that.
#[must_use]
pub fn in_words(name: &str) -> String {
    let name = visible(name);
    match name.is_ascii() {
        true => name,
        false => ["\u{2068}", &name, "\u{2069}"].concat(),
    }
}

/// Whether nobody sees it, it looks like a plain space and is none, or it turns the
/// direction of what stands around it.
fn is_misleading(c: char) -> bool {
    matches!(
        c,
        '\0'..='\u{1f}'
            | '\u{7f}'..='\u{a0}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{1680}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{2000}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}'
            | '\u{205f}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3000}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_stay_as_they_are() {
        for name in ["ana@contoso.example", "Zoë Müller", "李伟", "a b"] {
            assert_eq!(visible(name), name);
        }
    }

    #[test]
    fn what_turns_or_hides_text_is_spelled_out() {
        let said = [
            "a\u{202e}b",
            "a\u{200b}",
            "\u{feff}a",
            "a\u{2066}\n",
            "\u{ad}",
        ]
        .map(visible);
        assert_eq!(
            said,
            [
                r"a\u{202e}b",
                r"a\u{200b}",
                r"\u{feff}a",
                r"a\u{2066}\u{a}",
                r"\u{ad}"
            ]
        );
    }

    #[test]
    fn spaces_that_a_browser_drops_are_spelled_out() {
        let said = [" a", "a ", "a  b"].map(visible);
        assert_eq!(said, [r"\u{20}a", r"a\u{20}", r"a \u{20}b"]);
    }

    #[test]
    fn nothing_has_a_word() {
        assert_eq!(["", "  "].map(visible), ["(blank)", "(blank)"]);
    }

    #[test]
    fn a_name_orders_no_words_around_it() {
        assert_eq!(in_words("a@b"), "a@b");
        assert_eq!(in_words("אבי"), "\u{2068}אבי\u{2069}");
        assert_eq!(in_words("\u{2069}"), r"\u{2069}");
    }
}
