//! The filter for system calls: what no build or test needs and an escape would.
//!
//! The program is put together here and not by `seccompiler`'s own compiler, for two reasons.
//!
//! - That compiler compares call numbers for equality only. It cannot refuse the second numbering of
//!   x86-64 (`SECOND_NUMBERING`), by which every refused call could be made under another number.
//! - A filter of it has one answer for all refused calls and looks at them one after another. Our
//!   four answers take four filters with 423 instructions in all, against 209 here, where a call is
//!   found by halving. The kernel runs a filter once for every call it knows when it is installed,
//!   so length counts: building and installing took 310 to 340 µs with the compiler and 120 to 130 µs
//!   with this program (release build, medians of 300 processes on a busy machine with 2 cores). Every
//!   confined command pays this; `cargo xtask bench exec` measures its start as a whole.

use libc::c_long;
use seccompiler::sock_filter;

use super::error::EntryError;
use crate::plan::SandboxPart;

/// Refused as if we were not allowed to.
const FORBIDDEN: &[c_long] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    OPEN_TREE_ATTR,
];

/// Newer than the tables of the library.
const OPEN_TREE_ATTR: c_long = 467;

/// Refused as if the kernel did not know them, so that programs fall back to what can be inspected.
const UNKNOWN: &[c_long] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Refused as well where only each process has a limit on its memory: they would hold memory that
/// belongs to none. Programs fall back to files in `/dev/shm`, whose space is limited, or to their
/// own memory.
const UNCOUNTED_MEMORY: &[c_long] = &[libc::SYS_memfd_create, libc::SYS_memfd_secret];

/// In such a case, the most bytes of a segment and semaphores of a set. A namespace can have 4096
/// segments and 32000 sets, so that all together stay below 256 MiB and 64 MiB.
const SEGMENT_BYTES: u32 = 64 * 1024;
const SEMAPHORES: u32 = 32;

/// Kinds of sockets that end at the boundary of the sandbox. Others, such as those between virtual
/// machines, do not know network namespaces.
const SOCKET_FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Not the one for time, which shares its bit with the signal that `clone` sends.
const NAMESPACE_FLAGS: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// Terminal controls that insert input as if the user had typed it.
const TERMINAL_INJECTION: [u32; 2] = [libc::TIOCSTI as u32, libc::TIOCLINUX as u32];

const DEVICES: [u32; 2] = [libc::S_IFCHR, libc::S_IFBLK];

/// `AUDIT_ARCH_*` of the kernel: the numbering that a call was made with.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
/// The same.
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;
/// The same.
#[cfg(target_arch = "riscv64")]
const ARCHITECTURE: u32 = 0xC000_00F3;

/// The bit by which x86-64 numbers calls of its 32-bit-pointer variant; unused elsewhere.
const SECOND_NUMBERING: u32 = 0x4000_0000;

/// Where the filter finds things: the call, the architecture, the arguments of 8 bytes each.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

/// The answers of the filter; the errors are those that programs expect where a call is missing or not permitted.
const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const FORBID: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
const NOT_IMPLEMENTED: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
const NO_FAMILY: u32 = libc::SECCOMP_RET_ERRNO | libc::EAFNOSUPPORT as u32;
const NO_ROOM: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSPC as u32;

/// The part of a socket's type that is not a flag.
const SOCKET_KIND: u32 = 0xf;

/// So many calls are looked at one by one: halving further would only make the filter longer.
const FEW: usize = 4;

pub(super) type Program = Vec<sock_filter>;

/// What is refused only where nothing else holds it back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refused {
    /// Sockets with a path, because directories of the host are visible as they are: a process that
    /// listens there would be within reach. Pairs of sockets are not refused.
    pub(super) unix_sockets: bool,
    /// Memory that no limit counts.
    pub(super) shared_memory: bool,
}

/// Installs the filter for this process and all it starts.
pub(super) fn install(filter: &[sock_filter]) -> Result<(), EntryError> {
    seccompiler::apply_filter(filter).map_err(|error| {
        EntryError::new(SandboxPart::Seccomp, format!("filtering system calls: {error}"), None)
    })
}

/// The filter, as the kernel takes it.
pub(super) fn program(refused: Refused) -> Program {
    let start = vec![
        load(ARCHITECTURE_AT),
        jump(libc::BPF_JEQ, ARCHITECTURE, 1, 0),
        answer(libc::SECCOMP_RET_KILL_PROCESS),
        load(NUMBER_AT),
        jump(libc::BPF_JGE, SECOND_NUMBERING, 0, 1),
        answer(NOT_IMPLEMENTED),
    ];
    [start, search(&answers(refused))].concat()
}

/// What is done about each call that is not simply allowed, by number.
fn answers(refused: Refused) -> Vec<(u32, Program)> {
    let flags = vec![
        load_argument(0),
        jump(libc::BPF_JSET, NAMESPACE_FLAGS.cast_unsigned(), 0, 1),
        answer(FORBID),
        answer(ALLOW),
    ];
    let families = SOCKET_FAMILIES.map(i32::cast_unsigned);
    let mut inspected = vec![
        (libc::SYS_clone, flags),
        (libc::SYS_ioctl, choose(vec![load_argument(1)], &TERMINAL_INJECTION, FORBID, ALLOW)),
        (libc::SYS_mknodat, devices(2)),
    ];
    #[cfg(target_arch = "x86_64")]
    inspected.push((libc::SYS_mknod, devices(1)));
    let socket = choose(vec![load_argument(0)], &families, ALLOW, FORBID);
    inspected.push(match refused.unix_sockets {
        false => (libc::SYS_socket, socket),
        true => {
            let unix = on(libc::AF_UNIX.cast_unsigned(), &[answer(NO_FAMILY)]);
            (libc::SYS_socket, [vec![load_argument(0)], unix, socket].concat())
        }
    });
    if refused.unix_sockets {
        inspected.push((libc::SYS_socketpair, pairs()));
    }
    let mut unknown = UNKNOWN.to_vec();
    if refused.shared_memory {
        unknown.extend(UNCOUNTED_MEMORY);
        unknown.push(libc::SYS_msgget);
        let huge = vec![upper_half(1), jump(libc::BPF_JEQ, 0, 1, 0), answer(NO_ROOM)];
        inspected.push((libc::SYS_shmget, [huge, at_most(1, SEGMENT_BYTES)].concat()));
        inspected.push((libc::SYS_semget, at_most(1, SEMAPHORES)));
    }
    let forbidden = FORBIDDEN.iter().map(|call| (*call, vec![answer(FORBID)]));
    let unknown = unknown.into_iter().map(|call| (call, vec![answer(NOT_IMPLEMENTED)]));
    let all = forbidden.chain(unknown).chain(inspected);
    let mut answers: Vec<_> = all.map(|(call, program)| (call as u32, program)).collect();
    answers.sort_by_key(|(call, _)| *call);
    answers
}

/// Finds a call among these by halving and does what is said there; allows all others.
fn search(answers: &[(u32, Program)]) -> Program {
    if answers.len() > FEW {
        let (lower, upper) = answers.split_at(answers.len() / 2);
        let upper_from = upper.first().map_or(0, |(call, _)| *call);
        let (lower, upper) = (search(lower), search(upper));
        let choice = jump(libc::BPF_JGE, upper_from, short(lower.len()), 0);
        return [vec![choice], lower, upper].concat();
    }
    let one_by_one = answers.iter().flat_map(|(call, program)| on(*call, program));
    one_by_one.chain([answer(ALLOW)]).collect()
}

/// Runs `body`, which always answers, for one call and goes on with the others.
fn on(call: u32, body: &[sock_filter]) -> Program {
    let skip = jump(libc::BPF_JEQ, call, 0, short(body.len()));
    [&[skip], body].concat()
}

fn devices(argument: u32) -> Program {
    choose(vec![load_argument(argument), mask(libc::S_IFMT)], &DEVICES, FORBID, ALLOW)
}

/// Pairs that stay pairs. Others can send to any path.
fn pairs() -> Program {
    let connected = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET].map(i32::cast_unsigned);
    choose(vec![load_argument(1), mask(SOCKET_KIND)], &connected, ALLOW, FORBID)
}

/// Allows an argument up to a number.
fn at_most(argument: u32, most: u32) -> Program {
    vec![
        load_argument(argument),
        jump(libc::BPF_JGE, most + 1, 0, 1),
        answer(NO_ROOM),
        answer(ALLOW),
    ]
}

fn mask(k: u32) -> sock_filter {
    sock_filter { code: (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16, jt: 0, jf: 0, k }
}

/// After `before`, answers `yes` to each of `values` and `no` to all others.
fn choose(before: Program, values: &[u32], yes: u32, no: u32) -> Program {
    [before, jumps_to_the_end(values, 1), vec![answer(no), answer(yes)]].concat()
}

/// Jumps behind `extra` instructions after these jumps if there is one of `values`.
fn jumps_to_the_end(values: &[u32], extra: usize) -> Program {
    let after = |at: usize| short(values.len() - at - 1 + extra);
    let jumps = values.iter().enumerate();
    jumps.map(|(at, value)| jump(libc::BPF_JEQ, *value, after(at), 0)).collect()
}

/// The whole filter is shorter than a jump can be long; a test holds that.
fn short(distance: usize) -> u8 {
    u8::try_from(distance).unwrap_or(u8::MAX)
}

fn load(at: u32) -> sock_filter {
    sock_filter { code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, jt: 0, jf: 0, k: at }
}

/// The lower half of an argument; the kernel looks at no more of most that are judged here.
fn load_argument(number: u32) -> sock_filter {
    let half = if cfg!(target_endian = "big") { 4 } else { 0 };
    load(ARGUMENTS_AT + 8 * number + half)
}

fn upper_half(number: u32) -> sock_filter {
    let half = if cfg!(target_endian = "big") { 0 } else { 4 };
    load(ARGUMENTS_AT + 8 * number + half)
}

fn jump(condition: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: (libc::BPF_JMP | condition | libc::BPF_K) as u16, jt, jf, k }
}

fn answer(result: u32) -> sock_filter {
    sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: result }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILD: Refused = Refused { unix_sockets: false, shared_memory: false };
    const STRICT: Refused = Refused { unix_sockets: true, shared_memory: true };

    /// Runs the filter as the kernel does.
    fn judge(architecture: u32, number: c_long, arguments: [u64; 3]) -> u32 {
        judge_with(MILD, architecture, number, arguments)
    }

    fn judge_with(refused: Refused, architecture: u32, number: c_long, arguments: [u64; 3]) -> u32 {
        let mut data =
            [(number as u32).to_ne_bytes(), architecture.to_ne_bytes(), [0; 4], [0; 4]].concat();
        arguments.iter().for_each(|argument| data.extend(argument.to_ne_bytes()));
        let program = program(refused);
        let (mut at, mut value) = (0, 0_u32);
        loop {
            let step = &program[at];
            at += 1;
            let (class, k) = (u32::from(step.code) & 7, step.k);
            let holds = match u32::from(step.code) & 0xf0 {
                libc::BPF_JEQ => value == k,
                libc::BPF_JGE => value >= k,
                libc::BPF_JSET => value & k != 0,
                _ => false,
            };
            match class {
                libc::BPF_RET => return k,
                libc::BPF_LD => {
                    let from = k as usize;
                    value = u32::from_ne_bytes(data[from..from + 4].try_into().expect("4 bytes"));
                }
                libc::BPF_ALU => value &= k,
                _ if u32::from(step.code) & 0xf0 == libc::BPF_JA => at += k as usize,
                _ => at += usize::from(if holds { step.jt } else { step.jf }),
            }
        }
    }

    #[test]
    fn every_call_gets_the_answer_that_is_meant() {
        for call in FORBIDDEN {
            assert_eq!(judge(ARCHITECTURE, *call, [0; 3]), FORBID, "{call}");
        }
        for call in UNKNOWN {
            assert_eq!(judge(ARCHITECTURE, *call, [0; 3]), NOT_IMPLEMENTED, "{call}");
        }
        let user = u64::from(libc::CLONE_NEWUSER.cast_unsigned());
        let inet = u64::from(libc::AF_INET.cast_unsigned());
        let vsock = u64::from(libc::AF_VSOCK.cast_unsigned());
        let injection = u64::from(TERMINAL_INJECTION[0]);
        let device = u64::from(libc::S_IFCHR | 0o600);
        let pipe = u64::from(libc::S_IFIFO | 0o600);
        let cases = [
            (libc::SYS_read, [0; 3], ALLOW),
            (libc::SYS_execve, [0; 3], ALLOW),
            (libc::SYS_clone, [17, 0, 0], ALLOW),
            (libc::SYS_clone, [17 | user, 0, 0], FORBID),
            // What the kernel does not look at does not matter.
            (libc::SYS_clone, [17 | user << 32, 0, 0], ALLOW),
            (libc::SYS_socket, [inet, 0, 0], ALLOW),
            (libc::SYS_socket, [vsock, 0, 0], FORBID),
            (libc::SYS_ioctl, [0, 1, 0], ALLOW),
            (libc::SYS_ioctl, [0, injection, 0], FORBID),
            (libc::SYS_ioctl, [0, injection | 1 << 40, 0], FORBID),
            (libc::SYS_mknodat, [0, 0, device], FORBID),
            (libc::SYS_mknodat, [0, 0, pipe], ALLOW),
        ];
        for (call, arguments, expected) in cases {
            assert_eq!(judge(ARCHITECTURE, call, arguments), expected, "{call} {arguments:?}");
        }
    }

    #[test]
    fn all_other_calls_are_allowed() {
        for refused in [MILD, STRICT] {
            let judged: Vec<u32> = answers(refused).into_iter().map(|(call, _)| call).collect();
            assert!(judged.is_sorted_by(|one, next| one < next), "{judged:?}");
            for call in (0..1000).filter(|call| !judged.contains(call)) {
                let answer = judge_with(refused, ARCHITECTURE, c_long::from(call), [u64::MAX; 3]);
                assert_eq!(answer, ALLOW, "{call}");
            }
        }
    }

    #[test]
    fn what_nothing_else_holds_back_is_refused_where_it_has_to_be() {
        let unix = u64::from(libc::AF_UNIX.cast_unsigned());
        let inet = u64::from(libc::AF_INET.cast_unsigned());
        let vsock = u64::from(libc::AF_VSOCK.cast_unsigned());
        let kind = |kind: i32| u64::from((kind | libc::SOCK_CLOEXEC).cast_unsigned());
        let segment = u64::from(SEGMENT_BYTES);
        let cases = [
            (libc::SYS_socket, [unix, 1, 0], NO_FAMILY),
            (libc::SYS_socket, [inet, 1, 0], ALLOW),
            (libc::SYS_socket, [vsock, 1, 0], FORBID),
            (libc::SYS_socketpair, [unix, kind(libc::SOCK_STREAM), 0], ALLOW),
            (libc::SYS_socketpair, [unix, kind(libc::SOCK_SEQPACKET), 0], ALLOW),
            (libc::SYS_socketpair, [unix, kind(libc::SOCK_DGRAM), 0], FORBID),
            (libc::SYS_socketpair, [unix, kind(libc::SOCK_RAW), 0], FORBID),
            (libc::SYS_shmget, [0, segment, 0], ALLOW),
            (libc::SYS_shmget, [0, segment + 1, 0], NO_ROOM),
            (libc::SYS_shmget, [0, 1 << 32, 0], NO_ROOM),
            (libc::SYS_semget, [0, 32, 0], ALLOW),
            (libc::SYS_semget, [0, 33, 0], NO_ROOM),
            (libc::SYS_msgget, [0; 3], NOT_IMPLEMENTED),
            (libc::SYS_memfd_create, [0; 3], NOT_IMPLEMENTED),
        ];
        for (call, arguments, expected) in cases {
            let strict = judge_with(STRICT, ARCHITECTURE, call, arguments);
            assert_eq!(strict, expected, "{call} {arguments:?}");
            let mild = judge(ARCHITECTURE, call, arguments);
            assert_eq!(mild, if arguments[0] == vsock { FORBID } else { ALLOW }, "{call}");
        }
    }

    #[test]
    fn every_jump_is_as_long_as_it_has_to_be() {
        let length = program(STRICT).len();
        assert!(length <= usize::from(u8::MAX), "{length}");
    }

    #[test]
    fn other_numberings_are_refused() {
        let twin = libc::SYS_read | c_long::from(SECOND_NUMBERING);
        assert_eq!(judge(ARCHITECTURE, twin, [0; 3]), NOT_IMPLEMENTED);
        let foreign = judge(ARCHITECTURE ^ 1, libc::SYS_read, [0; 3]);
        assert_eq!(foreign, libc::SECCOMP_RET_KILL_PROCESS);
    }
}
