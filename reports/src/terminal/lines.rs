//! Lines that fit a width, measured in columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// `text` cut to `width` columns.
pub(super) fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width - 1 {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// `text` over at most `most` lines of `width` columns, the first after `lead`, the others as far in.
pub(super) fn wrapped(lead: &str, text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines = vec![lead.to_owned()];
    let indent = " ".repeat(lead.width());
    let mut empty = true;
    for word in text.split_whitespace() {
        let line = lines.last_mut().map(|line| line.width()).unwrap_or(0);
        if !empty && line + 1 + word.width() > width {
            lines.push(indent.clone());
            empty = true;
        }
        if let Some(line) = lines.last_mut() {
            if !empty {
                line.push(' ');
            }
            line.push_str(word);
        }
        empty = false;
    }
    let cut = lines.len() > most;
    lines.truncate(most);
    if let (true, Some(last)) = (cut, lines.last_mut()) {
        last.push_str(" …");
    }
    lines.iter().map(|line| fit(line, width)).collect()
}

/// Equal texts once, with how often they came: `exit 0 ×3`.
pub(super) fn tally(items: &[String]) -> String {
    let mut counted: Vec<(&String, usize)> = Vec::new();
    for item in items {
        match counted.iter_mut().find(|(known, _)| *known == item) {
            Some((_, n)) => *n += 1,
            None => counted.push((item, 1)),
        }
    }
    let parts: Vec<_> = counted
        .iter()
        .map(|(item, n)| {
            if *n > 1 {
                format!("{item} ×{n}")
            } else {
                (*item).clone()
            }
        })
        .collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_wrap_and_the_rest_is_marked() {
        let lines = wrapped("  - ", "one two three four five", 12, 2);
        assert_eq!(lines, ["  - one two", "    three …"]);
    }

    #[test]
    fn a_wide_character_counts_as_two_columns() {
        assert_eq!(fit("漢字漢字", 5), "漢字…");
    }
}
