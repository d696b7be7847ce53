//! The error codes in the beginning of a body.
//!
//! A scanner rather than a JSON parser: a prefix of 64 KiB ends anywhere, and what a parser
//! would then refuse must still be found. It keeps two counters, no tree and no recursion,
//! so that no body costs more than one pass or nests too deeply.

use super::BODY_BYTES_MAX;

/// What an error code means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// A limit was met.
    Throttled,
    /// The call will never pass.
    Final,
}

/// `OneNote`'s "issued too many requests in a short time period" (`OneNote` error codes).
const THROTTLED: &[u8] = b"20166";
/// `OneNote`'s "more than 5,000 items", and the reason that Notion gives in
/// `additional_data` beside a 429 that is not to be repeated.
const FINAL: [&[u8]; 2] = [b"10008", b"public_api_request_blocked"];
/// Objects whose members tell what went wrong, at the root or within each other:
/// `{"error":{"innerError":{}}}` of Graph and `OneNote`, `{"additional_data":{}}` of Notion.
const ENCLOSING: [&str; 3] = ["error", "innererror", "additional_data"];
/// Their members that do.
const MEMBERS: [&str; 2] = ["code", "rate_limit_reason"];

/// What the body's error codes mean; throttling if several disagree. None for a body that
/// is not a JSON object or has no such code. Codes are members, strings or numbers; the
/// same digits in a message or in anything that a body quotes are not.
pub(super) fn code(body: &[u8]) -> Option<Code> {
    let body = body.get(..BODY_BYTES_MAX).unwrap_or(body);
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    let rest = body.trim_ascii_start();
    if !rest.starts_with(b"{") {
        return None;
    }
    let mut found = None;
    for value in Codes::within(rest) {
        if value == THROTTLED {
            return Some(Code::Throttled);
        }
        if FINAL.contains(&value) {
            found = Some(Code::Final);
        }
    }
    found
}

/// The values of all [`MEMBERS`] of the root and of [`ENCLOSING`] objects.
struct Codes<'a> {
    rest: &'a [u8],
    /// How many objects and arrays are open.
    depth: usize,
    /// How many of them, counted from the root, enclose an error's members. They are being
    /// read while this equals `depth`.
    enclosing: usize,
    /// The name before the value that comes next.
    name: Option<&'a [u8]>,
}

impl<'a> Codes<'a> {
    const fn within(rest: &'a [u8]) -> Self {
        Self {
            rest,
            depth: 0,
            enclosing: 0,
            name: None,
        }
    }

    /// Objects and arrays alike: an array's elements have no names, so none is looked for.
    fn open(&mut self) {
        let name = self.name.take();
        let told = self.depth == 0 || name.is_some_and(|name| is_one_of(&ENCLOSING, name));
        if told && self.enclosing == self.depth {
            self.enclosing += 1;
        }
        self.depth += 1;
    }

    fn close(&mut self) {
        self.name = None;
        self.depth = self.depth.saturating_sub(1);
        self.enclosing = self.enclosing.min(self.depth);
    }

    /// A string: a value behind a name, else a name if a colon follows.
    fn string(&mut self) -> Option<&'a [u8]> {
        let text = self.take_string();
        if self.name.is_some() {
            return self.value(text);
        }
        if let Some(rest) = self.rest.trim_ascii_start().strip_prefix(b":") {
            self.rest = rest;
            self.name = Some(text);
        }
        None
    }

    /// `value`, if it is one that is looked for.
    fn value(&mut self, value: &'a [u8]) -> Option<&'a [u8]> {
        let name = self.name.take()?;
        (self.enclosing == self.depth && is_one_of(&MEMBERS, name)).then_some(value)
    }

    /// Up to the closing quote, or to the end of what there is; escapes stay as written.
    fn take_string(&mut self) -> &'a [u8] {
        let mut escaped = false;
        let end = self.rest.iter().position(|byte| {
            let closes = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            closes
        });
        let text = self.take(end);
        self.rest = self.rest.get(1..).unwrap_or_default();
        text
    }

    /// A number, `true`, `false`, `null`, or what is no JSON at all.
    fn take_scalar(&mut self) -> &'a [u8] {
        self.take(self.rest.iter().position(|byte| ends_scalar(*byte)))
    }

    /// What comes before `end`, or all.
    fn take(&mut self, end: Option<usize>) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// Reads one step on from `first`; `rest` is what follows it.
    fn step(&mut self, first: u8, rest: &'a [u8]) -> Option<&'a [u8]> {
        if !ends_scalar(first) {
            let scalar = self.take_scalar();
            return self.value(scalar);
        }
        self.rest = rest;
        match first {
            b'"' => return self.string(),
            b'{' | b'[' => self.open(),
            b'}' | b']' => self.close(),
            b',' => self.name = None,
            _ => {}
        }
        None
    }
}

impl<'a> Iterator for Codes<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (first, rest) = self.rest.split_first()?;
            if let Some(code) = self.step(*first, rest) {
                return Some(code);
            }
        }
    }
}

const fn ends_scalar(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'"' | b'{' | b'}' | b'[' | b']' | b':' | b',')
}

fn is_one_of(names: &[&str], name: &[u8]) -> bool {
    names
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const THROTTLES: Option<Code> = Some(Code::Throttled);
    const FINISHES: Option<Code> = Some(Code::Final);

    /// Cases 3, 14 and 22, and what must not be taken for them.
    #[test]
    fn codes_are_found_where_errors_have_them() {
        let table: [(&str, Option<Code>); 33] = [
            (r#"{"error":{"code":"20166","message":"m"}}"#, THROTTLES),
            (r#"{"error":{"message":"m","code":20166}}"#, THROTTLES),
            (r#"{"code":"20166"}"#, THROTTLES),
            (r#" { "code" : 20166 } "#, THROTTLES),
            ("\u{feff}{\"Error\":{\"Code\":\"20166\"}}", THROTTLES),
            (
                r#"{"error":{"code":"x","innerError":{"code":"20166"}}}"#,
                THROTTLES,
            ),
            (
                r#"{"error":{"details":[{"a":[{}]}],"code":"20166"}}"#,
                THROTTLES,
            ),
            (
                r#"{"error":{"message":"say \"{[\\","code":"20166"}}"#,
                THROTTLES,
            ),
            (r#"{"error":{"innerError":{},"code":"20166"}}"#, THROTTLES),
            (r#"{"error":{},"code":"20166"}"#, THROTTLES),
            (r#"{"code":"10008","error":{"code":20166}}"#, THROTTLES),
            // Cut off or broken.
            (r#"{"error":{"code":"20166","mess"#, THROTTLES),
            (r#"{"error":{"code":20166"#, THROTTLES),
            (r#"{"error":{"code":"2016"#, None),
            (r#"{"error":{"code""#, None),
            (r#"{"error":{"value":,"code":"20166"}}"#, THROTTLES),
            // Final.
            (r#"{"error":{"code":"10008"}}"#, FINISHES),
            (
                r#"{"additional_data":{"rate_limit_reason":"public_api_request_blocked"}}"#,
                FINISHES,
            ),
            (r#"{"code":"public_api_request_blocked"}"#, FINISHES),
            (
                r#"{"additional_data":{"rate_limit_reason":"public_api_request_rate_limit"}}"#,
                None,
            ),
            // Digits elsewhere.
            (r#"{"error":{"code":"x","message":"20166"}}"#, None),
            (r#"{"error":{"message":"\"code\":\"20166\""}}"#, None),
            (r#"{"error":{"code":"201660"}}"#, None),
            (r#"{"error":{"code":-20166}}"#, None),
            (r#"{"page":{"code":"20166"}}"#, None),
            (r#"{"page":{"error":{},"code":"20166"}}"#, None),
            (r#"{"page":{"error":{"code":"20166"}}}"#, None),
            (
                r#"{"responses":[{"body":{"error":{"code":"20166"}}}]}"#,
                None,
            ),
            (r#"{"error":["code","20166"]}"#, None),
            (r#"{"error":[{"code":"20166"}]}"#, None),
            (r#"[{"code":"20166"}]"#, None),
            ("<p>{\"code\":\"20166\"}</p>", None),
            ("", None),
        ];
        for (body, expected) in table {
            assert_eq!(code(body.as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn only_the_beginning_is_looked_at() {
        let within = |padding| format!(r#"{{"a":"{}","code":20166}}"#, "x".repeat(padding));
        assert_eq!(code(within(BODY_BYTES_MAX - 64).as_bytes()), THROTTLES);
        assert_eq!(code(within(BODY_BYTES_MAX).as_bytes()), None);
    }

    #[test]
    fn neither_depth_nor_false_ends_break_it() {
        assert_eq!(code(&b"{\"error\":".repeat(7_000)), None);
        assert_eq!(code(&b"{[".repeat(BODY_BYTES_MAX / 2)), None);
        assert_eq!(code(b"{}}]]}{\"code\":20166}"), THROTTLES);
    }

    proptest! {
        /// A body cut anywhere behind the code says what the whole says.
        #[test]
        fn a_cut_behind_the_code_changes_nothing(text in ".{0,40}", cut in 0_usize..60) {
            let text = text.replace(['"', '\\'], "");
            let kept = format!(r#"{{"error":{{"message":"{text}","code":"20166""#);
            let whole = format!(r#"{kept},"innerError":{{"date":"2026-09-25T08:41:06"}}}}}}"#);
            let end = (kept.len() + cut).min(whole.len());
            prop_assert_eq!(code(&whole.as_bytes()[..end]), THROTTLES);
        }

        /// Structure without end, in any order: an answer, and no panic.
        #[test]
        fn any_structure_is_survived(body in r#"\{(["{}\[\]:,\\ ]|code|error|20166|10008){0,200}"#) {
            let _ = code(body.as_bytes());
        }
    }
}
