//! A kernel without overlays.

use std::collections::BTreeMap;

use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

/// The command of `fsconfig` that sets a flag. Of all file systems that a sandbox mounts only
/// overlays need one.
const SET_FLAG: u64 = 0;

/// From now on no overlay can be mounted by this process or those that it starts.
pub(crate) fn forget_overlays() -> Result<(), Box<dyn std::error::Error>> {
    let condition = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, SET_FLAG)?;
    let rules = BTreeMap::from([(libc::SYS_fsconfig, vec![SeccompRule::new(vec![condition])?])]);
    let refuse = SeccompAction::Errno(libc::EINVAL.cast_unsigned());
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture)?;
    let program: seccompiler::BpfProgram = filter.try_into()?;
    Ok(seccompiler::apply_filter(&program)?)
}
