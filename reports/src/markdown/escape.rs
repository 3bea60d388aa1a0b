//! Foreign text in Markdown: it stands there and does nothing.

use crate::text::visible;

/// Characters of one piece of foreign text at most.
const MOST_CHARS: usize = 600;

/// Text in a line or a table's cell: every character that Markdown or HTML gives a meaning is written as a character
/// reference. GitHub looks for mentions and references in what was rendered, and an empty comment takes those apart.
pub(super) fn inline(text: &str) -> String {
    let mut out = String::new();
    for c in visible(text, MOST_CHARS).chars() {
        match c {
            '&' | '<' | '>' | '"' | '\'' | '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '('
            | ')' | '+' | '!' | '|' | '~' | '$' | '^' | '=' => {
                out.push_str(&format!("&#{};", u32::from(c)));
            }
            '@' | '#' => out.push_str(&format!("&#{};<!-- -->", u32::from(c))),
            c => out.push(c),
        }
    }
    // Bare links: schemes and `www.`.
    out.replace("://", "&#58;//").replace("www.", "www&#46;")
}

/// Text as code, in a line or a table's cell.
pub(super) fn code(text: &str) -> String {
    format!("<code>{}</code>", inline(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_that_formats_links_or_mentions() {
        let text = "<b>&amp; [a](http://x) @you #12 | **x** `y` www.z $e$ \\u{202e}";
        assert_eq!(
            inline(text),
            "&#60;b&#62;&#38;amp; &#91;a&#93;&#40;http&#58;//x&#41; &#64;<!-- -->you &#35;<!-- -->12 &#124; \
             &#42;&#42;x&#42;&#42; &#96;y&#96; www&#46;z &#36;e&#36; &#92;u&#123;202e&#125;"
        );
    }
}
