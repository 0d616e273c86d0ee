//! Months of the calendar, by the time in session ids. Pure.

use crate::SessionId;

/// Of every day: session ids count without leap seconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Days of four years with a leap day, but for that day.
const DAYS_OF_4_YEARS: i64 = 1460;
/// Days of a century in which the last year has no leap day.
const DAYS_OF_100_YEARS: i64 = 36_524;
/// Days from 1970-01-01 back to 0000-03-01, where years of the calculation below begin.
const DAYS_TO_1970: i64 = 719_468;
/// Days of 400 years, after which the calendar repeats itself.
const DAYS_OF_400_YEARS: i64 = 146_097;
const MONTHS_OF_A_YEAR: i64 = 12;

/// A month, counted from the beginning of the year 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Month(i64);

impl Month {
    /// The month of a time: milliseconds since 1970, UTC.
    pub(crate) fn of(milliseconds: i64) -> Self {
        let days = milliseconds.div_euclid(DAY_MS) + DAYS_TO_1970;
        let era = days.div_euclid(DAYS_OF_400_YEARS);
        let day = days.rem_euclid(DAYS_OF_400_YEARS);
        // Leap days are at the end of years that begin in March.
        let year = (day - day / DAYS_OF_4_YEARS + day / DAYS_OF_100_YEARS
            - day / (DAYS_OF_400_YEARS - 1))
            / 365;
        let day_of_year = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day_of_year + 2) / 153;
        // January and February belong to the next year.
        Self((era * 400 + year) * MONTHS_OF_A_YEAR + month + 2)
    }

    /// The month in which a session began.
    pub(crate) fn of_session(id: &SessionId) -> Self {
        Self::of(id.milliseconds())
    }

    pub(crate) fn plus(self, months: i64) -> Self {
        Self(self.0 + months)
    }

    /// When it begins: milliseconds since 1970, UTC.
    pub(crate) fn begin(self) -> i64 {
        let since_march = self.0 - 2;
        let year = since_march.div_euclid(MONTHS_OF_A_YEAR);
        let month = since_march.rem_euclid(MONTHS_OF_A_YEAR);
        let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
        let days = 365 * year + leap_days + (153 * month + 2) / 5;
        (days - DAYS_TO_1970) * DAY_MS
    }

    /// The first id of the month. Ids sort by time.
    pub(crate) fn first_id(self) -> SessionId {
        SessionId::first_of(self.begin())
    }

    /// Such as `2026_11`.
    pub(crate) fn name(self) -> String {
        let (year, month) =
            (self.0.div_euclid(MONTHS_OF_A_YEAR), self.0.rem_euclid(MONTHS_OF_A_YEAR));
        format!("{year:04}_{:02}", month + 1)
    }

    /// Reads what [`Self::name`] wrote.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (year, month) = name.split_once('_')?;
        let (year, month) = (year.parse::<i64>().ok()?, month.parse::<i64>().ok()?);
        (1..=MONTHS_OF_A_YEAR).contains(&month).then(|| Self(year * MONTHS_OF_A_YEAR + month - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_those_of_the_calendar() {
        let table = [
            (0, "1970_01", 0),
            (31 * DAY_MS - 1, "1970_01", 0),
            (31 * DAY_MS, "1970_02", 31 * DAY_MS),
            // 2024-02-29T23:59:59.999Z and the moment after.
            (1_709_251_199_999, "2024_02", 1_706_745_600_000),
            (1_709_251_200_000, "2024_03", 1_709_251_200_000),
            (1_767_225_599_999, "2025_12", 1_764_547_200_000),
            (1_767_225_600_000, "2026_01", 1_767_225_600_000),
        ];
        for (at, name, begin) in table {
            let month = Month::of(at);
            assert_eq!((month.name().as_str(), month.begin()), (name, begin));
            assert_eq!(Month::parse(name), Some(month));
        }
        assert_eq!(
            [Month::parse("2026_13"), Month::parse("other"), Month::parse("1_0")],
            [None; 3]
        );
    }

    #[test]
    fn every_day_of_400_years_is_in_the_month_that_holds_it() {
        for day in 0..DAYS_OF_400_YEARS {
            let (at, month) = (day * DAY_MS, Month::of(day * DAY_MS));
            assert!(month.begin() <= at && at < month.plus(1).begin(), "{day} {}", month.name());
        }
    }

    #[test]
    fn ids_are_in_the_month_in_which_they_were_made() {
        let month = Month::parse("2026_11").unwrap();
        let inside = SessionId::generate_at(month.begin()).unwrap();
        let before = SessionId::generate_at(month.begin() - 1).unwrap();
        assert_eq!(Month::of_session(&inside), month);
        assert!(before < month.first_id() && month.first_id() <= inside);
    }
}
