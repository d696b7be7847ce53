//! Instants as the API writes them, and how to say them: RFC 3339 in UTC, nothing else.
//!
//! Written by hand because the page needs three small functions of it, and a calendar
//! library would weigh more than the rest of the page.

/// Milliseconds since 1970 of an instant like `2026-11-30T14:03:27.250Z`; `None` for
/// anything but RFC 3339 in UTC. Digits beyond the millisecond are cut off.
#[must_use]
pub fn unix_ms(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let [hour, minute, second] = numbers(clock, ':')?;
    let in_range = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    let seconds = ((days_since_1970(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    in_range.then_some(seconds * 1000 + millis(fraction)?)
}

/// The time of day of such an instant, `14:03:27`, or the text itself if it is none.
#[must_use]
pub fn time_of_day(text: &str) -> &str {
    match unix_ms(text) {
        Some(_) => text
            .split_once('T')
            .and_then(|(_, time)| time.get(..8))
            .unwrap_or(text),
        None => text,
    }
}

/// How long it is from `now_ms`, Unix milliseconds, until `at`, in milliseconds, at least
/// 0; `None` if `at` is unreadable.
#[must_use]
pub fn ms_until(now_ms: i64, at: &str) -> Option<u64> {
    Some(u64::try_from(unix_ms(at)? - now_ms).unwrap_or(0))
}

/// How long `at` is before `now_ms`, as [`ms_until`] says how long it is after.
#[must_use]
pub fn ms_since(now_ms: i64, at: &str) -> Option<u64> {
    Some(u64::try_from(now_ms - unix_ms(at)?).unwrap_or(0))
}

/// A length of time as people say it: `0.4 s`, `12 s`, `2 min`, `1 h 20 min`, `3 d`.
/// Rounded down, so that an age is never overstated.
#[must_use]
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..10 => format!("{}.{} s", seconds, ms % 1000 / 100),
        10..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 if seconds % 3600 < 60 => format!("{} h", seconds / 3600),
        7200..172_800 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// An age as people say it: like [`duration`], but in whole seconds, so that what is
/// only background doesn't flicker.
#[must_use]
pub fn age(ms: u64) -> String {
    match ms / 1000 {
        seconds @ 0..10 => format!("{seconds} s"),
        _ => duration(ms),
    }
}

/// A wait as people say it: like [`duration`], but rounded up to whole seconds or
/// minutes, so that nobody comes too early.
#[must_use]
pub fn wait(ms: u64) -> String {
    let seconds = ms.div_ceil(1000);
    if seconds < 120 {
        format!("{seconds} s")
    } else {
        duration(seconds.div_ceil(60) * 60_000)
    }
}

/// Mean latency and the like: `0 ms`, `740 ms`, then as [`duration`].
#[must_use]
pub fn fine(ms: u64) -> String {
    if ms < 1000 {
        format!("{ms} ms")
    } else {
        duration(ms)
    }
}

fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let mut parts = text.split(separator).map(|part| {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| part.parse().ok()).flatten()
    });
    let all = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(all)
}

fn millis(fraction: &str) -> Option<i64> {
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    fraction
        .bytes()
        .chain([b'0'; 3])
        .take(3)
        .try_fold(0, |sum, digit| Some(sum * 10 + i64::from(digit - b'0')))
}

/// Howard Hinnant's `days_from_civil`, for years from 0 on.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read() {
        assert_eq!(unix_ms("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(unix_ms("2000-02-29T12:00:00.5Z"), Some(951_825_600_500));
        assert_eq!(
            unix_ms("2026-11-30T14:03:27.250123Z"),
            Some(1_796_047_407_250)
        );
    }

    #[test]
    fn nothing_else_is_read() {
        for text in [
            "",
            "now",
            "2026-11-30T14:03:27+01:00",
            "2026-13-01T00:00:00Z",
            "2026-11-30T14:03Z",
            "2026-11-30T-1:03:27Z",
            "2026-11-30T14:03:27.x1Z",
        ] {
            assert_eq!(unix_ms(text), None, "{text}");
        }
    }

    #[test]
    fn the_time_of_day_is_cut_out() {
        assert_eq!(time_of_day("2026-11-30T14:03:27.250Z"), "14:03:27");
        assert_eq!(time_of_day("whenever"), "whenever");
    }

    #[test]
    fn what_is_over_is_no_time_away() {
        let at = "2026-11-30T14:03:29.500Z";
        let (early, late) = (1_796_047_407_000, 1_796_047_411_000);
        assert_eq!(
            [early, late].map(|now| ms_until(now, at)),
            [Some(2_500), Some(0)]
        );
        assert_eq!(
            [early, late].map(|now| ms_since(now, at)),
            [Some(0), Some(1_500)]
        );
        assert_eq!((ms_until(early, ""), ms_since(early, "")), (None, None));
    }

    #[test]
    fn lengths_of_time_are_said_as_people_say_them() {
        let said = [
            340,
            12_900,
            119_999,
            120_000,
            3_599_000,
            7_200_000,
            8_000_000,
            200_000_000,
        ]
        .map(duration);
        assert_eq!(
            said,
            [
                "0.3 s",
                "12 s",
                "119 s",
                "2 min",
                "59 min",
                "2 h",
                "2 h 13 min",
                "2 d"
            ]
        );
        assert_eq!(
            [1, 4_000, 121_000, 3_541_000].map(wait),
            ["1 s", "4 s", "3 min", "60 min"]
        );
        assert_eq!([0, 4_900, 12_900].map(age), ["0 s", "4 s", "12 s"]);
        assert_eq!([0, 999, 3_100].map(fine), ["0 ms", "999 ms", "3.1 s"]);
    }
}
