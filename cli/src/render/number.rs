//! Numbers for people.

/// A count with its thousands apart.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count and the noun, which takes an `s` unless there is one.
pub(crate) fn of(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A count of anything that is counted in memory.
pub(crate) fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Bytes in the unit that leaves one to four digits before the point.
pub(crate) fn bytes(number: u64) -> String {
    if number < 1000 {
        return format!("{number} B");
    }
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
    let mut value = number as f64 / 1000.0;
    for unit in ["kB", "MB", "GB"] {
        if value < 999.95 {
            return format!("{value:.1} {unit}");
        }
        value /= 1000.0;
    }
    format!("{value:.1} TB")
}

/// How long ago a time was, in its largest unit.
pub(crate) fn ago(now_ms: i64, then_ms: i64) -> String {
    let seconds = now_ms.saturating_sub(then_ms) / 1000;
    match seconds {
        ..=-2 => "in the future".to_owned(),
        -1..=1 => "now".to_owned(),
        2..=119 => format!("{seconds} s ago"),
        120..=7199 => format!("{} min ago", seconds / 60),
        7200..=172_799 => format!("{} h ago", seconds / 3600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_thousands() {
        let shown: Vec<_> = [0, 999, 1000, 1_234_567].into_iter().map(count).collect();
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn bytes_change_their_unit_before_five_digits() {
        let shown: Vec<_> = [999, 1000, 999_949, 999_950, 1_500_000_000].into_iter().map(bytes).collect();
        assert_eq!(shown, ["999 B", "1.0 kB", "999.9 kB", "1.0 MB", "1.5 GB"]);
    }

    #[test]
    fn a_clock_that_went_back_says_so() {
        assert_eq!(ago(0, 5_000), "in the future");
        assert_eq!(ago(10_000, 0), "10 s ago");
    }
}
