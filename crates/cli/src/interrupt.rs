//! Ctrl-C while something is being worked on.

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Fires `cancel` at the first Ctrl-C, and ends the process at the second: whoever asks twice does
/// not want to wait.
pub(crate) fn on_interrupt(cancel: CancellationToken) -> Interrupt {
    Interrupt(tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            cancel.cancel();
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(INTERRUPTED);
            }
        }
    }))
}

/// As shells tell a program that was ended with Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Ctrl-C is listened to until this is dropped.
pub(crate) struct Interrupt(JoinHandle<()>);

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.0.abort();
    }
}
