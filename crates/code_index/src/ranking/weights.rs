//! What counts how much.

/// The weights of the ranking. The defaults were fitted to one half of the histories that `cargo xtask
/// bench ranking` lists; `docs/ranking.md` shows what each one adds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankingWeights {
    /// How soon more hits of a term in a file stop to matter.
    pub saturation: f32,
    /// How much the length of a file matters: 0 is not at all.
    pub length: f32,
    /// What a defined name with a term is worth, where a text full of it is worth 1.
    pub definition: f32,
    /// What a file name that is a term and nothing else is worth.
    pub file_name: f32,
    /// What the best function, type or paragraph of a file is worth, beside the whole file.
    pub block: f32,
    /// How much a file loses that lacks some of the terms: the exponent of the share it has.
    pub coverage: f32,
    /// What words are worth that say what is to be done rather than where, as `add` or `fix`.
    pub weak_word: f32,
    /// What an identifier of the query is worth, beside the words it is made of.
    pub identifier: f32,
    /// What two neighbouring words of the query are worth where they stand together.
    pub neighbours: f32,
    /// The factor of tests.
    pub test: f32,
    /// The factor of prose, data, and what is generated or foreign.
    pub behind_code: f32,
}

impl Default for RankingWeights {
    fn default() -> RankingWeights {
        RankingWeights {
            saturation: 12.0,
            length: 0.3,
            definition: 0.8,
            file_name: 1.75,
            block: 0.8,
            coverage: 0.4,
            weak_word: 0.5,
            identifier: 1.5,
            neighbours: 0.75,
            test: 0.4,
            behind_code: 0.2,
        }
    }
}
