//! A strict reader of TOML tables: every value carries its line, every key must be asked for.
//!
//! Invariant: any text gives a value or an error with a line and a remedy; nothing here panics. [`Table::finish`] rejects
//! the keys that nobody asked for, so a misspelt key is never ignored.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::CaseError;

/// A parsed text.
pub(crate) struct Document<'t> {
    text: &'t str,
    root: Spanned<DeTable<'t>>,
}

impl<'t> Document<'t> {
    /// Parses TOML; a syntax error carries its line.
    pub(crate) fn parse(text: &'t str) -> Result<Document<'t>, CaseError> {
        match DeTable::parse(text) {
            Ok(root) => Ok(Document { text, root }),
            Err(error) => Err(CaseError {
                line: error.span().map(|span| line_of(text, span.start)),
                message: format!("not valid TOML: {}", error.message()),
            }),
        }
    }

    /// The top-level table.
    pub(crate) fn root(&self) -> Table<'_> {
        Table {
            text: self.text,
            path: String::new(),
            table: self.root.get_ref(),
            start: 0,
            known: Vec::new(),
        }
    }
}

/// The 1-based line of a byte offset.
fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|&&byte| byte == b'\n').count() + 1
}

/// A table being read.
pub(crate) struct Table<'d> {
    text: &'d str,
    path: String,
    table: &'d DeTable<'d>,
    start: usize,
    known: Vec<&'static str>,
}

impl<'d> Table<'d> {
    /// The value of `key`, if present; the key counts as known from now on.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<Field<'d>> {
        self.known.push(key);
        let value = self.table.get(key)?;
        Some(Field { text: self.text, path: self.join(key), value })
    }

    /// The value of `key`; its absence is an error that says what belongs there.
    pub(crate) fn require(&mut self, key: &'static str, remedy: &str) -> Result<Field<'d>, CaseError> {
        self.get(key).ok_or_else(|| self.error(format!("`{}` is missing: {remedy}", self.join(key))))
    }

    /// All entries, for tables whose keys are data.
    pub(crate) fn entries(&self) -> Vec<(String, Field<'d>)> {
        let field = |key: &str, value| Field { text: self.text, path: self.join(key), value };
        self.table
            .iter()
            .map(|(key, value)| (key.get_ref().to_string(), field(key.get_ref(), value)))
            .collect()
    }

    /// Rejects keys that were never asked for.
    pub(crate) fn finish(self) -> Result<(), CaseError> {
        for key in self.table.keys() {
            if !self.known.contains(&key.get_ref().as_ref()) {
                let line = Some(line_of(self.text, key.span().start));
                let place =
                    if self.path.is_empty() { "a file".to_owned() } else { format!("`{}`", self.path) };
                let message =
                    format!("unknown key `{}`; {place} may have: {}", key.get_ref(), self.known.join(", "));
                return Err(CaseError { line, message });
            }
        }
        Ok(())
    }

    /// An error at the table's first line.
    pub(crate) fn error(&self, message: String) -> CaseError {
        CaseError { line: Some(line_of(self.text, self.start)), message }
    }

    fn join(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// A value with its place.
#[derive(Clone)]
pub(crate) struct Field<'d> {
    text: &'d str,
    path: String,
    value: &'d Spanned<DeValue<'d>>,
}

impl<'d> Field<'d> {
    /// An error at this value's line.
    pub(crate) fn error(&self, message: impl std::fmt::Display) -> CaseError {
        CaseError {
            line: Some(line_of(self.text, self.value.span().start)),
            message: format!("`{}`: {message}", self.path),
        }
    }

    fn expected(&self, what: &str) -> CaseError {
        self.error(format!("expected {what}, found {}", self.value.get_ref().type_str()))
    }

    /// Whether this is a table.
    pub(crate) fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    /// Whether this is a string.
    pub(crate) fn is_string(&self) -> bool {
        self.value.get_ref().is_str()
    }

    /// Whether this is an integer.
    pub(crate) fn is_integer(&self) -> bool {
        self.value.get_ref().is_integer()
    }

    /// A string.
    pub(crate) fn string(&self) -> Result<String, CaseError> {
        self.value.get_ref().as_str().map(str::to_owned).ok_or_else(|| self.expected("a string"))
    }

    /// A boolean.
    pub(crate) fn boolean(&self) -> Result<bool, CaseError> {
        self.value.get_ref().as_bool().ok_or_else(|| self.expected("true or false"))
    }

    /// An integer that fits `T`.
    pub(crate) fn integer<T: TryFrom<i128>>(&self) -> Result<T, CaseError> {
        let integer = self.value.get_ref().as_integer().ok_or_else(|| self.expected("an integer"))?;
        let value = i128::from_str_radix(integer.as_str(), integer.radix()).ok();
        value.and_then(|value| T::try_from(value).ok()).ok_or_else(|| {
            self.error(format!("{integer} does not fit; use a value of type {}", std::any::type_name::<T>()))
        })
    }

    /// A number as f64; an integer is taken as one.
    pub(crate) fn float(&self) -> Result<f64, CaseError> {
        match self.value.get_ref() {
            DeValue::Float(float) => {
                float.as_str().parse().map_err(|_| self.error(format!("{float} is not a number")))
            }
            DeValue::Integer(_) => self.integer::<i64>().map(|value| value as f64),
            _ => Err(self.expected("a number")),
        }
    }

    /// The items of an array.
    pub(crate) fn items(&self) -> Result<Vec<Field<'d>>, CaseError> {
        let array = self.value.get_ref().as_array().ok_or_else(|| self.expected("an array"))?;
        let item = |(index, value)| Field { text: self.text, path: format!("{}[{index}]", self.path), value };
        Ok(array.iter().enumerate().map(item).collect())
    }

    /// An array of integers that fit `T`.
    pub(crate) fn integers<T: TryFrom<i128>>(&self) -> Result<Vec<T>, CaseError> {
        self.items()?.iter().map(Field::integer).collect()
    }

    /// An array of strings.
    pub(crate) fn strings(&self) -> Result<Vec<String>, CaseError> {
        self.items()?.iter().map(Field::string).collect()
    }

    /// A table.
    pub(crate) fn table(&self) -> Result<Table<'d>, CaseError> {
        let table = self.value.get_ref().as_table().ok_or_else(|| self.expected("a table"))?;
        let start = self.value.span().start;
        Ok(Table { text: self.text, path: self.path.clone(), table, start, known: Vec::new() })
    }
}
