//! The filter for system calls: what no build or test needs and an escape would.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

use super::trouble::Trouble;
use crate::plan::Part;

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
    libc::SYS_nfsservctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Refused as if the kernel did not know them, so that programs fall back to what can be inspected.
const UNKNOWN: &[c_long] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Kinds of sockets that end at the walls of the sandbox. Others, such as those between virtual
/// machines, do not know network namespaces.
const SOCKET_FAMILIES: [i32; 4] =
    [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

const NAMESPACE_FLAGS: [i32; 8] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    // CLONE_NEWTIME, which shares its bit with the signal that `clone` sends.
    0,
];

/// Terminal controls that put words into somebody else's mouth.
const TERMINAL_INJECTION: [u64; 2] = [libc::TIOCSTI as u64, libc::TIOCLINUX as u64];

/// The bit by which x86-64 numbers calls of its 32-bit-pointer variant.
#[cfg(target_arch = "x86_64")]
const X32_BIT: u32 = 0x4000_0000;

/// Installs the filter for this process and all it starts.
pub(super) fn install() -> Result<(), Trouble> {
    for program in programs().map_err(|error| trouble(&error))? {
        seccompiler::apply_filter(&program).map_err(|error| trouble(&error))?;
    }
    Ok(())
}

fn trouble(error: &dyn std::fmt::Display) -> Trouble {
    Trouble::new(Part::Seccomp, format!("filtering system calls: {error}"), None)
}

fn programs() -> Result<[BpfProgram; 2], BackendError> {
    let unknown = UNKNOWN.iter().map(|call| (*call, Vec::new())).collect();
    let unknown = compile(unknown, libc::ENOSYS)?;
    Ok([compile(forbidden()?, libc::EPERM)?, with_one_numbering(unknown)])
}

type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

fn forbidden() -> Result<Rules, BackendError> {
    let mut rules: Rules = FORBIDDEN.iter().map(|call| (*call, Vec::new())).collect();
    let flags = NAMESPACE_FLAGS.into_iter().filter(|flag| *flag != 0);
    let flags = flags.map(|flag| {
        let flag = u64::from(flag.cast_unsigned());
        rule(0, SeccompCmpOp::MaskedEq(flag), &[flag])
    });
    rules.insert(libc::SYS_clone, flags.collect::<Result<_, _>>()?);
    let families = SOCKET_FAMILIES.map(|family| u64::from(family.cast_unsigned()));
    rules.insert(libc::SYS_socket, vec![rule(0, SeccompCmpOp::Ne, &families)?]);
    let controls = TERMINAL_INJECTION.map(|control| rule(1, SeccompCmpOp::Eq, &[control]));
    rules.insert(libc::SYS_ioctl, controls.into_iter().collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_mknodat, devices(2)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_mknod, devices(1)?);
    Ok(rules)
}

fn devices(argument: u8) -> Result<Vec<SeccompRule>, BackendError> {
    let kinds = [libc::S_IFCHR, libc::S_IFBLK].map(u64::from);
    let mask = SeccompCmpOp::MaskedEq(u64::from(libc::S_IFMT));
    kinds.into_iter().map(|kind| rule(argument, mask.clone(), &[kind])).collect()
}

/// A rule that matches if the comparison holds for every one of `values`.
fn rule(argument: u8, compare: SeccompCmpOp, values: &[u64]) -> Result<SeccompRule, BackendError> {
    let length = SeccompCmpArgLen::Dword;
    let conditions = values
        .iter()
        .map(|value| SeccompCondition::new(argument, length.clone(), compare.clone(), *value));
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

fn compile(rules: Rules, errno: i32) -> Result<BpfProgram, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refuse = SeccompAction::Errno(errno.cast_unsigned());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()
}

/// Refuses calls under their second numbers, which the rules do not name.
#[cfg(target_arch = "x86_64")]
fn with_one_numbering(program: BpfProgram) -> BpfProgram {
    let load_number = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let at_least = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
    let answer = (libc::BPF_RET | libc::BPF_K) as u16;
    let refuse = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    let step = |code, jf, k| sock_filter { code, jt: 0, jf, k };
    let mut whole =
        vec![step(load_number, 0, 0), step(at_least, 1, X32_BIT), step(answer, 0, refuse)];
    whole.extend(program);
    whole
}

#[cfg(not(target_arch = "x86_64"))]
fn with_one_numbering(program: BpfProgram) -> BpfProgram {
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_compiles_and_names_no_call_twice() {
        let programs = programs().unwrap();
        assert!(programs.iter().all(|program| !program.is_empty() && program.len() < 4096));
        let mut all: Vec<_> = FORBIDDEN.iter().chain(UNKNOWN).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), FORBIDDEN.len() + UNKNOWN.len());
    }
}
