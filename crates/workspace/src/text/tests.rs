use proptest::prelude::*;

use super::*;

fn decoded(bytes: &[u8]) -> (TextEncoding, bool, String) {
    let text = Text::decode(bytes);
    assert_eq!(text.encode(), bytes);
    (text.encoding(), text.bom(), String::from_utf8_lossy(text.body()).into_owned())
}

fn utf16(bom: &[u8], text: &str, order: fn(u16) -> [u8; 2]) -> Vec<u8> {
    bom.iter().copied().chain(text.encode_utf16().flat_map(order)).collect()
}

#[test]
fn unicode_is_recognised() {
    assert_eq!(decoded(b""), (TextEncoding::Utf8, false, String::new()));
    assert_eq!(decoded("naïve\n".as_bytes()), (TextEncoding::Utf8, false, "naïve\n".into()));
    assert_eq!(decoded(b"\xEF\xBB\xBFa"), (TextEncoding::Utf8, true, "a".into()));
    let little = utf16(b"\xFF\xFE", "aé😀\r\n", u16::to_le_bytes);
    assert_eq!(decoded(&little), (TextEncoding::Utf16Le, true, "aé😀\r\n".into()));
    let big = utf16(b"\xFE\xFF", "aé😀", u16::to_be_bytes);
    assert_eq!(decoded(&big), (TextEncoding::Utf16Be, true, "aé😀".into()));
}

#[test]
fn broken_utf16_is_kept_as_bytes() {
    let odd = b"\xFF\xFEa\0b";
    let lone_surrogate = b"\xFF\xFE\x00\xD8a\0";
    let utf32 = b"\xFF\xFE\0\0a\0\0\0";
    for bytes in [&odd[..], lone_surrogate, utf32] {
        assert_eq!(decoded(bytes).0, TextEncoding::Bytes, "{bytes:?}");
    }
}

#[test]
fn legacy_encodings_are_guessed() {
    let russian = "Привет, мир. Это обычный русский текст для проверки.";
    let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode(russian);
    assert_eq!(
        decoded(&bytes),
        (TextEncoding::Legacy(encoding_rs::WINDOWS_1251), false, russian.into())
    );
    let japanese = "これは日本語の文章です。文字コードの判定を確かめます。";
    let (bytes, _, _) = encoding_rs::SHIFT_JIS.encode(japanese);
    assert_eq!(decoded(&bytes).2, japanese);
    let french = b"// caf\xE9 tr\xE8s bon\n";
    assert_eq!(decoded(french).2, "// café très bon\n");
}

#[test]
fn damaged_utf8_and_binary_are_kept_as_bytes() {
    let damaged = b"caf\xC3\xA9 cr\xC3\xA8me \xFF fin";
    assert_eq!(decoded(damaged), (TextEncoding::Bytes, false, "café crème \u{FFFD} fin".into()));
    assert_eq!(decoded(b"\xEF\xBB\xBFa\xFF").0, TextEncoding::Bytes);
    assert_eq!(decoded(b"\x7FELF\0\0\xFF\xFE").0, TextEncoding::Bytes);
}

#[test]
fn a_new_body_must_fit_the_encoding() {
    let latin = Text::decode(b"// caf\xE9 tr\xE8s bon\n");
    assert_eq!(latin.encode_body("// thé\n".as_bytes()).unwrap(), b"// th\xE9\n");
    let refused = latin.encode_body("日本".as_bytes()).unwrap_err();
    assert_eq!(refused.encoding, latin.encoding());
    assert!(Text::decode(b"a").encode_body(b"\xFF").is_err());
}

#[test]
fn lines_have_their_endings() {
    use LineEnding::{Cr, CrLf, Lf, None};
    let table: &[(&str, &[(&str, LineEnding)])] = &[
        ("", &[]),
        ("a", &[("a", None)]),
        ("a\nb\r\nc", &[("a", Lf), ("b", CrLf), ("c", None)]),
        ("a\r\r\nb\rc\n", &[("a\r", CrLf), ("b\rc", Lf)]),
        ("a\rb\r", &[("a", Cr), ("b", Cr)]),
        ("\n\r\n", &[("", Lf), ("", CrLf)]),
    ];
    for (text, expected) in table {
        let text = Text::decode(text.as_bytes());
        let lines: Vec<_> =
            text.lines().map(|(line, end)| (str::from_utf8(line).unwrap(), end)).collect();
        assert_eq!(&lines, expected);
    }
}

#[test]
fn endings_are_summed_up() {
    let of = |text: &str| Text::decode(text.as_bytes()).line_endings();
    let mixed = of("a\r\nb\r\nc\nd");
    assert_eq!(mixed, LineEndingCounts { lf: 1, crlf: 2, cr: 0, final_newline: false });
    assert_eq!(mixed.dominant(), LineEnding::CrLf);
    assert_eq!(of("a\rb\r"), LineEndingCounts { lf: 0, crlf: 0, cr: 2, final_newline: true });
    assert_eq!(of("a\rb\n"), LineEndingCounts { lf: 1, crlf: 0, cr: 0, final_newline: true });
    assert_eq!(of("").dominant(), LineEnding::Lf);
    assert!(!of("").final_newline);
}

/// Byte strings of the sorts that trouble encodings: marks, UTF-16 units with lone surrogates and
/// odd tails, mixed line endings, legacy bytes, noise.
fn awkward_bytes() -> impl Strategy<Value = Vec<u8>> {
    let bom = prop::sample::select(vec![&b""[..], b"\xEF\xBB\xBF", b"\xFF\xFE", b"\xFE\xFF"]);
    let piece = prop_oneof![
        any::<char>().prop_map(|c| c.to_string().into_bytes()),
        prop::sample::select(vec![&b"\n"[..], b"\r\n", b"\r", b"\n\0", b"\0\n", b"a\0"])
            .prop_map(<[u8]>::to_vec),
        (0xD7F0_u16..0xE010).prop_map(|unit| unit.to_le_bytes().to_vec()),
        (0xD7F0_u16..0xE010).prop_map(|unit| unit.to_be_bytes().to_vec()),
        prop::collection::vec(0x80_u8..=0xFF, 1..6),
        prop::collection::vec(any::<u8>(), 1..4),
    ];
    (bom, prop::collection::vec(piece, 0..20))
        .prop_map(|(bom, pieces)| [bom.to_vec(), pieces.concat()].concat())
}

proptest! {
    #[test]
    fn every_byte_string_survives(bytes in awkward_bytes()) {
        let text = Text::decode(&bytes);
        prop_assert_eq!(text.encode(), bytes);
        let joined: Vec<u8> = text
            .lines()
            .flat_map(|(line, ending)| [line, ending.as_bytes()].concat())
            .collect();
        prop_assert_eq!(joined, text.body());
    }

    #[test]
    fn legacy_text_survives(text in "[ -~àâçéèêëîïôûùüÿœßñПриветмир]{0,40}") {
        for encoding in [encoding_rs::WINDOWS_1252, encoding_rs::WINDOWS_1251, encoding_rs::GBK] {
            let (bytes, _, _) = encoding.encode(&text);
            prop_assert_eq!(Text::decode(&bytes).encode(), bytes.into_owned());
        }
    }
}
