//! Whether the tests shall run for long, which `cargo xtask soak` wants.

/// What was asked for, by variables of the environment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Soak {
    /// How long lines are made up and run.
    pub(crate) seconds: u64,
    /// How many processes are killed.
    pub(crate) kills: u64,
    pub(crate) seed: u64,
}

impl Soak {
    /// None in ordinary tests.
    pub(crate) fn wanted() -> Option<Soak> {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
        Some(Soak {
            seconds: number("TOOLKILN_SOAK_SECONDS")?,
            kills: number("TOOLKILN_SOAK_KILLS")?,
            seed: number("TOOLKILN_SOAK_SEED")?,
        })
    }
}
