//! The bytes of protocol buffers: only what OTLP needs, written by hand.
//!
//! The crate `opentelemetry-proto` brings the whole SDK with it, for messages of which we write a few. Built alone from
//! nothing it took 22 s of processor time, some of it for crates that we have anyway; these hundred lines take none worth
//! mentioning. `tests/judges/otlp.py` reads what they write with OpenTelemetry's own types.

/// How a field is written.
#[derive(Clone, Copy)]
enum WireType {
    Varint = 0,
    Fixed64 = 1,
    Length = 2,
}

/// Of the Protocol Buffers format: the kind of a field below its number, and numbers by seven bits a byte.
const TAG_BITS: u32 = 3;
const VARINT_BITS: u32 = 7;
const VARINT_MORE: u8 = 0x80;

/// A message that is being written. Fields with their default are left out, as the format has it.
#[derive(Debug, Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn text(&mut self, field: u32, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    pub(crate) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.length_delimited(field, bytes);
        }
    }

    pub(crate) fn number(&mut self, field: u32, number: u64) {
        if number != 0 {
            self.tag(field, WireType::Varint);
            self.varint(number);
        }
    }

    /// A member of a choice, which is written even if it is the default.
    pub(crate) fn chosen_number(&mut self, field: u32, number: u64) {
        self.tag(field, WireType::Varint);
        self.varint(number);
    }

    /// A text in a choice, which is written even if it is empty.
    pub(crate) fn chosen_text(&mut self, field: u32, text: &str) {
        self.length_delimited(field, text.as_bytes());
    }

    /// A number in a choice, or one that is told to be there.
    pub(crate) fn chosen_double(&mut self, field: u32, number: f64) {
        self.tag(field, WireType::Fixed64);
        self.0.extend(number.to_le_bytes());
    }

    pub(crate) fn fixed(&mut self, field: u32, number: u64) {
        if number != 0 {
            self.tag(field, WireType::Fixed64);
            self.0.extend(number.to_le_bytes());
        }
    }

    /// Many numbers of eight bytes each, in one field.
    pub(crate) fn packed(&mut self, field: u32, numbers: impl Iterator<Item = [u8; 8]>) {
        let bytes: Vec<u8> = numbers.flatten().collect();
        self.bytes(field, &bytes);
    }

    /// A message within this one.
    pub(crate) fn message(&mut self, field: u32, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.length_delimited(field, &inner.0);
    }

    fn length_delimited(&mut self, field: u32, bytes: &[u8]) {
        self.tag(field, WireType::Length);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn tag(&mut self, field: u32, kind: WireType) {
        self.varint(u64::from(field << TAG_BITS | kind as u32));
    }

    fn varint(&mut self, mut number: u64) {
        while number >= u64::from(VARINT_MORE) {
            self.0.push(number as u8 | VARINT_MORE);
            number >>= VARINT_BITS;
        }
        self.0.push(number as u8);
    }
}

/// The value of a field that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message, as far as it can be understood.
pub(crate) fn fields(mut bytes: &[u8]) -> Vec<(u32, Field<'_>)> {
    let mut found = Vec::new();
    while let Some((field, value)) = field(&mut bytes) {
        found.push((field, value));
    }
    found
}

fn field<'a>(bytes: &mut &'a [u8]) -> Option<(u32, Field<'a>)> {
    let tag = read_varint(bytes)?;
    let number = u32::try_from(tag >> TAG_BITS).ok()?;
    let value = match tag & ((1 << TAG_BITS) - 1) {
        0 => Field::Number(read_varint(bytes)?),
        1 => Field::Number(u64::from_le_bytes(take(bytes, 8)?.try_into().ok()?)),
        2 => {
            let length = usize::try_from(read_varint(bytes)?).ok()?;
            Field::Bytes(take(bytes, length)?)
        }
        5 => Field::Bytes(take(bytes, 4)?),
        _ => return None,
    };
    Some((number, value))
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in (0..u64::BITS).step_by(VARINT_BITS as usize) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & !VARINT_MORE) << place;
        if byte & VARINT_MORE == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_are_written_as_the_format_documents_them() {
        let mut message = Message::default();
        // The examples of the format's documentation: field 1 is 150, field 2 "testing".
        message.number(1, 150);
        message.text(2, "testing");
        message.number(3, 0);
        message.text(3, "");
        message.fixed(4, 1);
        assert_eq!(
            message.into_bytes(),
            b"\x08\x96\x01\x12\x07testing\x21\x01\0\0\0\0\0\0\0".to_vec()
        );
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(number in 1..u64::MAX, text in "\\PC{1,20}", fixed in 1..u64::MAX) {
            let mut message = Message::default();
            message.number(1, number);
            message.text(200, &text);
            message.fixed(3, fixed);
            let bytes = message.into_bytes();
            prop_assert_eq!(fields(&bytes), vec![
                (1, Field::Number(number)),
                (200, Field::Bytes(text.as_bytes())),
                (3, Field::Number(fixed)),
            ]);
        }

        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            fields(&bytes);
        }
    }
}
