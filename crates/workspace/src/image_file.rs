//! Whether the bytes of a file are an image that a model could look at. Only its frame is read: what
//! the pixels are, decoders find out.

use protocol::ImageFormat;

use crate::describe_binary;

/// An image, as described by its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageFile {
    /// How it is encoded, by its content and not by its name.
    pub format: ImageFormat,
    /// In pixels; never 0.
    pub width: u32,
    /// In pixels; never 0.
    pub height: u32,
}

/// Why a file that begins like an image cannot be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ImageProblem {
    /// It is something else, or in a format that models do not take.
    #[error("models take PNG, JPEG, GIF and WebP")]
    OtherFormat,
    /// Its header does not say how large it is.
    #[error("its header is damaged")]
    Header,
    /// It ends before its format allows it.
    #[error("its end is missing")]
    Cut,
}

/// Reads the frame of an image that is given as a whole.
pub fn image_file(bytes: &[u8]) -> Result<ImageFile, ImageProblem> {
    let kind = describe_binary(bytes);
    let format = ImageFormat::of_media_type(kind.media_type).ok_or(ImageProblem::OtherFormat)?;
    let (width, height) = kind.image.ok_or(ImageProblem::Header)?;
    let pixels = |side: usize| u32::try_from(side).ok().filter(|side| *side > 0);
    let (width, height) = pixels(width).zip(pixels(height)).ok_or(ImageProblem::Header)?;
    let is_whole = match format {
        ImageFormat::Png => png_ends(bytes),
        ImageFormat::Jpeg => jpeg_ends(bytes),
        ImageFormat::Gif => gif_ends(bytes),
        ImageFormat::Webp => webp_ends(bytes),
    };
    if is_whole { Ok(ImageFile { format, width, height }) } else { Err(ImageProblem::Cut) }
}

/// Chunks follow each other up to the one that is called `IEND`.
fn png_ends(bytes: &[u8]) -> bool {
    /// Bytes before the first chunk.
    const SIGNATURE: usize = 8;
    /// Length and name before the content of a chunk, and its checksum after it.
    const AROUND: usize = 12;
    let mut rest = bytes.get(SIGNATURE..).unwrap_or_default();
    while let Some((length, name)) = rest.first_chunk::<4>().zip(rest.get(4..8)) {
        let whole = usize::try_from(u32::from_be_bytes(*length)).ok();
        let whole = whole.and_then(|length| length.checked_add(AROUND));
        let Some(after) = whole.and_then(|whole| rest.get(whole..)) else { return false };
        if name == b"IEND" {
            return true;
        }
        rest = after;
    }
    false
}

/// Segments follow each other up to the pixels; somewhere after these stands the end.
fn jpeg_ends(bytes: &[u8]) -> bool {
    /// The marker before the pixels.
    const START_OF_SCAN: u8 = 0xDA;
    let mut rest = bytes.get(2..).unwrap_or_default();
    loop {
        match rest {
            [0xFF, START_OF_SCAN, pixels @ ..] => {
                return memchr::memmem::find(pixels, b"\xFF\xD9").is_some();
            }
            // Any number of fill bytes may stand before a marker.
            [0xFF, 0xFF, ..] => rest = &rest[1..],
            [0xFF, _, high, low, ..] => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                match rest.get(2 + length..) {
                    Some(after) => rest = after,
                    None => return false,
                }
            }
            _ => return false,
        }
    }
}

/// The last byte is `;`. Some programs write zeros after it.
fn gif_ends(bytes: &[u8]) -> bool {
    bytes.iter().rev().find(|byte| **byte != 0) == Some(&b';')
}

/// The container says how long it is.
fn webp_ends(bytes: &[u8]) -> bool {
    /// `RIFF` and the length of all that follows.
    const HEADER: usize = 8;
    let told = bytes.get(4..HEADER).and_then(|told| told.first_chunk::<4>());
    let told = told.and_then(|told| usize::try_from(u32::from_le_bytes(*told)).ok());
    told.and_then(|told| told.checked_add(HEADER)).is_some_and(|told| told <= bytes.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chunk(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
        let length = u32::try_from(content.len()).unwrap().to_be_bytes();
        [&length, &name[..], content, &[0; 4]].concat()
    }

    fn png(width: u32, height: u32) -> Vec<u8> {
        let size = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
        let chunks = [chunk(b"IHDR", &size), chunk(b"IDAT", &[7; 20]), chunk(b"IEND", &[])];
        [b"\x89PNG\r\n\x1A\n".to_vec(), chunks.concat()].concat()
    }

    fn jpeg(width: u16, height: u16) -> Vec<u8> {
        let exif = b"\xFF\xE1\0\x0AExif\0\0\xFF\xD9".to_vec();
        let size = [&height.to_be_bytes()[..], &width.to_be_bytes()].concat();
        let frame = [&b"\xFF\xC0\0\x0B\x08"[..], &size, b"\x01\x01\x11\0"].concat();
        let scan = b"\xFF\xDA\0\x08\x01\x01\0\0\x3F\0pixels\xFF\xD9";
        [b"\xFF\xD8".to_vec(), exif, frame, scan.to_vec()].concat()
    }

    fn gif(width: u16, height: u16) -> Vec<u8> {
        let size = [&width.to_le_bytes()[..], &height.to_le_bytes()].concat();
        [&b"GIF89a"[..], &size, b"\0\0\0\x2C;"].concat()
    }

    fn webp(width: u32, height: u32) -> Vec<u8> {
        let size = |side: u32| (side - 1).to_le_bytes()[..3].to_vec();
        let canvas = [vec![0; 4], size(width), size(height)].concat();
        let body = [&b"WEBPVP8X\x0A\0\0\0"[..], &canvas].concat();
        let length = u32::try_from(body.len()).unwrap().to_le_bytes();
        [b"RIFF", &length[..], &body].concat()
    }

    #[test]
    fn the_frames_of_all_formats_are_read() {
        let table = [
            (png(320, 200), ImageFormat::Png),
            (jpeg(320, 200), ImageFormat::Jpeg),
            (gif(320, 200), ImageFormat::Gif),
            (webp(320, 200), ImageFormat::Webp),
        ];
        for (bytes, format) in table {
            let image = ImageFile { format, width: 320, height: 200 };
            assert_eq!(image_file(&bytes), Ok(image));
            for end in 0..bytes.len() {
                assert!(image_file(&bytes[..end]).is_err(), "{format} cut at {end}");
            }
            let padded = [bytes, vec![0; 9]].concat();
            assert_eq!(image_file(&padded), Ok(image), "zeros after the end");
        }
    }

    #[test]
    fn sizes_are_told_as_they_are_claimed_and_none_is_zero() {
        let huge = image_file(&png(100_000, 100_000)).unwrap();
        assert_eq!((huge.width, huge.height), (100_000, 100_000));
        for (width, height) in [(0, 10), (10, 0)] {
            assert_eq!(image_file(&png(width, height)), Err(ImageProblem::Header));
        }
        let mut endless = png(1, 1);
        endless[33..37].copy_from_slice(&u32::MAX.to_be_bytes());
        assert_eq!(image_file(&endless), Err(ImageProblem::Cut));
    }

    #[test]
    fn what_is_no_image_for_models_is_none() {
        let bmp = b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x40\x01\0\0\xC8\0\0\0\x01\0\x18\0";
        let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>";
        for bytes in [&bmp[..], svg, b"", b"%PDF-1.7", b"RIFF\0\0\0\0WAVE"] {
            assert_eq!(image_file(bytes), Err(ImageProblem::OtherFormat));
        }
        assert_eq!(image_file(b"\x89PNG\r\n\x1A\nnonsense"), Err(ImageProblem::Header));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(
            beginning in prop::sample::select(vec![
                png(9, 9), jpeg(9, 9), gif(9, 9), webp(9, 9), b"RIFF....WEBPVP8L".to_vec(),
                b"RIFF....WEBPVP8 ".to_vec(), b"\xFF\xD8\xFF".to_vec(), Vec::new(),
            ]),
            kept in 0_usize..80,
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            more in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let mut bytes = beginning;
            bytes.truncate(kept);
            bytes.extend(more);
            for (at, byte) in changes {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
            }
            if let Ok(image) = image_file(&bytes) {
                prop_assert!(image.width > 0 && image.height > 0);
            }
        }
    }
}
