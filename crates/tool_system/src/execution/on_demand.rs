//! Things that are made when they are first needed, if ever.

use std::sync::{Arc, Mutex, OnceLock};

use protocol::ToolError;

use crate::locked::locked;

/// A value that costs something to have: a call that never needs it never pays. Making it may
/// fail, and is then tried again the next time.
pub struct OnDemand<T> {
    make: Arc<dyn Fn() -> Result<T, ToolError> + Send + Sync>,
    made: OnceLock<T>,
    making: Mutex<()>,
}

impl<T> OnDemand<T> {
    /// Made by `make` when first asked for.
    pub fn new(make: impl Fn() -> Result<T, ToolError> + Send + Sync + 'static) -> Self {
        Self { make: Arc::new(make), made: OnceLock::new(), making: Mutex::new(()) }
    }

    /// The value, made by the first call.
    pub fn get(&self) -> Result<&T, ToolError> {
        if self.made.get().is_none() {
            // One at a time: two journals opened at once would wait for each other's lock.
            let _making = locked(&self.making);
            if self.made.get().is_none() {
                let value = (self.make)()?;
                return Ok(self.made.get_or_init(|| value));
            }
        }
        self.made.get().ok_or_else(|| {
            ToolError::new(protocol::ErrorCode::Internal, "a value that was made is missing")
        })
    }
}

/// A clone is made by itself, when it is first needed.
impl<T> Clone for OnDemand<T> {
    fn clone(&self) -> Self {
        Self { make: Arc::clone(&self.make), made: OnceLock::new(), making: Mutex::new(()) }
    }
}

impl<T: Clone + Send + Sync + 'static> From<T> for OnDemand<T> {
    fn from(value: T) -> Self {
        Self::new(move || Ok(value.clone()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use protocol::ErrorCode;

    use super::*;

    #[test]
    fn a_value_is_made_once_and_a_failure_is_tried_again() {
        static TRIES: AtomicUsize = AtomicUsize::new(0);
        let value = OnDemand::new(|| match TRIES.fetch_add(1, Ordering::Relaxed) {
            0 => Err(ToolError::new(ErrorCode::Timeout, "not yet")),
            tries => Ok(tries),
        });
        assert!(value.get().is_err());
        assert_eq!((*value.get().unwrap(), *value.get().unwrap()), (1, 1));
        let again = value.clone();
        assert_eq!((*again.get().unwrap(), *value.get().unwrap()), (2, 1));
    }
}
