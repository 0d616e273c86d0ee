//! Keeps private layers from growing for ever.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{LOCK, PrivateLayer};

/// How often layers are looked at.
const PERIOD: Duration = Duration::from_secs(24 * 60 * 60);

/// How much may be kept, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerLimits {
    /// A layer that holds more is cleared.
    pub max_bytes: u64,
    /// A layer in which nothing was kept for so long is cleared.
    pub max_age: Duration,
}

/// Removes the layers that lie beside `own`: they belong to directories that are no longer where the
/// project lies. Leaves alone what is in use.
pub fn remove_other_layers(own: &Path) -> io::Result<()> {
    let Some(layers) = own.parent() else { return Ok(()) };
    for other in std::fs::read_dir(layers)?.flatten().map(|entry| entry.path()) {
        if other != own && PrivateLayer::open(&other)?.clear().is_ok() {
            std::fs::remove_dir_all(&other)?;
        }
    }
    Ok(())
}

/// Clears what is too large or too old among the layers in the directories called `name` that lie in
/// those of `states`. Looks at most once a day, by the time stamp of the file `looked_at`, and leaves
/// alone what is in use. Returns how many were cleared.
pub fn tidy_layers(
    states: &Path,
    name: &str,
    limits: LayerLimits,
    looked_at: &Path,
) -> io::Result<usize> {
    if age_of(looked_at).is_some_and(|age| age < PERIOD) {
        return Ok(0);
    }
    looked_at.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    std::fs::write(looked_at, "")?;
    let mut cleared = 0;
    let states = std::fs::read_dir(states)?.flatten();
    let layers = states.filter_map(|state| std::fs::read_dir(state.path().join(name)).ok());
    for path in layers.flatten().flatten().map(|entry| entry.path()) {
        let Some(age) = age_of(&path.join(LOCK)) else { continue };
        let Ok(layer) = PrivateLayer::open(&path) else { continue };
        let is_large = || layer.usage().is_ok_and(|usage| usage.bytes > limits.max_bytes);
        if (age > limits.max_age || is_large()) && layer.clear().is_ok() {
            cleared += 1;
        }
    }
    Ok(cleared)
}

fn age_of(file: &Path) -> Option<Duration> {
    let changed = std::fs::metadata(file).ok()?.modified().ok()?;
    Some(SystemTime::now().duration_since(changed).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: LayerLimits =
        LayerLimits { max_bytes: 100_000, max_age: Duration::from_secs(60 * 60) };

    fn layer(states: &Path, project: &str, bytes: usize, age: Duration) -> PrivateLayer {
        let layer = PrivateLayer::open(&states.join(project).join("layer/own")).unwrap();
        std::fs::write(layer.path().join("kept/file"), vec![1; bytes]).unwrap();
        let lock = std::fs::File::create(layer.path().join(LOCK)).unwrap();
        lock.set_modified(SystemTime::now() - age).unwrap();
        layer
    }

    #[test]
    fn what_is_too_large_or_too_old_goes_and_what_is_in_use_stays() {
        let states = tempfile::tempdir().unwrap();
        let cache = tempfile::tempdir().unwrap();
        let looked_at = cache.path().join("toolkiln/looked-at");
        let (young, old) = (Duration::ZERO, Duration::from_secs(2 * 60 * 60));
        let layers = [
            layer(states.path(), "small", 1_000, young),
            layer(states.path(), "large", 1_000_000, young),
            layer(states.path(), "old", 1_000, old),
            layer(states.path(), "used", 1_000, old),
        ];
        std::fs::create_dir(states.path().join("without")).unwrap();
        let used = layers[3].lock_file().unwrap();
        rustix::fs::flock(&used, rustix::fs::FlockOperation::LockShared).unwrap();
        assert_eq!(tidy_layers(states.path(), "layer", LIMITS, &looked_at).unwrap(), 2);
        let left: Vec<bool> =
            layers.iter().map(|layer| layer.path().join("kept/file").exists()).collect();
        assert_eq!(left, [true, false, false, true]);
        // Of those that lie beside it, a layer knows that they are not needed any more.
        let own = layers[0].path();
        PrivateLayer::open(&own.with_file_name("other")).unwrap();
        remove_other_layers(own).unwrap();
        assert!(own.join("kept/file").exists() && !own.with_file_name("other").exists());
        // Not again on the same day.
        layer(states.path(), "old", 1_000, old);
        assert_eq!(tidy_layers(states.path(), "layer", LIMITS, &looked_at).unwrap(), 0);
    }
}
