//! Charts: data in, SVG out. Pure: no clock, no files, no request.
//!
//! Everything is drawn by plotters, whose texts are measured with a font that is a part of the
//! binary (`server/fonts`). Colours are the page's own custom properties, as attributes, so that
//! one drawing is right in light and in dark and no style has to be let through the policy. A
//! drawing has a title and a description for those who do not see it; the table beside it is
//! the page's.

mod bars;
mod lines;
mod paint;
mod svg;
mod ticks;
mod timeline;

pub use bars::{Bars, Stack, bars};
pub use lines::{Lines, Point, Series, Style, Unit, lines};
pub use paint::Paint;
pub use timeline::{Row, Stretch, Timeline, timeline};

/// A stretch of time: some of it, in Unix milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    from_ms: i64,
    until_ms: i64,
}

/// Why there is no drawing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The font in the binary is none.
    #[error("the font of the charts cannot be read")]
    Font,
    /// It does not fit, or could not be written.
    #[error("a chart cannot be drawn: {0}")]
    Draw(String),
}

impl Span {
    /// From an instant until a later one; `None` where it is not later.
    #[must_use]
    pub fn new(from_ms: i64, until_ms: i64) -> Option<Self> {
        (from_ms < until_ms).then_some(Self { from_ms, until_ms })
    }

    /// Where it begins.
    #[must_use]
    pub const fn from_ms(self) -> i64 {
        self.from_ms
    }

    /// Where it is over.
    #[must_use]
    pub const fn until_ms(self) -> i64 {
        self.until_ms
    }

    /// How long it is, milliseconds.
    #[must_use]
    pub fn length_ms(self) -> u64 {
        self.until_ms.abs_diff(self.from_ms)
    }

    /// What both have in common.
    fn within(self, other: Self) -> Option<Self> {
        let from_ms = self.from_ms.max(other.from_ms);
        Self::new(from_ms, self.until_ms.min(other.until_ms))
    }
}

#[cfg(test)]
mod tests;
