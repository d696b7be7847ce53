//! Pictures, files and what is embedded.

use super::{Reader, flow::Flow, inline::Around};
use crate::{
    Kind, Resource,
    html::{Element, Id},
    link,
    model::{Attachment, Block, Link, Picture, Text},
    style::length,
};

/// How descriptions begin that OneNote made by itself of what it read in the picture.
const MACHINE_MADE: &str = "Machine generated alternative text";

impl Reader<'_> {
    pub(super) fn picture(&mut self, element: &Element, around: &Around, flow: &mut Flow) {
        let address = element.attribute("src").unwrap_or("");
        let full = element.attribute("data-fullres-src").unwrap_or("");
        let description = self.description(element, around);
        let Some((resource, media_type)) =
            self.first_resource(&[(full, "data-fullres-src-type"), (address, "data-src-type")])
        else {
            let address = if address.is_empty() { full } else { address };
            return self.missing("Picture", address, &description.letters(), flow);
        };
        let (width, height) = (element.attribute("width"), element.attribute("height"));
        if width.is_some() || height.is_some() {
            let size = format!("{} × {}", width.unwrap_or("auto"), height.unwrap_or("auto"));
            self.warn(Kind::PictureSize, &size);
        }
        let picture = Block::Picture(Picture {
            resource,
            media_type: media_type
                .and_then(|name| element.attribute(name))
                .map(media),
            description,
            width: width.and_then(length),
            height: height.and_then(length),
            part: part(element),
        });
        self.push_block(flow, picture);
    }

    fn first_resource<'n>(
        &self,
        places: &[(&str, &'n str)],
    ) -> Option<(Resource, Option<&'n str>)> {
        let mut places = places.iter();
        places.find_map(|(address, name)| Some((self.upstream.resource(address)?, Some(*name))))
    }

    /// Its words; where the picture was a link, they lead there now.
    fn description(&mut self, element: &Element, around: &Around) -> Text {
        let mut words = element.attribute("alt").unwrap_or("");
        if words.starts_with(MACHINE_MADE) {
            self.warn(Kind::Description, words);
            words = "";
        }
        let link = around.link.as_ref();
        let mut line = super::line::Line::default();
        match link {
            Some(Link::Web(address)) if words.is_empty() => {
                line.push(address, Around::NOTHING.look, link)
            }
            Some(Link::Page(_)) if words.is_empty() => {
                line.push("Where the picture leads", Around::NOTHING.look, link);
            }
            _ => line.push(words, Around::NOTHING.look, link),
        }
        line.take()
    }

    /// A link, or a note, in place of what may not be fetched.
    fn missing(&mut self, what: &str, address: &str, words: &str, flow: &mut Flow) {
        let words = match words {
            "" => what.to_owned(),
            words => format!("{what}: {words}"),
        };
        if address.is_empty() {
            self.warn(Kind::NoAddress, what);
            let note = format!("{words} (OneNote gave no address for it)");
            return self.push_block(flow, Block::Note(Text::plain(note)));
        }
        self.warn(Kind::ForeignResource, address);
        self.link_instead(&words, address, flow);
    }

    pub(super) fn object(&mut self, id: Id, element: &Element, around: &Around, flow: &mut Flow) {
        let name = element.attribute("data-attachment").unwrap_or("");
        let name: String = name.chars().filter(|c| !c.is_control()).collect();
        let address = element.attribute("data").unwrap_or("");
        match self.upstream.resource(address) {
            Some(resource) => {
                let media_type = element.attribute("type").map(media);
                let attachment = Attachment {
                    resource,
                    name,
                    media_type,
                };
                self.push_block(flow, Block::Attachment(attachment));
            }
            None => self.missing("File", address, &name, flow),
        }
        self.children(id, around, flow);
    }

    pub(super) fn frame(&mut self, id: Id, element: &Element, around: &Around, flow: &mut Flow) {
        let original = element.attribute("data-original-src");
        let address = original.or_else(|| element.attribute("src")).unwrap_or("");
        match link::web(address) {
            Some(url) if url.chars().count() <= link::URL_CHARS_MAX => {
                let is_film = is_film(&url);
                self.push_block(flow, Block::Embed { url, is_film });
            }
            _ => self.missing("Embedded page", address, "", flow),
        }
        self.children(id, around, flow);
    }
}

/// Which part of a picture that was split, and of which: `data-id` and `data-index`.
fn part(element: &Element) -> Option<(String, u32)> {
    let id = element.attribute("data-id").filter(|id| !id.is_empty())?;
    let index = element.attribute("data-index")?.parse().ok()?;
    Some((id.to_owned(), index))
}

fn media(media_type: &str) -> String {
    media_type
        .chars()
        .take(100)
        .collect::<String>()
        .to_ascii_lowercase()
}

/// Sites whose films Notion plays (developers.notion.com/reference/block, "Video").
fn is_film(url: &str) -> bool {
    const HOSTS: [&str; 5] = [
        "youtube.com",
        "youtu.be",
        "vimeo.com",
        "www.youtube.com",
        "player.vimeo.com",
    ];
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or("");
    HOSTS.contains(&host)
}
