//! Shares bytes between Rust and Python without copying: memoryviews of Rust's memory, and slices of Python's.
//!
//! The buffer protocol is part of the stable ABI only since Python 3.11, but its functions, slots and the layout of
//! `Py_buffer` are older and have not changed. They are declared here, so that the wheel supports 3.10 too.

use crate::runtime::attached;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyString};
use std::any::Any;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

const BF_GETBUFFER: c_int = 1;
const TP_DEALLOC: c_int = 52;
const TP_DOC: c_int = 56;
const FLAG_DISALLOW_INSTANTIATION: std::ffi::c_ulong = 1 << 7;
const BUFFER_WRITABLE: c_int = 1;
const BUFFER_SIMPLE: c_int = 0;
const BUFFER_FORMAT: c_int = 4;
const BUFFER_ND: c_int = 8;
const BUFFER_STRIDES: c_int = 0x10 | BUFFER_ND;

/// CPython's `Py_buffer`.
#[repr(C)]
struct View {
    start: *mut c_void,
    object: *mut ffi::PyObject,
    length: ffi::Py_ssize_t,
    item_bytes: ffi::Py_ssize_t,
    readonly: c_int,
    dimensions: c_int,
    format: *mut c_char,
    shape: *mut ffi::Py_ssize_t,
    strides: *mut ffi::Py_ssize_t,
    suboffsets: *mut ffi::Py_ssize_t,
    internal: *mut c_void,
}

unsafe extern "C" {
    fn PyObject_GetBuffer(object: *mut ffi::PyObject, view: *mut View, flags: c_int) -> c_int;
    fn PyBuffer_Release(view: *mut View);
}

/// Memory that outlives every view of it.
pub type Owner = Arc<dyn Any + Send + Sync>;

/// A Python object that exports a region of Rust's memory.
#[repr(C)]
struct Exporter {
    head: ffi::PyObject,
    region: *mut Region,
}

struct Region {
    start: *const u8,
    length: ffi::Py_ssize_t,
    _owner: Owner,
}

/// A read-only memoryview of `bytes`. `owner` keeps them alive and never changes them.
pub fn memoryview<'py>(py: Python<'py>, owner: Owner, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    static TYPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let exporter = TYPE.get_or_try_init(py, || exporter_type(py))?;
    let region = Region { start: bytes.as_ptr(), length: bytes.len() as ffi::Py_ssize_t, _owner: owner };
    // SAFETY: the type is ours, with room for an `Exporter`; the result is owned, or null with an error set.
    let object = unsafe {
        let object = ffi::PyType_GenericAlloc(exporter.as_ptr().cast(), 0);
        let object = Bound::from_owned_ptr_or_err(py, object)?;
        (*object.as_ptr().cast::<Exporter>()).region = Box::into_raw(Box::new(region));
        object
    };
    // SAFETY: a valid object; the result is owned, or null with an error set.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyMemoryView_FromObject(object.as_ptr())) }
}

fn exporter_type(py: Python<'_>) -> PyResult<Py<PyAny>> {
    let doc = c"Received bytes, for memoryview().";
    let mut slots = [
        ffi::PyType_Slot { slot: BF_GETBUFFER, pfunc: get_buffer as *mut c_void },
        ffi::PyType_Slot { slot: TP_DEALLOC, pfunc: dealloc as *mut c_void },
        ffi::PyType_Slot { slot: TP_DOC, pfunc: doc.as_ptr().cast_mut().cast() },
        ffi::PyType_Slot::default(),
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"rawline._rawline.ReceivedBytes".as_ptr(),
        basicsize: size_of::<Exporter>() as c_int,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | FLAG_DISALLOW_INSTANTIATION) as _,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the slots are functions of the right types, terminated by a zero slot; the call copies them.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&mut spec)).map(Bound::unbind) }
}

unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    // SAFETY: Python calls this once, with an object of our type, whose region is ours or still null.
    unsafe {
        let region = (*object.cast::<Exporter>()).region;
        if !region.is_null() {
            drop(Box::from_raw(region));
        }
        let class = ffi::Py_TYPE(object);
        ffi::PyObject_Free(object.cast());
        ffi::Py_DECREF(class.cast());
    }
}

unsafe extern "C" fn get_buffer(object: *mut ffi::PyObject, view: *mut c_void, flags: c_int) -> c_int {
    // SAFETY: Python calls this with an object of our type and a view to fill, as the protocol requires.
    unsafe {
        let view = view.cast::<View>();
        (*view).object = std::ptr::null_mut();
        if flags & BUFFER_WRITABLE != 0 {
            ffi::PyErr_SetString(ffi::PyExc_BufferError, c"received bytes can't be changed; copy them first".as_ptr());
            return -1;
        }
        let region = (*object.cast::<Exporter>()).region;
        (*view).start = (*region).start.cast_mut().cast();
        (*view).length = (*region).length;
        (*view).item_bytes = 1;
        (*view).readonly = 1;
        (*view).dimensions = 1;
        (*view).format = if flags & BUFFER_FORMAT != 0 { c"B".as_ptr().cast_mut() } else { std::ptr::null_mut() };
        (*view).shape = if flags & BUFFER_ND != 0 { &raw mut (*region).length } else { std::ptr::null_mut() };
        let strided = flags & BUFFER_STRIDES == BUFFER_STRIDES;
        (*view).strides = if strided { &raw mut (*view).item_bytes } else { std::ptr::null_mut() };
        (*view).suboffsets = std::ptr::null_mut();
        (*view).internal = std::ptr::null_mut();
        ffi::Py_INCREF(object);
        (*view).object = object;
    }
    0
}

/// A slice of a memoryview.
pub fn slice<'py>(view: &Bound<'py, PyAny>, start: usize, end: usize) -> PyResult<Bound<'py, PyAny>> {
    let py = view.py();
    // SAFETY: each call returns an owned object, or null with an error set.
    unsafe {
        let start = Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromSize_t(start))?;
        let end = Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromSize_t(end))?;
        let slice = ffi::PySlice_New(start.as_ptr(), end.as_ptr(), std::ptr::null_mut());
        let slice = Bound::from_owned_ptr_or_err(py, slice)?;
        Bound::from_owned_ptr_or_err(py, ffi::PyObject_GetItem(view.as_ptr(), slice.as_ptr()))
    }
}

/// A Python object and its bytes, which can be read without the GIL. `bytes` and `str` never change. If another
/// object's bytes change while they are being sent, the changed bytes are sent, as with any buffer.
pub struct Held {
    start: *const u8,
    length: usize,
    keeper: Keeper,
}

enum Keeper {
    Object {
        _object: Py<PyAny>,
    },
    /// Boxed, since Python keeps pointers into the view.
    View(Box<View>),
}

// SAFETY: the bytes are only read, and don't move while the object or the view is held; the view is released with the
// GIL held.
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}

impl Held {
    /// The bytes of a `bytes`, a `str` (as UTF-8), or any other object with the buffer protocol.
    pub fn new(object: &Bound<'_, PyAny>) -> PyResult<Held> {
        let keep = || Keeper::Object { _object: object.clone().unbind() };
        if let Ok(bytes) = object.cast::<PyBytes>() {
            let bytes = bytes.as_bytes();
            return Ok(Held { start: bytes.as_ptr(), length: bytes.len(), keeper: keep() });
        }
        if let Ok(text) = object.cast::<PyString>() {
            let text = text.to_str()?;
            return Ok(Held { start: text.as_ptr(), length: text.len(), keeper: keep() });
        }
        let mut view = Box::new(View {
            start: std::ptr::null_mut(),
            object: std::ptr::null_mut(),
            length: 0,
            item_bytes: 0,
            readonly: 0,
            dimensions: 0,
            format: std::ptr::null_mut(),
            shape: std::ptr::null_mut(),
            strides: std::ptr::null_mut(),
            suboffsets: std::ptr::null_mut(),
            internal: std::ptr::null_mut(),
        });
        // SAFETY: the view is ours and is released once, when it is dropped; the GIL is held.
        if unsafe { PyObject_GetBuffer(object.as_ptr(), &mut *view, BUFFER_SIMPLE) } != 0 {
            let error = PyErr::fetch(object.py());
            let name = object.get_type().name()?;
            let wrong = PyTypeError::new_err(format!(
                "{name} holds no bytes in one piece; give bytes, bytearray, memoryview or str"
            ));
            wrong.set_cause(object.py(), Some(error));
            return Err(wrong);
        }
        let (start, length) = (view.start.cast_const().cast(), view.length.unsigned_abs());
        Ok(Held { start, length, keeper: Keeper::View(view) })
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        if self.length == 0 {
            return &[];
        }
        // SAFETY: start and length are from Python, and the held object keeps them valid.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Keeper::View(view) = &mut self.keeper else { return };
        // After the interpreter has ended, nothing needs to be released.
        let _released = attached(|_| {
            // SAFETY: taken in `new`, released once, with the GIL held.
            unsafe { PyBuffer_Release(&mut **view) }
        });
    }
}
