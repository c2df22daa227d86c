//! Looks up a name that a user typed, and suggests the nearest one.

/// `text` in the spelling of our names: lower case, hyphens.
pub fn plain(text: &str) -> String {
    text.trim().to_ascii_lowercase().replace('_', "-")
}

/// The message for a name that is none of `accepted`.
pub fn unknown(what: &str, text: &str, accepted: &[&str]) -> String {
    let list = accepted.join(", ");
    match nearest(&plain(text), accepted) {
        Some(name) => {
            format!("unknown {what} '{text}'; did you mean {name}? accepted are {list}")
        }
        None => format!("unknown {what} '{text}'; accepted are {list}"),
    }
}

/// The value that has the name in `text`, or that it is none.
pub fn find<T: Copy>(what: &str, text: &str, all: &[(&str, T)]) -> Result<T, String> {
    let name = plain(text);
    let found = all.iter().find(|(own, _)| *own == name);
    let accepted = || all.iter().map(|(own, _)| *own).collect::<Vec<_>>();
    found.map(|(_, it)| *it).ok_or_else(|| unknown(what, text, &accepted()))
}

/// Gives the values of an enum their names, on the command line and in tables; errors say of an
/// unknown name that it is none of this kind.
#[macro_export]
macro_rules! named {
    ($of:ident $kind:literal: $($value:ident $name:literal)+) => {
        #[allow(unreachable_pub, reason = "as public as the enum")]
        impl $of {
            /// All of them, in order, with their names.
            pub const NAMES: &'static [(&'static str, $of)] = &[$(($name, $of::$value)),+];

            /// The name.
            pub fn name(self) -> &'static str {
                match self {
                    $($of::$value => $name),+
                }
            }
        }

        impl std::fmt::Display for $of {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $of {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                $crate::suggest::find($kind, text, $of::NAMES)
            }
        }
    };
}

/// The name with the fewest edits from `text`: letters to insert, delete, replace or swap with a
/// neighbour. None if more than a third of the letters would have to change: to suggest a name that
/// nobody meant is worse than to suggest none. A long text is cut: it is far from every name.
pub fn nearest<'a>(text: &str, names: &[&'a str]) -> Option<&'a str> {
    let text: String = text.chars().take(64).collect();
    let edits = |name: &&str| strsim::osa_distance(&text, name);
    let most = |name: &&str| text.chars().count().max(name.len()).div_ceil(3);
    names.iter().copied().filter(|name| edits(name) <= most(name)).min_by_key(edits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered() {
        assert_eq!(nearest("f46", &["f32", "f64", "i8"]), Some("f64"));
        assert_eq!(nearest("tvs", &["text", "tsv", "tars"]), Some("tsv"));
        for far in ["", "x", "foo", "FOO", "0123456789"] {
            assert_eq!(nearest(far, &["f32", "BC-LOOP", "auto"]), None, "{far}");
        }
        let message = unknown("type", "F46", &["f32", "f64"]);
        assert_eq!(message, "unknown type 'F46'; did you mean f64? accepted are f32, f64");
    }
}
