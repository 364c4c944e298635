//! q and the cache as lines of numpy: slices of one value where rows hold one, single elements where they stand out, bytes where
//! nothing plainer would do.
//!
//! Invariant: run on arrays of poison, the lines give the arrays bit for bit (a NaN apart, which stays a NaN).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_dtype::{Array, DType};

/// Single elements of a row of one value that are written out.
const MAX_STRAY: usize = 4;
/// Columns of a line of bytes.
const WIDTH: usize = 120;

/// One row: `[.., lanes]` at one head, or several rows alike.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    /// The value of most lanes.
    base: f32,
    /// Others, by lane.
    stray: Vec<(usize, f32)>,
}

impl Row {
    /// `None`: too many values.
    fn of(lanes: &[f32]) -> Option<Row> {
        let count = |value: f32| lanes.iter().filter(|lane| same(**lane, value)).count();
        let first = *lanes.first()?;
        let base = if count(first) * 2 >= lanes.len() { first } else { *lanes.last()? };
        let stray: Vec<(usize, f32)> =
            lanes.iter().copied().enumerate().filter(|(_, lane)| !same(*lane, base)).collect();
        (stray.len() <= MAX_STRAY).then_some(Row { base, stray })
    }
}

impl PartialEq for Plain {
    fn eq(&self, other: &Plain) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().zip(&other.0).all(|(a, b)| {
                same(a.base, b.base)
                    && a.stray.len() == b.stray.len()
                    && a.stray.iter().zip(&b.stray).all(|(a, b)| a.0 == b.0 && same(a.1, b.1))
            })
    }
}

/// The heads of one slot, each a plain row.
#[derive(Debug, Clone)]
struct Plain(Vec<Row>);

/// Bitwise, but for NaN.
fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// Lines that fill `array`, of shape `[.., heads, lanes]`, called `name`; `kv`: K and V alternate over the heads. What holds
/// `poison` alone is left out. `about` says whose a slot is, for a comment.
pub(super) fn fill(
    name: &str,
    array: &Array,
    kv: bool,
    poison: f32,
    about: &dyn Fn(usize) -> String,
) -> Vec<String> {
    let [.., heads, lanes] = array.shape.as_slice() else { return Vec::new() };
    let (heads, lanes) = (*heads, *lanes);
    let width = heads * lanes;
    // Slots within a page, or rows of q.
    let inner = if array.shape.len() == 4 { array.shape[1] } else { array.len() / width.max(1) };
    let values = array.to_f32_vec();
    let slots: Vec<&[f32]> = values.chunks(width.max(1)).collect();
    let mut lines = Vec::new();
    let mut at = 0;
    while at < slots.len() {
        if slots[at].iter().all(|value| same(*value, poison)) {
            at += 1;
            continue;
        }
        let plain = plain(slots[at], lanes);
        let is_like = |slot: usize| match &plain {
            Some(first) => self::plain(slots[slot], lanes).as_ref() == Some(first),
            None => self::plain(slots[slot], lanes).is_none(),
        };
        let page_end = (at / inner + 1) * inner;
        let end = (at + 1..page_end.min(slots.len()))
            .find(|&slot| about(slot) != about(at) || !is_like(slot))
            .unwrap_or(page_end.min(slots.len()));
        let place = if array.shape.len() == 4 {
            format!("{}, {}:{}", at / inner, at % inner, (end - 1) % inner + 1)
        } else {
            format!("{at}:{end}")
        };
        match &plain {
            Some(Plain(rows)) => lines.extend(assignments(name, &place, rows, kv, &about(at))),
            None => lines.extend(literal(name, &place, array, at * width..end * width, &about(at))),
        }
        at = end;
    }
    lines
}

fn plain(slot: &[f32], lanes: usize) -> Option<Plain> {
    slot.chunks(lanes.max(1)).map(Row::of).collect::<Option<Vec<Row>>>().map(Plain)
}

fn assignments(name: &str, place: &str, rows: &[Row], kv: bool, about: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let groups: Vec<(&str, Vec<usize>)> = if kv {
        vec![("0::2", (0..rows.len()).step_by(2).collect()), ("1::2", (1..rows.len()).step_by(2).collect())]
    } else {
        vec![("", (0..rows.len()).collect())]
    };
    for (index, (heads, members)) in groups.iter().enumerate() {
        let Some(&last) = members.last() else { continue };
        // The last head is seldom the one that stands out.
        let base = rows[last].base;
        let slice = if heads.is_empty() { place.to_owned() } else { format!("{place}, {heads}") };
        let what = match (kv, index) {
            (true, 0) => "K of ",
            (true, _) => "V of ",
            (false, _) => "",
        };
        lines.push(format!("{name}[{slice}] = {}  # {what}{about}", value(base)));
        for &head in members {
            let Row { base: own, stray } = &rows[head];
            if !same(*own, base) {
                lines.push(format!("{name}[{place}, {head}] = {}", value(*own)));
            }
            lines.extend(
                stray
                    .iter()
                    .map(|(lane, stray)| format!("{name}[{place}, {head}, {lane}] = {}", value(*stray))),
            );
        }
    }
    lines
}

/// A number as Python reads it.
fn value(number: f32) -> String {
    match number {
        number if number.is_nan() => "np.nan".to_owned(),
        f32::INFINITY => "np.inf".to_owned(),
        f32::NEG_INFINITY => "-np.inf".to_owned(),
        number => format!("{:?}", f64::from(number)),
    }
}

fn literal(
    name: &str,
    place: &str,
    array: &Array,
    elements: std::ops::Range<usize>,
    about: &str,
) -> Vec<String> {
    let (dtype, bytes): (&str, Vec<u8>) = match array.dtype {
        // Two a byte is our form, not numpy's.
        DType::I4 => ("np.int8", elements.map(|index| array.get_f32(index) as i8 as u8).collect()),
        _ => {
            let width = array.dtype.bits() / 8;
            (dtype_name(array.dtype), array.bytes[elements.start * width..elements.end * width].to_vec())
        }
    };
    let text = STANDARD.encode(bytes);
    let mut lines = vec![format!("{name}[{place}] = values({dtype}, {name}[{place}].shape, (  # {about}")];
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(WIDTH));
        lines.push(format!("    \"{line}\""));
        rest = more;
    }
    lines.push("))".to_owned());
    lines
}

/// numpy's or JAX's name for an element type.
pub(super) fn dtype_name(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "np.float32",
        DType::F16 => "np.float16",
        DType::Bf16 => "jnp.bfloat16",
        DType::F8E4M3FN => "jnp.float8_e4m3fn",
        DType::F8E5M2 => "jnp.float8_e5m2",
        DType::I32 => "np.int32",
        DType::I16 => "np.int16",
        DType::I8 => "np.int8",
        DType::I4 => "jnp.int4",
        DType::I1 => "np.bool_",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(shape: &[usize], values: &[f32], kv: bool) -> Vec<String> {
        fill("a", &Array::from_f32(DType::F32, shape, values), kv, f32::NAN, &|slot| format!("slot {slot}"))
    }

    #[test]
    fn rows_of_one_value_are_slices() {
        let rows = [&[0.0f32; 8][..], &[f32::NAN; 8]].concat();
        assert_eq!(lines(&[2, 2, 4], &rows, false), ["a[0:1] = 0.0  # slot 0"]);
        let cache = [[0.0f32; 4], [2.5; 4]].concat();
        assert_eq!(
            lines(&[1, 1, 2, 4], &cache, true),
            ["a[0, 0:1, 0::2] = 0.0  # K of slot 0", "a[0, 0:1, 1::2] = 2.5  # V of slot 0",]
        );
    }

    #[test]
    fn what_stands_out_is_named() {
        let row = [[7.0f32; 4], [0.0, 0.0, f32::INFINITY, 0.0]].concat();
        assert_eq!(
            lines(&[1, 2, 4], &row, false),
            ["a[0:1] = 0.0  # slot 0", "a[0:1, 0] = 7.0", "a[0:1, 1, 2] = np.inf",]
        );
    }

    #[test]
    fn anything_else_is_bytes() {
        let row: Vec<f32> = (0..16).map(|lane| lane as f32).collect();
        let shown = lines(&[1, 1, 16], &row, false);
        assert_eq!(shown[0], "a[0:1] = values(np.float32, a[0:1].shape, (  # slot 0");
        assert!(shown[1].starts_with("    \"AAAAAAAAgD8AAABA"), "{shown:?}");
    }
}
