//! From element to element: what each is.

use super::{
    Reader,
    flow::{Flow, Role},
    inline::Around,
    math,
};
use crate::{
    Kind,
    html::{Data, Element, Id},
    link,
    model::{Block, Link, Text},
};

impl Reader<'_> {
    pub(super) fn children(&mut self, id: Id, around: &Around, flow: &mut Flow) {
        let tree = self.tree;
        for child in tree.children(id) {
            self.node(child, around, flow);
        }
    }

    pub(super) fn node(&mut self, id: Id, around: &Around, flow: &mut Flow) {
        match self.tree.data(id) {
            Some(Data::Text(text)) if around.verbatim => {
                flow.line
                    .push_verbatim(text, around.look, around.link.as_ref());
            }
            Some(Data::Text(text)) => flow.line.push(text, around.look, around.link.as_ref()),
            Some(Data::Comment(text)) => self.comment(text, flow),
            Some(Data::Element(element)) => self.element(id, element, around, flow),
            None => {}
        }
    }

    fn element(&mut self, id: Id, element: &Element, around: &Around, flow: &mut Flow) {
        match element.name() {
            "script" | "style" | "template" | "link" | "base" | "param" | "source" | "track"
            | "wbr" => {}
            "meta" => self.meta(element),
            "title" if self.title.is_none() => self.title = Some(title(&self.tree.text(id))),
            "br" => flow.line.break_line(),
            "hr" => self.push_block(flow, Block::Divider),
            "a" => self.anchor(id, element, around, flow),
            "img" => self.picture(element, around, flow),
            "object" => self.object(id, element, around, flow),
            "iframe" => self.frame(id, element, around, flow),
            "math" => self.math(id, element, around, flow),
            "ul" | "ol" => self.list(id, element, around, flow),
            "table" => self.table(id, element, around, flow),
            "blockquote" => self.quote(id, element, around, flow),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading(id, element, around, flow),
            "pre" => self.preformatted(id, element, around, flow),
            "svg" | "canvas" | "video" | "audio" | "embed" | "applet" | "input" | "select"
            | "meter" | "progress" => {
                self.unsupported(element.name(), flow);
                self.children(id, around, flow);
            }
            name if is_block(name) => self.block(id, element, around, flow),
            _ => self.inline(id, element, around, flow),
        }
    }

    fn within(&mut self, element: &Element, around: &Around) -> Around {
        Around {
            look: self.look(element, around.look),
            ..around.clone()
        }
    }

    fn inline(&mut self, id: Id, element: &Element, around: &Around, flow: &mut Flow) {
        if let Some(tag) = element.attribute("data-tag") {
            flow.tag(tag);
        }
        let within = self.within(element, around);
        self.children(id, &within, flow);
    }

    /// A paragraph, or whatever else stands by itself.
    fn block(&mut self, id: Id, element: &Element, around: &Around, flow: &mut Flow) {
        self.end_line(flow);
        self.inline(id, element, around, flow);
        self.end_line(flow);
        // A tag belongs to its paragraph, even to an empty one.
        (flow.to_do, flow.sign) = (None, String::new());
    }

    fn as_role(&mut self, role: Role, flow: &mut Flow, read: impl FnOnce(&mut Self, &mut Flow)) {
        self.end_line(flow);
        let before = std::mem::replace(&mut flow.role, role);
        read(self, flow);
        self.end_line(flow);
        flow.role = before;
    }

    fn heading(&mut self, id: Id, element: &Element, around: &Around, flow: &mut Flow) {
        let level = element
            .name()
            .as_bytes()
            .get(1)
            .map_or(1, |digit| digit.saturating_sub(b'0'));
        self.as_role(Role::Heading(level), flow, |reader, flow| {
            reader.inline(id, element, around, flow);
        });
        (flow.to_do, flow.sign) = (None, String::new());
    }

    fn preformatted(&mut self, id: Id, element: &Element, around: &Around, flow: &mut Flow) {
        let mut within = self.within(element, around);
        within.verbatim = true;
        self.as_role(Role::Code, flow, |reader, flow| {
            reader.children(id, &within, flow)
        });
    }

    fn quote(&mut self, id: Id, element: &Element, around: &Around, flow: &mut Flow) {
        let within = self.within(element, around);
        let mut blocks = self.blocks(id, &within).into_iter().peekable();
        self.end_line(flow);
        let text = match blocks.next_if(|first| matches!(first, Block::Paragraph(_))) {
            Some(Block::Paragraph(text)) => text,
            _ => Text::default(),
        };
        let children: Vec<_> = blocks.collect();
        if !(text.is_blank() && children.is_empty()) {
            flow.blocks.push(Block::Quote { text, children });
        }
    }

    /// What an element holds, read by itself.
    pub(super) fn blocks(&mut self, id: Id, around: &Around) -> Vec<Block> {
        let mut flow = Flow::default();
        self.children(id, around, &mut flow);
        self.end_line(&mut flow);
        flow.blocks
    }

    fn anchor(&mut self, id: Id, element: &Element, around: &Around, flow: &mut Flow) {
        let address = element.attribute("href").unwrap_or("");
        if address.is_empty() {
            return self.inline(id, element, around, flow);
        }
        let link = self.link(address);
        let mut within = self.within(element, around);
        let before = flow.length();
        if let Ok(link) = &link {
            within.link = Some(link.clone());
            self.children(id, &within, flow);
            if flow.length() == before {
                flow.line.push(address, within.look, within.link.as_ref());
            }
            return;
        }
        self.children(id, &within, flow);
        let address = format!(" ({address})");
        flow.line.push(&address, around.look, around.link.as_ref());
    }

    fn math(&mut self, id: Id, element: &Element, around: &Around, flow: &mut Flow) {
        let latex = math::latex(self.tree, id);
        if latex.is_empty() {
            return;
        }
        let look = self.look(element, around.look);
        flow.line.formula(latex, look, around.link.as_ref());
    }

    /// OneNote says in comments what it left out: `<!-- InkNode is not supported -->`.
    fn comment(&mut self, text: &str, flow: &mut Flow) {
        let text = text.trim();
        let Some(what) = text.strip_suffix(" is not supported") else {
            return;
        };
        if what.starts_with("Ink") {
            self.warn(Kind::Handwriting, text);
            if !std::mem::replace(&mut self.has_ink, true) {
                let note = "Handwriting or a drawing was here, which OneNote does not hand out as text or picture.";
                self.push_block(flow, Block::Note(Text::plain(note)));
            }
            return;
        }
        self.unsupported(what, flow);
    }

    /// Says on the page that something is missing.
    pub(super) fn unsupported(&mut self, what: &str, flow: &mut Flow) {
        self.warn(Kind::Unsupported, what);
        let what: String = what.chars().filter(|c| !c.is_control()).take(120).collect();
        let note = format!("Something was here that cannot be copied: {what}.");
        self.push_block(flow, Block::Note(Text::plain(note)));
    }

    fn meta(&mut self, element: &Element) {
        let is_created = element.attribute("name") == Some("created");
        if let (true, None, Some(at)) = (is_created, &self.created, element.attribute("content")) {
            self.created = Some(at.chars().take(64).collect());
        }
    }

    /// A paragraph that leads to what is not here; a note where no link can.
    pub(super) fn link_instead(&mut self, words: &str, address: &str, flow: &mut Flow) {
        self.end_line(flow);
        match link::web(address) {
            Some(url) if url.chars().count() <= link::URL_CHARS_MAX => {
                flow.line
                    .push(words, Around::NOTHING.look, Some(&Link::Web(url)));
                self.end_line(flow);
            }
            url => {
                // What is in a data address can be megabytes; one of the web is said in full.
                let address = url.unwrap_or_else(|| address.chars().take(200).collect());
                let note = Text::plain(format!("{words} ({address})"));
                flow.blocks.push(Block::Note(note));
            }
        }
    }
}

fn title(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words
        .join(" ")
        .chars()
        .filter(|c| !c.is_control())
        .collect()
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "p" | "div"
            | "address"
            | "article"
            | "aside"
            | "center"
            | "dd"
            | "details"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "header"
            | "main"
            | "nav"
            | "section"
            | "summary"
            | "li"
            | "body"
            | "html"
            | "head"
            | "option"
            | "textarea"
            | "caption"
            | "td"
            | "th"
            | "tr"
            | "tbody"
            | "thead"
            | "tfoot"
            | "title"
    )
}
