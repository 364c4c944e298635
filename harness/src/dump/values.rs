//! Numbers out of an array, whatever its type, as int32.
//!
//! Invariant: read in pieces of a fixed size; what no int32 is, is clipped, and the first such value is told.

use std::io::Read;

use super::{Dump, DumpError, Element, Kind, Stored};

/// Most elements of an array whose values are read.
const MAX_VALUES: usize = 1 << 28;
/// Elements read at once.
const PIECE: usize = 1 << 14;

/// An array's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    /// Row-major; fractions are cut off, and what lies outside int32 is clipped.
    pub values: Vec<i32>,
    /// The first value that no int32 is: its row-major place, and the value.
    pub odd: Option<(usize, String)>,
}

/// The values of an array of numbers.
///
/// # Errors
/// An array of something else, one that is larger than any metadata, a file that ends early.
pub fn numbers(dump: &Dump, array: &Stored) -> Result<Values, DumpError> {
    let Element { name, kind, size, .. } = &array.element;
    let readable = match kind {
        Kind::Signed | Kind::Unsigned => [1, 2, 4, 8].contains(size),
        Kind::Float => [2, 4, 8].contains(size),
        Kind::Raw | Kind::Other => false,
    };
    if !readable {
        let help = format!("it must hold integers: np.asarray({}, np.int32)", array.name);
        return Err(DumpError::new(format!("{} holds {name}, whose values can't be read", array.name), help));
    }
    let Some(len) = array.elements().filter(|len| *len <= MAX_VALUES) else {
        let message = format!(
            "{} has shape {:?}: more than the {MAX_VALUES} entries that metadata may have",
            array.name, array.shape
        );
        return Err(DumpError::new(message, "is it the right array? --map says which is which"));
    };
    let mut odd = None;
    let mut values = dump.with_bytes(array, |bytes| {
        // Grown as bytes come, so that a header can't make us allocate.
        let mut values = Vec::new();
        let mut piece = vec![0u8; PIECE * size];
        while values.len() < len {
            let count = PIECE.min(len - values.len());
            let piece = &mut piece[..count * size];
            bytes.read_exact(piece)?;
            values.reserve(count);
            for element in piece.chunks_exact(*size) {
                let value = convert(&array.element, element);
                odd = odd.take().or_else(|| value.odd.map(|value| (values.len(), value)));
                values.push(value.value);
            }
        }
        Ok(values)
    })?;
    if array.is_fortran {
        values = row_major(&values, &array.shape);
    }
    Ok(Values { values, odd })
}

struct Converted {
    value: i32,
    odd: Option<String>,
}

fn convert(element: &Element, bytes: &[u8]) -> Converted {
    let mut wide = [0u8; 8];
    let size = bytes.len();
    wide[..size].copy_from_slice(bytes);
    if element.is_big_endian {
        wide[..size].reverse();
    }
    let bits = u64::from_le_bytes(wide);
    let shift = 64 - 8 * size;
    match element.kind {
        Kind::Float => {
            let value = match size {
                2 => f64::from(countersign_dtype::f16_bits_to_f32(bits as u16)),
                4 => f64::from(f32::from_bits(bits as u32)),
                _ => f64::from_bits(bits),
            };
            let clipped = value as i32; // saturates; NaN is 0
            let odd = (f64::from(clipped) != value).then(|| value.to_string());
            Converted { value: clipped, odd }
        }
        Kind::Unsigned => {
            let clipped = i32::try_from(bits).unwrap_or(i32::MAX);
            Converted { value: clipped, odd: (clipped as u64 != bits).then(|| bits.to_string()) }
        }
        Kind::Signed | Kind::Raw | Kind::Other => {
            let value = ((bits << shift) as i64) >> shift;
            let clipped = value.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
            Converted { value: clipped, odd: (i64::from(clipped) != value).then(|| value.to_string()) }
        }
    }
}

/// Values whose first index runs fastest, with the last running fastest.
fn row_major(values: &[i32], shape: &[usize]) -> Vec<i32> {
    let mut index = vec![0usize; shape.len()];
    let mut turned = Vec::with_capacity(values.len());
    for _ in 0..values.len() {
        let at = index.iter().zip(shape).rev().fold(0, |at, (index, extent)| at * extent + index);
        turned.push(values[at]);
        for (index, extent) in index.iter_mut().zip(shape).rev() {
            *index += 1;
            if *index < *extent {
                break;
            }
            *index = 0;
        }
    }
    turned
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(kind: Kind, bytes: &[u8], is_big_endian: bool) -> (i32, Option<String>) {
        let element = Element { name: String::new(), kind, size: bytes.len(), is_big_endian };
        let Converted { value, odd } = convert(&element, bytes);
        (value, odd)
    }

    #[test]
    fn every_type_becomes_int32_and_what_does_not_fit_is_told() {
        assert_eq!(converted(Kind::Signed, &(-3i64).to_le_bytes(), false), (-3, None));
        assert_eq!(converted(Kind::Signed, &(-3i16).to_be_bytes(), true), (-3, None));
        assert_eq!(
            converted(Kind::Signed, &(1i64 << 40).to_le_bytes(), false),
            (i32::MAX, Some("1099511627776".into()))
        );
        assert_eq!(
            converted(Kind::Unsigned, &u32::MAX.to_le_bytes(), false),
            (i32::MAX, Some("4294967295".into()))
        );
        assert_eq!(converted(Kind::Float, &7.0f64.to_le_bytes(), false), (7, None));
        assert_eq!(converted(Kind::Float, &7.5f32.to_le_bytes(), false), (7, Some("7.5".into())));
        assert_eq!(converted(Kind::Float, &f64::NAN.to_le_bytes(), false), (0, Some("NaN".into())));
    }

    #[test]
    fn fortran_order_is_turned() {
        assert_eq!(row_major(&[1, 4, 2, 5, 3, 6], &[2, 3]), [1, 2, 3, 4, 5, 6]);
    }
}
