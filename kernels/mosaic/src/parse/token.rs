//! The lexical level: trivia, punctuation, names, strings, numbers and balanced text, and the parser's error.
//!
//! Invariant: every function here skips trivia (blanks and `//` comments) before what it reads, so that a failure points
//! at the offending token.

use super::{ParseError, State};
use std::borrow::Cow;
use winnow::Parser;
use winnow::ascii::digit1;
use winnow::combinator::opt;
use winnow::error::ParserError;
use winnow::stream::{LocatingSlice, Location as _, Stateful, Stream as _};
use winnow::token::{literal, take, take_while};

/// The text and what the parser carries along.
pub(super) type Input<'a> = Stateful<LocatingSlice<&'a str>, State<'a>>;

/// What a parser gives.
pub(super) type Outcome<T> = Result<T, Failure>;

/// A failure: the byte offset and the sentence.
#[derive(Debug)]
pub(super) struct Failure {
    offset: usize,
    message: Cow<'static, str>,
}

impl Failure {
    /// A failure at a byte offset.
    pub(super) fn at(offset: usize, message: impl Into<Cow<'static, str>>) -> Failure {
        Failure { offset, message: message.into() }
    }

    /// The public form, with line and column in `text`.
    pub(super) fn locate(self, text: &str) -> ParseError {
        let before = text.get(..self.offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        ParseError {
            line: before.bytes().filter(|&byte| byte == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            // Types in a message are quoted as written, perhaps over several lines.
            message: self.message.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }
}

impl ParserError<Input<'_>> for Failure {
    type Inner = Failure;

    fn from_input(input: &Input<'_>) -> Failure {
        Failure::at(input.current_token_start(), "unexpected text")
    }

    fn into_inner(self) -> Result<Failure, Failure> {
        Ok(self)
    }
}

/// The text not yet read.
pub(super) fn rest<'a>(input: &Input<'a>) -> &'a str {
    input.input.peek_finish()
}

/// The next character, which may be a blank.
pub(super) fn peek(input: &Input<'_>) -> Option<char> {
    input.peek_token()
}

/// Skips blanks and comments.
pub(super) fn trivia(input: &mut Input<'_>) {
    loop {
        skip_while(input, |c: char| c.is_ascii_whitespace());
        if !rest(input).starts_with("//") {
            return;
        }
        skip_while(input, |c| c != '\n');
    }
}

/// Skips the characters at the front that satisfy `wanted` and returns them.
fn skip_while<'a>(input: &mut Input<'a>, wanted: impl Fn(char) -> bool) -> &'a str {
    let text = rest(input);
    let length = text.find(|c| !wanted(c)).unwrap_or(text.len());
    input.next_slice(length)
}

/// A failure at the next token: what was expected there and what there is.
pub(super) fn expected<T>(input: &mut Input<'_>, what: &str) -> Outcome<T> {
    trivia(input);
    let text = rest(input);
    let found: String = text.chars().take_while(|&c| c != '\n').take(24).collect();
    let message = if text.is_empty() {
        format!("expected {what}, but the text ends")
    } else {
        format!("expected {what}, found `{found}`")
    };
    Err(Failure::at(input.current_token_start(), message))
}

/// Whether the next token starts with `text`.
pub(super) fn at(input: &mut Input<'_>, text: &str) -> bool {
    trivia(input);
    rest(input).starts_with(text)
}

/// Reads `text` if it is next.
pub(super) fn eat(input: &mut Input<'_>, text: &'static str) -> bool {
    trivia(input);
    matches!(opt(literal::<_, _, Failure>(text)).parse_next(input), Ok(Some(_)))
}

/// Reads `text` or fails.
pub(super) fn punct(input: &mut Input<'_>, text: &'static str) -> Outcome<()> {
    if eat(input, text) { Ok(()) } else { expected(input, &format!("`{text}`")) }
}

/// Reads a keyword if it is next and no longer word starts with it.
pub(super) fn eat_word(input: &mut Input<'_>, word: &'static str) -> bool {
    let follows = |text: &str| text.strip_prefix(word).is_some_and(|tail| !tail.starts_with(is_name));
    at(input, word) && follows(rest(input)) && eat(input, word)
}

/// `open item, item close`.
pub(super) fn list<'a, T>(
    input: &mut Input<'a>,
    open: &'static str,
    close: &'static str,
    mut item: impl FnMut(&mut Input<'a>) -> Outcome<T>,
) -> Outcome<Vec<T>> {
    punct(input, open)?;
    let mut items = Vec::new();
    if eat(input, close) {
        return Ok(items);
    }
    loop {
        items.push(item(input)?);
        if !eat(input, ",") {
            break;
        }
    }
    if !eat(input, close) {
        return expected(input, &format!("`,` or `{close}`"));
    }
    Ok(items)
}

/// Whether `c` may continue a name.
pub(super) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$')
}

/// A name: letters, digits, `_`, `.` and `$`, not empty.
pub(super) fn name<'a>(input: &mut Input<'a>, what: &str) -> Outcome<&'a str> {
    trivia(input);
    match take_while::<_, _, Failure>(1.., is_name).parse_next(input) {
        Ok(text) => Ok(text),
        Err(_) => expected(input, what),
    }
}

/// The name after a sigil, such as `%arg0`, `^bb0`, `#loc3`; `-` may be part of it.
pub(super) fn sigil_name<'a>(input: &mut Input<'a>, sigil: &'static str, what: &str) -> Outcome<&'a str> {
    if !eat(input, sigil) {
        return expected(input, what);
    }
    match take_while::<_, _, Failure>(1.., |c| is_name(c) || c == '-').parse_next(input) {
        Ok(text) => Ok(text),
        Err(_) => expected(input, what),
    }
}

/// A decimal number without sign that fits `T`.
pub(super) fn unsigned<T: std::str::FromStr>(input: &mut Input<'_>, what: &str) -> Outcome<T> {
    trivia(input);
    let start = input.current_token_start();
    match digit1::<_, Failure>.parse_next(input) {
        Ok(digits) => {
            digits.parse().map_err(|_| Failure::at(start, format!("{digits} is too large for {what}")))
        }
        Err(_) => expected(input, what),
    }
}

/// A string with its escapes replaced: `\n`, `\t`, `\"`, `\\` and bytes as `\22`.
pub(super) fn string<'a>(input: &mut Input<'a>, what: &str) -> Outcome<Cow<'a, str>> {
    if !eat(input, "\"") {
        return expected(input, what);
    }
    let start = input.current_token_start();
    let plain = skip_while(input, |c| !matches!(c, '"' | '\\' | '\n'));
    if eat_char(input, '"') {
        return Ok(Cow::Borrowed(plain));
    }
    let mut bytes = plain.as_bytes().to_vec();
    loop {
        bytes.extend_from_slice(skip_while(input, |c| !matches!(c, '"' | '\\' | '\n')).as_bytes());
        if eat_char(input, '"') {
            break;
        }
        if !eat_char(input, '\\') {
            return Err(Failure::at(start, "this string isn't closed on its line"));
        }
        bytes.push(escape(input)?);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Cow::Owned(text)),
        Err(_) => Err(Failure::at(start, "the escapes of this string don't give UTF-8")),
    }
}

/// What stands after a backslash.
fn escape(input: &mut Input<'_>) -> Outcome<u8> {
    let offset = input.current_token_start();
    let next = rest(input);
    match next.chars().next() {
        Some('n') => Ok((input.next_slice(1), b'\n').1),
        Some('t') => Ok((input.next_slice(1), b'\t').1),
        Some('"') => Ok((input.next_slice(1), b'"').1),
        Some('\\') => Ok((input.next_slice(1), b'\\').1),
        _ => match next.get(..2).filter(|pair| pair.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            Some(pair) => {
                input.next_slice(2);
                u8::from_str_radix(pair, 16).map_err(|_| Failure::at(offset, "this escape is unknown"))
            }
            None => Err(Failure::at(offset, "this escape is unknown")),
        },
    }
}

/// Reads `c` if it is the very next character.
fn eat_char(input: &mut Input<'_>, c: char) -> bool {
    let next = peek(input) == Some(c);
    if next {
        input.next_slice(c.len_utf8());
    }
    next
}

/// The text of one bracketed group, brackets included: `<`, `(`, `[` and `{` balanced, strings skipped, `->` no bracket.
pub(super) fn balanced<'a>(input: &mut Input<'a>) -> Outcome<&'a str> {
    trivia(input);
    let start = input.current_token_start();
    let text = rest(input);
    if !text.starts_with(['<', '(', '[', '{']) {
        return Err(Failure::at(start, "a bracket is expected here"));
    }
    let bytes = text.as_bytes();
    let mut open = Vec::new();
    let mut index = 0;
    while let Some(&byte) = bytes.get(index) {
        match byte {
            b'<' => open.push(b'>'),
            b'(' => open.push(b')'),
            b'[' => open.push(b']'),
            b'{' => open.push(b'}'),
            b'-' if bytes.get(index + 1) == Some(&b'>') => index += 1,
            b'>' | b')' | b']' | b'}' => {
                let opened = open.pop();
                if opened != Some(byte) {
                    return Err(Failure::at(start + index, format!("`{}` closes nothing", byte as char)));
                }
            }
            b'"' => match string_end(bytes, index) {
                Some(end) => index = end,
                None => return Err(Failure::at(start + index, "this string isn't closed on its line")),
            },
            _ => {}
        }
        index += 1;
        if open.is_empty() {
            break;
        }
    }
    if !open.is_empty() {
        return Err(Failure::at(start, "this bracket isn't closed"));
    }
    take::<_, _, Failure>(text[..index].chars().count()).parse_next(input)
}

/// The index of the quote that closes the string which opens at `start`.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut index = start + 1;
    while let Some(&byte) = bytes.get(index) {
        match byte {
            b'"' => return Some(index),
            b'\n' => return None,
            b'\\' => index += 2,
            _ => index += 1,
        }
    }
    None
}
