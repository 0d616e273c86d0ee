//! Images in messages and beside the results of tools.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ContentHash;

/// What an image is scaled to where its tiles count: its sides, its shorter side, and the side of a tile.
const MOST_TILED_SIDE: u32 = 2048;
const MOST_SHORT_SIDE: u32 = 768;
const TILE_SIDE: u64 = 512;

/// The formats that models take. All services take these four and no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ImageFormat {
    /// Portable Network Graphics.
    #[serde(rename = "image/png")]
    Png,
    /// JPEG.
    #[serde(rename = "image/jpeg")]
    Jpeg,
    /// GIF. Models see the first picture of an animation.
    #[serde(rename = "image/gif")]
    Gif,
    /// WebP.
    #[serde(rename = "image/webp")]
    Webp,
}

impl ImageFormat {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Png, Self::Jpeg, Self::Gif, Self::Webp];

    /// The media type, such as `image/png`.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    /// The format with this media type; none if models do not take it.
    pub fn of_media_type(media_type: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.media_type() == media_type)
    }
}

impl fmt::Display for ImageFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Gif => "GIF",
            Self::Webp => "WebP",
        })
    }
}

/// An image. Clones share its bytes.
///
/// A log holds the bytes where the image comes first. Where the same image comes again while the
/// conversation still shows it, the entry has its hash alone.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Image {
    /// What the user or the tool calls it, usually its path.
    pub name: String,
    /// How it is encoded.
    #[serde(rename = "media_type")]
    pub format: ImageFormat,
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// In bytes, as encoded.
    pub size: u64,
    /// The hash of these bytes.
    pub hash: ContentHash,
    /// The bytes in Base64, which is how every wire and the log have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Arc<str>>,
}

impl Image {
    /// An image of `width` by `height` pixels that is encoded as `bytes`.
    pub fn new(
        name: impl Into<String>,
        format: ImageFormat,
        (width, height): (u32, u32),
        bytes: &[u8],
    ) -> Self {
        let (size, hash) = (bytes.len() as u64, ContentHash::of(bytes));
        let data = Some(STANDARD.encode(bytes).into());
        Self { name: name.into(), format, width, height, size, hash, data }
    }

    /// The bytes in Base64, if they are here.
    pub fn base64(&self) -> Option<&str> {
        self.data.as_deref()
    }

    /// The bytes as an address that begins with `data:`, if they are here.
    pub fn data_url(&self) -> Option<String> {
        self.base64().map(|data| format!("data:{};base64,{data}", self.format.media_type()))
    }

    /// The same without its bytes.
    #[must_use]
    pub fn without_data(&self) -> Self {
        Self { data: None, ..self.clone_but_data() }
    }

    /// The same with the bytes of `other`, which has the same hash.
    #[must_use]
    pub fn with_data_of(&self, other: &Self) -> Self {
        debug_assert_eq!(self.hash, other.hash);
        Self { data: other.data.clone(), ..self.clone_but_data() }
    }

    fn clone_but_data(&self) -> Self {
        Self { name: self.name.clone(), data: None, ..*self }
    }
}

/// In words, for models and terminals that cannot show it: `shot.png (PNG image, 640x480 pixels, 1234 bytes)`.
impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, format, width, height, size, .. } = self;
        write!(f, "{name} ({format} image, {width}x{height} pixels, {size} bytes)")
    }
}

/// Without the bytes, which are long.
impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let data = if self.data.is_some() { "" } else { ", without data" };
        write!(f, "Image({self}{data})")
    }
}

/// How many tokens a model takes an image for, as data: the two kinds of rule that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageTokens {
    /// The image is scaled down until it fits, and each patch of it counts.
    Patches {
        /// The side of a patch, in pixels.
        side: u32,
        /// The longest side that an image keeps, in pixels.
        longest: u32,
        /// The most patches of an image.
        most: u32,
        /// Tokens for a hundred patches.
        per_hundred: u32,
    },
    /// The image is scaled to fit 2048 by 2048 pixels and then to a short side of 768; each tile of
    /// 512 by 512 counts.
    Tiles {
        /// Tokens for any image.
        base: u32,
        /// Tokens for each tile.
        tile: u32,
    },
}

impl ImageTokens {
    /// The tokens of an image of this size. At least one.
    pub fn count(self, width: u32, height: u32) -> u64 {
        let tokens = match self {
            Self::Patches { side, longest, most, per_hundred } => {
                let (width, height) = shrunk((width, height), longest);
                let patches = pieces(width, side) * pieces(height, side);
                (patches.min(most.into()) * u64::from(per_hundred)).div_ceil(100)
            }
            Self::Tiles { base, tile } => {
                let (width, height) = shrunk((width, height), MOST_TILED_SIDE);
                let short = width.min(height).max(1);
                let scaled = |side: u32| {
                    if short > MOST_SHORT_SIDE {
                        (u64::from(side) * u64::from(MOST_SHORT_SIDE)).div_ceil(short.into())
                    } else {
                        side.into()
                    }
                };
                let tiles = scaled(width).div_ceil(TILE_SIDE) * scaled(height).div_ceil(TILE_SIDE);
                u64::from(base) + u64::from(tile) * tiles
            }
        };
        tokens.max(1)
    }
}

/// The size of an image whose longer side is at most `longest`.
fn shrunk((width, height): (u32, u32), longest: u32) -> (u32, u32) {
    let long = width.max(height);
    if long <= longest {
        return (width, height);
    }
    let scale = |side: u32| {
        let side = (u64::from(side) * u64::from(longest)).div_ceil(long.into());
        u32::try_from(side).unwrap_or(longest)
    };
    (scale(width), scale(height))
}

fn pieces(length: u32, side: u32) -> u64 {
    length.div_ceil(side).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shot() -> Image {
        Image::new("shot.png", ImageFormat::Png, (640, 480), b"\x89PNG...")
    }

    #[test]
    fn an_image_survives_json_with_and_without_its_bytes() {
        let image = shot();
        let json = serde_json::to_value(&image).unwrap();
        assert_eq!(json["media_type"], "image/png");
        assert_eq!(json["data"], "iVBORy4uLg==");
        assert_eq!(serde_json::from_value::<Image>(json).unwrap(), image);
        let bare = image.without_data();
        let json = serde_json::to_value(&bare).unwrap();
        assert!(json.get("data").is_none());
        assert_eq!(serde_json::from_value::<Image>(json).unwrap(), bare);
        assert_eq!(bare.with_data_of(&image), image);
        assert_eq!(bare.data_url(), None);
        assert_eq!(image.data_url().unwrap(), "data:image/png;base64,iVBORy4uLg==");
    }

    #[test]
    fn an_image_in_words_has_name_format_and_sizes() {
        assert_eq!(shot().to_string(), "shot.png (PNG image, 640x480 pixels, 7 bytes)");
        assert!(!format!("{:?}", shot()).contains("iVBOR"));
    }

    #[test]
    fn media_types_name_the_formats_that_models_take() {
        for format in ImageFormat::ALL {
            assert_eq!(ImageFormat::of_media_type(format.media_type()), Some(format));
            assert_eq!(serde_json::to_value(format).unwrap(), format.media_type());
        }
        assert_eq!(ImageFormat::of_media_type("image/bmp"), None);
    }

    #[test]
    fn any_size_has_a_bounded_number_of_tokens() {
        let rules = [
            ImageTokens::Patches { side: 28, longest: 2576, most: 4784, per_hundred: 100 },
            ImageTokens::Patches { side: 32, longest: 2048, most: 1536, per_hundred: 246 },
            ImageTokens::Tiles { base: 85, tile: 170 },
        ];
        for rule in rules {
            for size in [(0, 0), (1, u32::MAX), (u32::MAX, u32::MAX), (100_000, 100_000)] {
                assert!((1..20_000).contains(&rule.count(size.0, size.1)), "{rule:?} {size:?}");
            }
        }
    }
}
