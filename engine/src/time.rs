//! Points in time, as callers give them and as sources write them.
//!
//! **Absent:** a clock. Nothing here knows what time it is.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixMillis(pub i64);

/// A number of seconds stays below this until the year 5138, and a number of milliseconds is above it since 1973.
const SECONDS_MAX: i64 = 100_000_000_000;

impl From<SystemTime> for UnixMillis {
    fn from(time: SystemTime) -> Self {
        Self(time.duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl std::fmt::Display for UnixMillis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ms since 1970", self.0)
    }
}

impl UnixMillis {
    /// Reads what a source wrote: an RFC 3339 time, or digits, which are milliseconds since 1970, or seconds when they are below 10^11.
    /// `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Self::rfc3339(text);
        }
        let number = text.parse::<i64>().ok()?;
        Some(Self(if number < SECONDS_MAX { number * 1000 } else { number }))
    }

    /// Reads an RFC 3339 time; what is finer than a millisecond is cut off.
    pub(crate) fn rfc3339(text: &str) -> Option<Self> {
        let (date, clock) = (text.get(..10)?, text.get(11..19)?);
        let parted = text.get(10..11).is_some_and(|between| matches!(between, "T" | "t" | " "));
        let [year, month, day] = numbers(date, '-')?;
        let [hour, minute, second] = numbers(clock, ':')?;
        // A leap second is the first of the next minute.
        if !parted || !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let (fraction, zone) = fraction(text.get(19..)?)?;
        let minutes = (days(year, month, day) * 24 + hour) * 60 + minute - offset(zone)?;
        Some(Self((minutes * 60 + second) * 1000 + fraction))
    }
}

/// Three numbers of digits alone.
fn numbers(text: &str, between: char) -> Option<[i64; 3]> {
    let mut parts = text.split(between).map(|part| part.parse::<u16>().ok().filter(|_| part.bytes().all(|byte| byte.is_ascii_digit())));
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then(|| numbers.map(i64::from))
}

/// Milliseconds of a fraction, and what comes behind it.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let Some(rest) = text.strip_prefix('.') else { return Some((0, text)) };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (fraction, zone) = rest.split_at_checked(digits)?;
    let millis = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    Some((millis, zone)).filter(|_| digits > 0)
}

/// Minutes by which a zone is ahead.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = zone.strip_prefix(['+', '-'])?.split_once(':')?;
    let number = |text: &str| text.parse::<u8>().ok().filter(|_| text.len() == 2 && !text.starts_with('+')).map(i64::from);
    Some(sign * (number(hours)? * 60 + number(minutes)?))
}

/// Days from 1970-01-01 to a day of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month < 3 { (year - 1, month + 12) } else { (year, month) };
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (153 * (month - 3) + 2) / 5 + day - 719_469
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_zone() {
        let cases = [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2020-01-01T00:00:00Z", Some(1_577_836_800_000)),
            ("2024-02-29T12:00:00.25+02:00", Some(1_709_200_800_250)),
            ("2024-02-29T12:00:00.250999999+02:00", Some(1_709_200_800_250)),
            ("1969-12-31T23:59:59.000Z", Some(-1000)),
            ("2020-01-01T00:00:00", None),
            ("2020-01-01T00:00:00.Z", None),
            ("2020-13-01T00:00:00Z", None),
            ("2020-01-01T24:00:00Z", None),
            ("2020-01-01T00:00:00+1:00", None),
            ("+020-01-01T00:00:00Z", None),
            ("soon", None),
            ("", None),
            ("é020-01-01T00:00:00Z", None),
        ];
        for (text, millis) in cases {
            assert_eq!(UnixMillis::rfc3339(text), millis.map(UnixMillis), "{text}");
        }
    }

    #[test]
    fn digits_are_milliseconds_or_seconds() {
        assert_eq!(UnixMillis::parse("1700000000000"), Some(UnixMillis(1_700_000_000_000)));
        assert_eq!(UnixMillis::parse("1700000000"), Some(UnixMillis(1_700_000_000_000)));
        assert_eq!(UnixMillis::parse("99999999999999999999"), None);
        assert_eq!(UnixMillis::parse("-1"), None);
    }
}
