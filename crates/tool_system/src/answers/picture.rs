//! Images on their way to a model: shown as they are, scaled down, or described with a reason.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder as _, ImageReader};
use protocol::{ErrorCode, Image, ImageFormat, ToolError};
use workspace::{BinaryKind, ImageFile, ImageProblem, image_file};

use crate::{Limits, ToolContext};

/// JPEG at this quality looks like the original, at a fraction of the bytes.
const JPEG_QUALITY: u8 = 80;
/// The most memory that decoding may take, besides the pixels of the limits.
const DECODING_BYTES: u64 = 512 * 1024 * 1024;

const ENOUGH_SHOWN: &str =
    "It is not shown: this answer shows as many images as it may. Read it in another call.";

/// What became of a file that may be an image.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ImageDelivery {
    /// It is sent with the answer.
    AsItIs,
    /// A smaller copy is sent with the answer, as these words say.
    Scaled(String),
    /// It is an image that cannot be shown, for the reason in these words.
    Not(String),
    /// It is something else.
    NoImage,
}

/// Shows the file `path` with the answer of the call if it is an image that models take. `bytes` are
/// all of it; they are absent if there are too many to look at.
pub(crate) fn show(
    cx: &ToolContext,
    path: &str,
    kind: &BinaryKind,
    bytes: Option<&[u8]>,
) -> ImageDelivery {
    if !kind.media_type.starts_with("image/") {
        return ImageDelivery::NoImage;
    }
    let limits = cx.limits();
    let fitting = match bytes {
        Some(bytes) => fitting(bytes, limits),
        None => Err(Unfit::TooManyBytes(limits.image_file_bytes)),
    };
    let (image, remark) = match fitting {
        Ok(fitting) => fitting.image(path, bytes.unwrap_or_default()),
        Err(unfit) => return ImageDelivery::Not(unfit.advice(limits)),
    };
    match remark {
        _ if !cx.show(image) => ImageDelivery::Not(ENOUGH_SHOWN.to_owned()),
        Some(remark) => ImageDelivery::Scaled(remark),
        None => ImageDelivery::AsItIs,
    }
}

/// An image that the user hands over, as models take it, and what is to be said if it was scaled down.
/// What it is, its bytes decide.
pub fn handed_image(
    name: &str,
    bytes: &[u8],
    limits: &Limits,
) -> Result<(Image, Option<String>), ToolError> {
    let fitting = fitting(bytes, limits).map_err(|unfit| {
        ToolError::new(ErrorCode::InvalidArguments, format!("{name} cannot be sent: {unfit}"))
            .suggest(unfit.advice(limits))
    })?;
    Ok(fitting.image(name, bytes))
}

/// What a binary file is, in words: `image/png, 640x480 pixels, 1234 bytes`.
pub(crate) fn described(kind: &BinaryKind, size: u64) -> String {
    let dimensions = match kind.image {
        Some((width, height)) => format!(", {width}x{height} pixels"),
        None => String::new(),
    };
    format!("{}{dimensions}, {size} bytes", kind.media_type)
}

/// An image within the limits.
#[derive(Debug, PartialEq, Eq)]
enum Fitting {
    AsItIs(ImageFile),
    Scaled { format: ImageFormat, size: (u32, u32), bytes: Vec<u8> },
}

impl Fitting {
    /// The image, given the bytes of its file, with a remark if it is a smaller copy.
    fn image(self, name: &str, file_bytes: &[u8]) -> (Image, Option<String>) {
        match self {
            Fitting::AsItIs(file) => {
                let size = (file.width, file.height);
                (Image::new(name, file.format, size, file_bytes), None)
            }
            Fitting::Scaled { format, size: (width, height), bytes } => {
                let remark = format!("It is shown scaled down to {width}x{height} pixels.");
                (Image::new(name, format, (width, height), &bytes), Some(remark))
            }
        }
    }
}

/// Why an image cannot be shown.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Unfit {
    #[error("{0}")]
    Frame(ImageProblem),
    #[error("it has more than {0} bytes")]
    TooManyBytes(u64),
    #[error("its {width}x{height} pixels are more than {most}")]
    TooManyPixels { width: u32, height: u32, most: u64 },
    #[error("it cannot be decoded: {0}")]
    Undecodable(String),
}

impl Unfit {
    fn advice(&self, limits: &Limits) -> String {
        let smaller = format!(
            "To see it, make a copy of at most {side}x{side} pixels and {} bytes, for example with \
             `magick LARGE -resize {side}x{side} small.png`.",
            limits.image_bytes,
            side = limits.image_scaled_side,
        );
        match self {
            Unfit::Frame(ImageProblem::OtherFormat) => {
                format!("It is not shown: {self}. Convert it to one of these to see it.")
            }
            Unfit::Frame(_) | Unfit::Undecodable(_) => format!("It is not shown: {self}."),
            Unfit::TooManyBytes(_) | Unfit::TooManyPixels { .. } => {
                format!("It is not shown: {self}. {smaller}")
            }
        }
    }
}

/// Brings an image within the limits. Nothing is decoded unless it has to be scaled, and nothing that
/// claims more pixels than may be decoded.
fn fitting(bytes: &[u8], limits: &Limits) -> Result<Fitting, Unfit> {
    let file = image_file(bytes).map_err(Unfit::Frame)?;
    let size = bytes.len() as u64;
    let (width, height) = (file.width, file.height);
    if size <= limits.image_bytes && u64::from(width.max(height)) <= limits.image_side {
        return Ok(Fitting::AsItIs(file));
    }
    if size > limits.image_file_bytes {
        return Err(Unfit::TooManyBytes(limits.image_file_bytes));
    }
    if u64::from(width) * u64::from(height) > limits.image_pixels {
        return Err(Unfit::TooManyPixels { width, height, most: limits.image_pixels });
    }
    let scaled = scaled(bytes, file.format, limits);
    let scaled = scaled.map_err(|error| Unfit::Undecodable(error.to_string()))?;
    scaled.ok_or(Unfit::TooManyBytes(limits.image_bytes))
}

/// A smaller copy; none if it is still too large.
fn scaled(
    bytes: &[u8],
    format: ImageFormat,
    limits: &Limits,
) -> image::ImageResult<Option<Fitting>> {
    let side = u32::try_from(limits.image_scaled_side).unwrap_or(u32::MAX);
    let mut image = decoded(bytes, format)?;
    if image.width().max(image.height()) > side {
        image = image.resize(side, side, FilterType::Triangle);
    }
    let size = (image.width(), image.height());
    let fits = |bytes: &Vec<u8>| bytes.len() as u64 <= limits.image_bytes;
    // Letters stay sharp in PNG; what is too large even so is a photograph.
    if format != ImageFormat::Jpeg {
        let mut png = Cursor::new(Vec::new());
        image.write_to(&mut png, image::ImageFormat::Png)?;
        if let Some(bytes) = Some(png.into_inner()).filter(fits) {
            return Ok(Some(Fitting::Scaled { format: ImageFormat::Png, size, bytes }));
        }
    }
    let mut jpeg = Vec::new();
    image.to_rgb8().write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, JPEG_QUALITY))?;
    let format = ImageFormat::Jpeg;
    Ok(Some(jpeg).filter(fits).map(|bytes| Fitting::Scaled { format, size, bytes }))
}

/// The pixels, turned as the camera was held: a copy does not say how.
fn decoded(bytes: &[u8], format: ImageFormat) -> image::ImageResult<DynamicImage> {
    let format = match format {
        ImageFormat::Png => image::ImageFormat::Png,
        ImageFormat::Jpeg => image::ImageFormat::Jpeg,
        ImageFormat::Gif => image::ImageFormat::Gif,
        ImageFormat::Webp => image::ImageFormat::WebP,
    };
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = image::Limits::default();
    limits.max_alloc = Some(DECODING_BYTES);
    reader.limits(limits);
    let mut decoder = reader.into_decoder()?;
    let orientation = decoder.orientation()?;
    let mut image = DynamicImage::from_decoder(decoder)?;
    image.apply_orientation(orientation);
    Ok(image)
}

#[cfg(test)]
mod tests {
    use image::{Rgb, RgbImage};

    use super::*;

    /// An image of noise, which no encoding makes small.
    fn noise(width: u32, height: u32, format: image::ImageFormat) -> Vec<u8> {
        let mut state = 1_u32;
        let image = RgbImage::from_fn(width, height, |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Rgb([(state >> 24) as u8, (state >> 16) as u8, (state >> 8) as u8])
        });
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    fn small_limits() -> Limits {
        Limits {
            image_bytes: 8_000,
            image_side: 100,
            image_scaled_side: 50,
            image_pixels: 10_000,
            image_file_bytes: 100_000,
            ..Limits::default()
        }
    }

    #[test]
    fn an_image_within_the_limits_is_not_touched() {
        for format in [
            image::ImageFormat::Png,
            image::ImageFormat::Jpeg,
            image::ImageFormat::Gif,
            image::ImageFormat::WebP,
        ] {
            let bytes = noise(40, 30, format);
            let Ok(Fitting::AsItIs(file)) = fitting(&bytes, &small_limits()) else {
                panic!("{format:?}")
            };
            assert_eq!((file.width, file.height), (40, 30));
            assert_eq!(file.format.media_type(), format.to_mime_type());
        }
    }

    #[test]
    fn a_larger_one_is_scaled_within_the_limits() {
        let limits = small_limits();
        let table = [
            (noise(120, 60, image::ImageFormat::Png), ImageFormat::Png, (50, 25)),
            (noise(90, 90, image::ImageFormat::Png), ImageFormat::Png, (50, 50)),
            (noise(60, 120, image::ImageFormat::Jpeg), ImageFormat::Jpeg, (25, 50)),
            (noise(120, 60, image::ImageFormat::Gif), ImageFormat::Png, (50, 25)),
            (noise(120, 60, image::ImageFormat::WebP), ImageFormat::Png, (50, 25)),
        ];
        for (bytes, expected, expected_size) in table {
            let Ok(Fitting::Scaled { format, size, bytes }) = fitting(&bytes, &limits) else {
                panic!("{expected}")
            };
            assert_eq!((format, size), (expected, expected_size));
            let again = fitting(&bytes, &limits);
            let (width, height) = size;
            assert_eq!(again, Ok(Fitting::AsItIs(ImageFile { format, width, height })));
        }
        // What PNG cannot make small enough, JPEG can.
        let tight = Limits { image_bytes: 4_000, ..limits };
        let photo = noise(90, 90, image::ImageFormat::Png);
        let Ok(Fitting::Scaled { format, .. }) = fitting(&photo, &tight) else { panic!() };
        assert_eq!(format, ImageFormat::Jpeg);
    }

    #[test]
    fn what_cannot_be_shown_says_why() {
        let limits = small_limits();
        let cut = |bytes: Vec<u8>| bytes[..bytes.len() / 2].to_vec();
        let png = image::ImageFormat::Png;
        let mut bomb = noise(120, 60, png);
        bomb[16..24].copy_from_slice(&[0, 1, 0x86, 0xA0, 0, 1, 0x86, 0xA0]);
        let mut lies = noise(120, 60, png);
        lies[16..24].copy_from_slice(&[0, 0, 0, 101, 0, 0, 0, 90]);
        let tiny = Limits { image_bytes: 100, ..small_limits() };
        let table = [
            (cut(noise(40, 40, png)), &limits, "its end is missing"),
            (noise(200, 200, png), &limits, "it has more than 100000 bytes"),
            (bomb, &limits, "its 100000x100000 pixels are more than 10000"),
            (lies, &limits, "it cannot be decoded: "),
            (noise(90, 90, png), &tiny, "it has more than 100 bytes"),
        ];
        for (bytes, limits, expected) in table {
            let unfit = fitting(&bytes, limits).expect_err(expected);
            assert!(unfit.to_string().starts_with(expected), "{unfit}");
        }
        let advice = Unfit::TooManyBytes(9).advice(&limits);
        assert_eq!(
            advice,
            "It is not shown: it has more than 9 bytes. To see it, make a copy of at most 50x50 \
             pixels and 8000 bytes, for example with `magick LARGE -resize 50x50 small.png`."
        );
    }
}
