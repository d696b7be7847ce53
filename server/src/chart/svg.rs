//! What all drawings have around them, and the font that their texts are measured with.

use std::{fmt::Display, sync::LazyLock};

use plotters::{
    coord::Shift,
    drawing::{DrawingArea, IntoDrawingArea as _},
    prelude::SVGBackend,
    style::{Color as _, FontDesc, FontFamily, FontStyle, TextStyle, register_font},
};

use super::{Error, Paint, paint::painted};

/// How wide drawings are, in their own units: twice what a phone has in pixels, so that whole
/// numbers are fine enough.
pub(super) const WIDTH: u32 = 840;

/// How high their texts are. The page's style gives the final size.
pub(super) const TEXT_SIZE: u32 = 22;

/// What is left for the labels on the left and below.
pub(super) const LEFT: u32 = 92;
pub(super) const BELOW: u32 = 38;

/// ASCII and a few signs of DejaVu Sans, which is as wide as the fonts of the page or wider.
const FONT: &[u8] = include_bytes!("../../fonts/axis.ttf");

/// The name that it has in the drawings, where the page's own font takes its place.
const FAMILY: &str = "sans-serif";

static FONT_IS_KNOWN: LazyLock<bool> =
    LazyLock::new(|| register_font(FAMILY, FontStyle::Normal, FONT).is_ok());

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The style of labels.
pub(super) fn label() -> TextStyle<'static> {
    let font = FontDesc::new(
        FontFamily::Name(FAMILY),
        f64::from(TEXT_SIZE),
        FontStyle::Normal,
    );
    let mut style = TextStyle::from(font);
    style.color = Paint::SoftInk.stand_in().to_backend_color();
    style
}

/// What plotters has against it.
pub(super) fn failed(error: impl Display) -> Error {
    Error::Draw(error.to_string())
}

/// A whole drawing `height` units high, with what `draw` draws.
pub(super) fn drawing(
    title: &str,
    description: &str,
    height: u32,
    draw: impl FnOnce(&Area<'_>) -> Result<(), Error>,
) -> Result<String, Error> {
    if !*FONT_IS_KNOWN {
        return Err(Error::Font);
    }
    let mut drawn = String::new();
    {
        let area = SVGBackend::with_string(&mut drawn, (WIDTH, height)).into_drawing_area();
        draw(&area)?;
        area.present().map_err(failed)?;
    }
    // Its own first tag has a fixed size and no name.
    let (_, content) = drawn
        .split_once('\n')
        .ok_or_else(|| failed("it is empty"))?;
    let (title, description) = (escaped(title), escaped(description));
    Ok([
        &format!("<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">"),
        "<title>",
        &title,
        "</title><desc>",
        &description,
        "</desc>\n",
        painted(content).trim_end(),
    ]
    .concat())
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}
