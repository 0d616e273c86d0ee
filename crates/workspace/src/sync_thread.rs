//! A thread for work that another need not wait for. It is kept, because starting one
//! takes a good part of the time that the disk takes. "Overhead of the journal" of `cargo xtask bench changes`
//! measures it.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, OnceLock};
use std::thread;

use rustix::fs::fsync;
use rustix::io::{Errno, Result};

/// Started when it is first needed; it ends after this is dropped.
#[derive(Debug, Default)]
pub(crate) struct SyncThread {
    /// None where the system gives no thread.
    orders: OnceLock<Option<Sender<Order>>>,
    /// How many orders to close files are still to be fulfilled.
    to_close: Arc<AtomicUsize>,
}

#[derive(Debug)]
enum Order {
    Sync {
        file: OwnedFd,
        answer: Sender<Result<()>>,
    },
    Close(Vec<OwnedFd>),
    /// To say when everything before is done.
    Answer(Sender<()>),
}

/// A file on its way to the disk.
pub(crate) enum Underway<'f> {
    Elsewhere(Receiver<Result<()>>),
    /// It is waited for only when it is asked for.
    Here(BorrowedFd<'f>),
}

impl SyncThread {
    /// Forces the file to the disk, if possible at once and on the other thread.
    pub(crate) fn begin<'f>(&self, file: BorrowedFd<'f>) -> Underway<'f> {
        let (answer, answered) = mpsc::channel();
        if let Some(orders) = self.orders()
            && let Ok(file) = file.try_clone_to_owned()
            && orders.send(Order::Sync { file, answer }).is_ok()
        {
            return Underway::Elsewhere(answered);
        }
        Underway::Here(file)
    }

    /// Closes files without a name, which gives their space back and takes the longer the larger
    /// they are.
    pub(crate) fn close(&self, files: Vec<OwnedFd>) {
        let Some(orders) = self.orders() else { return };
        self.to_close.fetch_add(1, Ordering::Relaxed);
        if orders.send(Order::Close(files)).is_err() {
            // They were dropped and thus closed here.
            self.to_close.fetch_sub(1, Ordering::Release);
        }
    }

    /// Waits until the files are closed, for callers that need their space.
    pub(crate) fn finish_closing(&self) {
        if self.to_close.load(Ordering::Acquire) == 0 {
            return;
        }
        let (answer, answered) = mpsc::channel();
        if self.orders().is_some_and(|orders| orders.send(Order::Answer(answer)).is_ok()) {
            // Without an answer the thread is gone, and all files with it.
            let _ = answered.recv();
        }
    }

    fn orders(&self) -> Option<&Sender<Order>> {
        self.orders.get_or_init(|| start(Arc::clone(&self.to_close))).as_ref()
    }
}

impl Underway<'_> {
    /// Waits until the file is on the disk.
    pub(crate) fn finish(self) -> Result<()> {
        match self {
            Underway::Elsewhere(answered) => answered.recv().unwrap_or(Err(Errno::IO)),
            Underway::Here(file) => fsync(file),
        }
    }
}

fn start(to_close: Arc<AtomicUsize>) -> Option<Sender<Order>> {
    let (orders, ordered) = mpsc::channel();
    let thread = thread::Builder::new().name("sync".to_owned());
    thread.spawn(move || fulfil(&ordered, &to_close)).ok()?;
    Some(orders)
}

fn fulfil(ordered: &Receiver<Order>, to_close: &AtomicUsize) {
    for order in ordered {
        match order {
            // The receiver is gone if the other thread has failed.
            Order::Sync { file, answer } => drop(answer.send(fsync(file))),
            Order::Answer(answer) => drop(answer.send(())),
            Order::Close(files) => {
                drop(files);
                to_close.fetch_sub(1, Ordering::Release);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn the_answer_is_that_of_the_file() {
        let thread = SyncThread::default();
        let file = tempfile::tempfile().unwrap();
        let (reader, _writer) = std::io::pipe().unwrap();
        let (file, pipe) = (thread.begin(file.as_fd()), thread.begin(reader.as_fd()));
        assert_eq!(file.finish(), Ok(()));
        assert_eq!(pipe.finish(), Err(Errno::INVAL));
    }

    #[test]
    fn files_are_closed_when_it_says_so() {
        let thread = SyncThread::default();
        let (mut reader, writer) = std::io::pipe().unwrap();
        thread.close(vec![writer.try_clone().unwrap().into(), writer.into()]);
        thread.finish_closing();
        assert_eq!(thread.to_close.load(Ordering::Relaxed), 0);
        // Ends only when every descriptor for writing is closed.
        assert_eq!(std::io::Read::read_to_end(&mut reader, &mut Vec::new()).unwrap(), 0);
    }

    #[test]
    fn without_a_thread_it_is_done_here() {
        let thread = SyncThread { orders: OnceLock::from(None), ..SyncThread::default() };
        let (reader, _writer) = std::io::pipe().unwrap();
        let pipe = thread.begin(reader.as_fd());
        assert!(matches!(pipe, Underway::Here(_)));
        assert_eq!(pipe.finish(), Err(Errno::INVAL));
    }
}
