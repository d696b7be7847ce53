//! Lines of CSV (RFC 4180), with nothing in them that a spreadsheet would run.

/// What a cell may not begin with: spreadsheets take the rest for a formula (OWASP, CSV
/// Injection). An apostrophe before it makes it a text.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// A line with its end.
pub(super) fn line<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let cells: Vec<_> = cells.into_iter().map(cell).collect();
    cells.join(",") + "\r\n"
}

fn cell(text: &str) -> String {
    let guard = if text.starts_with(FORMULA) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_a_text_whatever_it_begins_with() {
        for (text, expected) in [
            ("plain", "\"plain\"\r\n"),
            ("a,\"b\"\r\nc", "\"a,\"\"b\"\"\r\nc\"\r\n"),
            ("=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\"\r\n"),
            ("+1", "\"'+1\"\r\n"),
            ("-1", "\"'-1\"\r\n"),
            ("@SUM", "\"'@SUM\"\r\n"),
            ("\t=1", "\"'\t=1\"\r\n"),
            ("a=1", "\"a=1\"\r\n"),
        ] {
            assert_eq!(line([text]), expected, "{text:?}");
        }
        assert_eq!(line(["a", "", "b"]), "\"a\",\"\",\"b\"\r\n");
    }
}
