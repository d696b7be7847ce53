//! Numbers of days, one upon another.

use plotters::{chart::ChartBuilder, element::Rectangle, style::Color as _};

use super::{
    Error, Paint, Span,
    svg::{BELOW, LEFT, drawing, failed, label},
    ticks::Axis,
};

const HEIGHT: u32 = 330;

/// What is left free above the plot and to its right.
const MARGIN: u32 = 14;

/// What is left free at each side of a bar, of its day.
const APART: f64 = 0.14;

/// Bars over time in one drawing.
#[derive(Clone, Debug)]
pub struct Bars<'a> {
    /// What it shows, for those who do not see it.
    pub title: &'a str,
    /// What there is to see.
    pub description: &'a str,
    /// From when until when: each bar has an equal share of it.
    pub span: Span,
    /// What is drawn, the first lowest.
    pub stacks: Vec<Stack>,
}

/// One colour's part of the bars.
#[derive(Clone, Debug)]
pub struct Stack {
    /// Its colour.
    pub paint: Paint,
    /// How high it is in each bar, the earliest first; as many as the others have.
    pub values: Vec<f64>,
}

/// Draws bars.
///
/// # Errors
/// See [`Error`].
pub fn bars(bars: &Bars<'_>) -> Result<String, Error> {
    let count = bars.stacks.iter().map(|it| it.values.len()).max();
    let count = count.unwrap_or(0);
    let heights = (0..count).map(|at| bars.stacks.iter().map(|it| value(it, at)).sum());
    let highest = heights.fold(4.0, f64::max);
    let values = Axis::of_values(highest, false);
    drawing(bars.title, bars.description, HEIGHT, |area| {
        let mut plot = ChartBuilder::on(area)
            .margin_top(MARGIN)
            .margin_right(MARGIN)
            .x_label_area_size(BELOW)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(Axis::of_time(bars.span), values)
            .map_err(failed)?;
        plot.configure_mesh()
            .disable_x_mesh()
            .max_light_lines(0)
            .axis_style(Paint::Line.stand_in())
            .bold_line_style(Paint::Line.stand_in())
            .label_style(label())
            .draw()
            .map_err(failed)?;
        let mut below = vec![0.0; count];
        for stack in &bars.stacks {
            let filled = stack.paint.stand_in().filled();
            for (at, below) in below.iter_mut().enumerate() {
                let height = value(stack, at);
                if height <= 0.0 {
                    continue;
                }
                let (from, until) = bars.place(at, count);
                let corners = [(from, *below), (until, *below + height)];
                *below += height;
                plot.draw_series([Rectangle::new(corners, filled)])
                    .map_err(failed)?;
            }
        }
        Ok(())
    })
}

fn value(stack: &Stack, at: usize) -> f64 {
    let value = stack.values.get(at).copied().unwrap_or(0.0);
    if value.is_finite() {
        value.max(0.0)
    } else {
        0.0
    }
}

impl Bars<'_> {
    /// From where until where a bar reaches.
    fn place(&self, at: usize, count: usize) -> (f64, f64) {
        let each = self.span.length_ms() as f64 / count as f64;
        let from = self.span.from_ms() as f64 + each * at as f64;
        (from + each * APART, from + each * (1.0 - APART))
    }
}
