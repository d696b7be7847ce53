//! What elements and their styles say of the text within.

use super::Reader;
use crate::{
    Kind,
    html::Element,
    link::{self, Target},
    model::{Link, Look},
    style::{Colour, background_colour, declarations, is_monospace, text_colour},
};

/// What text has from the elements around it.
#[derive(Clone, Debug)]
pub(super) struct Around {
    pub(super) look: Look,
    pub(super) link: Option<Link>,
    /// Whether white space is shown as it is written.
    pub(super) verbatim: bool,
}

impl Around {
    pub(super) const NOTHING: Self = Self {
        look: Look::PLAIN,
        link: None,
        verbatim: false,
    };
}

/// A link that leads nowhere Notion would let it: its text stays, and the address is said behind.
pub(super) struct Unlinkable;

impl Reader<'_> {
    /// What an element adds to what is around it.
    pub(super) fn look(&mut self, element: &Element, mut look: Look) -> Look {
        match element.name() {
            "b" | "strong" => look.bold = true,
            "i" | "em" | "dfn" | "var" => look.italic = true,
            "u" | "ins" => look.underline = true,
            "s" | "strike" | "del" => look.strikethrough = true,
            "code" | "kbd" | "samp" | "tt" | "pre" => look.code = true,
            "cite" => look.quoted = true,
            "mark" => look.background = Colour::Yellow,
            "sup" | "sub" => self.warn(Kind::Script, element.name()),
            "font" => {
                if let Some(colour) = element.attribute("color").and_then(text_colour) {
                    look.colour = colour;
                }
            }
            _ => {}
        }
        if let Some(style) = element.attribute("style") {
            self.style(element, style, &mut look);
        }
        look
    }

    fn style(&mut self, element: &Element, style: &str, look: &mut Look) {
        // What headings look like is what they are.
        let heading = matches!(element.name(), "h1" | "h2" | "h3" | "h4" | "h5" | "h6");
        for (name, value) in declarations(style) {
            match &*name {
                "font-weight" if !heading => look.bold = is_bold(value),
                "font-style" if !heading => look.italic = value != "normal",
                "text-decoration" | "text-decoration-line" => {
                    look.underline |= value.contains("underline");
                    look.strikethrough |= value.contains("line-through");
                }
                "color" if !heading => look.colour = text_colour(value).unwrap_or(look.colour),
                "background-color" | "background" => {
                    look.background = background_colour(value).unwrap_or(look.background);
                }
                "font-family" if is_monospace(value) => look.code = true,
                "font-family" | "font-size"
                    if !matches!(element.name(), "body" | "cite") && !heading =>
                {
                    self.warn(Kind::Typography, value);
                }
                "vertical-align" if matches!(value, "super" | "sub") => {
                    self.warn(Kind::Script, value)
                }
                _ => {}
            }
        }
        if look.colour != Colour::Default && look.background != Colour::Default {
            self.warn(Kind::TwoColours, style);
        }
    }

    /// Where an address leads.
    pub(super) fn link(&mut self, address: &str) -> Result<Link, Unlinkable> {
        if let Some(target) = Target::of(address) {
            return Ok(Link::Page(target));
        }
        let Some(url) = link::web(address) else {
            self.warn(Kind::LinkScheme, address);
            return Err(Unlinkable);
        };
        if url.chars().count() > link::URL_CHARS_MAX {
            self.warn(Kind::LinkLength, &url);
            return Err(Unlinkable);
        }
        Ok(Link::Web(url))
    }
}

fn is_bold(value: &str) -> bool {
    match value.parse::<u32>() {
        Ok(weight) => weight >= 600,
        Err(_) => value.starts_with("bold"),
    }
}
