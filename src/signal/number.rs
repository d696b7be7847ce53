//! Decimal numbers of any length, read into integers.

/// A number that is not negative, cut to thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Decimal {
    /// The part before the point; the highest `u64` if it is above that.
    whole: u64,
    /// The first three digits after the point.
    thousandths: u64,
    /// Whether more follows that is not zero.
    more: bool,
}

impl Decimal {
    /// Reads digits with at most one point among them: `5`, `1.5`, `.5`, `5.`, with a `+`
    /// before. A negative number reads as 0: nothing here can be less. Anything else,
    /// exponents included, is not a number.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let (negative, digits) = match text {
            [b'-', digits @ ..] => (true, digits),
            [b'+', digits @ ..] => (false, digits),
            digits => (false, digits),
        };
        let number = Self::read_digits(digits)?;
        Some(if negative { Self::default() } else { number })
    }

    fn read_digits(text: &[u8]) -> Option<Self> {
        let point = text.iter().position(|byte| *byte == b'.');
        let (whole, fraction) = text.split_at(point.unwrap_or(text.len()));
        let fraction = fraction.get(1..).unwrap_or_default();
        let mut digits = whole.iter().chain(fraction).peekable();
        digits.peek()?;
        digits.all(u8::is_ascii_digit).then(|| Self {
            whole: whole.iter().fold(0, append),
            thousandths: (0..3)
                .map(|place| fraction.get(place).unwrap_or(&b'0'))
                .fold(0, append),
            more: fraction.iter().skip(3).any(|digit| *digit != b'0'),
        })
    }

    /// A thousand times the number, rounded up.
    pub(super) fn thousandths_up(self) -> u64 {
        self.thousandths_down().saturating_add(u64::from(self.more))
    }

    /// A thousand times the number, rounded down.
    pub(super) fn thousandths_down(self) -> u64 {
        self.whole
            .saturating_mul(1_000)
            .saturating_add(self.thousandths)
    }

    /// The number, rounded up.
    pub(super) fn up(self) -> u64 {
        let rest = self.thousandths > 0 || self.more;
        self.whole.saturating_add(u64::from(rest))
    }

    /// Ten times the number, rounded down: a per cent in per mille.
    pub(super) fn tenths_down(self) -> u64 {
        self.whole
            .saturating_mul(10)
            .saturating_add(self.thousandths / 100)
    }
}

/// A whole number that is not negative; the highest `u64` if it is above that.
pub(super) fn whole(text: &[u8]) -> Option<u64> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    is_number.then(|| text.iter().fold(0, append))
}

/// `digit` written behind `number`.
fn append(number: u64, digit: &u8) -> u64 {
    number
        .saturating_mul(10)
        .saturating_add(u64::from(digit.wrapping_sub(b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_cut_and_rounded_without_loss() {
        let table: [(&str, u64, u64, u64, u64); 9] = [
            // written, thousandths down and up, rounded up, tenths down
            ("0.249", 249, 249, 1, 2),
            ("0.2490", 249, 249, 1, 2),
            ("0.2491", 249, 250, 1, 2),
            ("0.0000001", 0, 1, 1, 0),
            ("1.5", 1_500, 1_500, 2, 15),
            (".5", 500, 500, 1, 5),
            ("+5.", 5_000, 5_000, 5, 50),
            ("-5", 0, 0, 0, 0),
            ("007", 7_000, 7_000, 7, 70),
        ];
        for (written, down, up, rounded, tenths) in table {
            let number = Decimal::read(written.as_bytes()).expect(written);
            assert_eq!(number.thousandths_down(), down, "{written}");
            assert_eq!(number.thousandths_up(), up, "{written}");
            assert_eq!(number.up(), rounded, "{written}");
            assert_eq!(number.tenths_down(), tenths, "{written}");
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in [
            "", ".", "-", "+", "--5", "1.2.3", "1e3", "0x10", "5 s", "5s", "\u{665}", "NaN",
        ] {
            assert_eq!(Decimal::read(text.as_bytes()), None, "{text}");
        }
        for text in ["", "-1", "+1", "1.0", "a"] {
            assert_eq!(whole(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn long_numbers_saturate() {
        let long = b"9".repeat(40);
        assert_eq!(whole(&long), Some(u64::MAX));
        let number = Decimal::read(&long).expect("digits");
        assert_eq!(number.thousandths_up(), u64::MAX);
        assert_eq!(number.up(), u64::MAX);
        assert_eq!(number.tenths_down(), u64::MAX);
    }
}
