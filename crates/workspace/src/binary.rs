//! Detects binary files, and names what they are.

/// How much of a file is looked at for NUL bytes.
const HEAD_BYTES: usize = 8 * 1024;

pub(crate) const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";
pub(crate) const UTF16_LE_BOM: &[u8] = b"\xFF\xFE";
pub(crate) const UTF16_BE_BOM: &[u8] = b"\xFE\xFF";
/// Begins like UTF-16, but is four bytes per character.
const UTF32_LE_BOM: &[u8] = b"\xFF\xFE\0\0";

/// What a binary file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinaryKind {
    /// The media type, `application/octet-stream` if unknown.
    pub media_type: &'static str,
    /// Width and height, if it is an image whose header says so.
    pub image: Option<(usize, usize)>,
}

pub(crate) fn starts_with_utf16_bom(bytes: &[u8]) -> bool {
    let marked = bytes.starts_with(UTF16_LE_BOM) || bytes.starts_with(UTF16_BE_BOM);
    marked && !bytes.starts_with(UTF32_LE_BOM)
}

/// Whether the beginning of a file shows that it is not text: a NUL byte in its first 8 KiB,
/// unless it is marked as UTF-16.
pub fn is_binary(head: &[u8]) -> bool {
    let head = &head[..head.len().min(HEAD_BYTES)];
    !starts_with_utf16_bom(head) && memchr::memchr(0, head).is_some()
}

/// Names what a file is by the beginning of its content. For the dimensions of some JPEG files
/// more than the first few kilobytes are needed.
pub fn describe_binary(head: &[u8]) -> BinaryKind {
    let media_type = magic_media_type(head).unwrap_or("application/octet-stream");
    let image = match media_type.starts_with("image/") {
        true => imagesize::blob_size(head).ok().map(|size| (size.width, size.height)),
        false => None,
    };
    BinaryKind { media_type, image }
}

fn magic_media_type(head: &[u8]) -> Option<&'static str> {
    /// Offset of the type within a RIFF container.
    const RIFF_TYPE_AT: usize = 8;
    const MAGIC: &[(&[u8], &str)] = &[
        (b"\x89PNG\r\n\x1A\n", "image/png"),
        (b"\xFF\xD8\xFF", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"%PDF-", "application/pdf"),
        (b"PK\x03\x04", "application/zip"),
        (b"PK\x05\x06", "application/zip"),
        (b"\x1F\x8B", "application/gzip"),
        (b"\x7FELF", "application/x-elf"),
        (b"\0asm", "application/wasm"),
        (b"SQLite format 3\0", "application/vnd.sqlite3"),
        (b"\xCA\xFE\xBA\xBE", "application/java-vm"),
    ];
    if head.starts_with(b"RIFF") && head.get(RIFF_TYPE_AT..)?.starts_with(b"WEBP") {
        return Some("image/webp");
    }
    if is_bmp(head) {
        return Some("image/bmp");
    }
    MAGIC.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, media_type)| *media_type)
}

/// The two letters alone would claim any text that begins with "BM"; the four reserved bytes of
/// the header must be zero as well.
fn is_bmp(head: &[u8]) -> bool {
    matches!(head, [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_byte_means_binary_unless_it_is_utf16() {
        assert!(!is_binary(b""));
        assert!(!is_binary("täxt\n".as_bytes()));
        assert!(is_binary(b"a\0b"));
        assert!(!is_binary(b"\xFF\xFEa\0"));
        assert!(!is_binary(b"\xFE\xFF\0a"));
        assert!(is_binary(b"\xFF\xFE\0\0a\0\0\0"));
        let mut late = vec![b'a'; HEAD_BYTES];
        late.push(0);
        assert!(!is_binary(&late));
        assert!(is_binary(&late[1..]));
    }

    #[test]
    fn formats_are_named_by_their_magic_numbers() {
        let table: &[(&[u8], &str)] = &[
            (b"%PDF-1.7", "application/pdf"),
            (b"PK\x03\x04..", "application/zip"),
            (b"\x1F\x8B\x08", "application/gzip"),
            (b"\x7FELF\x02", "application/x-elf"),
            (b"\0asm\x01", "application/wasm"),
            (b"SQLite format 3\0", "application/vnd.sqlite3"),
            (b"\xCA\xFE\xBA\xBE\0\0", "application/java-vm"),
            (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
            (b"BMW makes cars", "application/octet-stream"),
            (b"RIFF", "application/octet-stream"),
            (b"", "application/octet-stream"),
        ];
        for (head, media_type) in table {
            assert_eq!(describe_binary(head).media_type, *media_type);
        }
    }

    #[test]
    fn images_have_dimensions() {
        let png = b"\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\x01\x40\0\0\0\xC8\x08\x06\0\0\0";
        let gif = b"GIF89a\x40\x01\xC8\x00\0\0\0";
        let bmp = b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x40\x01\0\0\xC8\0\0\0\x01\0\x18\0";
        for head in [&png[..], gif, bmp] {
            let kind = describe_binary(head);
            assert_eq!(kind.image, Some((320, 200)), "{}", kind.media_type);
        }
        assert_eq!(describe_binary(&png[..12]).image, None);
    }
}
