//! Decodes a value's bytes to Python objects, and skips values that aren't needed.

use crate::error::value_error;
use crate::value::instance::Instances;
use crate::value::types::{Address, Port, Subnet, Timespan, Timestamp, object, subnet_of, types};
use pyo3::ffi;
use pyo3::prelude::*;
use rawline_value::{Decoder, Limits, Protocol};
use std::sync::{Mutex, PoisonError};

/// An error of bytes that aren't a value, or not of a supported kind.
pub type Fault = Box<PyErr>;

const TAG_STRING: u8 = 5;
const TAG_ENUM: u8 = 11;
const TAG_SET: u8 = 12;
pub const TAG_TABLE: u8 = 13;
pub const TAG_VECTOR: u8 = 14;

/// Number of bytes after the tag, for the types of constant size.
const FIXED_BYTES: [Option<usize>; 11] =
    [Some(0), Some(1), Some(8), Some(8), Some(8), None, Some(16), Some(17), Some(3), Some(8), Some(8)];

/// Maximum nesting of Python objects; the default of decoders.
const DEPTH_MAX: usize = 128;

#[cold]
pub fn cut_off() -> Fault {
    Box::new(value_error("the value is truncated or damaged; send it whole"))
}

#[cold]
fn too_deep() -> Fault {
    Box::new(value_error("containers are nested more than 128 deep; send flatter values"))
}

/// Fails for a container at a depth beyond the limit.
#[inline]
pub fn check_depth(depth: usize) -> Result<(), Fault> {
    if depth >= DEPTH_MAX { Err(too_deep()) } else { Ok(()) }
}

/// Reads bytes from the front.
#[derive(Clone, Copy)]
pub struct Cursor<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    #[inline]
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.first_chunk().copied()
    }

    /// A size, in base 128, the low group first.
    #[inline]
    pub fn size(&mut self) -> Option<usize> {
        let first = self.byte()?;
        if first < 0x80 {
            return Some(usize::from(first));
        }
        let mut size = u64::from(first & 0x7f);
        for index in 1..5 {
            let byte = self.byte()?;
            size |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                return u32::try_from(size).ok().map(|size| size as usize);
            }
        }
        None
    }

    /// A number of elements, which is at most the number of bytes.
    #[inline]
    pub fn elements(&mut self, width: usize) -> Option<usize> {
        let count = self.size()?;
        (count.checked_mul(width)? <= self.bytes.len() - self.at).then_some(count)
    }

    /// Skips a value with everything in it.
    #[inline]
    pub fn skip(&mut self) -> Option<()> {
        let mut left = 1usize;
        while left > 0 {
            left -= 1;
            let tag = self.byte()?;
            match FIXED_BYTES.get(usize::from(tag)) {
                Some(Some(length)) => self.at += length,
                Some(None) => {
                    let length = self.size()?;
                    self.at += length;
                }
                None => match tag {
                    TAG_ENUM => {
                        let length = self.size()?;
                        self.at += length;
                    }
                    TAG_SET | TAG_VECTOR => left += self.elements(1)?,
                    TAG_TABLE => left += 2 * self.elements(2)?,
                    _ => return None,
                },
            }
            if self.at > self.bytes.len() {
                return None;
            }
        }
        Some(())
    }
}

/// A cache of the keys of tables, as the Python strings made of them earlier.
pub struct KeyCache {
    places: Vec<Option<Key>>,
}

/// A key's text and its object.
type Key = (Box<[u8]>, Py<PyAny>);

/// A power of two; several times the number of field names in a program.
const KEYS: usize = 2048;
/// A longer key is unlikely to be a field's name.
const KEY_BYTES_MAX: usize = 64;

static CACHE: Mutex<Option<Box<KeyCache>>> = Mutex::new(None);

impl KeyCache {
    fn take() -> Box<KeyCache> {
        let cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner).take();
        cache.unwrap_or_else(|| Box::new(KeyCache { places: (0..KEYS).map(|_| None).collect() }))
    }

    fn put(self: Box<KeyCache>) {
        *CACHE.lock().unwrap_or_else(PoisonError::into_inner) = Some(self);
    }

    /// An owned `str`.
    #[inline]
    fn key(&mut self, py: Python<'_>, text: &[u8]) -> Result<*mut ffi::PyObject, Fault> {
        if text.len() > KEY_BYTES_MAX {
            return string(py, text);
        }
        // FNV-1a, over at most 64 bytes.
        let hash = text
            .iter()
            .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
        let Some(place) = self.places.get_mut((hash ^ hash >> 32) as usize % KEYS) else { return string(py, text) };
        if let Some((known, key)) = place
            && **known == *text
        {
            // SAFETY: the cache holds the object.
            unsafe { ffi::Py_INCREF(key.as_ptr()) };
            return Ok(key.as_ptr());
        }
        let mut key = string(py, text)?;
        // SAFETY: an owned object; interning replaces it with an equal one, which dicts find faster.
        unsafe {
            if std::ptr::eq(ffi::Py_TYPE(key), &raw mut ffi::PyUnicode_Type) {
                ffi::PyUnicode_InternInPlace(&mut key);
            }
            *place = Some((text.into(), Bound::from_borrowed_ptr(py, key).unbind()));
        }
        Ok(key)
    }
}

/// An owned `str`, or `bytes` if the text isn't UTF-8.
#[inline]
fn string(py: Python<'_>, text: &[u8]) -> Result<*mut ffi::PyObject, Fault> {
    let (start, length) = (text.as_ptr().cast(), text.len() as ffi::Py_ssize_t);
    // SAFETY: start and length are of one slice; the GIL is held.
    unsafe {
        let made = ffi::PyUnicode_DecodeUTF8(start, length, std::ptr::null());
        if !made.is_null() {
            return Ok(made);
        }
        ffi::PyErr_Clear();
        let made = ffi::PyBytes_FromStringAndSize(start, length);
        if made.is_null() { Err(Box::new(PyErr::fetch(py))) } else { Ok(made) }
    }
}

/// The object of exactly these bytes.
///
/// Decodes directly, with all but a few rare checks of a decoder. In doubt it calls the decoder, which also reports
/// more precise errors. Checking each value beforehand took a fifth of the time.
pub fn decode<'py>(py: Python<'py>, bytes: &[u8], exact: bool) -> PyResult<Bound<'py, PyAny>> {
    decode_with(py, bytes, exact, |reader| reader.object(0, false))
}

/// The instance of exactly these bytes. Fields that the class doesn't have aren't checked for duplicates.
pub fn decode_instance<'py>(py: Python<'py>, bytes: &[u8], of: &Instances) -> PyResult<Bound<'py, PyAny>> {
    decode_with(py, bytes, false, |reader| reader.instance(of, 0))
}

#[inline(always)]
fn decode_with<'py>(
    py: Python<'py>,
    bytes: &[u8],
    exact: bool,
    read: impl FnOnce(&mut Reader<'_, 'py>) -> Read,
) -> PyResult<Bound<'py, PyAny>> {
    if bytes.len() > Limits::default().bytes_max as usize {
        check(bytes)?;
    }
    let cursor = Cursor { bytes, at: 0 };
    let mut reader = Reader { py, cursor, keys: None, exact, declared: 0, is_doubtful: false };
    // SAFETY: an owned object.
    let read = read(&mut reader).map(|object| unsafe { Bound::from_owned_ptr(py, object) });
    let is_sure = reader.cursor.at == bytes.len() && !reader.is_doubtful;
    if let Some(keys) = reader.keys.take() {
        keys.put();
    }
    if read.is_err() || !is_sure {
        check(bytes)?;
    }
    read.map_err(|fault| *fault)
}

/// Whether the bytes are exactly one value.
pub fn check(bytes: &[u8]) -> PyResult<()> {
    static DECODER: Mutex<Option<Decoder>> = Mutex::new(None);
    let mut decoder = DECODER.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
    let checked = decoder.decode(bytes).map(|_| ()).map_err(value_error);
    if bytes.len() <= 1 << 20 {
        *DECODER.lock().unwrap_or_else(PoisonError::into_inner) = Some(decoder);
    }
    checked
}

pub struct Reader<'a, 'py> {
    pub py: Python<'py>,
    pub cursor: Cursor<'a>,
    /// Taken by the first table that becomes a dict.
    keys: Option<Box<KeyCache>>,
    /// Integers become `Integer`, so that a value that is written again keeps its types.
    exact: bool,
    /// Declared number of elements of all containers so far. It bounds the memory by a multiple of the number of bytes.
    declared: usize,
    /// Whether a NaN was read where it must be unique. It is equivalent to any real, but not in Python, so a decoder
    /// must check.
    is_doubtful: bool,
}

/// An owned object.
pub type Read = Result<*mut ffi::PyObject, Fault>;

impl Reader<'_, '_> {
    /// A number of elements or pairs.
    pub fn elements(&mut self, width: usize) -> Result<usize, Fault> {
        let count = self.cursor.elements(width).ok_or_else(cut_off)?;
        self.declared += count * width;
        let declared_max = self.cursor.bytes.len().min(Limits::default().elements_max as usize);
        if self.declared > declared_max { Err(cut_off()) } else { Ok(count) }
    }

    /// An owned object. A hashable object contains no lists.
    pub fn object(&mut self, depth: usize, hashable: bool) -> Read {
        let py = self.py;
        let cursor = &mut self.cursor;
        let word = |cursor: &mut Cursor<'_>| cursor.array::<8>().map(u64::from_be_bytes).ok_or_else(cut_off);
        let tag = cursor.byte().ok_or_else(cut_off)?;
        // SAFETY: of the calls below, with the GIL held; each returns an owned object, or null with an error set.
        let made = match tag {
            // SAFETY: see above; constants.
            0 => unsafe { counted(ffi::Py_None()) },
            1 => match cursor.byte().ok_or_else(cut_off)? {
                // SAFETY: see above.
                0 => unsafe { counted(ffi::Py_False()) },
                // SAFETY: see above.
                _ => unsafe { counted(ffi::Py_True()) },
            },
            // SAFETY: see above.
            2 => unsafe { ffi::PyLong_FromUnsignedLongLong(word(cursor)?) },
            3 => return self.integer(),
            4 => {
                let real = real(word(cursor)?);
                self.is_doubtful |= hashable && real.is_nan();
                // SAFETY: see above.
                unsafe { ffi::PyFloat_FromDouble(real) }
            }
            TAG_STRING => {
                let text = cursor.size().and_then(|length| cursor.take(length)).ok_or_else(cut_off)?;
                return string(py, text);
            }
            6 => {
                let octets = cursor.array().ok_or_else(cut_off)?;
                return Ok(object(py, Address(rawline_value::Address::from_octets(octets)))?);
            }
            7 => return Ok(object(py, Subnet(subnet_of(&cursor.array().ok_or_else(cut_off)?)))?),
            8 => {
                let [high, low, protocol] = cursor.array().ok_or_else(cut_off)?;
                let protocol = Protocol::of_number(protocol).ok_or_else(cut_off)?;
                return Ok(object(py, Port(rawline_value::Port::new(u16::from_be_bytes([high, low]), protocol)))?);
            }
            9 => return Ok(object(py, Timestamp(word(cursor)? as i64))?),
            10 => return Ok(object(py, Timespan(word(cursor)? as i64))?),
            TAG_ENUM => {
                let text = cursor.size().and_then(|length| cursor.take(length)).ok_or_else(cut_off)?;
                return self.name(text);
            }
            TAG_SET | TAG_TABLE | TAG_VECTOR if depth >= DEPTH_MAX => return Err(too_deep()),
            TAG_SET => return self.set(depth),
            TAG_TABLE if hashable => return self.pairs(depth),
            TAG_TABLE => return self.table(depth),
            TAG_VECTOR if hashable => return self.tuple(depth),
            TAG_VECTOR => return self.list(depth),
            _ => return Err(cut_off()),
        };
        if made.is_null() { Err(Box::new(PyErr::fetch(py))) } else { Ok(made) }
    }

    fn integer(&mut self) -> Read {
        let number = i64::from_be_bytes(self.cursor.array().ok_or_else(cut_off)?);
        if !self.exact {
            return Ok(object(self.py, number)?);
        }
        // SAFETY: the class lives as long as the interpreter.
        let class = unsafe { Bound::from_borrowed_ptr(self.py, types(self.py)?.integer) };
        Ok(class.call1((number,))?.into_ptr())
    }

    fn name(&mut self, text: &[u8]) -> Read {
        // SAFETY: the text is an owned object, the class lives as long as the interpreter.
        let (text, class) = unsafe {
            let text = Bound::from_owned_ptr(self.py, string(self.py, text)?);
            (text, Bound::from_borrowed_ptr(self.py, types(self.py)?.name))
        };
        // A name that isn't UTF-8 is returned in its printable form.
        if !text.is_instance_of::<pyo3::types::PyString>() {
            let bytes = text.extract::<Vec<u8>>()?;
            let shown = String::from_utf8_lossy(&bytes).into_owned();
            return Ok(class.call1((shown,))?.into_ptr());
        }
        Ok(class.call1((text,))?.into_ptr())
    }

    /// Puts the elements into a new list or tuple with `set`, which takes ownership of them.
    fn fill(
        &mut self,
        depth: usize,
        hashable: bool,
        new: unsafe extern "C" fn(ffi::Py_ssize_t) -> *mut ffi::PyObject,
        set: unsafe extern "C" fn(*mut ffi::PyObject, ffi::Py_ssize_t, *mut ffi::PyObject) -> i32,
    ) -> Read {
        let count = self.elements(1)? as ffi::Py_ssize_t;
        // SAFETY: a new, owned container of that length, whose slots are empty and not shared.
        let container = unsafe { Bound::from_owned_ptr_or_err(self.py, new(count))? };
        for index in 0..count {
            let element = self.object(depth + 1, hashable)?;
            // SAFETY: the slot exists; `set` takes ownership of the element.
            unsafe { set(container.as_ptr(), index, element) };
        }
        Ok(container.into_ptr())
    }

    fn list(&mut self, depth: usize) -> Read {
        self.fill(depth, false, ffi::PyList_New, ffi::PyList_SetItem)
    }

    fn tuple(&mut self, depth: usize) -> Read {
        self.fill(depth, true, ffi::PyTuple_New, ffi::PyTuple_SetItem)
    }

    /// A table inside a set or a key: a tuple of pairs.
    fn pairs(&mut self, depth: usize) -> Read {
        let count = self.elements(2)?;
        let mut pairs = Vec::with_capacity(count);
        for _ in 0..count {
            // SAFETY: owned objects.
            let (key, value) = unsafe {
                let key = Bound::from_owned_ptr(self.py, self.object(depth + 1, true)?);
                (key, Bound::from_owned_ptr(self.py, self.object(depth + 1, true)?))
            };
            pairs.push((key, value));
        }
        Ok(pyo3::types::PyTuple::new(self.py, pairs)?.into_any().into_ptr())
    }

    fn set(&mut self, depth: usize) -> Read {
        let count = self.elements(1)?;
        let mut elements = Vec::with_capacity(count);
        for _ in 0..count {
            // SAFETY: an owned object.
            elements.push(unsafe { Bound::from_owned_ptr(self.py, self.object(depth + 1, true)?) });
        }
        let set = pyo3::types::PyFrozenSet::new(self.py, elements)?;
        self.all_there(set.len(), count)?;
        Ok(set.into_any().into_ptr())
    }

    fn table(&mut self, depth: usize) -> Read {
        let count = self.elements(2)?;
        // SAFETY: a new dict, owned.
        let table = unsafe { Bound::from_owned_ptr_or_err(self.py, ffi::PyDict_New())? };
        for _ in 0..count {
            let ahead = self.cursor;
            let key = match self.cursor.byte() {
                Some(TAG_STRING) => {
                    let cursor = &mut self.cursor;
                    let text = cursor.size().and_then(|length| cursor.take(length)).ok_or_else(cut_off)?;
                    self.keys.get_or_insert_with(KeyCache::take).key(self.py, text)?
                }
                _ => {
                    self.cursor = ahead;
                    self.object(depth + 1, true)?
                }
            };
            // SAFETY: owned objects, released below; the dict takes its own references.
            unsafe {
                let key = Bound::from_owned_ptr(self.py, key);
                let value = Bound::from_owned_ptr(self.py, self.object(depth + 1, false)?);
                if ffi::PyDict_SetItem(table.as_ptr(), key.as_ptr(), value.as_ptr()) != 0 {
                    return Err(Box::new(PyErr::fetch(self.py)));
                }
            }
        }
        self.all_there(table.len()?, count)?;
        Ok(table.into_ptr())
    }

    /// Python treats 1, 1.0 and True as one key.
    fn all_there(&self, found: usize, expected: usize) -> Result<(), Fault> {
        if found == expected {
            return Ok(());
        }
        let why = "a set or table has duplicate elements or keys, or some that are equal in Python; use View";
        Err(Box::new(value_error(why)))
    }
}

/// A constant with an additional reference.
unsafe fn counted(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: constants live as long as the interpreter.
    unsafe { ffi::Py_INCREF(object) };
    object
}

/// The real of a bit pattern; patterns that aren't IEEE 754's are left to the value crate.
#[inline]
fn real(bits: u64) -> f64 {
    if (bits >> 52 & 0x7ff).wrapping_sub(1) < 0x7fe {
        return f64::from_bits(bits);
    }
    let mut bytes = [4; 9];
    if let Some((_, place)) = bytes.split_first_mut() {
        place.copy_from_slice(&bits.to_be_bytes());
    }
    Decoder::default().decode(&bytes).map_or(f64::NAN, |value| value.to_real(f64::NAN))
}
