//! Columns of whole numbers in few characters, for the script's tables of request rows.
//!
//! A column is one of:
//!
//! - `{"all": n}`: every row has this number (`null`: none has one);
//! - `{"steps": [n, ...]}`: the difference to the row before, from 0;
//! - `{"digits": "0a-..."}`: one character a row, base 36, `-` for none;
//! - `{"each": [n, ...]}`: 0 for none, a number that is not negative one higher, a negative number as it is.

use serde_json::{Value, json};

/// A row's number in a column.
pub(super) type Cell = Option<i64>;

/// A column in the shortest of the forms that can hold it.
pub(super) fn column_json(cells: &[Cell]) -> Value {
    match cells {
        [] => json!({ "all": null }),
        [first, rest @ ..] if rest.iter().all(|cell| cell == first) => json!({ "all": first }),
        _ if cells
            .iter()
            .flatten()
            .all(|n| (0..DIGITS.len() as i64).contains(n)) =>
        {
            digits(cells)
        }
        _ => {
            let each = each(cells);
            let steps = steps(cells).filter(|steps| characters(steps) < characters(&each));
            match steps {
                Some(steps) => json!({ "steps": steps }),
                None => json!({ "each": each }),
            }
        }
    }
}

/// Characters that numbers take, with what parts them.
fn characters(numbers: &[i64]) -> usize {
    let digits = |n: &i64| n.unsigned_abs().checked_ilog10().unwrap_or(0) as usize;
    numbers
        .iter()
        .map(|n| digits(n) + 2 + usize::from(*n < 0))
        .sum()
}

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The steps from row to row; `None` where a row has no number.
fn steps(cells: &[Cell]) -> Option<Vec<i64>> {
    let mut last = 0;
    let step = |cell: &Cell| {
        let step = (*cell)? - last;
        last += step;
        Some(step)
    };
    cells.iter().map(step).collect()
}

fn digits(cells: &[Cell]) -> Value {
    let digit = |cell: &Cell| {
        cell.and_then(|n| DIGITS.get(usize::try_from(n).ok()?))
            .map_or('-', |d| char::from(*d))
    };
    json!({ "digits": cells.iter().map(digit).collect::<String>() })
}

fn each(cells: &[Cell]) -> Vec<i64> {
    let shifted = |cell: &Cell| match cell {
        None => 0,
        Some(n) if *n < 0 => *n,
        Some(n) => n + 1,
    };
    cells.iter().map(shifted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_takes_the_form_that_suits_it() {
        let plain = |cells: &[Cell]| column_json(cells).to_string();
        assert_eq!(plain(&[]), r#"{"all":null}"#);
        assert_eq!(plain(&[Some(7), Some(7)]), r#"{"all":7}"#);
        assert_eq!(plain(&[Some(0), None, Some(35)]), r#"{"digits":"0-z"}"#);
        assert_eq!(
            plain(&[Some(0), None, Some(36), Some(-2)]),
            r#"{"each":[1,0,37,-2]}"#
        );
        let rising = column_json(&[Some(1_010), Some(1_012), Some(1_500)]);
        assert_eq!(rising.to_string(), r#"{"steps":[1010,2,488]}"#);
    }
}
