//! Points in time as results show them.

use std::time::SystemTime;

use jiff::{Timestamp, Unit};

/// The time in ISO 8601, UTC, to the second.
pub(crate) fn iso8601(time: SystemTime) -> String {
    let timestamp = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    timestamp.round(Unit::Second).unwrap_or(timestamp).to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_utc_to_the_second() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
        assert_eq!(iso8601(time), "2023-11-14T22:13:20Z");
    }
}
