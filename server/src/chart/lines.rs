//! Values over time.

use plotters::{
    chart::{ChartBuilder, ChartContext},
    coord::{cartesian::Cartesian2d, ranged1d::Ranged as _},
    element::{Circle, Rectangle},
    prelude::SVGBackend,
    series::{AreaSeries, LineSeries},
    style::{Color as _, RGBAColor, ShapeStyle},
};

use super::{
    Error, Paint, Span,
    svg::{BELOW, LEFT, drawing, failed, label},
    ticks::Axis,
};

const HEIGHT: u32 = 330;

/// What is left free above the plot and to its right.
const MARGIN: u32 = 14;

const STROKE: u32 = 4;

/// Values over time in one drawing.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    /// What it shows, for those who do not see it.
    pub title: &'a str,
    /// What there is to see.
    pub description: &'a str,
    /// From when until when; what lies outside is left out.
    pub span: Span,
    /// What the values are.
    pub unit: Unit,
    /// What is drawn, the last on top.
    pub series: Vec<Series>,
    /// When nothing was recorded: it is shaded.
    pub gaps: Vec<Span>,
}

/// What values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Of a limit, in percent; the axis reaches 100 at least.
    Percent,
    /// Anything that is counted.
    Count,
}

/// One line.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its colour.
    pub paint: Paint,
    /// How it is drawn.
    pub style: Style,
    /// Its points, the earliest first. A value that there is not ends the line until the next.
    pub points: Vec<Point>,
}

/// How values are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A line.
    Line,
    /// A thin line: for what only helps to compare.
    Thin,
    /// A line with its area filled.
    Area,
    /// A dot for each value.
    Dots,
}

/// A value at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// When, Unix milliseconds.
    pub at_ms: i64,
    /// What; `None`: not known.
    pub value: Option<f64>,
}

type Plot<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

/// Draws values over time.
///
/// # Errors
/// See [`Error`].
pub fn lines(lines: &Lines<'_>) -> Result<String, Error> {
    let time = Axis::of_time(lines.span);
    let values = Axis::of_values(lines.most(), lines.unit == Unit::Percent);
    let top = values.range().end;
    drawing(lines.title, lines.description, HEIGHT, |area| {
        let mut plot = ChartBuilder::on(area)
            .margin_top(MARGIN)
            .margin_right(MARGIN)
            .x_label_area_size(BELOW)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(time, values)
            .map_err(failed)?;
        for gap in lines.gaps.iter().filter_map(|gap| gap.within(lines.span)) {
            let corners = [(gap.from_ms() as f64, 0.0), (gap.until_ms() as f64, top)];
            let shade = Rectangle::new(corners, Paint::Track.stand_in().mix(0.6).filled());
            plot.draw_series([shade]).map_err(failed)?;
        }
        plot.configure_mesh()
            .disable_x_mesh()
            .max_light_lines(0)
            .axis_style(Paint::Line.stand_in())
            .bold_line_style(Paint::Line.stand_in())
            .label_style(label())
            .draw()
            .map_err(failed)?;
        for series in &lines.series {
            series.draw(&mut plot, lines.span)?;
        }
        Ok(())
    })
}

impl Lines<'_> {
    /// What the axis of values has to reach.
    fn most(&self) -> f64 {
        let points = self.series.iter().flat_map(|series| &series.points);
        let values = points.filter_map(|point| point.value);
        let least = match self.unit {
            Unit::Percent => 100.0,
            Unit::Count => 0.0,
        };
        values.filter(|it| it.is_finite()).fold(least, f64::max)
    }
}

impl Series {
    fn draw(&self, plot: &mut Plot<'_, '_>, span: Span) -> Result<(), Error> {
        let paint = self.paint.stand_in();
        let line = ShapeStyle::from(paint).stroke_width(match self.style {
            Style::Thin => STROKE / 2,
            _ => STROKE,
        });
        for run in self.runs(span) {
            match (self.style, run.as_slice()) {
                (Style::Dots, run) => dots(plot, run, paint.to_rgba())?,
                // A line of one point would not be seen.
                (_, &[alone]) => dots(plot, &[alone], paint.to_rgba())?,
                (Style::Area, _) => {
                    let area = AreaSeries::new(run, 0.0, paint.mix(0.25));
                    plot.draw_series(area.border_style(line)).map_err(failed)?;
                }
                (Style::Line | Style::Thin, _) => {
                    plot.draw_series(LineSeries::new(run, line))
                        .map_err(failed)?;
                }
            }
        }
        Ok(())
    }

    /// The points that follow each other without one missing.
    fn runs(&self, span: Span) -> Vec<Vec<(f64, f64)>> {
        let (mut runs, mut run) = (Vec::new(), Vec::new());
        for point in &self.points {
            let is_inside = (span.from_ms()..=span.until_ms()).contains(&point.at_ms);
            match point.value.filter(|value| is_inside && value.is_finite()) {
                Some(value) => run.push((point.at_ms as f64, value)),
                None => runs.push(std::mem::take(&mut run)),
            }
        }
        runs.push(run);
        runs.retain(|run| !run.is_empty());
        runs
    }
}

fn dots(plot: &mut Plot<'_, '_>, run: &[(f64, f64)], paint: RGBAColor) -> Result<(), Error> {
    let dots = run
        .iter()
        .map(|at| Circle::new(*at, STROKE, paint.filled()));
    plot.draw_series(dots).map(drop).map_err(failed)
}
