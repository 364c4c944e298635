//! Numbers and small texts as a person reads them.
//!
//! Invariant: the same number gives the same text everywhere; nothing depends on a locale.

/// With thousands apart: `20,000`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 case`, `2,000 cases`.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// Per cent with one place, kept on one line; `0 %` of nothing. Only all of it is `100 %`.
pub(super) fn percent(part: u64, whole: u64) -> String {
    match part {
        0 => "0\u{a0}%".to_owned(),
        _ if part == whole => "100\u{a0}%".to_owned(),
        // Truncated, so that 99.97 doesn't read as all of it.
        _ => {
            let tenths = (u128::from(part) * 1000).checked_div(u128::from(whole)).unwrap_or(0);
            format!("{}.{}\u{a0}%", tenths / 10, tenths % 10)
        }
    }
}

/// The level of shading of a count: its number of decimal digits, at most 5; 0 for 0.
pub(super) fn level(count: u64) -> u32 {
    count.checked_ilog10().map_or(0, |power| (power + 1).min(5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(counted(1, "case", "cases"), "1 case");
        assert_eq!(percent(9999, 10_000), "99.9\u{a0}%");
        assert_eq!([percent(0, 0), percent(3, 3), percent(1, 8)], ["0\u{a0}%", "100\u{a0}%", "12.5\u{a0}%"]);
        assert_eq!([0, 1, 9, 10, 99_999, 1_000_000].map(level), [0, 1, 1, 2, 5, 5]);
    }
}
