//! The limits of all tools, defined in one place. Configuration may change them; a project's own
//! configuration may only lower them.

use std::time::Duration;

use code_index::IndexOptions;
use serde::{Deserialize, Serialize};

use crate::Vocabulary;

/// Width of a line number in numbered text.
pub(crate) const LINE_NUMBER_WIDTH: usize = 6;

/// Declares the limits once, with their defaults and the narrowing of each.
macro_rules! limits {
    ($($(#[doc = $doc:literal])+ $name:ident = $default:expr,)+) => {
        /// The bounds within which tools work.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        pub struct Limits {
            $($(#[doc = $doc])+ pub $name: u64,)+
        }

        /// Limits as a configuration file gives them: only those it names.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct LimitOverrides {
            $($(#[doc = $doc])+ pub $name: Option<u64>,)+
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl Limits {
            /// These limits with those that the user has set.
            #[must_use]
            pub fn set_by(&self, user: &LimitOverrides) -> Limits {
                Limits { $($name: user.$name.unwrap_or(self.$name),)+ }
            }

            /// These limits, lowered where a project asks for less.
            #[must_use]
            pub fn narrowed_by(&self, project: &LimitOverrides) -> Limits {
                Limits { $($name: project.$name.unwrap_or(self.$name).min(self.$name),)+ }
            }
        }
    };
}

limits! {
    /// Matches that `grep` shows unless asked for another number.
    grep_results = 100,
    /// The most of them in the vocabularies of other agents.
    other_grep_results = 50,
    /// Files that `glob` shows unless asked for another number.
    glob_results = 100,
    /// Files that `search` shows unless asked for another number.
    search_results = 10,
    /// Imports that `find_importers` shows unless asked for another number.
    importer_results = 100,
    /// The most results that a search with pages shows at once, whatever is asked.
    max_results = 500,
    /// The most results of a search without pages; a list that is too long for an answer is cut.
    max_unpaged_results = 10_000,
    /// Size in bytes above which `grep` skips a file.
    grep_file_bytes = 1024 * 1024,
    /// Characters of a matching line that are shown; the part around the match is kept.
    grep_line_chars = 400,
    /// How deep directory walks go.
    walk_depth = 32,
    /// Entries after which a walk stops.
    walk_entries = 2_000_000,
    /// Files from which on a project gets an index; a smaller one is searched as quickly without.
    index_from_files = 3_000,
    /// Milliseconds after which a search answers with what it has.
    search_ms = 20_000,
    /// Milliseconds that one file may cost a search.
    regex_ms_per_file = 5_000,
    /// Lines that reading a file returns unless asked for another number.
    read_lines = 2_000,
    /// Bytes of text that one read returns.
    read_bytes = 256 * 1024,
    /// Bytes of a single line that a read returns.
    read_line_bytes = 16 * 1024,
    /// Bytes of a file that can be returned as Base64 at once.
    read_base64_bytes = 1024 * 1024,
    /// Bytes of an image that is shown as it is: in Base64 that is 5 MiB, Anthropic's limit, which is
    /// the smallest.
    image_bytes = 5 * 1024 * 1024 / 4 * 3,
    /// The longer side of an image that is shown as it is, in pixels; Anthropic takes no more.
    image_side = 8_000,
    /// The longer side of an image that is scaled down because it is larger, in pixels. No model looks
    /// at much more, and as many as fit into a request may have this size.
    image_scaled_side = 2_000,
    /// Images that one answer shows; a request holds no more.
    answer_images = 20,
    /// Bytes of the images that one answer shows.
    answer_image_bytes = 20_000_000,
    /// Bytes of an image file that is scaled down.
    image_file_bytes = 32 * 1024 * 1024,
    /// Pixels of an image that is scaled down; each takes four bytes of memory and more.
    image_pixels = 64_000_000,
    /// Estimated tokens that reading several files may fill.
    read_tokens = 50_000,
    /// Bytes of a file that can be changed.
    edit_bytes = 64 * 1024 * 1024,
    /// Files and directories that one call can delete.
    delete_entries = 20_000,
    /// Seconds that `bash` lets a command run unless asked for another number.
    bash_s = 120,
    /// The most seconds that `bash` lets a command run.
    max_bash_s = 600,
    /// The same two for the vocabulary `ally`.
    ally_bash_s = 5,
    /// The most seconds for the vocabulary `ally`.
    ally_max_bash_s = 60,
    /// Seconds that `run_code` lets code run unless asked for another number.
    run_code_s = 60,
    /// The most seconds that any command may run, but for jobs.
    max_command_s = 600,
    /// Bytes of one output of a command above which only its two ends are shown.
    run_output_bytes = 30 * 1024,
    /// The same for the vocabularies of other agents; the ends have as many bytes.
    foreign_output_bytes = 64 * 1024,
    /// Bytes that are kept of each output of a command, to be read through a handle.
    kept_output_bytes = 8 * 1024 * 1024,
    /// Seconds that a web request may take unless asked for another number.
    web_s = 30,
    /// The most seconds that a web request may take.
    max_web_s = 120,
    /// Bytes that are read of an answer of a web server, after decompression.
    web_body_bytes = 2 * 1024 * 1024,
    /// Bytes of text on one page of `web_fetch`.
    web_page_bytes = 24 * 1024,
    /// Bytes of fetched pages that are kept in a session, for 15 minutes.
    web_kept_bytes = 16 * 1024 * 1024,
    /// Requests to one web server within a minute.
    web_requests_per_minute = 10,
    /// Results of `web_search` unless asked for another number.
    web_search_results = 5,
    /// The most results of `web_search`.
    web_search_max = 20,
    /// Jobs that run at the same time.
    jobs = 8,
    /// Bytes that are shown of one file with instructions for agents, such as `AGENTS.md`.
    agents_md_bytes = 32 * 1024,
    /// Bytes of such files that are shown to one agent in all.
    agents_md_all_bytes = 128 * 1024,
    /// Files with instructions that are shown to one agent.
    agents_md_files = 32,
    /// Entries on one page of a directory listing.
    list_page = 100,
    /// Bytes of JSON above which a result is cut and the rest kept behind a handle.
    result_bytes = 512 * 1024,
    /// Bytes of cut results that are kept in all.
    kept_result_bytes = 32 * 1024 * 1024,
}

impl Limits {
    /// These limits as they hold in a vocabulary.
    #[must_use]
    pub(crate) fn in_vocabulary(&self, vocabulary: Vocabulary) -> Limits {
        let mut limits = self.clone();
        if vocabulary != Vocabulary::Standard {
            limits.grep_results = self.grep_results.min(self.other_grep_results);
        }
        if vocabulary == Vocabulary::Ally {
            (limits.bash_s, limits.max_bash_s) = (self.ally_bash_s, self.ally_max_bash_s);
        }
        if vocabulary != Vocabulary::Standard {
            limits.run_output_bytes = self.foreign_output_bytes;
        }
        limits
    }

    /// How many results a search with pages shows: what was asked, or `default`, never above the
    /// maximum.
    pub fn results(&self, asked: Option<u64>, default: u64) -> usize {
        usize::try_from(asked.unwrap_or(default).min(self.max_results)).unwrap_or(usize::MAX)
    }

    /// The same for a search without pages, which has no other way to the rest than to ask for more.
    /// A user who has lowered the maximum has lowered it for these too.
    pub fn unpaged_results(&self, asked: Option<u64>, default: u64) -> usize {
        let is_lowered = self.max_results < Self::default().max_results;
        match asked {
            Some(asked) if !is_lowered => {
                usize::try_from(asked.min(self.max_unpaged_results)).unwrap_or(usize::MAX)
            }
            _ => self.results(asked.map(|asked| asked.min(self.max_unpaged_results)), default),
        }
    }

    /// How a project is indexed, by a process that stays or by one that answers one question.
    pub fn index_options(&self, stays: bool) -> IndexOptions {
        let as_size = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        IndexOptions {
            min_files: self.index_from_files,
            max_file_bytes: self.grep_file_bytes,
            max_depth: as_size(self.walk_depth),
            max_entries: as_size(self.walk_entries),
            stays,
        }
    }

    /// The time a whole search may take.
    pub(crate) fn search_time(&self) -> Duration {
        Duration::from_millis(self.search_ms)
    }

    /// The time one file may cost a search.
    pub fn file_time(&self) -> Duration {
        Duration::from_millis(self.regex_ms_per_file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requested_number_counts_up_to_the_maximum() {
        let limits = Limits::default();
        assert_eq!(limits.results(None, limits.grep_results), 100);
        assert_eq!(limits.results(Some(7), limits.grep_results), 7);
        assert_eq!(limits.results(Some(10_000), limits.grep_results), 500);
        assert_eq!(limits.unpaged_results(None, limits.grep_results), 100);
        assert_eq!(limits.unpaged_results(Some(3_000), limits.grep_results), 3_000);
        assert_eq!(limits.unpaged_results(Some(30_000), limits.grep_results), 10_000);
    }

    #[test]
    fn the_vocabulary_ally_has_times_of_its_own() {
        let limits = Limits { ally_max_bash_s: 90, ..Limits::default() };
        let times = |limits: Limits| (limits.bash_s, limits.max_bash_s);
        assert_eq!(times(limits.in_vocabulary(Vocabulary::Standard)), (120, 600));
        assert_eq!(times(limits.in_vocabulary(Vocabulary::Ally)), (5, 90));
    }

    #[test]
    fn other_vocabularies_show_fewer_matches() {
        let shown = |limits: &Limits, vocabulary| limits.in_vocabulary(vocabulary).grep_results;
        let limits = Limits::default();
        assert_eq!(shown(&limits, Vocabulary::Standard), 100);
        assert_eq!(shown(&limits, Vocabulary::Ally), 50);
        assert_eq!(shown(&limits, Vocabulary::Explorer), 50);
        let limits = Limits { grep_results: 20, ..limits };
        assert_eq!(shown(&limits, Vocabulary::Ally), 20);
    }

    #[test]
    fn a_project_narrows_what_the_user_set_and_never_widens_it() {
        let user =
            LimitOverrides { grep_results: Some(20), read_lines: Some(9000), ..Default::default() };
        let project =
            LimitOverrides { grep_results: Some(400), list_page: Some(10), ..Default::default() };
        let both = Limits::default().set_by(&user).narrowed_by(&project);
        assert_eq!((both.grep_results, both.read_lines, both.list_page), (20, 9000, 10));
    }
}
