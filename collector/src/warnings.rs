//! What could not be observed as it should have been.

use std::sync::{Arc, Mutex, PoisonError};

/// What could not be done as it should have been, in words. Clones share the same list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Warnings {
    words: Arc<Mutex<Vec<String>>>,
}

impl Warnings {
    pub(crate) fn add(&self, words: String) {
        let mut all = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains(&words) {
            all.push(words);
        }
    }

    pub(crate) fn all(&self) -> Vec<String> {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        words.clone()
    }
}
