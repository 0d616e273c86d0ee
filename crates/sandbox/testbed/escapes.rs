//! Attempts to reach, read, change or see something outside.
#![allow(
    unsafe_code,
    reason = "most of these system calls have no safe wrapper; being refused is safe"
)]

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use crate::attempts::Attempted;

pub(crate) fn make(name: &str, arguments: &[&str]) -> Option<Attempted> {
    Some(match (name, arguments) {
        ("tcp", [address]) => text(TcpStream::connect(address)),
        ("udp", [address]) => udp(address),
        ("unix-path", [path]) => text(UnixStream::connect(path)),
        ("unix-datagram", [path]) => {
            text(UnixDatagram::unbound().and_then(|socket| socket.send_to(b"x", path)))
        }
        ("unix-pair", [path]) => {
            text(UnixDatagram::pair().and_then(|(socket, _)| socket.send_to(b"x", path)))
        }
        ("unix-own", [path]) => text(UnixListener::bind(path).and_then(|_listener| {
            let client = UnixStream::connect(path);
            fs::remove_file(path).and(client)
        })),
        ("unix-abstract", [name]) => {
            let address = SocketAddr::from_abstract_name(name);
            text(address.and_then(|address| UnixStream::connect_addr(&address)))
        }
        ("read", [path]) => read(Path::new(path)),
        ("write", [path]) => text(fs::write(path, "changed")),
        ("stat", [path]) => text(fs::metadata(path)),
        ("chmod", [path]) => text(fs::set_permissions(path, fs::Permissions::from_mode(0o777))),
        ("soft-link", [path]) => {
            text(symlink(path, "planted")).and_then(|()| read(Path::new("planted")))
        }
        ("hard-link", [path]) => text(fs::hard_link(path, "planted-hard")),
        ("environment", [mark]) => scan("environ", mark),
        ("own-environment", [mark]) => own_environment(mark),
        ("processes", [mark]) => scan("cmdline", mark),
        ("signal", [pid]) => call(libc::SYS_kill, [number(pid), 0, 0, 0]),
        ("ptrace", [pid]) => call(libc::SYS_ptrace, [PTRACE_SEIZE, number(pid), 0, 0]),
        ("process-memory", [pid]) => process_memory(pid),
        ("process-memory-call", [pid, address]) => process_memory_call(pid, address),
        ("mount", []) => mount(),
        ("chroot", []) => with_path("/usr", |path| call(libc::SYS_chroot, [path, 0, 0, 0])),
        ("user-namespace", []) => call(libc::SYS_unshare, [libc::CLONE_NEWUSER.into(), 0, 0, 0]),
        ("mount-namespace", []) => call(libc::SYS_unshare, [libc::CLONE_NEWNS.into(), 0, 0, 0]),
        ("clone-namespace", []) => clone_with(libc::CLONE_NEWUSER),
        ("enter-namespace", []) => enter_namespace(),
        ("become-root", []) => become_root(),
        ("set-user-program", [program]) => set_user_program(program),
        ("is-root", []) => is_root(),
        ("device", []) => device(),
        ("disk", []) => disk(),
        ("keyring", []) => keyring(),
        ("io-uring", []) => io_uring(),
        ("vsock", []) => call(libc::SYS_socket, [libc::AF_VSOCK.into(), 1, 0, 0]),
        ("second-numbering", []) => second_numbering(),
        ("set-host-name", []) => {
            with_path("escaped", |name| call(libc::SYS_sethostname, [name, 7, 0, 0]))
        }
        ("kernel-settings", []) => {
            let path = "/proc/sys/kernel/core_pattern";
            let open = File::options().write(true).open(path);
            text(open)
        }
        ("rename", [from, to]) => text(fs::rename(from, to)),
        ("remove", [path]) => text(fs::remove_file(path)),
        _ => return None,
    })
}

const PTRACE_SEIZE: i64 = 0x4206;

fn text<T>(result: std::io::Result<T>) -> Attempted {
    result.map(drop).map_err(|error| error.to_string())
}

fn number(text: &str) -> i64 {
    text.parse().unwrap_or(i64::MAX)
}

fn call(number: i64, arguments: [i64; 4]) -> Attempted {
    let [a, b, c, d] = arguments;
    // SAFETY: the calls made here take numbers, or pointers to C strings that outlive the call.
    let result = unsafe { libc::syscall(number, a, b, c, d) };
    if result >= 0 { Ok(()) } else { Err(std::io::Error::last_os_error().to_string()) }
}

fn with_path(path: &str, act: impl Fn(i64) -> Attempted) -> Attempted {
    let path = CString::new(path).map_err(|error| error.to_string())?;
    act(path.as_ptr() as i64)
}

fn udp(address: &str) -> Attempted {
    let socket = UdpSocket::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let patience = Some(Duration::from_millis(500));
    text(socket.set_read_timeout(patience))?;
    text(socket.send_to(b"ping", address))?;
    text(socket.recv_from(&mut [0; 16]))
}

fn read(path: &Path) -> Attempted {
    let mut byte = [0];
    text(File::open(path).and_then(|mut file| file.read(&mut byte)))
}

fn own_environment(mark: &str) -> Attempted {
    let found = std::env::vars_os().any(|(_, value)| value == mark);
    if found { Ok(()) } else { Err("no variable holds it".to_owned()) }
}

/// Reads a byte of another process at an address where it has something.
fn process_memory(pid: &str) -> Attempted {
    let maps =
        fs::read_to_string(format!("/proc/{pid}/maps")).map_err(|error| error.to_string())?;
    let start = maps.split('-').next().and_then(|start| u64::from_str_radix(start, 16).ok());
    let memory = File::open(format!("/proc/{pid}/mem")).map_err(|error| error.to_string())?;
    text(memory.read_exact_at(&mut [0], start.ok_or("it has no memory")?))
}

/// The same by a system call, which needs no `/proc` if the address is known.
fn process_memory_call(pid: &str, address: &str) -> Attempted {
    let mut byte = 0_u8;
    let here = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let there = libc::iovec { iov_base: number(address) as *mut libc::c_void, iov_len: 1 };
    let pid = number(pid) as libc::pid_t;
    // SAFETY: one byte is written, to a place of our own; the other process is only read.
    let count = unsafe { libc::process_vm_readv(pid, &raw const here, 1, &raw const there, 1, 0) };
    if count == 1 { Ok(()) } else { Err(std::io::Error::last_os_error().to_string()) }
}

/// Looks for `mark` in a file of every process, but for our own command line.
fn scan(file: &str, mark: &str) -> Attempted {
    let own = std::process::id().to_string();
    let entries = fs::read_dir("/proc").map_err(|error| error.to_string())?;
    for entry in entries.flatten() {
        let is_process = entry.file_name().to_string_lossy().parse::<u32>().is_ok();
        if !is_process || entry.file_name() == *own {
            continue;
        }
        let content = fs::read(entry.path().join(file)).unwrap_or_default();
        let is_attempt = file == "cmdline" && content.windows(7).any(|window| window == b"attempt");
        if !is_attempt && content.windows(mark.len()).any(|window| window == mark.as_bytes()) {
            return Ok(());
        }
    }
    Err("no process shows it".to_owned())
}

fn mount() -> Attempted {
    let flags = rustix::mount::MountFlags::empty();
    let mounted = rustix::mount::mount("none", "/tmp", "tmpfs", flags, None);
    let tree = rustix::mount::fsopen("tmpfs", rustix::mount::FsOpenFlags::empty());
    match (mounted, tree) {
        (Err(one), Err(_)) => Err(one.to_string()),
        _ => Ok(()),
    }
}

fn clone_with(flag: i32) -> Attempted {
    // Without memory of its own a failed copy does no harm, and a made one ends at once.
    // SAFETY: like `fork`, in a process with one thread; the copy calls only `_exit`.
    let pid =
        unsafe { libc::syscall(libc::SYS_clone, i64::from(flag | libc::SIGCHLD), 0, 0, 0, 0) };
    match pid {
        // SAFETY: ends the copy without running anything of the original.
        0 => unsafe { libc::_exit(0) },
        1.. => Ok(()),
        _ => Err(std::io::Error::last_os_error().to_string()),
    }
}

fn enter_namespace() -> Attempted {
    use std::os::fd::AsFd as _;
    let file = File::open("/proc/1/ns/mnt").map_err(|error| error.to_string())?;
    rustix::thread::move_into_link_name_space(file.as_fd(), None).map_err(|error| error.to_string())
}

fn become_root() -> Attempted {
    let root = rustix::thread::Uid::ROOT;
    rustix::thread::set_thread_uid(root).map_err(|error| error.to_string())?;
    // Being called root is nothing without the power of root.
    let powers = rustix::thread::capabilities(None).map_err(|error| error.to_string())?;
    if powers.effective.is_empty() { Err("without any power".to_owned()) } else { Ok(()) }
}

/// A program that belongs to root and is marked to be run as its owner, by whoever starts it.
fn set_user_program(program: &str) -> Attempted {
    let run = std::process::Command::new(program).args(["attempt", "is-root"]).status();
    match run.map_err(|error| error.to_string())?.success() {
        true => Ok(()),
        false => Err("it is not run as root".to_owned()),
    }
}

fn is_root() -> Attempted {
    let root = rustix::process::geteuid().is_root();
    if root { Ok(()) } else { Err("not root".to_owned()) }
}

/// Stays, so that others can try to reach it, until its input is closed. Tells an address at which it
/// has something, and lets everybody read it who may at all, whatever the system's default is.
pub(crate) fn stay() {
    static SECRET: u8 = 1;
    let any_process = rustix::process::PTracer::Any;
    let _ = rustix::process::set_ptracer(any_process);
    say(&format!("{}", (&raw const SECRET) as usize));
    let _ = std::io::read_to_string(std::io::stdin());
}

fn device() -> Attempted {
    // The null device, so that a control does no harm.
    let kind = rustix::fs::FileType::CharacterDevice;
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let number = rustix::fs::makedev(1, 3);
    let made = rustix::fs::mknodat(rustix::fs::CWD, "planted-device", kind, mode, number);
    made.map_err(|error| error.to_string())
}

fn disk() -> Attempted {
    let entries = fs::read_dir("/dev").map_err(|error| error.to_string())?;
    for entry in entries.flatten() {
        use std::os::unix::fs::FileTypeExt as _;
        if entry.file_type().is_ok_and(|kind| kind.is_block_device()) {
            return text(File::open(entry.path()));
        }
    }
    Err("no block device is visible".to_owned())
}

fn keyring() -> Attempted {
    const PROCESS_KEYRING: i32 = -2;
    let (kind, name, value) = (c"user", c"toolkiln", c"x");
    // SAFETY: the strings outlive the call, which reads one byte of the last.
    let key = unsafe {
        libc::syscall(
            libc::SYS_add_key,
            kind.as_ptr(),
            name.as_ptr(),
            value.as_ptr(),
            1_usize,
            PROCESS_KEYRING,
        )
    };
    if key >= 0 { Ok(()) } else { Err(std::io::Error::last_os_error().to_string()) }
}

fn io_uring() -> Attempted {
    let mut parameters = [0_u8; 120];
    let pointer = parameters.as_mut_ptr() as i64;
    call(libc::SYS_io_uring_setup, [1, pointer, 0, 0])
}

/// `unshare` under the number of the 32-bit-pointer variant of x86-64.
fn second_numbering() -> Attempted {
    call(libc::SYS_unshare | 0x4000_0000, [libc::CLONE_NEWUSER.into(), 0, 0, 0])
}

/// Writes a line and says so, for attempts that talk.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}
