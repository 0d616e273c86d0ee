//! The socket between us and the hidden entry point: whole messages with descriptors beside them.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// More descriptors are never sent with one message.
pub(crate) const MAX_DESCRIPTORS: usize = 8;
/// Longer messages are never sent; a plan travels in a file of its own.
pub(crate) const MAX_MESSAGE_BYTES: usize = 4096;

/// One end of the socket.
#[derive(Debug)]
pub(crate) struct Channel(OwnedFd);

/// What can go wrong on it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChannelError {
    #[error("the other process has closed the channel")]
    Closed,
    #[error(transparent)]
    System(#[from] Errno),
    #[error("the message is malformed: {0}")]
    Garbled(#[from] serde_json::Error),
}

impl ChannelError {
    pub(crate) fn errno(&self) -> Option<i32> {
        match self {
            ChannelError::System(errno) => Some(errno.raw_os_error()),
            ChannelError::Closed | ChannelError::Garbled(_) => None,
        }
    }
}

impl Channel {
    pub(crate) fn pair() -> Result<(Channel, Channel), Errno> {
        let (one, other) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        Ok((Channel(one), Channel(other)))
    }

    pub(crate) fn from_fd(fd: OwnedFd) -> Channel {
        Channel(fd)
    }

    pub(crate) fn into_fd(self) -> OwnedFd {
        self.0
    }

    /// Waits so long for a message or for the end of the other process. Returns whether it came.
    pub(crate) fn wait(&self, most: Duration) -> bool {
        is_ready_within(&self.0, most)
    }

    pub(crate) fn send(
        &self,
        message: &impl Serialize,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), ChannelError> {
        let bytes = serde_json::to_vec(message)?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        // Without NOSIGNAL a reader that is gone would end us with SIGPIPE.
        let flags = SendFlags::NOSIGNAL;
        rustix::net::sendmsg(&self.0, &[IoSlice::new(&bytes)], &mut control, flags)?;
        Ok(())
    }

    pub(crate) fn receive<T: DeserializeOwned>(&self) -> Result<(T, Vec<OwnedFd>), ChannelError> {
        let mut bytes = [0; MAX_MESSAGE_BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received = rustix::io::retry_on_intr(|| {
            rustix::net::recvmsg(
                &self.0,
                &mut [IoSliceMut::new(&mut bytes)],
                &mut control,
                RecvFlags::CMSG_CLOEXEC,
            )
        })?;
        if received.bytes == 0 {
            return Err(ChannelError::Closed);
        }
        if received.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
            return Err(Errno::MSGSIZE.into());
        }
        let mut descriptors = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                descriptors.extend(fds);
            }
        }
        Ok((serde_json::from_slice(&bytes[..received.bytes])?, descriptors))
    }
}

/// Waits so long until a descriptor can be read. Returns whether it can.
pub(crate) fn is_ready_within(fd: &impl AsFd, most: Duration) -> bool {
    let timeout = Timespec {
        tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: most.subsec_nanos().into(),
    };
    let mut fds = [PollFd::new(fd, PollFlags::IN)];
    let polled = rustix::io::retry_on_intr(|| rustix::event::poll(&mut fds, Some(&timeout)));
    // If polling fails, the read returns the reason.
    polled.is_err() || polled.is_ok_and(|count| count > 0)
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_arrives_with_its_descriptors() {
        let (one, other) = Channel::pair().unwrap();
        let (read, write) = rustix::pipe::pipe().unwrap();
        one.send(&"here", &[write.as_fd()]).unwrap();
        drop(write);
        let (text, mut fds): (String, _) = other.receive().unwrap();
        assert_eq!(text, "here");
        let sent = fds.pop().unwrap();
        assert!(fds.is_empty());
        rustix::io::write(&sent, b"x").unwrap();
        let mut buffer = [0; 2];
        assert_eq!(rustix::io::read(&read, &mut buffer).unwrap(), 1);
    }

    #[test]
    fn an_end_that_is_gone_is_told_from_a_message() {
        let (one, other) = Channel::pair().unwrap();
        drop(one);
        assert!(matches!(other.receive::<String>(), Err(ChannelError::Closed)));
        assert!(matches!(other.send(&"x", &[]), Err(ChannelError::System(Errno::PIPE))));
    }
}
