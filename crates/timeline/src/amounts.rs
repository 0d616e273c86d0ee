//! Numbers in a form that is short to read.

/// From here on a number with one decimal is rounded to a thousand thousands.
const ROUNDED_TO_MILLION: u64 = 999_950;
const MINUTE_MS: u64 = 60 * 1_000;

/// `950`, `12.3k`, `1.2M`.
pub fn count(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..ROUNDED_TO_MILLION => format!("{:.1}k", number as f64 / 1e3),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

/// More is not a price. An imported log may hold any number, with hundreds of digits.
const MOST_DOLLARS: f64 = 1e9;

/// Dollars, with as many places as say something.
pub fn money(dollars: f64) -> String {
    if dollars >= MOST_DOLLARS {
        format!("over ${MOST_DOLLARS:.0}")
    } else if dollars >= 1.0 || dollars == 0.0 {
        format!("${dollars:.2}")
    } else {
        format!("${dollars:.4}")
    }
}

/// `3 ms`, `1.4 s`, `2 min 5 s`.
pub fn duration(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        1_000..10_000 => format!("{:.1} s", milliseconds as f64 / 1e3),
        10_000..MINUTE_MS => format!("{} s", milliseconds / 1_000),
        _ => format!("{} min {} s", milliseconds / MINUTE_MS, milliseconds / 1_000 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let counts =
            [(0, "0"), (999, "999"), (12_345, "12.3k"), (999_960, "1.0M"), (2_500_000, "2.5M")];
        for (number, expected) in counts {
            assert_eq!(count(number), expected);
        }
        let prices = [
            (0.0, "$0.00"),
            (0.01234, "$0.0123"),
            (12.5, "$12.50"),
            (1e308, "over $1000000000"),
            (f64::INFINITY, "over $1000000000"),
        ];
        for (dollars, expected) in prices {
            assert_eq!(money(dollars), expected);
        }
        let times = [(3, "3 ms"), (1_440, "1.4 s"), (59_999, "59 s"), (125_000, "2 min 5 s")];
        for (milliseconds, expected) in times {
            assert_eq!(duration(milliseconds), expected);
        }
    }
}
