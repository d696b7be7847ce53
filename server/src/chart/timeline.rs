//! States over time: a row for each thing that has one.

use plotters::{
    element::{PathElement, Rectangle, Text},
    style::{
        Color as _,
        text_anchor::{HPos, Pos, VPos},
    },
};

use super::{
    Error, Paint, Span,
    svg::{Area, BELOW, WIDTH, drawing, failed, label},
    ticks,
};

/// How high a row is, and the bar of the worst state in it.
const ROW: i32 = 46;
const BAR: i32 = 34;

/// What is left for the names of the rows, and on the right.
const NAMES: i32 = 120;
const RIGHT: i32 = 14;

/// States over time in one drawing.
#[derive(Clone, Debug)]
pub struct Timeline<'a> {
    /// What it shows, for those who do not see it.
    pub title: &'a str,
    /// What there is to see.
    pub description: &'a str,
    /// From when until when; what lies outside is left out.
    pub span: Span,
    /// The rows, the first on top.
    pub rows: Vec<Row>,
}

/// One thing's states.
#[derive(Clone, Debug)]
pub struct Row {
    /// What the thing is called.
    pub name: String,
    /// Its states; where there is none, nothing was recorded.
    pub stretches: Vec<Stretch>,
}

/// A state that lasted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// From when until when.
    pub span: Span,
    /// Its colour.
    pub paint: Paint,
    /// How high its bar is, 1 to 1,000 of the row, so that it is not told by colour alone.
    pub height_permille: u16,
}

/// Draws states over time.
///
/// # Errors
/// See [`Error`].
pub fn timeline(timeline: &Timeline<'_>) -> Result<String, Error> {
    let rows = i32::try_from(timeline.rows.len()).map_err(failed)?;
    let height = u32::try_from(ROW.saturating_mul(rows)).map_err(failed)? + BELOW;
    drawing(timeline.title, timeline.description, height, |area| {
        for (row, top) in timeline.rows.iter().zip((0..).step_by(ROW as usize)) {
            row.draw(area, timeline.span, top)?;
        }
        axis(area, timeline.span, ROW * rows)
    })
}

impl Row {
    fn draw(&self, area: &Area<'_>, span: Span, top: i32) -> Result<(), Error> {
        let bottom = top + (ROW + BAR) / 2;
        let left_middle = Pos::new(HPos::Left, VPos::Center);
        let name = Text::new(
            self.name.as_str(),
            (0, top + ROW / 2),
            label().pos(left_middle),
        );
        area.draw(&name).map_err(failed)?;
        let track = [(NAMES, bottom - BAR), (WIDTH as i32 - RIGHT, bottom)];
        let track = Rectangle::new(track, Paint::Track.stand_in().filled());
        area.draw(&track).map_err(failed)?;
        for stretch in &self.stretches {
            let Some(shown) = stretch.span.within(span) else {
                continue;
            };
            let high = (BAR * i32::from(stretch.height_permille.clamp(1, 1_000)) / 1_000).max(2);
            let left = place(span, shown.from_ms());
            // What was short is to be seen, too.
            let right = place(span, shown.until_ms()).max(left + 2);
            let corners = [(left, bottom - high), (right, bottom)];
            let bar = Rectangle::new(corners, stretch.paint.stand_in().filled());
            area.draw(&bar).map_err(failed)?;
        }
        Ok(())
    }
}

fn axis(area: &Area<'_>, span: Span, top: i32) -> Result<(), Error> {
    let (marks, step_ms) = ticks::instants(span);
    let below = Pos::new(HPos::Center, VPos::Top);
    for at in marks {
        let x = place(span, at);
        let line = PathElement::new([(x, top), (x, top + 6)], Paint::Line.stand_in());
        area.draw(&line).map_err(failed)?;
        let text = Text::new(
            ticks::instant(at, step_ms),
            (x, top + 10),
            label().pos(below),
        );
        area.draw(&text).map_err(failed)?;
    }
    Ok(())
}

/// Where an instant of the span is, in the drawing's units.
fn place(span: Span, at_ms: i64) -> i32 {
    let width = i64::from(WIDTH) - i64::from(NAMES) - i64::from(RIGHT);
    let passed = i128::from(at_ms - span.from_ms()) * i128::from(width);
    let x = passed / i128::from(span.length_ms().max(1));
    NAMES + i32::try_from(x).unwrap_or(0)
}
