//! The `rollscope` program.

use std::process::ExitCode;

/// A request allocates a dozen times, and its record is freed by another thread: both are cheaper here than in libc.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    rollscope_cli::main()
}
