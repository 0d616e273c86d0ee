//! What a host can read without calling a tool: the project's files, what this session has changed, and
//! what background jobs have printed.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use protocol::{ContentHash, ToolError};
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, CompletionInfo, ListResourceTemplatesResult, ListResourcesResult,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::json;

use crate::file_uri;

/// Files on one page of the list.
const PAGE_FILES: usize = 500;
/// What the session has changed, as a diff.
const CHANGES: &str = "toolkiln://changes";
/// What a job has printed; its id follows.
const JOB: &str = "toolkiln://jobs/";
/// The name of the place for a path in the template of files.
const PATH: &str = "path";

/// Reads what hosts may see of a project.
#[async_trait]
pub trait ProjectResources: Send + Sync {
    /// The project's directory, absolute.
    fn root(&self) -> &str;

    /// Files that are not ignored, by path, those behind `after`, at most so many.
    async fn files(&self, after: Option<&str>, most: usize)
    -> Result<Vec<ResourceFile>, ToolError>;

    /// The bytes of a file by its path from the root. A larger one than can be shown is an error.
    async fn file(&self, path: &str) -> Result<Vec<u8>, ToolError>;

    /// What is known of a file without reading it; none where there is no such file.
    async fn file_version(&self, path: &str) -> Option<FileVersion>;

    /// What this session has changed, as a unified diff.
    async fn changes(&self) -> Result<String, ToolError>;

    /// What a background job has printed.
    async fn job(&self, id: &str) -> Result<String, ToolError>;
}

/// A file in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceFile {
    /// From the project's root.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
}

/// A file at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileVersion {
    /// Differs whenever the file has changed.
    pub hash: ContentHash,
    /// When it changed last.
    pub changed: SystemTime,
}

/// Answers the methods about resources.
#[derive(Clone)]
pub(crate) struct ResourceAnswers(pub(crate) Arc<dyn ProjectResources>);

impl ResourceAnswers {
    pub(crate) async fn list(
        &self,
        cursor: Option<&str>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let after = cursor.map(path_of_cursor).transpose()?;
        let mut files = self.0.files(after.as_deref(), PAGE_FILES + 1).await.map_err(told)?;
        let has_more = files.len() > PAGE_FILES;
        files.truncate(PAGE_FILES);
        let next = files.last().filter(|_| has_more).map(|last| cursor_of(&last.path));
        let changes = Resource::new(CHANGES, "changes")
            .with_description("What this session has changed, as a diff")
            .with_mime_type("text/x-diff");
        let first = after.is_none().then_some(changes);
        let listed = files.iter().map(|file| self.listed(file));
        let mut result =
            ListResourcesResult::with_all_items(first.into_iter().chain(listed).collect());
        result.next_cursor = next;
        // Files come and go at any time.
        Ok(result.with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    fn listed(&self, file: &ResourceFile) -> Resource {
        let resource = Resource::new(self.uri(&file.path), &file.path).with_size(file.size);
        match media_type(&file.path) {
            Some(kind) => resource.with_mime_type(kind),
            None => resource,
        }
    }

    fn uri(&self, path: &str) -> String {
        file_uri::of_path(&format!("{}/{path}", self.0.root().trim_end_matches('/')))
    }

    pub(crate) fn templates(&self) -> ListResourceTemplatesResult {
        let files = ResourceTemplate::new(format!("{}{{+{PATH}}}", self.uri("")), "file")
            .with_description("A file of the project, by its path from the root");
        let jobs = ResourceTemplate::new(format!("{JOB}{{id}}"), "job")
            .with_description("What a background job has printed")
            .with_mime_type("text/plain");
        let all = ListResourceTemplatesResult::with_all_items(vec![files, jobs]);
        all.with_ttl_ms(crate::handler::FRESH_MS).with_cache_scope(CacheScope::Private)
    }

    pub(crate) async fn read(&self, uri: &str) -> Result<ReadResourceResult, ErrorData> {
        let contents = self.contents(uri).await?;
        let result = ReadResourceResult::new(vec![contents]);
        Ok(result.with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    /// What an address of ours means.
    pub(crate) fn place<'a>(&self, uri: &'a str) -> Result<ResourcePlace<'a>, ErrorData> {
        if uri == CHANGES {
            return Ok(ResourcePlace::Changes);
        }
        if let Some(id) = uri.strip_prefix(JOB) {
            return Ok(ResourcePlace::Job(id));
        }
        let path = file_uri::to_path(uri);
        let path = path.as_deref().and_then(|path| file_uri::below(path, self.0.root()));
        path.map(|path| ResourcePlace::File(path.to_owned())).ok_or_else(|| {
            let message = format!(
                "there is no resource `{uri}`: files of the project are below {}",
                self.uri("")
            );
            ErrorData::invalid_params(message, Some(json!({"uri": uri})))
        })
    }

    async fn contents(&self, uri: &str) -> Result<ResourceContents, ErrorData> {
        let path = match self.place(uri)? {
            ResourcePlace::Changes => {
                let diff = self.0.changes().await.map_err(told)?;
                return Ok(ResourceContents::text(diff, uri).with_mime_type("text/x-diff"));
            }
            ResourcePlace::Job(id) => {
                let printed = self.0.job(id).await.map_err(told)?;
                return Ok(ResourceContents::text(printed, uri).with_mime_type("text/plain"));
            }
            ResourcePlace::File(path) => path,
        };
        let bytes = self.0.file(&path).await.map_err(told)?;
        let kind = media_type(&path);
        Ok(match String::from_utf8(bytes) {
            Ok(text) => {
                ResourceContents::text(text, uri).with_mime_type(kind.unwrap_or("text/plain"))
            }
            Err(error) => ResourceContents::blob(STANDARD.encode(error.as_bytes()), uri)
                .with_mime_type(kind.unwrap_or("application/octet-stream")),
        })
    }

    /// What differs whenever the resource has changed, and when a file did; none where there is nothing to read.
    pub(crate) async fn version(&self, uri: &str) -> Option<(ContentHash, Option<SystemTime>)> {
        let text = match self.place(uri).ok()? {
            ResourcePlace::File(path) => {
                let FileVersion { hash, changed } = self.0.file_version(&path).await?;
                return Some((hash, Some(changed)));
            }
            ResourcePlace::Changes => self.0.changes().await,
            ResourcePlace::Job(id) => self.0.job(id).await,
        };
        text.ok().map(|text| (ContentHash::of(text.as_bytes()), None))
    }

    /// Paths that hold these letters.
    pub(crate) async fn completed(
        &self,
        argument: &str,
        letters: &str,
    ) -> Result<CompletionInfo, ErrorData> {
        if argument != PATH {
            return Ok(CompletionInfo::default());
        }
        let files = self.0.files(None, usize::MAX).await.map_err(told)?;
        let mut found: Vec<String> =
            files.into_iter().map(|file| file.path).filter(|path| path.contains(letters)).collect();
        let total = u32::try_from(found.len()).ok();
        let has_more = found.len() > CompletionInfo::MAX_VALUES;
        found.truncate(CompletionInfo::MAX_VALUES);
        CompletionInfo::with_pagination(found, total, has_more)
            .map_err(|error| ErrorData::internal_error(error, None))
    }
}

/// What is read at an address.
pub(crate) enum ResourcePlace<'a> {
    Changes,
    Job(&'a str),
    /// From the project's root.
    File(String),
}

/// What cannot be read is a wrong parameter: there is no such resource, or not one that can be shown.
fn told(error: ToolError) -> ErrorData {
    ErrorData::invalid_params(error.full_message(), serde_json::to_value(&error).ok())
}

fn cursor_of(path: &str) -> String {
    URL_SAFE_NO_PAD.encode(path)
}

fn path_of_cursor(cursor: &str) -> Result<String, ErrorData> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(|| {
        ErrorData::invalid_params("unknown cursor: begin the list anew, without a cursor", None)
    })
}

/// The type of a file by its name, where hosts show it in another way than plain text.
fn media_type(path: &str) -> Option<&'static str> {
    let (_, extension) = path.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "css" => "text/css",
        "csv" => "text/csv",
        "gif" => "image/gif",
        "htm" | "html" => "text/html",
        "jpeg" | "jpg" => "image/jpeg",
        "js" | "mjs" => "text/javascript",
        "json" => "application/json",
        "md" => "text/markdown",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "webp" => "image/webp",
        "xml" => "application/xml",
        _ => return None,
    })
}
