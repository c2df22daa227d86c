//! Elements in a program's memory: arrays of numpy and of others that have the buffer protocol,
//! tensors of torch.

use crate::arguments::{number_of, type_of};
use crate::memory::Memory;
use crate::raise::Wrong;
use phalanx_processes::foreign::size_of_type;
use pyo3::exceptions::PyException;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use std::ffi::{CStr, c_int};

/// Elements that a call may use while this lives: their memory is exported, or kept by the object.
pub(crate) struct Buffer<'py> {
    pub(crate) address: *mut u8,
    pub(crate) n: usize,
    /// The number of their type.
    pub(crate) kind: i32,
    _export: Option<Export<'py>>,
    _object: Bound<'py, PyAny>,
}

/// A view of an object's memory, by the buffer protocol.
struct Export<'py> {
    /// In a place of its own, since some objects let it point into itself.
    view: Box<ffi::Py_buffer>,
    _attached: Python<'py>,
}

impl Drop for Export<'_> {
    fn drop(&mut self) {
        // SAFETY: `PyObject_GetBuffer` has filled it; attached.
        unsafe { ffi::PyBuffer_Release(&mut *self.view) };
    }
}

impl<'py> Export<'py> {
    fn new(object: &Bound<'py, PyAny>, flags: c_int) -> PyResult<Self> {
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: an object, and a place for a view.
        if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &mut *view, flags) } < 0 {
            return Err(PyErr::fetch(object.py()));
        }
        Ok(Export { view, _attached: object.py() })
    }

    fn is_contiguous(&self) -> bool {
        // SAFETY: a view.
        unsafe { ffi::PyBuffer_IsContiguous(&*self.view, b'C' as _) != 0 }
    }

    /// What the elements are, as the object says; bytes if it says nothing.
    fn format(&self) -> &str {
        if self.view.format.is_null() {
            return "B";
        }
        // SAFETY: a text of the object's, which lives as long as the view.
        unsafe { CStr::from_ptr(self.view.format) }.to_str().unwrap_or("?")
    }

    /// The number of the elements' type.
    fn kind(&self) -> Result<i32, Wrong> {
        let format = self.format();
        let native = if cfg!(target_endian = "little") { '<' } else { '>' };
        let letters = format.strip_prefix(['@', '=', native]).unwrap_or(format);
        let bits = 8 * self.view.itemsize;
        let name = match letters {
            "b" | "h" | "i" | "l" | "q" | "n" => format!("int{bits}"),
            "B" | "H" | "I" | "L" | "Q" | "N" | "c" => format!("uint{bits}"),
            "e" | "f" | "d" => format!("float{bits}"),
            "?" if bits == 8 => "bool".to_string(),
            "Zf" | "Zd" | "F" | "D" => format!("complex{bits}"),
            other if other.starts_with(['<', '>', '!']) => {
                let text = format!(
                    "the numbers of format {format:?} have another byte order than the machine's: \
                     pass data.astype(data.dtype.newbyteorder(\"=\"))"
                );
                return Err(Wrong::buffer(text));
            }
            _ => format!("of format {format:?}"),
        };
        number_of(&name)
    }
}

impl<'py> Buffer<'py> {
    /// The elements of an argument, which the call writes perhaps.
    pub(crate) fn of(object: &Bound<'py, PyAny>, name: &str, writes: bool) -> Result<Self, Wrong> {
        // SAFETY: an object.
        if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } == 0 {
            return match tensor(object)? {
                Some(buffer) => Ok(buffer),
                None => Err(Wrong::kind(format!(
                    "`{name}` is no memory, but of type {}: pass a numpy array, a torch tensor on \
                     the CPU, an array.array, a bytearray, or another object with the buffer \
                     protocol",
                    type_of(object)
                ))),
            };
        }
        let flags = ffi::PyBUF_RECORDS_RO;
        let written = if writes { flags | ffi::PyBUF_WRITABLE } else { flags };
        let mut export = Export::new(object, written);
        let halves = if export.is_err() { half_of(object)? } else { None };
        if let Some(halves) = &halves {
            export = Export::new(halves, written);
        }
        let of = halves.as_ref().unwrap_or(object);
        let export = match export {
            Ok(export) => export,
            Err(_) if writes && Export::new(of, flags).is_ok() => {
                return Err(Wrong::buffer(read_only(object, name)));
            }
            Err(error) if error.is_instance_of::<PyException>(object.py()) => {
                let text = format!("`{name}` of type {}: {error}", type_of(object));
                return Err(Wrong::buffer(text));
            }
            Err(error) => return Err(Wrong::Python(error)),
        };
        if !export.is_contiguous() {
            let text = format!(
                "`{name}` is not contiguous: pass numpy.ascontiguousarray(data), for example"
            );
            return Err(Wrong::buffer(text));
        }
        let kind = match object.cast_exact::<Memory>() {
            Ok(memory) => memory.get().kind,
            // Unless they are in another order of bytes.
            Err(_) if halves.is_some() => export.kind().and(number_of("bfloat16"))?,
            Err(_) => export.kind()?,
        };
        let size = size_of_type(kind).unwrap_or(1);
        let n = usize::try_from(export.view.len).unwrap_or(0) / size;
        let address = export.view.buf.cast();
        Ok(Buffer { address, n, kind, _export: Some(export), _object: object.clone() })
    }

    /// Whether some byte belongs to both.
    pub(crate) fn overlaps(&self, other: &Buffer<'_>) -> bool {
        let end = |it: &Buffer<'_>| it.address.addr() + it.n * size_of_type(it.kind).unwrap_or(0);
        self.address.addr().max(other.address.addr()) < end(self).min(end(other))
    }
}

fn read_only(object: &Bound<'_, PyAny>, name: &str) -> String {
    let kind = type_of(object);
    // numpy's sum, mean, dot and x[0] give scalars: their memory is a copy. Arrays have more.
    let is_numpys = kind.starts_with("numpy.") || kind.starts_with("ml_dtypes.");
    let is_scalar = is_numpys && !object.hasattr("__array_finalize__").unwrap_or(true);
    match is_scalar {
        true => format!(
            "`{name}` is a value of type {kind}, which no call can write: pass an array, \
             numpy.array(value) for example"
        ),
        false => format!(
            "`{name}`, of type {kind}, is read-only, but the call writes it: pass a copy, \
             numpy.array(data) or bytearray(data) for example"
        ),
    }
}

/// The two bytes of each element of an array of `bfloat16`, which numpy knows from `ml_dtypes` and
/// exports by no format.
fn half_of<'py>(object: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>, Wrong> {
    let py = object.py();
    let name = object.getattr(intern!(py, "dtype")).and_then(|it| it.getattr("name"));
    match name.and_then(|name| name.eq("bfloat16")) {
        Ok(true) => {
            let order = object.getattr("dtype")?.getattr("byteorder")?;
            Ok(Some(object.call_method1("view", (format!("{order}u2"),))?))
        }
        _ => Ok(None),
    }
}

/// The elements of a tensor of torch; none, if it is no tensor.
fn tensor<'py>(object: &Bound<'py, PyAny>) -> Result<Option<Buffer<'py>>, Wrong> {
    static TYPES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let py = object.py();
    // SAFETY: attached; a dictionary that lives as long as the interpreter.
    let modules = unsafe { Bound::from_borrowed_ptr(py, ffi::PyImport_GetModuleDict()) };
    // A program without torch has no tensors.
    let Ok(torch) = modules.get_item(intern!(py, "torch")) else { return Ok(None) };
    let Ok(kind) = torch.getattr(intern!(py, "Tensor")) else { return Ok(None) };
    if !object.is_instance(&kind)? {
        return Ok(None);
    }
    let says = |name| object.call_method0(name)?.is_truthy();
    if !object.getattr(intern!(py, "is_cpu"))?.is_truthy()? {
        let device = object.getattr("device")?;
        let text = format!("the tensor is on {device}, not in this machine's memory");
        return Err(Wrong::buffer(text));
    }
    if !says(intern!(py, "is_contiguous"))? {
        return Err(Wrong::buffer("the tensor is not contiguous: pass data.contiguous()"));
    }
    if says(intern!(py, "is_neg"))? || says(intern!(py, "is_conj"))? {
        let text = "the tensor's numbers are not yet negated or conjugated in memory: pass \
                    data.resolve_neg().resolve_conj()";
        return Err(Wrong::buffer(text));
    }
    let types = TYPES.get_or_init(py, || PyDict::new(py).unbind()).bind(py);
    let dtype = object.getattr(intern!(py, "dtype"))?;
    let kind = match types.get_item(&dtype)? {
        Some(number) => number.extract::<i32>()?,
        None => {
            let number = number_of(dtype.str()?.to_string_lossy().trim_start_matches("torch."))?;
            types.set_item(&dtype, number)?;
            number
        }
    };
    let address: usize = object.call_method0(intern!(py, "data_ptr"))?.extract()?;
    let n: usize = object.call_method0(intern!(py, "numel"))?.extract()?;
    let address = std::ptr::with_exposed_provenance_mut(address);
    Ok(Some(Buffer { address, n, kind, _export: None, _object: object.clone() }))
}
