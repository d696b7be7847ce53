//! Colours by their names in `style/tokens.css`.

use plotters::style::RGBColor;

/// A colour of the page, whatever it is in light and in dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// The foreground lane's blue.
    Fore,
    /// The background lane's pale one.
    Back,
    /// All is well.
    Clear,
    /// Take care.
    Near,
    /// Nothing passes.
    Full,
    /// Texts beside the values, and what is only for comparison.
    SoftInk,
    /// Lines of the grid.
    Line,
    /// Where there is nothing.
    Track,
}

impl Paint {
    const ALL: [Self; 8] = [
        Self::Fore,
        Self::Back,
        Self::Clear,
        Self::Near,
        Self::Full,
        Self::SoftInk,
        Self::Line,
        Self::Track,
    ];

    /// What stands for it while plotters draws, which knows numbers alone.
    pub(super) const fn stand_in(self) -> RGBColor {
        RGBColor(0, 0, self as u8 + 1)
    }

    /// The name of its custom property.
    const fn property(self) -> &'static str {
        match self {
            Self::Fore => "--fore",
            Self::Back => "--back",
            Self::Clear => "--clear",
            Self::Near => "--near",
            Self::Full => "--full",
            Self::SoftInk => "--soft-ink",
            Self::Line => "--line",
            Self::Track => "--track",
        }
    }
}

/// A drawing with the page's colours instead of their stand-ins.
///
/// A text cannot be mistaken for one: quotes in texts are escaped.
pub(super) fn painted(drawing: &str) -> String {
    Paint::ALL
        .iter()
        .fold(drawing.to_owned(), |drawing, paint| {
            let RGBColor(red, green, blue) = paint.stand_in();
            let stand_in = format!("\"#{red:02X}{green:02X}{blue:02X}\"");
            drawing.replace(&stand_in, &format!("\"var({})\"", paint.property()))
        })
}
