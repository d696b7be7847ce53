//! Blocks as JSON: only what is not as Notion fills it in by itself.

use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{Block, Body, Content, FileId, RichText};
use crate::model::Look;

impl Body {
    fn fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        match self {
            Self::Paragraph(text)
            | Self::BulletedListItem(text)
            | Self::NumberedListItem(text)
            | Self::Quote(text)
            | Self::Heading { text, .. } => map.serialize_entry("rich_text", text),
            Self::ToDo { text, checked } => {
                map.serialize_entry("rich_text", text)?;
                map.serialize_entry("checked", checked)
            }
            Self::Callout(text) => {
                map.serialize_entry("rich_text", text)?;
                map.serialize_entry(
                    "icon",
                    &Icon {
                        r#type: "emoji",
                        emoji: "⚠️",
                    },
                )?;
                map.serialize_entry("color", "gray_background")
            }
            Self::Code(text) => {
                map.serialize_entry("rich_text", text)?;
                map.serialize_entry("language", "plain text")
            }
            Self::Equation(expression) => map.serialize_entry("expression", expression),
            Self::Divider => Ok(()),
            Self::Table { width, has_header } => {
                map.serialize_entry("table_width", width)?;
                map.serialize_entry("has_column_header", has_header)?;
                map.serialize_entry("has_row_header", &false)
            }
            Self::TableRow(cells) => map.serialize_entry("cells", cells),
            Self::Upload { file, caption, .. } => {
                map.serialize_entry("type", "file_upload")?;
                map.serialize_entry("file_upload", file)?;
                if caption.is_empty() {
                    Ok(())
                } else {
                    map.serialize_entry("caption", caption)
                }
            }
            Self::Video { url } => {
                map.serialize_entry("type", "external")?;
                map.serialize_entry("external", &Url { url })
            }
            Self::Embed { url } => map.serialize_entry("url", url),
        }
    }
}

#[derive(Serialize)]
struct Icon {
    r#type: &'static str,
    emoji: &'static str,
}

#[derive(Serialize)]
struct Url<'a> {
    url: &'a str,
}

#[derive(Serialize)]
struct Expression<'a> {
    expression: &'a str,
}

/// A block's own object, with its children if there are any.
struct Fields<'a>(&'a Body, &'a [Block]);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.fields(&mut map)?;
        if !self.1.is_empty() {
            map.serialize_entry("children", self.1)?;
        }
        map.end()
    }
}

impl Serialize for Block {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("type", self.body.name())?;
        map.serialize_entry(self.body.name(), &Fields(&self.body, &self.children))?;
        map.end()
    }
}

/// What a block is changed to: its object, without children.
impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.name(), &Fields(self, &[]))?;
        map.end()
    }
}

impl Serialize for FileId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Uploaded(id) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("id", id)?;
                map.end()
            }
            Self::Wanted(place) => {
                let problem = format!("file {place} is not uploaded yet");
                Err(serde::ser::Error::custom(problem))
            }
        }
    }
}

impl Serialize for RichText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.content {
            Content::Text { content, url } => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry(
                    "text",
                    &Letters {
                        content,
                        link: url.as_deref().map(|url| Url { url }),
                    },
                )?;
            }
            Content::Equation(expression) => {
                map.serialize_entry("type", "equation")?;
                map.serialize_entry("equation", &Expression { expression })?;
            }
        }
        if self.look != Look::PLAIN {
            map.serialize_entry("annotations", &Annotations(&self.look))?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct Letters<'a> {
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<Url<'a>>,
}

/// Only what is not as usual, which Notion fills in.
struct Annotations<'a>(&'a Look);

impl Serialize for Annotations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let look = self.0;
        let mut map = serializer.serialize_map(None)?;
        for (name, is) in [
            ("bold", look.bold),
            ("italic", look.italic),
            ("underline", look.underline),
            ("strikethrough", look.strikethrough),
            ("code", look.code),
        ] {
            if is {
                map.serialize_entry(name, &true)?;
            }
        }
        if let Some(colour) = look.notion_colour() {
            map.serialize_entry("color", &colour)?;
        }
        map.end()
    }
}
