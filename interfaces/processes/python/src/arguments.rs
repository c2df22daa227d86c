//! Arguments of calls: which are given, numbers, times, and operators.

use crate::raise::Wrong;
use phalanx_processes::foreign::OPERATORS;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use std::fmt::Display;
use std::time::Duration;

/// The names of element types in Python, each at its number of `foreign::TYPES`.
pub(crate) const NAMES: [&str; 15] = [
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "bool",
    "complex64",
    "complex128",
];

/// The number of a type, by its name in Python.
pub(crate) fn number_of(name: &str) -> Result<i32, Wrong> {
    match NAMES.iter().position(|it| *it == name) {
        Some(number) => Ok(number as i32),
        None => {
            let all = NAMES.join(", ");
            Err(Wrong::buffer(format!("elements {name} cannot travel: {all} can")))
        }
    }
}

/// A call's arguments in the order of `names`, of which the first `needed` have no default.
pub(crate) fn sorted<'py, const N: usize>(
    names: [&str; N],
    needed: usize,
    by_place: &Bound<'py, PyTuple>,
    by_name: Option<&Bound<'py, PyDict>>,
) -> Result<[Option<Bound<'py, PyAny>>; N], Wrong> {
    let takes = || match N {
        0 => "nothing".to_string(),
        _ => names.join(", "),
    };
    let mut given = [const { None }; N];
    let mut all = given.iter_mut();
    for argument in by_place {
        let Some(place) = all.next() else {
            return Err(Wrong::kind(format!("too many arguments: it takes {}", takes())));
        };
        *place = Some(argument);
    }
    for (name, argument) in by_name.into_iter().flatten() {
        match names.iter().position(|it| name.eq(it).unwrap_or(false)) {
            Some(place) if given[place].is_none() => given[place] = Some(argument),
            Some(place) => {
                return Err(Wrong::kind(format!("`{}` is given twice", names[place])));
            }
            None => {
                return Err(Wrong::kind(format!("no argument is {name}: it takes {}", takes())));
            }
        }
    }
    match given[..needed].iter().position(Option::is_none) {
        Some(missing) => Err(Wrong::kind(format!("`{}` is missing", names[missing]))),
        None => Ok(given),
    }
}

/// The name of an object's type, for texts.
pub(crate) fn type_of(object: &Bound<'_, PyAny>) -> String {
    let kind = object.get_type();
    kind.fully_qualified_name().map_or_else(|_| "?".to_string(), |name| name.to_string())
}

/// A whole number from `least` to `most`: whatever has `__index__`.
pub(crate) fn number<'py, T>(
    object: &Bound<'py, PyAny>,
    name: &str,
    least: T,
    most: T,
) -> Result<T, Wrong>
where
    T: for<'a> FromPyObject<'a, 'py> + PartialOrd + Display,
{
    // SAFETY: an object; the result is a new reference, or null and an exception.
    let whole = unsafe {
        Bound::from_owned_ptr_or_opt(object.py(), pyo3::ffi::PyNumber_Index(object.as_ptr()))
    };
    let Some(whole) = whole else {
        drop(PyErr::take(object.py()));
        return Err(Wrong::kind(format!("`{name}` is no whole number: {}", type_of(object))));
    };
    match whole.extract::<T>() {
        Ok(number) if least <= number && number <= most => Ok(number),
        _ => {
            let text = format!("`{name}` is {whole}: it is {least} to {most}");
            Err(Wrong::Here("OutOfRange", text))
        }
    }
}

/// A time in seconds: none for None, and for one that is longer than any wait.
pub(crate) fn seconds(object: &Bound<'_, PyAny>, name: &str) -> Result<Option<Duration>, Wrong> {
    const MOST: f64 = 1e9;
    if object.is_none() {
        return Ok(None);
    }
    let Ok(seconds) = object.extract::<f64>() else {
        return Err(Wrong::kind(format!("`{name}` is no number: {}", type_of(object))));
    };
    match seconds {
        s if s > MOST => Ok(None),
        s => match Duration::try_from_secs_f64(s) {
            Ok(time) => Ok(Some(time)),
            Err(_) => Err(Wrong::argument(format!("`{name}` is {s}: that is no time in seconds"))),
        },
    }
}

/// The number of an operator, by its name; sums, if none is given. (The kinds of operators of
/// `torch.distributed` are printed as `RedOpType.SUM`.)
pub(crate) fn operator(object: Option<&Bound<'_, PyAny>>) -> Result<i32, Wrong> {
    let Some(object) = object else { return Ok(0) };
    let text = match object.cast::<PyString>() {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => object.str()?.to_string_lossy().into_owned(),
    };
    let name = text.rsplit('.').next().unwrap_or_default().to_lowercase();
    let name = if name == "product" { "prod" } else { &name };
    match OPERATORS.iter().position(|it| *it == name) {
        Some(number) => Ok(number as i32),
        None => {
            let all = OPERATORS.join(", ");
            Err(Wrong::argument(format!("there is no operator {text}: {all} are there")))
        }
    }
}
