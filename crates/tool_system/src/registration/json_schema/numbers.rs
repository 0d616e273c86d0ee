//! Numbers, compared by value: 64-bit integers exactly, and others as the decimal that they are written as.

use std::cmp::Ordering;

use serde_json::Number;

/// Decimal places that a quotient of 64-bit digits can still have.
const MAX_SHIFT: i64 = 38;

fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// Which of two numbers is larger. Infinite ones and those that are no numbers do not occur in JSON.
pub(super) fn compare(left: &Number, right: &Number) -> Ordering {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(left), None) => with_float(left, float(right)),
        (None, Some(right)) => with_float(right, float(left)).reverse(),
        (None, None) => by_value(float(left), float(right)),
    }
}

fn by_value(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default()
}

/// A conversion to `i128` saturates, beyond all 64-bit integers.
fn with_float(whole: i128, float: f64) -> Ordering {
    let fraction = float.fract();
    whole.cmp(&(float.trunc() as i128)).then(by_value(0.0, fraction))
}

/// Whether a number is whole, however it is written.
pub(super) fn is_whole(number: &Number) -> bool {
    whole(number).is_some() || float(number).fract() == 0.0
}

/// Something that is the same for equal numbers.
pub(super) fn key(number: &Number) -> u64 {
    // Zero has two signs.
    (float(number) + 0.0).to_bits()
}

/// The digits of a number without its sign, and the power of ten that they count.
fn decimal(number: &Number) -> (u64, i64) {
    if let Some(whole) = whole(number) {
        return (u64::try_from(whole.unsigned_abs()).unwrap_or(u64::MAX), 0);
    }
    // Written with the fewest digits that mean this number, as in `1.25e-3`.
    let text = format!("{:e}", float(number).abs());
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let (before, after) = digits.split_once('.').unwrap_or((digits, ""));
    let digits = format!("{before}{after}").parse().unwrap_or_default();
    let places = i64::try_from(after.len()).unwrap_or_default();
    (digits, power.parse::<i64>().unwrap_or_default() - places)
}

/// Whether `number` is a multiple of `of`, which is larger than zero.
pub(super) fn is_multiple(number: &Number, of: &Number) -> bool {
    let ((digits, power), (of_digits, of_power)) = (decimal(number), decimal(of));
    if digits == 0 {
        return true;
    }
    let shift = power - of_power;
    if shift < 0 {
        let scale = (-shift <= MAX_SHIFT).then(|| 10u128.pow(shift.unsigned_abs() as u32));
        let of = scale.and_then(|scale| scale.checked_mul(u128::from(of_digits)));
        return of.is_some_and(|of| of != 0 && u128::from(digits).is_multiple_of(of));
    }
    let of = u128::from(of_digits).max(1);
    let rest = u128::from(digits) % of * power_of_ten(shift.unsigned_abs(), of);
    rest.is_multiple_of(of)
}

/// A power of ten, modulo a number below 2^64.
fn power_of_ten(mut exponent: u64, modulus: u128) -> u128 {
    let (mut result, mut factor) = (1 % modulus, 10 % modulus);
    while exponent > 0 {
        if exponent % 2 == 1 {
            result = result * factor % modulus;
        }
        factor = factor * factor % modulus;
        exponent /= 2;
    }
    result
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn number(text: &str) -> Number {
        match serde_json::from_str(text).unwrap() {
            Value::Number(number) => number,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn numbers_are_compared_by_value() {
        let ascending = [
            "-1e300",
            "-9223372036854775809",
            "-9223372036854775807",
            "-1.5",
            "-1",
            "-0.5",
            "0",
            "0.5",
            "1",
            "1.5",
            "9007199254740992",
            "9007199254740993",
            "18446744073709551615",
            "18446744073709551616",
            "1e300",
        ];
        for (at, left) in ascending.iter().enumerate() {
            for (other, right) in ascending.iter().enumerate() {
                let expected = at.cmp(&other);
                assert_eq!(compare(&number(left), &number(right)), expected, "{left} {right}");
            }
        }
        for (left, right) in [("1", "1.0"), ("-0.0", "0"), ("1e2", "100")] {
            assert_eq!(compare(&number(left), &number(right)), Ordering::Equal);
            assert_eq!(key(&number(left)), key(&number(right)));
        }
    }

    #[test]
    fn multiples_are_those_of_the_decimals_as_written() {
        let table = [
            ("0.07", "0.01", true),
            ("0.075", "0.01", false),
            ("19.99", "0.01", true),
            ("1e308", "0.5", true),
            ("1e308", "3", false),
            ("1e308", "0.123456789", false),
            ("12391239123", "1e-8", true),
            ("-4.5", "1.5", true),
            ("35", "1.5", false),
            ("0", "7", true),
            ("1e-320", "10", false),
            ("18446744073709551615", "5", true),
            ("18446744073709551615", "2", false),
            ("5e-324", "5e-324", true),
        ];
        for (given, of, expected) in table {
            assert_eq!(is_multiple(&number(given), &number(of)), expected, "{given} {of}");
        }
    }
}
