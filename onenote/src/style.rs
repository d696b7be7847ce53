//! What inline styles say, as far as Notion has a counterpart.

/// The declarations of a `style` attribute, names in lower case.
pub(crate) fn declarations(style: &str) -> impl Iterator<Item = (String, &str)> {
    style.split(';').filter_map(|declaration| {
        let (name, value) = declaration.split_once(':')?;
        Some((name.trim().to_ascii_lowercase(), value.trim()))
    })
}

/// A length in hundredths of a CSS pixel; points are 4/3 of one. Absurd ones are cut.
pub(crate) fn length(value: &str) -> Option<i64> {
    let value = value.trim().to_ascii_lowercase();
    let (number, factor) = match value.strip_suffix("pt") {
        Some(number) => (number, 400.0 / 3.0),
        None => (value.strip_suffix("px").unwrap_or(&value), 100.0),
    };
    let number: f64 = number.trim().parse().ok()?;
    // Casts of floats saturate, and what is no number becomes 0.
    Some((number * factor).clamp(-1e12, 1e12) as i64)
}

/// Whether a list of font families begins with one that people write code in.
pub(crate) fn is_monospace(families: &str) -> bool {
    const NAMES: [&str; 9] = [
        "consolas",
        "courier",
        "courier new",
        "lucida console",
        "cascadia code",
        "cascadia mono",
        "menlo",
        "monaco",
        "monospace",
    ];
    let first = families.split(',').next().unwrap_or("");
    let first = first.trim_matches(|c: char| c.is_whitespace() || c == '"' || c == '\'');
    NAMES.iter().any(|name| first.eq_ignore_ascii_case(name))
}

/// The colours that Notion has, for text and behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "colours are named by themselves")]
pub enum Colour {
    /// What the reader's theme has.
    Default,
    Gray,
    Brown,
    Orange,
    Yellow,
    Green,
    Blue,
    Purple,
    Pink,
    Red,
}

impl Colour {
    /// As Notion spells it; behind text it ends in `_background`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Gray => "gray",
            Self::Brown => "brown",
            Self::Orange => "orange",
            Self::Yellow => "yellow",
            Self::Green => "green",
            Self::Blue => "blue",
            Self::Purple => "purple",
            Self::Pink => "pink",
            Self::Red => "red",
        }
    }
}

/// The nearest colour for text. Black is what text is anyway, and white would not be seen in Notion.
pub(crate) fn text_colour(css: &str) -> Option<Colour> {
    nearest(css, |light| !(64..224).contains(&light))
}

/// The nearest colour behind text. White is what is there anyway.
pub(crate) fn background_colour(css: &str) -> Option<Colour> {
    nearest(css, |light| light > 240)
}

/// By hue, as people name colours: distances between red, green and blue would make a pale red a gray. `plain` says
/// of a colour without hue, by its lightness from 0 to 255, that it is what the theme has.
fn nearest(css: &str, plain: impl Fn(u8) -> bool) -> Option<Colour> {
    let [red, green, blue, alpha] = csscolorparser::parse(css).ok()?.to_rgba8();
    let (max, min) = (red.max(green).max(blue), red.min(green).min(blue));
    if alpha < 16 {
        return Some(Colour::Default);
    }
    if max - min < 24 {
        return Some(if plain(max) {
            Colour::Default
        } else {
            Colour::Gray
        });
    }
    let hue = hue(
        [red, green, blue].map(i32::from),
        i32::from(max),
        i32::from(min),
    );
    Some(match hue {
        15..45 if max < 176 => Colour::Brown,
        15..45 => Colour::Orange,
        45..70 => Colour::Yellow,
        70..170 => Colour::Green,
        170..255 => Colour::Blue,
        255..290 => Colour::Purple,
        290..345 => Colour::Pink,
        _ => Colour::Red,
    })
}

/// In degrees, from 0 (red) over 120 (green) and 240 (blue) to 359.
fn hue([red, green, blue]: [i32; 3], max: i32, min: i32) -> i32 {
    let span = (max - min).max(1);
    let degrees = if max == red {
        60 * (green - blue) / span
    } else if max == green {
        120 + 60 * (blue - red) / span
    } else {
        240 + 60 * (red - green) / span
    };
    degrees.rem_euclid(360)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_the_nearest_that_notion_has() {
        for (css, text, behind) in [
            ("#1e4e79", Colour::Blue, Colour::Blue),
            ("red", Colour::Red, Colour::Red),
            ("yellow", Colour::Yellow, Colour::Yellow),
            ("#00ff00", Colour::Green, Colour::Green),
            ("rgb(255, 192, 0)", Colour::Yellow, Colour::Yellow),
            ("#ff9900", Colour::Orange, Colour::Orange),
            ("#833c0b", Colour::Brown, Colour::Brown),
            ("#7030a0", Colour::Purple, Colour::Purple),
            ("magenta", Colour::Pink, Colour::Pink),
            ("#595959", Colour::Gray, Colour::Gray),
            ("black", Colour::Default, Colour::Gray),
            ("white", Colour::Default, Colour::Default),
            ("transparent", Colour::Default, Colour::Default),
        ] {
            assert_eq!(text_colour(css), Some(text), "{css}");
            assert_eq!(background_colour(css), Some(behind), "{css}");
        }
        assert_eq!(text_colour("windowtext"), None);
    }

    #[test]
    fn lengths_are_of_one_unit() {
        assert_eq!(length("48px"), Some(4_800));
        assert_eq!(length("9PT"), Some(1_200));
        assert_eq!(length("-1.5"), Some(-150));
        assert_eq!(length("1e300px"), Some(1_000_000_000_000));
        assert_eq!(length("NaNpx"), Some(0));
        assert_eq!(length("auto"), None);
    }

    #[test]
    fn fonts_of_code_are_known_by_their_first_family() {
        assert!(is_monospace("'Courier New', serif"));
        assert!(is_monospace("Consolas"));
        assert!(!is_monospace("Calibri, monospace"));
    }
}
