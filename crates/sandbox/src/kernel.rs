//! The few system calls that no safe wrapper offers. The only `unsafe` code of the crate.
#![allow(unsafe_code, reason = "these calls have no safe wrapper in rustix or std; see each one")]

use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

use rustix::io::Errno;
use rustix::mount::MountAttrFlags;
use rustix::process::Pid;
use rustix::thread::UnshareFlags;

/// The two sides after a process was copied.
pub(crate) enum Cloned {
    /// We are the old process; the new one has this number.
    Parent(Pid),
    /// We are the new process.
    Child,
}

/// Makes a copy of this process in new namespaces. This process must have one thread only: the hidden
/// entry point calls it, before anything could have started another.
pub(crate) fn clone_process(namespaces: UnshareFlags) -> Result<Cloned, Errno> {
    assert!(!namespaces.contains(UnshareFlags::FILES), "descriptors are never shared");
    let flags = namespaces.bits() | libc::SIGCHLD.cast_unsigned();
    // SAFETY: without a stack and without shared memory this is `fork`. With a single thread no lock
    // can be held by a thread that does not exist in the copy, so the copy may go on like any program.
    // It uses nothing of the C library that depends on the thread number it remembers.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::c_ulong::from(flags), 0, 0, 0, 0) };
    match i32::try_from(pid) {
        Ok(0) => Ok(Cloned::Child),
        Ok(pid) if pid > 0 => Pid::from_raw(pid).map(Cloned::Parent).ok_or(Errno::SRCH),
        _ => Err(last_errno()),
    }
}

/// Closes a descriptor that a copied process inherited and whose owner never runs in it.
pub(crate) fn close_inherited(fd: BorrowedFd<'_>) {
    // SAFETY: the owner lives on the stack of the function that copied the process, or of its caller;
    // the copy never returns to it, so that the descriptor is neither used nor closed again.
    unsafe { libc::close(fd.as_raw_fd()) };
}

/// Closes all descriptors from this number on. Only for the very beginning of a process, when nothing
/// can own any of them.
pub(crate) fn close_from(first: u32) -> Result<(), Errno> {
    // SAFETY: the caller is the first thing that runs in this process, which has opened nothing yet.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Leaves namespaces for new ones.
pub(crate) fn unshare(flags: UnshareFlags) -> Result<(), Errno> {
    assert!(!flags.contains(UnshareFlags::FILES), "descriptors stay shared");
    // SAFETY: the only danger of this call is a table of descriptors of its own, excluded above.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

/// Adds attributes to a mount, and with `recursive` to those below it.
pub(crate) fn set_mount_attributes(
    mount: &impl AsFd,
    attributes: MountAttrFlags,
    recursive: bool,
) -> Result<(), Errno> {
    mount_setattr(mount.as_fd(), attributes, None, recursive)
}

/// Makes a mount show the owners of files as the user namespace says.
pub(crate) fn map_owners(mount: &impl AsFd, namespace: BorrowedFd<'_>) -> Result<(), Errno> {
    mount_setattr(mount.as_fd(), MountAttrFlags::MOUNT_ATTR_IDMAP, Some(namespace), false)
}

fn mount_setattr(
    mount: BorrowedFd<'_>,
    attributes: MountAttrFlags,
    namespace: Option<BorrowedFd<'_>>,
    recursive: bool,
) -> Result<(), Errno> {
    let attributes = libc::mount_attr {
        attr_set: attributes.bits().into(),
        attr_clr: 0,
        propagation: 0,
        // A descriptor is never negative.
        userns_fd: namespace.map_or(0, |fd| fd.as_raw_fd().unsigned_abs().into()),
    };
    let recursive = if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a NUL-terminated literal, the structure lives on this stack during the
    // call and its true size is given; the kernel writes to neither.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
