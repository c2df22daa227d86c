//! Calls as data, with the results that they must have, which the library's tests have, too.

#[path = "../../../tests/common/one_call.rs"]
mod of_the_library;

pub(crate) use of_the_library::{Buffers, HasPlace, OneCall};
