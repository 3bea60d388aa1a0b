//! Formats that are templates: literal text with variables in it, in the notation of the program that writes it.

use crate::captures::{Captures, Field};
use crate::error::{FormatError, LineError};

/// A template, ready to read lines.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    /// What every line begins with.
    prefix: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
struct Part {
    field: Field,
    /// A list of nginx: blanks belong to it.
    list: bool,
    /// What follows; empty at the end of the line.
    then: String,
}

/// A piece of a template as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Literal(String),
    Variable {
        name: String,
        field: Field,
        list: bool,
    },
}

impl Template {
    /// Puts pieces together; two variables need something between them.
    pub(crate) fn of(pieces: Vec<Piece>) -> Result<Self, FormatError> {
        let mut template = Self {
            prefix: String::new(),
            parts: Vec::new(),
        };
        let mut last: Option<String> = None;
        for piece in pieces {
            match piece {
                Piece::Literal(text) => match template.parts.last_mut() {
                    Some(part) => part.then.push_str(&text),
                    None => template.prefix.push_str(&text),
                },
                Piece::Variable { name, field, list } => {
                    if let (Some(before), Some(part)) = (&last, template.parts.last())
                        && part.then.is_empty()
                    {
                        return Err(FormatError::Touching(before.clone(), name));
                    }
                    template.parts.push(Part {
                        field,
                        list,
                        then: String::new(),
                    });
                    last = Some(name);
                }
            }
        }
        if !template.has(Field::Status) {
            return Err(FormatError::Lacks("status"));
        }
        if !template.has(Field::Time) && !template.has(Field::StartTime) {
            return Err(FormatError::Lacks("time"));
        }
        Ok(template)
    }

    /// Whether a field is in it.
    pub(crate) fn has(&self, field: Field) -> bool {
        self.parts.iter().any(|p| p.field == field)
    }

    /// The values of a line.
    pub(crate) fn read<'a>(&self, line: &'a str) -> Result<Captures<'a>, LineError> {
        let mut found = Captures::new();
        let expected = |text: &str| LineError::Form(text.to_owned());
        let mut rest = line
            .strip_prefix(self.prefix.as_str())
            .ok_or_else(|| expected(&self.prefix))?;
        for part in &self.parts {
            if part.field == Field::Braces && !rest.starts_with('{') {
                // Nor is the blank after it there.
                let then = part.then.trim_start_matches(' ');
                rest = rest.strip_prefix(then).ok_or_else(|| expected(then))?;
                continue;
            }
            let length = part.length(rest).ok_or_else(|| expected(&part.then))?;
            let (value, after) = rest.split_at(length);
            found.set(part.field, value);
            rest = &after[part.then.len()..];
        }
        Ok(found)
    }
}

impl Part {
    /// How long the value at the beginning of `text` is; `None` where what must follow does not.
    fn length(&self, text: &str) -> Option<usize> {
        let then = self.then.as_str();
        if then.is_empty() {
            return Some(text.len());
        }
        if self.list && then.starts_with(' ') {
            return list_length(text).filter(|end| text[*end..].starts_with(then));
        }
        if self.field == Field::Braces {
            return text
                .find('}')
                .map(|end| end + 1)
                .filter(|end| text[*end..].starts_with(then));
        }
        let is_ip = matches!(self.field, Field::ClientIp | Field::ServerIp);
        if is_ip && then.starts_with(':') {
            // The colons of an IPv6 address are its own.
            let token = text.find([' ', ',', ']', '"']).unwrap_or(text.len());
            return text[..token].rfind(then);
        }
        find(text, then)
    }
}

/// `text.find(then)`, quick for the short marks that stand between fields.
fn find(text: &str, then: &str) -> Option<usize> {
    let first = *then.as_bytes().first()?;
    if !first.is_ascii() {
        return text.find(then);
    }
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find(char::from(first))?;
        if text[at..].starts_with(then) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// The length of `a, b : c` before a blank that does not belong to it.
fn list_length(text: &str) -> Option<usize> {
    let mut end = 0;
    loop {
        end += text[end..].find(' ')?;
        if text[..end].ends_with(',') {
            end += 1;
        } else if text[end..].starts_with(" : ") {
            end += 3;
        } else {
            return Some(end);
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn lists_end_at_the_blank_that_is_not_theirs() {
        for (text, list) in [
            ("- 0", "-"),
            ("10.0.0.1:80 5", "10.0.0.1:80"),
            ("a:1, b:2 5", "a:1, b:2"),
            ("a:1, b:2 : c:3 5", "a:1, b:2 : c:3"),
        ] {
            assert_eq!(&text[..list_length(text).unwrap()], list);
        }
        assert_eq!(list_length("a, "), None);
        assert_eq!(list_length(""), None);
    }

    #[test]
    fn a_mark_is_found_behind_its_first_letter() {
        assert_eq!(find("a] b] \"c", "] \""), Some(4));
        assert_eq!(find("äöü x", " "), Some(6));
        assert_eq!(find("abc", "abd"), None);
    }
}
