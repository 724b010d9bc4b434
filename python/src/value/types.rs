//! The format's own types as Python classes: immutable, hashable, ordered, exact.

use crate::error::value_error;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyType};
use rawline_value::{Protocol, TimespanNs, TimestampNs};
use std::str::FromStr;

/// An IPv4 or IPv6 address. See `lib/rawline/_rawline.pyi`.
#[pyclass(frozen, eq, ord, hash, module = "rawline.value")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub rawline_value::Address);

/// A network.
#[pyclass(frozen, eq, ord, hash, module = "rawline.value")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subnet(pub rawline_value::Subnet);

/// A port number with its protocol.
#[pyclass(frozen, eq, ord, hash, module = "rawline.value")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub rawline_value::Port);

/// A point in time, in nanoseconds since 1970.
#[pyclass(frozen, eq, ord, hash, module = "rawline.value")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// A duration in nanoseconds.
#[pyclass(frozen, eq, ord, hash, module = "rawline.value")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timespan(pub i64);

fn parse<T: FromStr<Err: std::fmt::Display>>(text: &str) -> PyResult<T> {
    text.parse().map_err(|error| value_error(format!("{text:?}: {error}")))
}

#[pymethods]
impl Address {
    /// From its text, from its 4 or 16 bytes, or from an object of `ipaddress`.
    #[new]
    fn new(address: &Bound<'_, PyAny>) -> PyResult<Address> {
        if let Ok(bytes) = address.cast::<PyBytes>() {
            let bytes = bytes.as_bytes();
            return match (<[u8; 4]>::try_from(bytes), <[u8; 16]>::try_from(bytes)) {
                (Ok(ipv4), _) => Ok(Address(std::net::Ipv4Addr::from(ipv4).into())),
                (_, Ok(octets)) => Ok(Address(rawline_value::Address::from_octets(octets))),
                _ => Err(value_error(format!("an address has 4 or 16 bytes, not {}", bytes.len()))),
            };
        }
        parse(address.str()?.to_str()?).map(Address)
    }

    #[getter]
    fn packed<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.octets())
    }

    #[getter]
    fn ip<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        MAKE.import(py, "ipaddress", "ip_address")?.call1((self.0.to_string(),))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Address('{}')", self.0)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (Bound<'py, PyBytes>,)) {
        (slf.get_type(), (slf.get().packed(slf.py()),))
    }
}

#[pymethods]
impl Subnet {
    /// From its text, from the format's 17 bytes, or from an object of `ipaddress`.
    #[new]
    fn new(subnet: &Bound<'_, PyAny>) -> PyResult<Subnet> {
        if let Ok(bytes) = subnet.cast::<PyBytes>() {
            return match <[u8; 17]>::try_from(bytes.as_bytes()) {
                Ok(bytes) => Ok(Subnet(subnet_of(&bytes))),
                Err(_) => Err(value_error(format!("a subnet has 17 bytes, not {}", bytes.as_bytes().len()))),
            };
        }
        parse(subnet.str()?.to_str()?).map(Subnet)
    }

    #[getter]
    fn packed<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &[self.0.network().octets().as_slice(), &[self.0.prefix_bits()]].concat())
    }

    #[getter]
    fn address(&self) -> Address {
        Address(self.0.network())
    }

    #[getter]
    fn length(&self) -> Option<u8> {
        self.0.length()
    }

    #[getter]
    fn network<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        MAKE.import(py, "ipaddress", "ip_network")?.call1((self.0.to_string(),))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Subnet('{}')", self.0)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (Bound<'py, PyBytes>,)) {
        (slf.get_type(), (slf.get().packed(slf.py()),))
    }
}

/// The subnet of the format's 17 bytes.
pub fn subnet_of(bytes: &[u8; 17]) -> rawline_value::Subnet {
    let (octets, prefix_bits) = (bytes.first_chunk().copied().unwrap_or_default(), bytes.last().copied());
    rawline_value::Subnet::from_raw(rawline_value::Address::from_octets(octets), prefix_bits.unwrap_or_default())
}

/// The protocol with this name, or unknown.
pub fn protocol_of(name: &[u8]) -> Option<Protocol> {
    match name {
        b"unknown_transport" | b"" => Some(Protocol::Unknown),
        name => Protocol::of_name(std::str::from_utf8(name).ok()?),
    }
}

#[pymethods]
impl Port {
    /// From number and protocol, or from text such as `53/udp`.
    #[new]
    #[pyo3(signature = (port, protocol=None))]
    fn new(port: &Bound<'_, PyAny>, protocol: Option<&str>) -> PyResult<Port> {
        if protocol.is_none()
            && let Ok(text) = port.extract::<&str>()
        {
            return parse(text).map(Port);
        }
        let number = port.extract().map_err(|_| value_error("a port's number is 0 to 65535"))?;
        let protocol = protocol_of(protocol.unwrap_or("?").as_bytes())
            .ok_or_else(|| value_error("a port's protocol is tcp, udp, icmp or ?"))?;
        Ok(Port(rawline_value::Port::new(number, protocol)))
    }

    #[getter]
    fn number(&self) -> u16 {
        self.0.number
    }

    #[getter]
    fn protocol(&self) -> &'static str {
        self.0.protocol.name()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Port('{}')", self.0)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (String,)) {
        (slf.get_type(), (slf.get().__str__(),))
    }
}

#[pymethods]
impl Timestamp {
    /// From nanoseconds since 1970, or from text in RFC 3339.
    #[new]
    fn new(time: &Bound<'_, PyAny>) -> PyResult<Timestamp> {
        match time.extract::<&str>() {
            Ok(text) => parse::<TimestampNs>(text).map(|time| Timestamp(time.0)),
            Err(_) => Ok(Timestamp(time.extract()?)),
        }
    }

    #[getter]
    fn ns(&self) -> i64 {
        self.0
    }

    fn __int__(&self) -> i64 {
        self.0
    }

    fn __str__(&self) -> String {
        TimestampNs(self.0).to_string()
    }

    fn __repr__(&self) -> String {
        format!("Timestamp({})", self.0)
    }

    /// As a datetime, truncated to microseconds.
    fn datetime<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        MAKE.import(py, "rawline.value", "_datetime_of")?.call1((self.0,))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (i64,)) {
        (slf.get_type(), (slf.get().0,))
    }
}

#[pymethods]
impl Timespan {
    /// From nanoseconds, or from text such as `1500ms`.
    #[new]
    fn new(span: &Bound<'_, PyAny>) -> PyResult<Timespan> {
        match span.extract::<&str>() {
            Ok(text) => parse::<TimespanNs>(text).map(|span| Timespan(span.0)),
            Err(_) => Ok(Timespan(span.extract()?)),
        }
    }

    #[getter]
    fn ns(&self) -> i64 {
        self.0
    }

    fn __int__(&self) -> i64 {
        self.0
    }

    fn __str__(&self) -> String {
        TimespanNs(self.0).to_string()
    }

    fn __repr__(&self) -> String {
        format!("Timespan({})", self.0)
    }

    /// As a timedelta, truncated to microseconds.
    fn timedelta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        MAKE.import(py, "rawline.value", "_timedelta_of")?.call1((self.0,))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (i64,)) {
        (slf.get_type(), (slf.get().0,))
    }
}

/// The classes that identify values' types, as pointers that live as long as the interpreter.
pub struct Types {
    pub address: *mut pyo3::ffi::PyObject,
    pub subnet: *mut pyo3::ffi::PyObject,
    pub port: *mut pyo3::ffi::PyObject,
    pub timestamp: *mut pyo3::ffi::PyObject,
    pub timespan: *mut pyo3::ffi::PyObject,
    /// Subclasses of `str` and `int` that `lib/rawline/value.py` defines.
    pub name: *mut pyo3::ffi::PyObject,
    pub count: *mut pyo3::ffi::PyObject,
    pub integer: *mut pyo3::ffi::PyObject,
    /// Converts any other object into one of a type that is known here, or raises.
    pub convert: *mut pyo3::ffi::PyObject,
}

// SAFETY: the pointers are never freed, and their targets are used only with the GIL held.
unsafe impl Send for Types {}
// SAFETY: as above.
unsafe impl Sync for Types {}

/// Found on first use, since `rawline.value` is created after this module.
pub fn types(py: Python<'_>) -> PyResult<&'static Types> {
    static TYPES: PyOnceLock<Types> = PyOnceLock::new();
    TYPES.get_or_try_init(py, || {
        let module = py.import("rawline.value")?;
        let of = |name: &str| module.getattr(name).map(Bound::into_ptr);
        Ok(Types {
            address: py.get_type::<Address>().into_any().into_ptr(),
            subnet: py.get_type::<Subnet>().into_any().into_ptr(),
            port: py.get_type::<Port>().into_any().into_ptr(),
            timestamp: py.get_type::<Timestamp>().into_any().into_ptr(),
            timespan: py.get_type::<Timespan>().into_any().into_ptr(),
            name: of("Name")?,
            count: of("Count")?,
            integer: of("Integer")?,
            convert: of("_convert")?,
        })
    })
}

/// Any of these classes' objects, as an owned pointer for the reader.
pub fn object<'py, T: IntoPyObjectExt<'py>>(py: Python<'py>, value: T) -> PyResult<*mut pyo3::ffi::PyObject> {
    Ok(value.into_bound_py_any(py)?.into_ptr())
}
