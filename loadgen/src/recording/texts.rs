//! Texts that come again and again: the same few pods, peers and servers in millions of records.

use std::cell::RefCell;
use std::collections::HashSet;

use rollscope_records::Text;

/// The most texts that are remembered; then they are forgotten together.
const MOST: usize = 1024;

/// Texts that have been seen by one thread, each kept once.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    seen: RefCell<HashSet<Text>>,
    /// Where a text is put together.
    draft: RefCell<String>,
}

impl Texts {
    /// `text`, to be shared.
    pub(crate) fn shared(&self, text: &str) -> Text {
        let mut seen = self.seen.borrow_mut();
        if let Some(text) = seen.get(text) {
            return Text::clone(text);
        }
        if seen.len() >= MOST {
            seen.clear();
        }
        let text = Text::from(text);
        seen.insert(Text::clone(&text));
        text
    }

    /// What `write` puts together; `None` when that is nothing.
    pub(crate) fn written(&self, write: impl FnOnce(&mut String)) -> Option<Text> {
        let mut draft = self.draft.borrow_mut();
        draft.clear();
        write(&mut draft);
        (!draft.is_empty()).then(|| self.shared(&draft))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_text_is_kept_once_and_what_is_kept_has_a_bound() {
        let texts = Texts::default();
        let first = texts.shared("web-1");
        let again = texts.written(|t| t.push_str("web-1")).unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        assert_eq!(texts.written(|_| ()), None);
        for n in 0..3 * MOST {
            assert_eq!(*texts.shared(&n.to_string()), n.to_string());
            assert!(texts.seen.borrow().len() <= MOST);
        }
    }
}
