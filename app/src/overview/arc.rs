//! The geometry of a gauge: an arc of 240° open at the bottom, within `0 0 120 98`.
//!
//! The arc itself never changes. What is drawn of it is said in dashes along its length,
//! and a tick is one line turned about the centre, so that nothing here needs a sine and
//! a browser can move from one state to the next.

/// Path data of the whole arc: radius 44 about 60, 58, from 150° to 390°.
pub const TRACK: &str = "M21.89 80A44 44 0 1 1 98.11 80";

/// How long the arc counts as, so that dashes are per mille of the limit.
pub const LENGTH: &str = "1000";

/// Path data of a tick at the beginning of the scale, to be turned; see [`turn`].
pub const TICK: &str = "M27.09 77L16.7 83";

/// Path data of a short tick outside the arc, at the beginning of the scale.
pub const OUTER_TICK: &str = "M17.1 82.8L12.4 85.5";

/// Path data of a diamond outside the arc, at the beginning of the scale, its points
/// towards and away from the centre.
pub const DIAMOND: &str = "M8.5 87.7L14.8 88.7L17.1 82.7L10.8 81.8Z";

const SPAN_DEGREES: u32 = 240;

/// The dashes that draw the arc from one per mille of it to another (both at most 1000);
/// `None` where nothing is to be drawn: round ends would make a dot of it.
#[must_use]
pub fn dashes(from: u32, to: u32) -> Option<String> {
    let (from, to) = (from.min(1000), to.min(1000));
    let length = to.checked_sub(from).filter(|length| *length > 0)?;
    Some(match from {
        0 => format!("{length} 2000"),
        _ => format!("0 {from} {length} 2000"),
    })
}

/// How far a tick is turned that stands at so many per mille of the scale.
#[must_use]
pub fn turn(permille: u32) -> String {
    let tenths = permille.min(1000) * SPAN_DEGREES / 100;
    format!("rotate({}.{} 60 58)", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_begin_where_the_other_lane_ends() {
        assert_eq!(dashes(0, 376).as_deref(), Some("376 2000"));
        assert_eq!(dashes(376, 860).as_deref(), Some("0 376 484 2000"));
        assert_eq!(dashes(0, 4_000).as_deref(), Some("1000 2000"));
    }

    #[test]
    fn nothing_draws_nothing() {
        assert_eq!(dashes(0, 0), None);
        assert_eq!(dashes(300, 300), None);
        assert_eq!(dashes(1_000, 1_500), None);
    }

    #[test]
    fn half_of_the_scale_is_at_the_top() {
        assert_eq!(turn(500), "rotate(120.0 60 58)");
        assert_eq!(turn(333), "rotate(79.9 60 58)");
    }
}
