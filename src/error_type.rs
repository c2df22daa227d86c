//! How error types are shown.

/// Makes a type with `Display` an error. `{:?}`, which `main`, `unwrap` and `expect` print, is the
/// text; `{:#?}` shows the fields. The patterns name all of them: the compiler misses the others.
/// For the errors of this library, and of layers on it.
///
/// # Examples
/// ```
/// enum Refusal {
///     Late,
///     Rank { rank: usize },
/// }
/// impl std::fmt::Display for Refusal {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         match self {
///             Refusal::Late => f.write_str("too late"),
///             Refusal::Rank { rank } => write!(f, "rank {rank} is not wanted"),
///         }
///     }
/// }
/// phalanx::error_type!(Refusal: Self::Late, Self::Rank { rank });
/// assert_eq!(format!("{:?}", Refusal::Rank { rank: 3 }), "rank 3 is not wanted");
/// assert_eq!(format!("{:#?}", Refusal::Late), "Late");
/// ```
#[macro_export]
macro_rules! error_type {
    (debug $type:ident: $(
        Self $(:: $variant:ident)? $(($($part:ident),+))? $({ $($field:ident),+ })?
    ),+ $(,)?) => {
        impl ::std::fmt::Debug for $type {
            #[allow(unused_variables, unreachable_code)]
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                if !f.alternate() {
                    return ::std::fmt::Display::fmt(self, f);
                }
                match self {
                    $(Self $(:: $variant)? $(($($part),+))? $({ $($field),+ })? => {
                        let name = stringify!($type);
                        $(let name = stringify!($variant);)?
                        $(return f.debug_tuple(name) $(.field($part))+ .finish();)?
                        $(return f.debug_struct(name)
                            $(.field(stringify!($field), $field))+ .finish();)?
                        f.write_str(name)
                    })+
                }
            }
        }
    };
    ($type:ident: $($patterns:tt)+) => {
        $crate::error_type!(debug $type: $($patterns)+);
        impl ::std::error::Error for $type {}
    };
}
