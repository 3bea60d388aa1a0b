//! The texts of a column, each once.

use std::collections::HashMap;
use std::sync::Arc;

/// Texts by number, in the order in which they came first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    texts: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, i64>,
    last: usize,
}

impl Texts {
    /// The number of `text`, which is taken in if it is new.
    pub(crate) fn number(&mut self, text: &str) -> i64 {
        if self.texts.get(self.last).is_some_and(|t| **t == *text) {
            return self.last as i64;
        }
        let number = match self.numbers.get(text) {
            Some(number) => *number,
            None => self.take(text),
        };
        self.last = number as usize;
        number
    }

    fn take(&mut self, text: &str) -> i64 {
        let (text, number): (Arc<str>, _) = (text.into(), self.texts.len() as i64);
        self.texts.push(Arc::clone(&text));
        self.numbers.insert(text, number);
        number
    }

    /// The text of that number.
    #[inline(always)]
    pub(crate) fn text(&self, number: i64) -> &str {
        self.texts.get(number as usize).map_or("", |text| text)
    }

    /// All of them, in the order of their numbers.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|text| &**text)
    }
}
