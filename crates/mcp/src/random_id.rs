//! Names that cannot be guessed.

use std::fmt::Write as _;

use protocol::{ErrorCode, ToolError};
use rustix::rand::{GetRandomFlags, getrandom};

/// Random bytes of an id.
const ID_BYTES: usize = 16;

pub(crate) fn random_id() -> Result<String, ToolError> {
    let mut bytes = [0; ID_BYTES];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty());
    if filled != Ok(ID_BYTES) {
        return Err(ToolError::new(ErrorCode::Internal, "the system gives no random numbers"));
    }
    let mut id = String::with_capacity(2 * ID_BYTES);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(id, "{byte:02x}");
    }
    Ok(id)
}
