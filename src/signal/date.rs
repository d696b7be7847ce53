//! Dates as HTTP writes them, in all three forms of RFC 9110, section 5.6.7.

/// Days before each month of a common year.
const DAYS_BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const EPOCH_YEAR: u64 = 1970;
const DAY_S: u64 = 86_400;
/// The mean year of the calendar: 400 years have 146,097 days.
const YEAR_S: u64 = 146_097 * DAY_S / 400;

/// The date in seconds since the Unix epoch, 0 if it is before that.
///
/// - `Sun, 06 Nov 1994 08:49:37 GMT`
/// - `Sunday, 06-Nov-94 08:49:37 GMT`, its century chosen by `now_s`
/// - `Sun Nov  6 08:49:37 1994`
///
/// The day of the week is not checked, nor whether the month has that many days; any zone
/// but GMT is no HTTP date.
pub(super) fn unix_s(text: &[u8], now_s: u64) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    // One more than the longest form has, so that what is longer matches none.
    let words: Vec<&str> = text
        .split([' ', '\t', ',', '-'])
        .filter(|word| !word.is_empty())
        .take(7)
        .collect();
    let (year, month, day, time) = match *words.as_slice() {
        [_, day, month, year, time, zone] if is_gmt(zone) => (year, month, day, time),
        [_, month, day, time, year] => (year, month, day, time),
        _ => return None,
    };
    let days = days(read_year(year, now_s)?, read_month(month)?, read_day(day)?);
    Some(days? * DAY_S + read_time(time)?)
}

fn is_gmt(zone: &str) -> bool {
    ["GMT", "UTC"]
        .iter()
        .any(|name| zone.eq_ignore_ascii_case(name))
}

/// Days since the epoch; `month` counts from 0, `day` from 1.
fn days(year: u64, month: usize, day: u64) -> Option<u64> {
    let Some(years) = year.checked_sub(EPOCH_YEAR) else {
        return Some(0);
    };
    let leap_days = leap_days_before(year) - leap_days_before(EPOCH_YEAR);
    let this_year = u64::from(month > 1 && is_leap(year));
    Some(years * 365 + leap_days + this_year + DAYS_BEFORE.get(month)? + day - 1)
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// `year` is at least 1.
const fn leap_days_before(year: u64) -> u64 {
    let past = year - 1;
    past / 4 - past / 100 + past / 400
}

/// Four digits as they stand; two as RFC 9110 demands: the year with these last digits that
/// is at most 50 years ahead.
fn read_year(text: &str, now_s: u64) -> Option<u64> {
    let year = read_digits(text)?;
    match text.len() {
        4 => Some(year),
        2 => {
            let earliest = EPOCH_YEAR + now_s / YEAR_S - 49;
            Some(earliest + (100 + year - earliest % 100) % 100)
        }
        _ => None,
    }
}

fn read_month(text: &str) -> Option<usize> {
    MONTHS
        .iter()
        .position(|month| month.eq_ignore_ascii_case(text))
}

fn read_day(text: &str) -> Option<u64> {
    read_digits(text).filter(|day| (1..=31).contains(day))
}

/// The second of the day; a minute may have a leap second.
fn read_time(text: &str) -> Option<u64> {
    let mut parts = text.split(':').map(read_digits);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let legal = hour < 24 && minute < 60 && second <= 60 && parts.next().is_none();
    legal.then_some((hour * 60 + minute) * 60 + second)
}

/// At most four digits, so that no sum of them overflows.
fn read_digits(text: &str) -> Option<u64> {
    let digits = text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The example of RFC 9110.
    const EXAMPLE_S: u64 = 784_111_777;
    const IN_2026_S: u64 = 1_790_000_000;

    #[test]
    fn all_three_forms_are_read() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "sun, 6 nov 1994 8:49:37 utc",
        ] {
            assert_eq!(
                unix_s(text.as_bytes(), IN_2026_S),
                Some(EXAMPLE_S),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_http_date_is_none() {
        for text in [
            "",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 PST",
            "Sun, 06 Nov 1994 08:49:37 GMT GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 32 Nov 1994 08:49:37 GMT",
            "Sun, 06 Noc 1994 08:49:37 GMT",
            "Sun, 06 Nov 194 08:49:37 GMT",
            "Sun, 06 Nov 199994 08:49:37 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT",
            "1994-11-06T08:49:37Z",
        ] {
            assert_eq!(unix_s(text.as_bytes(), IN_2026_S), None, "{text}");
        }
    }

    #[test]
    fn years_before_the_epoch_are_its_start() {
        let text = b"Mon, 01 Jan 1601 00:00:00 GMT";
        assert_eq!(unix_s(text, IN_2026_S), Some(0));
    }

    #[test]
    fn two_digits_are_at_most_fifty_years_ahead() {
        for (year, expected) in [("26", 2026), ("76", 2076), ("77", 1977), ("00", 2000)] {
            assert_eq!(read_year(year, IN_2026_S), Some(expected));
        }
        assert_eq!(read_year("00", 0), Some(2000));
        assert_eq!(read_year("21", 0), Some(1921));
        assert!(read_year("99", u64::MAX / 1_000).is_some());
    }

    /// The calendar, walked day by day.
    fn civil(mut days: u64) -> (u64, usize, u64) {
        let mut year = EPOCH_YEAR;
        while days >= 365 + u64::from(is_leap(year)) {
            days -= 365 + u64::from(is_leap(year));
            year += 1;
        }
        let february = 28 + u64::from(is_leap(year));
        let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        for (month, length) in lengths.into_iter().enumerate() {
            if days < length {
                return (year, month, days + 1);
            }
            days -= length;
        }
        unreachable!("twelve months are a year")
    }

    proptest! {
        #[test]
        fn a_written_date_is_read_back(at_s in 0..8_000 * YEAR_S) {
            let (year, month, day) = civil(at_s / DAY_S);
            let name = MONTHS[month];
            let (minutes, second) = (at_s % DAY_S / 60, at_s % 60);
            let time = format!("{:02}:{:02}:{second:02}", minutes / 60, minutes % 60);
            let fixed = format!("Thu, {day:02} {name} {year} {time} GMT");
            prop_assert_eq!(unix_s(fixed.as_bytes(), 0), Some(at_s));
            let asctime = format!("Thu {name} {day:2} {time} {year}");
            prop_assert_eq!(unix_s(asctime.as_bytes(), 0), Some(at_s));
            let rfc850 = format!("Thursday, {day:02}-{name}-{:02} {time} GMT", year % 100);
            prop_assert_eq!(unix_s(rfc850.as_bytes(), at_s), Some(at_s));
        }
    }
}
