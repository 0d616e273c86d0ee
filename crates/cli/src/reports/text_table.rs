//! Rows in columns.

/// What stands between two columns.
const GAP: usize = 2;

/// Rows in columns as wide as they have to be: the first to the left, the others to the right, the last
/// one as it comes.
///
/// If the table is wider than `width`, columns are left out, the first ones named in `dispensable` first.
pub(crate) fn table<const N: usize>(
    head: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    dispensable: &[usize],
    width: Option<usize>,
) -> String {
    let head = head.map(str::to_owned);
    let rows: Vec<[String; N]> = std::iter::once(head).chain(rows).collect();
    let widths: [usize; N] = std::array::from_fn(|column| {
        rows.iter().map(|row| terminal::columns(&row[column])).max().unwrap_or(0)
    });
    let mut shown: Vec<usize> = (0..N).collect();
    let mut dispensable = dispensable.iter();
    let taken = |shown: &[usize]| {
        shown.iter().map(|column| widths[*column] + GAP).sum::<usize>().saturating_sub(GAP)
    };
    while width.is_some_and(|width| taken(&shown) > width) {
        let Some(column) = dispensable.next() else { break };
        shown.retain(|kept| kept != column);
    }
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (place, column) in shown.iter().enumerate() {
            let cell = &row[*column];
            let blanks = " ".repeat(widths[*column] - terminal::columns(cell));
            let is_left = place == 0 || *column + 1 == N;
            let gap = if place == 0 { 0 } else { GAP };
            line.push_str(&" ".repeat(gap));
            line.push_str(&if is_left {
                format!("{cell}{blanks}")
            } else {
                format!("{blanks}{cell}")
            });
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> [[String; 4]; 2] {
        [["grep", "12", "yes", "██"], ["find_definition", "3", "", "▌"]]
            .map(|row| row.map(str::to_owned))
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let text = table(["tool", "calls", "helped", ""], rows(), &[], Some(10));
        insta::assert_snapshot!(text, @r"
        tool             calls  helped
        grep                12     yes  ██
        find_definition      3          ▌
        ");
    }

    #[test]
    fn what_does_not_fit_goes_in_the_order_that_is_given() {
        let head = ["tool", "calls", "helped", ""];
        let narrow = table(head, rows(), &[2, 3], Some(26));
        insta::assert_snapshot!(narrow, @r"
        tool             calls
        grep                12  ██
        find_definition      3  ▌
        ");
        assert!(table(head, rows(), &[2, 3], Some(22)).lines().all(|line| line.len() <= 22));
    }
}
