//! MathML to LaTeX, as KaTeX reads it (Notion's formulas are KaTeX's). KaTeX takes letters and signs of Unicode as they
//! are, so only structure needs translation.

use crate::html::{Data, Id, Tree};

/// The formula below a `math` element; empty if there is nothing in it.
pub(super) fn latex(tree: &Tree, math: Id) -> String {
    let mut out = String::new();
    row(tree, math, &mut out);
    out.trim().to_owned()
}

fn row(tree: &Tree, id: Id, out: &mut String) {
    for child in tree.children(id) {
        node(tree, child, out);
    }
}

fn node(tree: &Tree, id: Id, out: &mut String) {
    match tree.data(id) {
        Some(Data::Text(text)) => letters(text, out),
        Some(Data::Element(element)) => match element.name() {
            "mi" => identifier(&tree.text(id), out),
            "mtext" | "ms" => quoted("\\text", &tree.text(id), out),
            "mfrac" => command("\\frac", tree, id, out),
            "msqrt" => {
                out.push_str("\\sqrt{");
                row(tree, id, out);
                out.push('}');
            }
            "mroot" => root(tree, id, out),
            "msup" => scripts(tree, id, &["^"], out),
            "msub" => scripts(tree, id, &["_"], out),
            "msubsup" | "munderover" => scripts(tree, id, &["_", "^"], out),
            "munder" => over_or_under("\\underset", "_", tree, id, out),
            "mover" => over_or_under("\\overset", "^", tree, id, out),
            "mfenced" => {
                let part = |name, default| element.attribute(name).unwrap_or(default).to_owned();
                fenced(&part("open", "("), &part("close", ")"), tree, id, out);
            }
            "mtable" => table(tree, id, out),
            "mspace" => out.push_str("\\ "),
            "annotation" | "annotation-xml" => {}
            _ => row(tree, id, out),
        },
        Some(Data::Comment(_)) | None => {}
    }
}

/// Children that say something, as white space between elements does not.
fn operands(tree: &Tree, id: Id) -> Vec<Id> {
    let blank = |id: &Id| match tree.data(*id) {
        Some(Data::Text(text)) => text.trim().is_empty(),
        Some(Data::Comment(_)) | None => true,
        Some(Data::Element(_)) => false,
    };
    tree.children(id).filter(|id| !blank(id)).collect()
}

fn braced(tree: &Tree, id: Option<&Id>, out: &mut String) {
    out.push('{');
    if let Some(id) = id {
        node(tree, *id, out);
    }
    out.push('}');
}

fn command(name: &str, tree: &Tree, id: Id, out: &mut String) {
    let operands = operands(tree, id);
    out.push_str(name);
    braced(tree, operands.first(), out);
    braced(tree, operands.get(1), out);
    rest(tree, &operands, 2, out);
}

/// What a broken formula has beyond its operands is not lost.
fn rest(tree: &Tree, operands: &[Id], from: usize, out: &mut String) {
    for id in operands.iter().skip(from) {
        node(tree, *id, out);
    }
}

fn root(tree: &Tree, id: Id, out: &mut String) {
    let operands = operands(tree, id);
    out.push_str("\\sqrt[");
    braced(tree, operands.get(1), out);
    out.push(']');
    braced(tree, operands.first(), out);
    rest(tree, &operands, 2, out);
}

fn scripts(tree: &Tree, id: Id, signs: &[&str], out: &mut String) {
    let operands = operands(tree, id);
    braced(tree, operands.first(), out);
    for (place, sign) in signs.iter().enumerate() {
        out.push_str(sign);
        braced(tree, operands.get(place + 1), out);
    }
    rest(tree, &operands, signs.len() + 1, out);
}

fn over_or_under(name: &str, sign: &str, tree: &Tree, id: Id, out: &mut String) {
    let operands = operands(tree, id);
    let base = operands
        .first()
        .map(|base| tree.text(*base))
        .unwrap_or_default();
    if matches!(
        base.trim(),
        "∑" | "∏" | "∫" | "⋃" | "⋂" | "lim" | "max" | "min"
    ) {
        return scripts(tree, id, &[sign], out);
    }
    out.push_str(name);
    braced(tree, operands.get(1), out);
    braced(tree, operands.first(), out);
    rest(tree, &operands, 2, out);
}

fn fenced(open: &str, close: &str, tree: &Tree, id: Id, out: &mut String) {
    let fence = |side: &str, text: &str, out: &mut String| {
        out.push_str(side);
        match text {
            "(" | ")" | "[" | "]" | "|" | "/" => out.push_str(text),
            "{" | "}" => {
                out.push('\\');
                out.push_str(text);
            }
            "⌈" | "⌉" | "⌊" | "⌋" | "⟨" | "⟩" => out.push_str(text),
            _ => out.push('.'),
        }
    };
    fence("\\left", open, out);
    for (place, id) in operands(tree, id).into_iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        node(tree, id, out);
    }
    fence("\\right", close, out);
}

fn table(tree: &Tree, id: Id, out: &mut String) {
    out.push_str("\\begin{matrix}");
    for (row_place, row_id) in operands(tree, id).into_iter().enumerate() {
        out.push_str(if row_place > 0 { "\\\\" } else { "" });
        for (place, cell) in operands(tree, row_id).into_iter().enumerate() {
            out.push_str(if place > 0 { "&" } else { "" });
            node(tree, cell, out);
        }
    }
    out.push_str("\\end{matrix}");
}

/// One letter is a variable, several are a name.
fn identifier(text: &str, out: &mut String) {
    let text = text.trim_matches([' ', '\n', '\t', '\r']);
    if text.chars().nth(1).is_some() {
        quoted("\\mathrm", text, out);
    } else {
        letters(text, out);
    }
}

fn quoted(command: &str, text: &str, out: &mut String) {
    out.push_str(command);
    out.push('{');
    let words: Vec<_> = text.split(char::is_whitespace).collect();
    let space = if command == "\\text" { " " } else { "\\ " };
    let mut first = true;
    for word in words {
        out.push_str(if first { "" } else { space });
        first = false;
        escaped(word, out);
    }
    out.push('}');
}

fn letters(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '\u{a0}' => out.push_str("\\ "),
            '\u{2212}' => out.push('-'),
            // Invisible signs of multiplication and the like (Unicode 15, 22.6), and white space of the source.
            '\u{2061}'..='\u{2064}' | '\u{fffc}' => {}
            c if c.is_whitespace() || c.is_control() => {}
            c => escaped(c.encode_utf8(&mut [0; 4]), out),
        }
    }
}

fn escaped(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '#' | '$' | '%' | '&' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            '\\' => out.push_str("\\backslash{}"),
            '^' => out.push_str("\\hat{}"),
            '~' => out.push_str("\\sim{}"),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::parse;

    #[test]
    fn formulas_keep_their_structure() {
        for (mathml, expected) in [
            (
                "<mi>x</mi><mo>=</mo><mfrac><mrow><mo>−</mo><mi>b</mi></mrow><mn>2</mn></mfrac>",
                "x=\\frac{-b}{2}",
            ),
            (
                "<msqrt><msup><mi>b</mi> <mn>2</mn></msup></msqrt>",
                "\\sqrt{{b}^{2}}",
            ),
            ("<mroot><mi>x</mi><mn>3</mn></mroot>", "\\sqrt[{3}]{x}"),
            (
                "<munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover>",
                "{∑}_{i}^{n}",
            ),
            (
                "<mover><mi>x</mi><mo>→</mo></mover><munder><mi>lim</mi><mi>x</mi></munder>",
                "\\overset{→}{x}{\\mathrm{lim}}_{x}",
            ),
            (
                "<mfenced open='{' close=''><mi>a</mi><mi>b</mi></mfenced>",
                "\\left\\{a,b\\right.",
            ),
            (
                "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd></mtr></mtable>",
                "\\begin{matrix}1&2\\\\3\\end{matrix}",
            ),
            (
                "<mi>R</mi><mo>&nbsp;</mo><mtext>&nbsp;Mac&nbsp;50%</mtext>",
                "R\\ \\text{ Mac 50\\%}",
            ),
            ("<mi>a_b</mi>", "\\mathrm{a\\_b}"),
            ("<mfrac><mi>a</mi></mfrac>", "\\frac{a}{}"),
            (" \n ", ""),
        ] {
            let tree = parse(&format!("<math>{mathml}</math>"));
            let math = tree.children(tree.root()).next().unwrap();
            assert_eq!(latex(&tree, math), expected, "{mathml}");
        }
    }
}
