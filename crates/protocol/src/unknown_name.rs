//! The names of an enum, and the error for a text that should be one of them.
//!
//! Names are derived with `strum`, beside the variants they belong to. [`names_of`](crate::names_of) gives an enum
//! that is parsed its `parse_err_fn`, so that every such error lists the names there are.

/// The text is not one of the known names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{text}`; there are {known}")]
pub struct UnknownName {
    what: &'static str,
    text: String,
    known: String,
}

impl UnknownName {
    /// `text` is not the name of any of `all`, which are each a `what`.
    pub fn among<T: Copy + Into<&'static str>>(what: &'static str, text: &str, all: &[T]) -> Self {
        let names: Vec<&str> = all.iter().map(|one| (*one).into()).collect();
        let known = match &names[..] {
            [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
            names => names.concat(),
        };
        Self { what, text: text.to_owned(), known }
    }
}

/// Gives an enum with derived names `ALL` and `as_str`, and `unknown` for its `parse_err_fn`, whose error calls each of
/// them by the words that are given.
#[macro_export]
macro_rules! names_of {
    ($names:ident, $what:literal) => {
        impl $names {
            #[doc = concat!("Every ", $what, ", in the order of their definition.")]
            pub const ALL: &[$names] = <$names as strum::VariantArray>::VARIANTS;

            /// The name as configuration, command line and JSON spell it.
            pub fn as_str(self) -> &'static str {
                self.into()
            }

            fn unknown(text: &str) -> $crate::UnknownName {
                $crate::UnknownName::among($what, text, Self::ALL)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::{ActivityType, ErrorCode, ToolPermission, View};

    #[test]
    fn the_error_lists_what_there_is() {
        let view = "round".parse::<View>().unwrap_err().to_string();
        assert_eq!(view, "unknown view `round`; there are flat, tagged, block and bare");
        let permission = "readfiles".parse::<ToolPermission>().unwrap_err().to_string();
        assert_eq!(
            permission,
            "unknown permission `readfiles`; there are ReadFiles, WriteFiles, CreateFiles, \
             DeleteFiles, ExecuteCommands and NetworkAccess"
        );
        let event = "end".parse::<ActivityType>().unwrap_err().to_string();
        assert!(
            event.starts_with("unknown event type `end`; there are tool_call_start, "),
            "{event}"
        );
        let code = "timeout".parse::<ErrorCode>().unwrap_err().to_string();
        assert!(code.ends_with(", INTERRUPTED and INTERNAL"), "{code}");
    }
}
