//! The building blocks of the format: sizes and reals.
//!
//! A value is a tag and its content; every integer is big-endian.
//!
//! ```text
//! 00 none       -                       08 port       u16 number, u8 protocol
//! 01 boolean    u8, 0 is false          09 timestamp  i64 ns since 1970
//! 02 count      u64                     0a timespan   i64 ns
//! 03 integer    i64                     0b enum       size, the name's bytes
//! 04 real       u64, see pack_real      0c set        size, that many values
//! 05 string     size, that many bytes   0d table      size, that many times key and value
//! 06 address    16 bytes                0e vector     size, that many values
//! 07 subnet     16 bytes, u8 prefix     size: base 128, low group first, bit 7 says that more follow
//! ```

use crate::{Kind, Limits, ValueError};

/// Maximum length of a size in bytes: 32 bits in groups of seven.
const SIZE_BYTES_MAX: usize = 5;

/// Bytes after the tag of the types with a fixed size, by tag up to a timespan's; a string is preceded by its size.
pub(crate) const FIXED_BYTES: [Option<u8>; 11] =
    [Some(0), Some(1), Some(8), Some(8), Some(8), None, Some(16), Some(17), Some(3), Some(8), Some(8)];

/// Appends a tag and a size. A size of 2^32 or more is written in full, which readers reject.
#[inline]
pub(crate) fn put_sized(out: &mut Vec<u8>, kind: Kind, size: usize) {
    if size < 0x80 {
        out.extend_from_slice(&[kind as u8, size as u8]);
    } else {
        put_long(out, kind, size);
    }
}

/// Apart from the short case, which is inlined wherever a value is written.
#[cold]
#[inline(never)]
fn put_long(out: &mut Vec<u8>, kind: Kind, size: usize) {
    out.push(kind as u8);
    put_size(out, size);
}

/// Appends a size.
pub(crate) fn put_size(out: &mut Vec<u8>, mut size: usize) {
    while size >= 0x80 {
        out.push(size as u8 | 0x80);
        size >>= 7;
    }
    out.push(size as u8);
}

/// The pattern of a real: as in IEEE 754, except that the infinities are swapped, every NaN is all ones, and values up
/// to 2^-1023 are zero.
///
/// The pattern of a smaller number would be read as a different number: a zero exponent stands for 2^-1023, not for
/// IEEE 754's subnormals.
#[inline]
pub(crate) fn pack_real(real: f64) -> u64 {
    let bits = real.to_bits();
    // Exponents 1 to 2046, and both zeros, are as IEEE 754 has them.
    if (bits >> 52 & 0x7ff).wrapping_sub(1) < 0x7fe {
        return bits;
    }
    pack_special(real)
}

const POSITIVE_INFINITY: u64 = 0xfff0_0000_0000_0000;
const NEGATIVE_INFINITY: u64 = 0x7ff0_0000_0000_0000;
const NAN: u64 = u64::MAX;
const SIGN: u64 = 1 << 63;
const FRACTION: u64 = (1 << 52) - 1;

fn pack_special(real: f64) -> u64 {
    if real.is_nan() {
        return NAN;
    }
    if real.is_infinite() {
        return if real > 0.0 { POSITIVE_INFINITY } else { NEGATIVE_INFINITY };
    }
    let bits = real.to_bits();
    // 2^-1023 is a subnormal with only the fraction's highest bit; below it the fraction begins.
    let fraction = bits & FRACTION;
    if fraction < 1 << 51 { bits & SIGN } else { bits & SIGN | (fraction << 1) & FRACTION }
}

/// The real with this pattern.
#[inline]
pub(crate) fn unpack_real(bits: u64) -> f64 {
    if (bits >> 52 & 0x7ff).wrapping_sub(1) < 0x7fe {
        return f64::from_bits(bits);
    }
    unpack_special(bits)
}

fn unpack_special(bits: u64) -> f64 {
    let negative = bits & SIGN != 0;
    match bits {
        POSITIVE_INFINITY => f64::INFINITY,
        NEGATIVE_INFINITY => f64::NEG_INFINITY,
        NAN => f64::NAN,
        0 => 0.0,
        SIGN => -0.0,
        // Not a special pattern, so a number whose exponent is past what fits.
        _ if bits >> 52 & 0x7ff == 0x7ff => {
            if negative {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }
        }
        // (1 + fraction) * 2^-1023, rounded to the nearest subnormal.
        _ => f64::from_bits(bits & (SIGN | FRACTION) | 1 << 52) * 0.5,
    }
}

/// Bytes that are read from the front, with the position in them.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    length: usize,
    declared: usize,
    declared_max: usize,
    limits: Limits,
}

impl<'a> Reader<'a> {
    /// Creates a reader of these bytes.
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8], limits: &Limits) -> Result<Reader<'a>, ValueError> {
        if bytes.len() > limits.bytes_max.min(Limits::FORMAT.bytes_max) as usize {
            return Err(ValueError::TooLong { bytes: bytes.len(), bytes_max: limits.bytes_max });
        }
        // Every element takes a byte at least, and the container around it one.
        let declared_max = bytes.len().min(limits.elements_max as usize);
        Ok(Reader { rest: bytes, length: bytes.len(), declared: 0, declared_max, limits: *limits })
    }

    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.length - self.rest.len()
    }

    /// Continues at `position` of `bytes`, which are the bytes that it was created with.
    #[inline]
    pub(crate) fn go_to(&mut self, bytes: &'a [u8], position: usize) {
        self.rest = bytes.get(position..).unwrap_or_default();
    }

    /// The next byte, without taking it.
    #[inline(always)]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Takes these bytes if they come next.
    #[inline(always)]
    pub(crate) fn take_prefix<const N: usize>(&mut self, prefix: &[u8; N]) -> bool {
        match self.rest.split_first_chunk() {
            Some((first, rest)) if first == prefix => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, ValueError> {
        let Some((byte, rest)) = self.rest.split_first() else {
            return Err(self.truncated());
        };
        self.rest = rest;
        Ok(*byte)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], ValueError> {
        let Some((bytes, rest)) = self.rest.split_first_chunk() else {
            return Err(self.truncated());
        };
        self.rest = rest;
        Ok(*bytes)
    }

    #[inline]
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], ValueError> {
        let Some((bytes, rest)) = self.rest.split_at_checked(length) else {
            return Err(self.truncated());
        };
        self.rest = rest;
        Ok(bytes)
    }

    #[inline]
    pub(crate) fn size(&mut self) -> Result<usize, ValueError> {
        match self.rest.split_first() {
            Some((byte, rest)) if *byte < 0x80 => {
                self.rest = rest;
                Ok(usize::from(*byte))
            }
            _ => self.size_long(),
        }
    }

    #[cold]
    fn size_long(&mut self) -> Result<usize, ValueError> {
        let position = self.position();
        let mut size: u64 = 0;
        for index in 0..SIZE_BYTES_MAX {
            let byte = self.byte()?;
            size |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                return match u32::try_from(size) {
                    Ok(size) => Ok(size as usize),
                    Err(_) => Err(ValueError::Size { position }),
                };
            }
        }
        Err(ValueError::Size { position })
    }

    /// A string's bytes, preceded by their size.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<&'a [u8], ValueError> {
        let size = self.size()?;
        self.take(size)
    }

    /// The number of a container's elements, with `width` values each. All containers together can't have more elements
    /// than there are bytes or than the limit, so memory can be reserved before they are read.
    #[inline]
    pub(crate) fn elements(&mut self, width: usize) -> Result<usize, ValueError> {
        let position = self.position();
        let count = self.size()?;
        let values = count.saturating_mul(width);
        self.declared = self.declared.saturating_add(values);
        if self.declared > self.declared_max || values > self.rest.len() {
            return Err(self.too_many(values, position));
        }
        Ok(count)
    }

    #[cold]
    fn too_many(&self, values: usize, position: usize) -> ValueError {
        // More than the bytes can hold is a truncated value; otherwise the limit is exceeded.
        if values > self.rest.len() || self.declared > self.length {
            return ValueError::Truncated { position };
        }
        ValueError::TooManyElements { position, elements_max: self.limits.elements_max }
    }

    /// Whether a container at this depth, the outermost at 0, is within the limit.
    #[inline]
    pub(crate) fn check_depth(&self, depth: u32, position: usize) -> Result<(), ValueError> {
        let depth_max = self.limits.depth_max.min(Limits::FORMAT.depth_max);
        if depth >= depth_max {
            return Err(ValueError::TooDeep { position, depth_max });
        }
        Ok(())
    }

    /// Fails if bytes are left over.
    #[inline]
    pub(crate) fn finish(&self) -> Result<(), ValueError> {
        if !self.rest.is_empty() {
            return Err(ValueError::TrailingBytes { position: self.position(), count: self.rest.len() });
        }
        Ok(())
    }

    #[cold]
    fn truncated(&self) -> ValueError {
        ValueError::Truncated { position: self.position() }
    }
}
