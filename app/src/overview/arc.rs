//! The geometry of a gauge: an arc of 240° open at the bottom, drawn with SVG path data.
//! Numbers only; nothing here knows what is measured.

/// The drawing area: `viewBox="0 0 120 98"`, the arc's centre and radius in it.
pub const CENTRE: (f64, f64) = (60.0, 58.0);
/// The radius of the arc's middle line.
pub const RADIUS: f64 = 44.0;
const START_DEGREES: f64 = 150.0;
const SPAN_DEGREES: f64 = 240.0;

/// The arc between two fractions of the scale (kept within 0 and 1); empty for nothing.
#[must_use]
pub fn path(from: f64, to: f64) -> String {
    let (from, to) = (clamp(from), clamp(to));
    if to <= from {
        return String::new();
    }
    let (start, end) = (point(RADIUS, from), point(RADIUS, to));
    let large = u8::from((to - from) * SPAN_DEGREES > 180.0);
    format!(
        "M{:.2} {:.2}A{RADIUS} {RADIUS} 0 {large} 1 {:.2} {:.2}",
        start.0, start.1, end.0, end.1
    )
}

/// A line across the scale at `fraction` of it, from radius `inner` to radius `outer`.
#[must_use]
pub fn tick(fraction: f64, inner: f64, outer: f64) -> String {
    let (from, to) = (point(inner, fraction), point(outer, fraction));
    format!("M{:.2} {:.2}L{:.2} {:.2}", from.0, from.1, to.0, to.1)
}

fn point(radius: f64, fraction: f64) -> (f64, f64) {
    let angle = (START_DEGREES + SPAN_DEGREES * clamp(fraction)).to_radians();
    (
        CENTRE.0 + radius * angle.cos(),
        CENTRE.1 + radius * angle.sin(),
    )
}

fn clamp(fraction: f64) -> f64 {
    if fraction.is_finite() {
        fraction.clamp(0.0, 1.0)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_draws_nothing_and_all_draws_to_the_end() {
        assert_eq!(path(0.0, 0.0), "");
        assert_eq!(path(0.5, 0.4), "");
        assert_eq!(path(0.0, 1.0), "M21.89 80.00A44 44 0 1 1 98.11 80.00");
    }

    #[test]
    fn half_ends_at_the_top_on_the_short_side() {
        assert_eq!(path(0.0, 0.5), "M21.89 80.00A44 44 0 0 1 60.00 14.00");
        assert_eq!(path(0.5, 1.0), "M60.00 14.00A44 44 0 0 1 98.11 80.00");
        assert_eq!(tick(0.5, 38.0, 50.0), "M60.00 20.00L60.00 8.00");
    }

    #[test]
    fn more_than_all_or_no_number_stays_on_the_scale() {
        assert_eq!(path(0.0, 7.5), path(0.0, 1.0));
        assert_eq!(path(0.0, f64::NAN), "");
        assert_eq!(path(-3.0, -1.0), "");
    }
}
