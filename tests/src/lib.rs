//! Fixtures shared by the end-to-end tests.
