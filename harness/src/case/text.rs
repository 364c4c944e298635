//! The TOML form of a case: written by hand or by us, under 60 lines, no key ignored.
//!
//! Invariant: `from_toml(to_toml(case)) == case`. Long tables stay short: `page_fill` stands for rows left out at the end of
//! `page_indices` and for the left-out ends of short rows, and arrays wrap at [`WIDTH`] columns.

use countersign_dtype::DType;
use countersign_kernels::operand_type::OperandType;
use countersign_reference::Metadata;

use super::reader::{Field, Table};
use super::variant::{read_variant, write_variant};
use super::{
    Case, CaseError, OPTION_NAMES, OperandName, OperandOverride, OptionValue, Patch, PatchTarget, Payload,
    StaticOverrides, VariantRef,
};
use crate::payload::{FILE, PayloadFile};

/// Version of the form; another one is refused.
const VERSION: i64 = 1;
/// Columns of a line that we write, unless an array would take too many lines.
const WIDTH: usize = 100;
/// Most lines of a wrapped array; a longer one is written on a single line.
const MAX_ARRAY_LINES: usize = 8;
/// Most page-table rows that get a line each.
const MAX_ROW_LINES: usize = 16;
/// Most entries of a page table.
const MAX_TABLE: usize = 1 << 20;

impl Case {
    /// Reads the TOML form: a file with a `[case]` table (`[origin]` and `[expect]` of a corpus file are checked, too).
    ///
    /// # Errors
    /// With the line and the remedy, for anything that isn't a case.
    pub fn from_toml(text: &str) -> Result<Case, CaseError> {
        crate::corpus::CorpusFile::from_toml(text).map(|file| file.case)
    }

    /// The TOML form, a `[case]` table.
    pub fn to_toml(&self) -> String {
        let mut out = format!("[case]\nversion = {VERSION}\nkernel = {}\n", quote(&self.kernel));
        if let VariantRef::Named(name) = &self.variant {
            out += &format!("variant = {}\n", quote(name));
        }
        write_metadata(&mut out, &self.metadata);
        if let VariantRef::Inline(variant) = &self.variant {
            out += "\n[case.variant]\n";
            write_variant(&mut out, variant);
        }
        out += &format!(
            "\n[case.payload]\npattern = {}\nseed = {}\n",
            quote(&self.payload.pattern),
            self.payload.seed
        );
        if let Some(file) = &self.payload.file {
            out += &format!("file = {}\nsha256 = {}\n", quote(&file.name), quote(&file.sha256));
        }
        write_patches(&mut out, &self.payload.patches);
        if let Some(checksum) = &self.checksum {
            out += &format!("checksum = {}\n", quote(checksum));
        }
        if let Some(statics) = &self.statics {
            write_statics(&mut out, statics);
        }
        out
    }

    /// Reads the `[case]` table of a parsed document.
    pub(crate) fn read(field: &Field<'_>) -> Result<Case, CaseError> {
        let mut table = field.table()?;
        let version = table.require("version", "write `version = 1`")?;
        if version.integer::<i64>()? != VERSION {
            return Err(version.error("only version 1 is known; a newer countersign may read this file"));
        }
        let kernel = table.require("kernel", "a kernel's id, e.g. \"jax-rpa\"")?.string()?;
        let variant = table.require("variant", "a name of the catalogue, or a table [case.variant]")?;
        let variant = if variant.is_table() {
            VariantRef::Inline(Box::new(read_variant(variant.table()?)?))
        } else {
            VariantRef::Named(variant.string()?)
        };
        let metadata = read_metadata(&mut table)?;
        let payload =
            table.require("payload", "a table [case.payload] with `pattern` and `seed`")?.table()?;
        let (payload, checksum) = read_payload(payload)?;
        let statics = table
            .get("static")
            .map(|field| field.table().and_then(|table| read_statics(&table)))
            .transpose()?;
        table.finish()?;
        Ok(Case { kernel, variant, metadata, payload, checksum, statics })
    }
}

/// A TOML string with its quotes.
pub(crate) fn quote(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A TOML float that reads back as the same f32.
pub(crate) fn float(value: f32) -> String {
    if value.is_nan() { "nan".to_owned() } else { format!("{value:?}") }
}

/// `key = [items]`, wrapped at [`WIDTH`] columns; on one line if that would take more than `max_lines`.
pub(crate) fn write_array(out: &mut String, key: &str, items: &[String], max_lines: usize) {
    let whole = format!("{key} = [{}]\n", items.join(", "));
    if whole.len() <= WIDTH {
        *out += &whole;
        return;
    }
    let mut lines: Vec<String> = Vec::new();
    for item in items {
        match lines.last_mut() {
            Some(line) if line.len() + item.len() + 2 <= WIDTH => {
                *line += " ";
                *line += item;
            }
            _ => lines.push(format!("  {item}")),
        }
        if let Some(line) = lines.last_mut() {
            line.push(',');
        }
    }
    if lines.len() > max_lines {
        *out += &whole;
    } else {
        *out += &format!("{key} = [\n{}\n]\n", lines.join("\n"));
    }
}

fn write_metadata(out: &mut String, meta: &Metadata) {
    let list = |values: &[i32]| values.iter().map(i32::to_string).collect::<Vec<String>>();
    *out += &format!("num_seqs = {}\n", meta.num_seqs);
    write_array(out, "cu_q_lens", &list(&meta.cu_q_lens), MAX_ARRAY_LINES);
    write_array(out, "kv_lens", &list(&meta.kv_lens), MAX_ARRAY_LINES);

    let mut rows: Vec<&[i32]> = meta.page_indices.chunks(meta.pages_per_seq.max(1)).collect();
    let mut page_fill = String::new();
    if let Some(fill) = filler(&rows) {
        for row in &mut rows {
            let used = row.iter().rposition(|&page| page != fill).map_or(0, |last| last + 1);
            *row = &row[..used];
        }
        while rows.last().is_some_and(|row| row.is_empty()) {
            rows.pop();
        }
        page_fill = format!("page_fill = {fill}\n");
    }
    if rows.iter().all(|row| row.len() < meta.pages_per_seq) {
        *out += &format!("pages_per_seq = {}\n", meta.pages_per_seq);
    }
    *out += &page_fill;
    let rows: Vec<String> = rows.iter().map(|row| format!("[{}]", list(row).join(", "))).collect();
    if rows.len() > MAX_ROW_LINES || rows.is_empty() {
        write_array(out, "page_indices", &rows, MAX_ROW_LINES);
    } else {
        *out += &format!("page_indices = [\n  {},\n]\n", rows.join(",\n  "));
    }
}

/// The value whose runs at the rows' ends have the most entries together; of several, the one that ends the last of these
/// rows. No row: none.
fn filler(rows: &[&[i32]]) -> Option<i32> {
    let run = |row: &[i32], end: i32| row.iter().rev().take_while(|&&page| page == end).count();
    let ends = rows.iter().filter_map(|row| row.last().copied());
    ends.max_by_key(|&end| rows.iter().map(|row| run(row, end)).sum::<usize>())
}

fn read_metadata(table: &mut Table<'_>) -> Result<Metadata, CaseError> {
    let num_seqs = table.require("num_seqs", "the number of sequences")?.integer()?;
    let cu_field =
        table.require("cu_q_lens", "cumulative query lengths, one more than rows of the page table")?;
    let cu_q_lens: Vec<i32> = cu_field.integers()?;
    let kv_lens: Vec<i32> = table.require("kv_lens", "cached tokens per sequence")?.integers()?;
    if cu_q_lens.len() != kv_lens.len() + 1 {
        return Err(cu_field.error(format!(
            "has {} entries, kv_lens has {}; it must have one more than kv_lens (write values past num_seqs, too)",
            cu_q_lens.len(),
            kv_lens.len()
        )));
    }
    let fill: Option<i32> = table.get("page_fill").map(|field| field.integer()).transpose()?;
    let columns = table.get("pages_per_seq");
    let rows_field = table.require("page_indices", "the page table, an array of rows")?;
    let rows: Vec<Vec<i32>> = rows_field.items()?.iter().map(Field::integers).collect::<Result<_, _>>()?;
    let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
    let pages_per_seq = match &columns {
        Some(field) => field.integer()?,
        None => longest,
    };
    if longest > pages_per_seq {
        return Err(rows_field
            .error(format!("a row has {longest} entries, more than pages_per_seq = {pages_per_seq}")));
    }
    if rows.len() > kv_lens.len() {
        return Err(rows_field.error(format!(
            "{} rows, but kv_lens has {} entries; the page table has one row an entry",
            rows.len(),
            kv_lens.len()
        )));
    }
    if pages_per_seq.checked_mul(kv_lens.len()).is_none_or(|entries| entries > MAX_TABLE) {
        return Err(rows_field.error(format!("the page table has more than {MAX_TABLE} entries (a row per sequence, pages_per_seq = {pages_per_seq}); use fewer")));
    }
    let mut page_indices = Vec::with_capacity(pages_per_seq * kv_lens.len());
    for index in 0..kv_lens.len() {
        let row = rows.get(index).map_or(&[][..], Vec::as_slice);
        page_indices.extend_from_slice(row);
        match fill {
            Some(fill) => page_indices.resize((index + 1) * pages_per_seq, fill),
            None if row.len() < pages_per_seq => {
                return Err(rows_field.error(format!(
                    "row {index} has {} of {pages_per_seq} entries; complete it, or give `page_fill = 0` for the rest",
                    row.len()
                )));
            }
            None => {}
        }
    }
    Ok(Metadata { kv_lens, page_indices, pages_per_seq, cu_q_lens, num_seqs })
}

fn write_patches(out: &mut String, patches: &[Patch]) {
    if patches.is_empty() {
        return;
    }
    let items: Vec<String> = patches
        .iter()
        .map(|patch| {
            let lane = patch.lane.map_or(String::new(), |lane| format!("lane = {lane}, "));
            format!(
                "{{ target = \"{}\", sequence = {}, token = {}, head = {}, {lane}value = {} }}",
                patch.target.name(),
                patch.sequence,
                patch.token,
                patch.head,
                float(patch.value)
            )
        })
        .collect();
    write_array(out, "patches", &items, MAX_ARRAY_LINES);
}

fn read_payload(mut table: Table<'_>) -> Result<(Payload, Option<String>), CaseError> {
    let name = table.require("pattern", "a pattern with its version, e.g. \"normal@1\"")?;
    let pattern = name.string()?;
    let file = match (table.get("file"), table.get("sha256"), pattern == FILE) {
        (Some(file), Some(sha256), true) => Some(PayloadFile::new(file.string()?, sha256.string()?)),
        (None, None, false) => None,
        _ => {
            return Err(
                name.error(format!("`file` and `sha256` belong to pattern \"{FILE}\", and to no other"))
            );
        }
    };
    let seed = table.require("seed", "an integer that is not negative")?.integer()?;
    let patches = match table.get("patches") {
        Some(field) => field.items()?.iter().map(read_patch).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    let checksum = table.get("checksum").map(|field| field.string()).transpose()?;
    table.finish()?;
    Ok((Payload { pattern, seed, patches, file }, checksum))
}

fn read_patch(field: &Field<'_>) -> Result<Patch, CaseError> {
    let mut table = field.table()?;
    let target = table.require("target", "\"q\", \"k\" or \"v\"")?;
    let name = target.string()?;
    let target = PatchTarget::ALL
        .into_iter()
        .find(|candidate| candidate.name() == name)
        .ok_or_else(|| target.error(format!("unknown target `{name}`; use \"q\", \"k\" or \"v\"")))?;
    let sequence = table.require("sequence", "a sequence below num_seqs")?.integer()?;
    let token =
        table.require("token", "a row of q within the sequence, or a position in its cache")?.integer()?;
    let head = table.require("head", "a query head, or a KV head")?.integer()?;
    let lane = table.get("lane").map(|field| field.integer()).transpose()?;
    let value = table.require("value", "a number, `nan` or `inf`")?.float()? as f32;
    table.finish()?;
    Ok(Patch { target, sequence, token, head, lane, value })
}

fn write_statics(out: &mut String, statics: &StaticOverrides) {
    *out += "\n[case.static]\n";
    for (operand, over) in &statics.operands {
        let shape = over.shape.as_ref().map(|shape| format!("shape = {shape:?}"));
        let dtype = over.dtype.map(|dtype| format!("dtype = \"{}\"", dtype.name()));
        let parts: Vec<String> = shape.into_iter().chain(dtype).collect();
        *out += &format!("{} = {{ {} }}\n", operand.name(), parts.join(", "));
    }
    if !statics.options.is_empty() {
        let value = |value: &OptionValue| match value {
            OptionValue::Absent => "\"none\"".to_owned(),
            OptionValue::Integer(value) => value.to_string(),
            OptionValue::Float(value) if value.is_nan() => "nan".to_owned(),
            OptionValue::Float(value) => format!("{value:?}"),
        };
        let parts: Vec<String> =
            statics.options.iter().map(|(name, option)| format!("{name} = {}", value(option))).collect();
        *out += &format!("options = {{ {} }}\n", parts.join(", "));
    }
}

fn read_statics(table: &Table<'_>) -> Result<StaticOverrides, CaseError> {
    let mut statics = StaticOverrides::default();
    for (key, field) in table.entries() {
        if key == "options" {
            read_options(&field, &mut statics)?;
            continue;
        }
        let Some(operand) = OperandName::ALL.into_iter().find(|operand| operand.name() == key) else {
            let names: Vec<&str> = OperandName::ALL.iter().map(|operand| operand.name()).collect();
            return Err(field.error(format!("unknown operand; use {}, or `options`", names.join(", "))));
        };
        let mut over = field.table()?;
        let shape = over.get("shape").map(|field| field.integers()).transpose()?;
        let dtype = over.get("dtype").map(|field| read_operand_type(&field)).transpose()?;
        over.finish()?;
        statics.operands.insert(operand, OperandOverride { shape, dtype });
    }
    Ok(statics)
}

fn read_options(field: &Field<'_>, statics: &mut StaticOverrides) -> Result<(), CaseError> {
    for (name, value) in field.table()?.entries() {
        if !OPTION_NAMES.contains(&name.as_str()) {
            return Err(value.error(format!("unknown option; use {}", OPTION_NAMES.join(", "))));
        }
        let option = if value.is_integer() {
            OptionValue::Integer(value.integer()?)
        } else if value.is_string() {
            if value.string()? != "none" {
                return Err(value.error("expected a number, or \"none\""));
            }
            OptionValue::Absent
        } else {
            OptionValue::Float(value.float()?)
        };
        statics.options.insert(name, option);
    }
    Ok(())
}

/// An operand's element type by its name.
fn read_operand_type(field: &Field<'_>) -> Result<OperandType, CaseError> {
    let name = field.string()?;
    OperandType::from_name(&name).ok_or_else(|| {
        let names: Vec<&str> = OperandType::all().map(OperandType::name).collect();
        field.error(format!("unknown element type `{name}`; use {}", names.join(", ")))
    })
}

/// An element type of a variant by its name.
pub(crate) fn read_dtype(field: &Field<'_>) -> Result<DType, CaseError> {
    let name = field.string()?;
    DType::from_name(&name).ok_or_else(|| {
        field.error(format!(
            "unknown element type `{name}`; use f32, bf16, f16, f8e4m3fn, f8e5m2, i8, i4, i32, i16"
        ))
    })
}
