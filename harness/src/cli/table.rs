//! Plain tables for a terminal.
//!
//! Invariant: as wide as its widest cells; the last column isn't padded.

/// Rows of equal length as aligned text, each line indented by two spaces.
pub(super) fn render(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::from(" ");
        for (cell, width) in row.iter().zip(&widths) {
            line.push(' ');
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width - cell.chars().count()));
            line.push(' ');
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A row from anything that can be shown.
macro_rules! row {
    ($($cell:expr),* $(,)?) => { vec![$($cell.to_string()),*] };
}
pub(super) use row;

#[cfg(test)]
mod tests {
    #[test]
    fn columns_line_up() {
        let rows = [row!["a", 1, "x"], row!["long", 22, ""]];
        assert_eq!(super::render(&rows), "  a     1   x\n  long  22\n");
    }
}
