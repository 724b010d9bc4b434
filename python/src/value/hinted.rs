//! Writes objects as values of a requested type.

use crate::value::out::End;
use crate::value::shape::text_of;
use crate::value::types::protocol_of;
use crate::value::write::{Writer, Written, is, unsigned};
use pyo3::ffi;
use rawline_value::{Hint, Kind, Protocol, Value};

impl Writer<'_, '_> {
    /// A number whose requested type is an integer.
    #[inline(always)]
    pub fn integer(&mut self, object: *mut ffi::PyObject, hint: &Hint, depth: usize, end: End) -> Written {
        let mut overflow = 0;
        // SAFETY: see `value`.
        let number = unsafe { ffi::PyLong_AsLongLongAndOverflow(object, &mut overflow) };
        if overflow != 0 {
            return self.hinted(object, depth, hint, None, end);
        }
        Ok(self.scratch.out.word(end, Kind::Integer, number as u64))
    }

    /// A value of the requested type.
    pub fn hinted(
        &mut self,
        object: *mut ffi::PyObject,
        depth: usize,
        hint: &Hint,
        protocol: Option<*mut ffi::PyObject>,
        end: End,
    ) -> Written {
        // SAFETY: see `value`.
        let class = unsafe { ffi::Py_TYPE(object) };
        let start = self.scratch.out.len(&end);
        let (end, is_written) = if is!(class, PyUnicode_Type) {
            // SAFETY: as above.
            let Some(text) = (unsafe { text_of(object) }) else { return self.raised() };
            // Python's text is in UTF-8 here.
            let text = std::str::from_utf8(text).unwrap_or_default();
            self.scratch.out.append(end, |bytes| hint.put_text(text, bytes))
        } else if is!(class, PyLong_Type) {
            let protocol = self.protocol(protocol);
            let mut overflow = 0;
            // SAFETY: as above.
            let number = unsafe { ffi::PyLong_AsLongLongAndOverflow(object, &mut overflow) };
            let number =
                if overflow > 0 { unsigned(object).map(i128::from) } else { (overflow == 0).then_some(number.into()) };
            match number {
                Some(number) => self.scratch.out.append(end, |bytes| hint.put_number(number, protocol, bytes)),
                None => (end, Ok(false)),
            }
        } else if is!(class, PyFloat_Type) {
            let protocol = self.protocol(protocol);
            // SAFETY: as above.
            let real = unsafe { ffi::PyFloat_AsDouble(object) };
            self.scratch.out.append(end, |bytes| hint.put_real(real, protocol, bytes))
        } else if is!(class, PyList_Type) || is!(class, PyTuple_Type) {
            return self.hinted_list(object, class, depth, hint, protocol, end);
        } else if self.is_written(class) {
            (end, Ok(false))
        } else {
            let converted = self.converted(object)?;
            return self.hinted(converted.as_ptr(), depth, hint, protocol, end);
        };
        match is_written {
            Ok(true) => return Ok(end),
            Ok(false) => {}
            Err(why) => return self.misfit(why),
        }
        let end = self.value(object, class, depth, end)?;
        let (end, tag) = self.scratch.out.append(end, |bytes| bytes.get(start).copied());
        match hint.check(tag.and_then(Kind::of_tag).unwrap_or(Kind::None)) {
            Ok(()) => Ok(end),
            Err(why) => self.misfit(why),
        }
    }

    /// The protocol that another field names; unknown where none is named.
    fn protocol(&self, field: Option<*mut ffi::PyObject>) -> Protocol {
        field.and_then(|field| self.protocol_text(field)).and_then(protocol_of).unwrap_or_default()
    }

    /// A list's elements get the type, unless the list itself becomes a set, which drops duplicates.
    fn hinted_list(
        &mut self,
        object: *mut ffi::PyObject,
        class: *mut ffi::PyTypeObject,
        depth: usize,
        hint: &Hint,
        protocol: Option<*mut ffi::PyObject>,
        end: End,
    ) -> Written {
        if hint.kind() == Some(Kind::Set) {
            let start = self.scratch.out.len(&end);
            let end = self.value(object, class, depth, end)?;
            return self.replace(start, end, |list| match list {
                Value::Vector(elements) => Value::Set(elements.into_iter().collect()),
                other => other,
            });
        }
        if is!(class, PyList_Type) {
            self.list(object, depth, hint, protocol, end)
        } else {
            self.tuple(object, depth, hint, protocol, end)
        }
    }

    /// The name of a port's protocol, from another field.
    fn protocol_text<'a>(&self, object: *mut ffi::PyObject) -> Option<&'a [u8]> {
        // Also a subclass, such as `Name` and numpy's.
        // SAFETY: see `value`.
        unsafe { if ffi::PyUnicode_Check(object) != 0 { text_of(object) } else { None } }
    }
}
