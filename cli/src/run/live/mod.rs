//! `--tui`: the run on the whole screen. What is shown is plain data (`view`), drawing it is a function (`draw`), and
//! one place holds the terminal (`screen`).

mod draw;
mod events;
mod keys;
mod pods;
mod screen;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests;
mod view;

pub(super) use events::Events;
pub(super) use keys::Keys;
pub(super) use screen::{Screen, restore};
pub(super) use view::View;
