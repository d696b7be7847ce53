//! How full limits were.

use spillway_app::{
    Figure,
    live::{Dimension, Scope},
};

use super::{Line, Shown};
use crate::{
    chart::{self, Paint, Style, Unit},
    history::LayerPoint,
};

/// The most layers of a scope that have lines: more could not be told apart.
const LAYERS_SHOWN: usize = 3;

/// The colours of a scope's layers, the shortest window first.
const LAYER_PAINTS: [(Paint, &str); LAYERS_SHOWN] = [
    (Paint::Fore, "fore"),
    (Paint::Near, "near"),
    (Paint::Back, "back"),
];

impl Shown {
    /// How full the layers of a scope were; `None`: it has none.
    pub(super) fn limits(&self, scope: Scope, title: &str) -> Option<Result<Figure, chart::Error>> {
        let mut layers = self.layers(scope);
        layers.truncate(LAYERS_SHOWN);
        if layers.is_empty() {
            return None;
        }
        let mut lines: Vec<_> = layers
            .into_iter()
            .zip(LAYER_PAINTS)
            .map(|(layer, (paint, class))| Line {
                name: layer_name(&layer),
                paint,
                class,
                style: Style::Line,
                value: Box::new(move |point| {
                    let found = point.layers.iter().find(|it| it.is_of(&layer))?;
                    Some(f64::from(found.used_permille) / 10.0)
                }),
            })
            .collect();
        if scope == Scope::App {
            lines.extend(self.background_and_reports());
        }
        Some(self.figure(title, Unit::Percent, &lines))
    }

    /// What background calls used of the app's fullest layer, and what the upstream said.
    fn background_and_reports(&self) -> Vec<Line<'_>> {
        let background = Line {
            name: "Background, of its fullest".to_owned(),
            paint: Paint::SoftInk,
            class: "soft",
            style: Style::Thin,
            value: Box::new(|point| {
                let of_app = point.layers.iter().filter(|it| it.scope == Scope::App);
                let most = of_app.map(|it| it.used_background_permille).max()?;
                Some(f64::from(most) / 10.0)
            }),
        };
        let reported = Line {
            name: "The upstream's own report".to_owned(),
            paint: Paint::Full,
            class: "full",
            style: Style::Dots,
            value: Box::new(|point| Some(f64::from(point.reported_permille?) / 10.0)),
        };
        let is_there = self
            .drawn
            .points
            .iter()
            .any(|(_, it)| it.reported_permille.is_some());
        std::iter::once(background)
            .chain(is_there.then_some(reported))
            .collect()
    }

    /// The layers of a scope that were there at the end, in their order.
    fn layers(&self, scope: Scope) -> Vec<LayerPoint> {
        let last = self.drawn.points.last();
        let layers = last
            .map(|(_, point)| point.layers.as_slice())
            .unwrap_or_default();
        layers
            .iter()
            .filter(|it| it.scope == scope)
            .copied()
            .collect()
    }
}

fn layer_name(layer: &LayerPoint) -> String {
    match (layer.dimension, layer.window_ms) {
        (Dimension::Rate, Some(60_000)) => "Minute".to_owned(),
        (Dimension::Rate, Some(3_600_000)) => "Hour".to_owned(),
        (Dimension::Rate, Some(ms)) if ms % 60_000 == 0 => format!("{} minutes", ms / 60_000),
        (Dimension::Rate, Some(ms)) if ms % 1_000 == 0 => format!("{} seconds", ms / 1_000),
        (Dimension::Rate, ms) => format!("{} ms", ms.unwrap_or(0)),
        (Dimension::Concurrency, _) => "In flight".to_owned(),
    }
}
