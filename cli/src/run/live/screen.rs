//! The terminal while it is ours: taken, drawn on, and given back however the run ends.

use std::io::{self, Stderr};
use std::mem::ManuallyDrop;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};

use super::draw::draw;
use super::view::View;

/// Whether the terminal is ours now.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// The panic hook is set once.
static HOOK: Once = Once::new();

/// The whole screen, on stderr: stdout may be a file. Given back when it is dropped; by us, because the library's own
/// drop panics when the terminal has gone away.
pub(in crate::run) struct Screen(ManuallyDrop<Terminal<CrosstermBackend<Stderr>>>);

impl Screen {
    /// Takes the terminal.
    pub(in crate::run) fn take() -> io::Result<Self> {
        HOOK.call_once(|| {
            let then = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                then(panic);
            }));
        });
        let (columns, rows) = size()?;
        if columns == 0 || rows == 0 {
            return Err(io::Error::other("it has no size"));
        }
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        let taken = execute!(io::stderr(), EnterAlternateScreen)
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stderr())));
        taken
            .map(|terminal| Self(ManuallyDrop::new(terminal)))
            .inspect_err(|_| restore())
    }

    /// Shows a moment of the run. A terminal that was given back, or that cannot be written to, is left alone.
    pub(in crate::run) fn show(&mut self, view: &View) {
        if TAKEN.load(Ordering::SeqCst) {
            let _ = self.0.draw(|frame| draw(frame, view));
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back as it was. Does nothing when it is not taken.
pub(in crate::run) fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(io::stderr(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}
