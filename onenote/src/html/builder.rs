//! Tokens to a tree.

use std::cell::RefCell;

use html5ever::{
    LocalName,
    tendril::StrTendril,
    tokenizer::{
        BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
        states::RawKind,
    },
};

use super::{
    DEPTH_MAX,
    implied::{bounds_paragraph, ended_by, ends_formula, ends_paragraph, is_void, stops},
    tree::{Data, Element, Id, Tree},
};

/// Reads HTML, however broken.
pub(crate) fn parse(html: &str) -> Tree {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    let tokenizer = Tokenizer::new(Sink(RefCell::new(Builder::new())), TokenizerOpts::default());
    // It never stops for a script: the sink asks for none.
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.0.into_inner().tree
}

struct Sink(RefCell<Builder>);

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut builder = self.0.borrow_mut();
        match token {
            Token::TagToken(tag) => return builder.tag(tag),
            Token::CharacterTokens(text) => builder.text(text),
            Token::CommentToken(text) => builder.leaf(Data::Comment(text)),
            // What is not a character of HTML, what is no content, and what matters to validators.
            Token::NullCharacterToken
            | Token::DoctypeToken(_)
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

struct Builder {
    tree: Tree,
    open: Vec<(Id, LocalName)>,
}

impl Builder {
    fn new() -> Self {
        Self {
            tree: Tree::new(),
            open: Vec::new(),
        }
    }

    fn here(&self) -> Id {
        self.open.last().map_or(self.tree.root(), |(id, _)| *id)
    }

    fn text(&mut self, text: StrTendril) {
        self.leaf(Data::Text(text));
    }

    fn leaf(&mut self, data: Data) {
        self.tree.append(self.here(), data);
    }

    fn tag(&mut self, tag: Tag) -> TokenSinkResult<()> {
        if tag.kind == TagKind::EndTag {
            self.end(tag);
            return TokenSinkResult::Continue;
        }
        self.imply_ends(&tag.name);
        // OneNote writes XHTML: `<p />` is an empty paragraph there, whatever HTML thinks.
        let empty = tag.self_closing || is_void(&tag.name);
        let raw = if empty { None } else { raw_kind(&tag.name) };
        let name = tag.name.clone();
        let attributes = tag.attrs.into_iter();
        let attributes = attributes.map(|it| (it.name.local, it.value)).collect();
        let element = Element::new(tag.name, attributes);
        self.start(name, element, empty);
        raw.map_or(TokenSinkResult::Continue, TokenSinkResult::RawData)
    }

    fn start(&mut self, name: LocalName, element: Element, empty: bool) {
        if self.open.len() >= DEPTH_MAX && !empty {
            self.tree.flattened = true;
            self.open.pop();
        }
        let id = self.tree.append(self.here(), Data::Element(element));
        if !empty {
            self.open.push((id, name));
        }
    }

    fn imply_ends(&mut self, name: &str) {
        if ends_formula(name)
            && let Some(place) = self
                .open
                .iter()
                .position(|(_, open)| *open == html5ever::local_name!("math"))
        {
            self.open.truncate(place);
        }
        if ends_paragraph(name)
            && let Some(place) = self.find(|open| open == "p", bounds_paragraph)
        {
            self.open.truncate(place);
        }
        if let Some((ended, stops)) = ended_by(name) {
            // All of them, from the outermost: a row ends with its cell.
            let from = self.outermost(|open| ended.contains(&open), |open| stops.contains(&open));
            if let Some(place) = from {
                self.open.truncate(place);
            }
        }
    }

    fn end(&mut self, tag: Tag) {
        let name = &*tag.name;
        if name == "br" {
            // As browsers take it.
            return self.leaf(Data::Element(Element::new(tag.name, Vec::new())));
        }
        if let Some(place) = self.find(|open| open == name, |open| stops(name, open)) {
            self.open.truncate(place);
        }
    }

    /// The innermost open element that is wanted, unless another stops the search.
    fn find(&self, wanted: impl Fn(&str) -> bool, stops: impl Fn(&str) -> bool) -> Option<usize> {
        for (place, (_, open)) in self.open.iter().enumerate().rev() {
            if wanted(open) {
                return Some(place);
            }
            if stops(open) {
                return None;
            }
        }
        None
    }

    fn outermost(
        &self,
        wanted: impl Fn(&str) -> bool,
        stops: impl Fn(&str) -> bool,
    ) -> Option<usize> {
        let open = self.open.iter().enumerate().rev();
        let open = open.take_while(|(_, (_, open))| !stops(open));
        open.filter(|(_, (_, open))| wanted(open))
            .map(|(place, _)| place)
            .last()
    }
}

/// Elements whose content is not markup. An `iframe` is none here: OneNote's has no content, and where its end is
/// missing the rest of the page must not vanish in it.
fn raw_kind(name: &str) -> Option<RawKind> {
    match name {
        "title" | "textarea" => Some(RawKind::Rcdata),
        "style" | "xmp" => Some(RawKind::Rawtext),
        "script" => Some(RawKind::ScriptData),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(tree: &Tree, id: Id) -> String {
        let children: String = tree
            .children(id)
            .map(|child| outline(tree, child))
            .collect();
        match tree.data(id) {
            Some(Data::Element(element)) => format!("{}({children})", element.name()),
            Some(Data::Text(text)) => text.trim().to_owned(),
            _ => String::new(),
        }
    }

    #[test]
    fn ends_that_are_missing_are_implied_and_text_stays_where_it_is() {
        for (html, expected) in [
            ("<p>a<p>b", "(p(a)p(b))"),
            (
                "<ul><li>a<li>b<ul><li>c</ul>d</ul>",
                "(ul(li(a)li(bul(li(c))d)))",
            ),
            (
                "<table><tr><td>a<td>b<tr><td>c</table>d",
                "(table(tr(td(a)td(b))tr(td(c)))d)",
            ),
            (
                "<table>x<tr><td></div>a</td>y</table>",
                "(table(xtr(td(a)y)))",
            ),
            ("<b>a<i>b</b>c</i>d", "(b(ai(b))cd)"),
            ("<p/>a<mrow />b", "(p()amrow()b)"),
            ("<p>a<div>b</p>c", "(p(a)div(bc))"),
            ("a</br>b", "(abr()b)"),
            (
                "<title>a<b></title>c<script>d</script>",
                "(title(a<b>)cscript(d))",
            ),
            ("<iframe src=x>a", "(iframe(a))"),
            ("<math><mi>x<p>a", "(math(mi(x))p(a))"),
            ("&lt;b&gt;&#x1f600;", "(<b>😀)"),
        ] {
            let tree = parse(html);
            assert_eq!(outline(&tree, tree.root()), expected, "{html}");
        }
    }

    #[test]
    fn what_is_nested_too_deep_becomes_siblings() {
        let tree = parse(&format!(
            "{}x{}y",
            "<div>".repeat(1000),
            "</div>".repeat(1000)
        ));
        assert!(tree.flattened);
        assert_eq!(tree.text(tree.root()), "xy");
        let tree = parse(&"<div>".repeat(DEPTH_MAX));
        assert!(!tree.flattened);
    }
}
