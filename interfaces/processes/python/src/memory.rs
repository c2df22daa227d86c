//! Memory of a team, as an object of Python's that others view.

use crate::arguments::NAMES;
use phalanx_processes::Symmetric;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;
use std::ffi::{CStr, c_int};
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Views that exist; and, of memory that was given back, a number that no count comes to.
const FREED: usize = usize::MAX;

/// Elements in the team's memory, all 0 at first: what `Team.allocate` gives. On each rank they are
/// at the same place, so that calls use them without a copy.
///
/// It has the buffer protocol, and what a memoryview has: indices, slices, `len`, `tolist`.
/// numpy.asarray, numpy.frombuffer and torch.frombuffer make arrays of it, which keep the memory
/// after the team's end, too.
#[pyclass(frozen, weakref, module = "phalanx_processes")]
#[derive(Debug)]
pub(crate) struct Memory {
    /// Keeps the memory mapped.
    buffer: Symmetric<u8>,
    /// The number of the elements' type.
    pub(crate) kind: i32,
    /// Elements, and bytes of one: views point to both.
    shape: isize,
    stride: isize,
    views: AtomicUsize,
    /// Those of all memory of the team.
    all_views: Arc<AtomicUsize>,
}

impl Memory {
    pub(crate) fn new(
        buffer: Symmetric<u8>,
        kind: i32,
        stride: usize,
        all_views: Arc<AtomicUsize>,
    ) -> Self {
        let mut it =
            Memory { buffer, kind, shape: 0, stride: 1, views: AtomicUsize::new(0), all_views };
        if it.format() != c"B" {
            it.stride = stride as isize;
        }
        it.shape = it.buffer.len() as isize / it.stride;
        it
    }

    pub(crate) fn address(&self) -> *mut u8 {
        self.buffer.as_mut_ptr()
    }

    /// Whether it is of the team with this count of views.
    pub(crate) fn is_of(&self, all_views: &Arc<AtomicUsize>) -> bool {
        Arc::ptr_eq(&self.all_views, all_views)
    }

    /// No view is made any more; or how many there are, none if it was given back before.
    pub(crate) fn free(&self) -> Result<(), Option<usize>> {
        // Ordering: the last view is through with the memory; pairs with `__releasebuffer__`.
        let freed = self.views.compare_exchange(0, FREED, Ordering::Acquire, Ordering::Relaxed);
        freed.map(drop).map_err(|views| (views != FREED).then_some(views))
    }

    /// A text that says of which type an element is, for views. (Of bfloat16 there is none.)
    fn format(&self) -> &'static CStr {
        match NAMES[self.kind as usize] {
            "int8" => c"b",
            "int16" => c"h",
            "uint16" => c"H",
            "int32" => c"i",
            "uint32" => c"I",
            "int64" => c"q",
            "uint64" => c"Q",
            "float16" => c"e",
            "float32" => c"f",
            "float64" => c"d",
            "bool" => c"?",
            "complex64" => c"Zf",
            "complex128" => c"Zd",
            _ => c"B",
        }
    }

    fn view<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyMemoryView>> {
        PyMemoryView::from(slf.as_any())
    }
}

#[pymethods]
impl Memory {
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let it = slf.get();
        let more = |views: usize| (views != FREED).then(|| views + 1);
        if it.views.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_err() {
            return Err(PyBufferError::new_err("the memory was given back by Team.free"));
        }
        it.all_views.fetch_add(1, Ordering::Relaxed);
        let has = |flag| flags & flag == flag;
        let or_null =
            |flag, to: &isize| if has(flag) { (&raw const *to).cast_mut() } else { null_mut() };
        let format = if has(ffi::PyBUF_FORMAT) { it.format().as_ptr() } else { std::ptr::null() };
        // SAFETY: a place for a view. What it points to is in this object, which it keeps.
        unsafe {
            *view = ffi::Py_buffer {
                buf: it.address().cast(),
                len: it.buffer.len() as isize,
                itemsize: it.stride,
                readonly: 0,
                ndim: 1,
                format: format.cast_mut(),
                shape: or_null(ffi::PyBUF_ND, &it.shape),
                strides: or_null(ffi::PyBUF_STRIDES, &it.stride),
                obj: slf.into_any().into_ptr(),
                ..ffi::Py_buffer::new()
            };
        }
        Ok(())
    }

    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {
        self.all_views.fetch_sub(1, Ordering::Relaxed);
        // Ordering: what was done by the view is done; pairs with the exchange in `free`.
        self.views.fetch_sub(1, Ordering::Release);
    }

    fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        Memory::view(slf)?.len()
    }

    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        at: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Memory::view(slf)?.get_item(at)
    }

    fn __setitem__(
        slf: &Bound<'_, Self>,
        at: Bound<'_, PyAny>,
        value: Bound<'_, PyAny>,
    ) -> PyResult<()> {
        Memory::view(slf)?.set_item(at, value)
    }

    /// What else a memoryview has.
    fn __getattr__<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        Memory::view(slf)?.getattr(name)
    }
}
