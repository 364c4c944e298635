//! The `when` language of known files: a condition on a batch's metadata and its variant's static shapes.
//!
//! ```text
//! num_seqs >= 1 and any(seq: seq.kv_len == 0 and seq.q_end % q_block != 0)
//! ```
//!
//! Integers with `+ - * / %` (floor division), comparisons, `and`, `or`, `not`, parentheses, `true`, `false`, and
//! `any(seq: …)`, `all(seq: …)` over the batch's sequences. A quantity that a batch doesn't have (`window` without a
//! window, the result of a division by zero) is unknown; logic is three-valued, and an unknown condition doesn't hold.
//!
//! Invariant: parsing and evaluation are total: any text gives a predicate or an error with a place, any batch a truth value.

use countersign_kernels::Variant;
use countersign_kernels::rpa::facts::{grid, kv_block};
use countersign_reference::Metadata;
use winnow::LocatingSlice;
use winnow::ascii::{digit1, multispace0};
use winnow::combinator::{alt, delimited, eof, repeat_till};
use winnow::prelude::*;
use winnow::token::{any, one_of, take_while};

/// Names of a batch's quantities.
pub const BATCH_NAMES: [&str; 18] = [
    "num_seqs",
    "max_seqs",
    "tokens",
    "total_q",
    "longest_kv_len",
    "pages",
    "page_size",
    "pages_per_seq",
    "pages_per_block",
    "kv_block",
    "q_block",
    "head_blocks",
    "window",
    "q_heads",
    "kv_heads",
    "head_dim",
    "q_bits",
    "kv_bits",
];

/// Names of a sequence's quantities, written `seq.NAME`.
pub const SEQUENCE_NAMES: [&str; 9] =
    ["index", "q_start", "q_end", "q_len", "kv_len", "used_pages", "min_page", "max_page", "first_page"];

/// The quantities of one batch that a predicate may ask for, in the order of [`BATCH_NAMES`] and [`SEQUENCE_NAMES`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    batch: [Option<i64>; BATCH_NAMES.len()],
    sequences: Vec<[Option<i64>; SEQUENCE_NAMES.len()]>,
}

impl Facts {
    /// The facts of a batch. Sequences are those below `num_seqs` that the arrays have an entry for.
    pub fn of(variant: &Variant, metadata: &Metadata) -> Facts {
        let Metadata { kv_lens, page_indices, pages_per_seq, cu_q_lens, num_seqs } = metadata;
        let size = |n: usize| i64::try_from(n).ok();
        let page_size = variant.page_size;
        let total_q = usize::try_from(*num_seqs)
            .ok()
            .and_then(|count| cu_q_lens.get(count))
            .map(|&total| i64::from(total));
        let batch = [
            Some(i64::from(*num_seqs)),
            size(variant.max_seqs),
            size(variant.tokens),
            total_q,
            kv_lens.iter().max().map(|&longest| i64::from(longest)),
            size(variant.pages),
            size(page_size),
            size(*pages_per_seq),
            variant.blocks().and_then(|blocks| size(blocks.pages)),
            kv_block(variant).and_then(size),
            variant.blocks().and_then(|blocks| size(blocks.queries)),
            grid(variant).and_then(|[head_blocks, _]| size(head_blocks)),
            variant.options.sliding_window.map(i64::from),
            size(variant.q_heads),
            size(variant.kv_heads),
            size(variant.head_dim),
            size(variant.q_dtype.bits()),
            size(variant.kv_dtype.bits()),
        ];
        let count = usize::try_from(*num_seqs).unwrap_or(0).min(kv_lens.len());
        let sequences = (0..count).map(|sequence| {
            let start = cu_q_lens.get(sequence).map(|&row| i64::from(row));
            let end = cu_q_lens.get(sequence + 1).map(|&row| i64::from(row));
            let kv_len = i64::from(kv_lens[sequence]);
            let used = usize::try_from(kv_len).unwrap_or(0).div_ceil(page_size.max(1));
            let row = page_indices.chunks(*pages_per_seq.max(&1)).nth(sequence).unwrap_or(&[]);
            let first_page = row.first().map(|&page| i64::from(page));
            let row = &row[..used.min(row.len())];
            [
                size(sequence),
                start,
                end,
                start.zip(end).map(|(start, end)| end - start),
                Some(kv_len),
                size(used),
                row.iter().min().map(|&page| i64::from(page)),
                row.iter().max().map(|&page| i64::from(page)),
                first_page,
            ]
        });
        Facts { batch, sequences: sequences.collect() }
    }
}

/// A parsed condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Predicate(Truth);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Truth {
    Literal(bool),
    Compare(Comparison, Number, Number),
    And(Box<Truth>, Box<Truth>),
    Or(Box<Truth>, Box<Truth>),
    Not(Box<Truth>),
    Any(Box<Truth>),
    All(Box<Truth>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Number {
    Literal(i64),
    Batch(usize),
    Sequence(usize),
    Negate(Box<Number>),
    Arithmetic(Arithmetic, Box<Number>, Box<Number>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Why a text is no predicate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {}: {message}", .column + 1)]
pub struct PredicateError {
    /// Byte offset in the text.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

impl Predicate {
    /// Reads a predicate.
    ///
    /// # Errors
    /// The first place that cannot be read, with what was expected.
    pub fn parse(text: &str) -> Result<Predicate, PredicateError> {
        let tokens = tokenize(text)?;
        let mut parser = Grammar { tokens: &tokens, next: 0, end: text.len(), depth: 0, in_sequence: false };
        let truth = parser.truth()?;
        match parser.peek() {
            None => Ok(Predicate(truth)),
            Some(token) => Err(parser.error(format!("unexpected {token}"))),
        }
    }

    /// Whether it holds for a batch.
    pub fn holds(&self, facts: &Facts) -> bool {
        self.0.evaluate(facts, None) == Some(true)
    }
}

impl Truth {
    fn evaluate(&self, facts: &Facts, sequence: Option<usize>) -> Option<bool> {
        match self {
            Truth::Literal(value) => Some(*value),
            Truth::Compare(comparison, left, right) => {
                let (left, right) = (left.evaluate(facts, sequence)?, right.evaluate(facts, sequence)?);
                Some(match comparison {
                    Comparison::Equal => left == right,
                    Comparison::NotEqual => left != right,
                    Comparison::Less => left < right,
                    Comparison::LessEqual => left <= right,
                    Comparison::Greater => left > right,
                    Comparison::GreaterEqual => left >= right,
                })
            }
            Truth::And(left, right) => {
                absorb([left.evaluate(facts, sequence), right.evaluate(facts, sequence)].into_iter(), false)
            }
            Truth::Or(left, right) => {
                absorb([left.evaluate(facts, sequence), right.evaluate(facts, sequence)].into_iter(), true)
            }
            Truth::Not(inner) => inner.evaluate(facts, sequence).map(|value| !value),
            Truth::Any(body) => {
                absorb((0..facts.sequences.len()).map(|i| body.evaluate(facts, Some(i))), true)
            }
            Truth::All(body) => {
                absorb((0..facts.sequences.len()).map(|i| body.evaluate(facts, Some(i))), false)
            }
        }
    }
}

/// Three-valued disjunction (`absorbing` true) or conjunction (false).
fn absorb(values: impl Iterator<Item = Option<bool>>, absorbing: bool) -> Option<bool> {
    let mut result = Some(!absorbing);
    for value in values {
        if value == Some(absorbing) {
            return Some(absorbing);
        }
        if value.is_none() {
            result = None;
        }
    }
    result
}

impl Number {
    fn evaluate(&self, facts: &Facts, sequence: Option<usize>) -> Option<i64> {
        match self {
            Number::Literal(value) => Some(*value),
            Number::Batch(name) => facts.batch[*name],
            Number::Sequence(name) => facts.sequences[sequence?][*name],
            Number::Negate(inner) => inner.evaluate(facts, sequence)?.checked_neg(),
            Number::Arithmetic(arithmetic, left, right) => {
                let (left, right) = (left.evaluate(facts, sequence)?, right.evaluate(facts, sequence)?);
                match arithmetic {
                    Arithmetic::Add => left.checked_add(right),
                    Arithmetic::Subtract => left.checked_sub(right),
                    Arithmetic::Multiply => left.checked_mul(right),
                    // Floor division and its remainder, as in Python; checked_* covers zero and i64::MIN / -1.
                    Arithmetic::Divide => {
                        let quotient = left.checked_div(right)?;
                        let inexact = quotient.checked_mul(right) != Some(left);
                        Some(if inexact && (left < 0) != (right < 0) { quotient - 1 } else { quotient })
                    }
                    Arithmetic::Remainder => {
                        let remainder = left.checked_rem(right)?;
                        Some(if remainder != 0 && (remainder < 0) != (right < 0) {
                            remainder + right
                        } else {
                            remainder
                        })
                    }
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Int(&'a str),
    Word(&'a str),
    Symbol(&'a str),
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Token::Int(text) | Token::Word(text) | Token::Symbol(text)) = self;
        write!(f, "`{text}`")
    }
}

type Located<'a> = (Token<'a>, std::ops::Range<usize>);

fn token<'a>(input: &mut LocatingSlice<&'a str>) -> winnow::Result<Located<'a>> {
    let word = (
        any.verify(|c: &char| c.is_ascii_alphabetic()),
        take_while(0.., |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.'),
    );
    let symbol =
        alt(("==", "!=", "<=", ">=", one_of(['<', '>', '+', '-', '*', '/', '%', '(', ')', ':']).take()));
    delimited(
        multispace0,
        alt((digit1.map(Token::Int), word.take().map(Token::Word), symbol.map(Token::Symbol))).with_span(),
        multispace0,
    )
    .parse_next(input)
}

fn tokenize(text: &str) -> Result<Vec<Located<'_>>, PredicateError> {
    let parsed: Result<(Vec<Located<'_>>, _), _> =
        repeat_till(0.., token, eof).parse(LocatingSlice::new(text));
    parsed.map(|(tokens, _)| tokens).map_err(|error| PredicateError {
        column: error.offset(),
        message: "unexpected character".to_owned(),
    })
}

/// Deep enough for any condition that a person writes, shallow enough for any stack.
const MAX_DEPTH: usize = 64;

struct Grammar<'t> {
    tokens: &'t [Located<'t>],
    next: usize,
    end: usize,
    depth: usize,
    in_sequence: bool,
}

/// What a parenthesis may hold.
enum Either {
    Truth(Truth),
    Number(Number),
}

impl<'t> Grammar<'t> {
    fn peek(&self) -> Option<Token<'t>> {
        self.tokens.get(self.next).map(|(token, _)| *token)
    }

    fn error(&self, message: impl Into<String>) -> PredicateError {
        let column = self.tokens.get(self.next).map_or(self.end, |(_, span)| span.start);
        PredicateError { column, message: message.into() }
    }

    fn take(&mut self, token: Token<'_>) -> bool {
        let found = self.peek() == Some(token);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), PredicateError> {
        if self.take(Token::Symbol(symbol)) {
            Ok(())
        } else {
            Err(self.error(format!("expected `{symbol}`")))
        }
    }

    fn deeper<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, PredicateError>,
    ) -> Result<T, PredicateError> {
        if self.depth == MAX_DEPTH {
            return Err(self.error(format!("nested deeper than {MAX_DEPTH}")));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn truth(&mut self) -> Result<Truth, PredicateError> {
        match self.either()? {
            Either::Truth(truth) => Ok(truth),
            Either::Number(_) => Err(self.error("expected a comparison")),
        }
    }

    fn either(&mut self) -> Result<Either, PredicateError> {
        let first = self.conjunction()?;
        self.chain(first, "or", Self::conjunction, Truth::Or)
    }

    fn conjunction(&mut self) -> Result<Either, PredicateError> {
        let first = self.negation()?;
        self.chain(first, "and", Self::negation, Truth::And)
    }

    fn chain(
        &mut self,
        first: Either,
        word: &str,
        operand: fn(&mut Self) -> Result<Either, PredicateError>,
        join: fn(Box<Truth>, Box<Truth>) -> Truth,
    ) -> Result<Either, PredicateError> {
        let mut left = first;
        // A chain nests to the left, so its length counts as depth, too.
        let mut links = 0;
        while self.peek() == Some(Token::Word(word)) {
            links += 1;
            if links > MAX_DEPTH {
                return Err(self.error(format!("more than {MAX_DEPTH} conditions in a row")));
            }
            let Either::Truth(truth) = left else { return Err(self.error("expected a comparison")) };
            self.next += 1;
            let Either::Truth(right) = operand(self)? else {
                return Err(self.error("expected a comparison"));
            };
            left = Either::Truth(join(Box::new(truth), Box::new(right)));
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Either, PredicateError> {
        if self.take(Token::Word("not")) {
            return match self.deeper(Self::negation)? {
                Either::Truth(truth) => Ok(Either::Truth(Truth::Not(Box::new(truth)))),
                Either::Number(_) => Err(self.error("expected a comparison")),
            };
        }
        let left = self.sum()?;
        let comparison = match self.peek() {
            Some(Token::Symbol("==")) => Comparison::Equal,
            Some(Token::Symbol("!=")) => Comparison::NotEqual,
            Some(Token::Symbol("<")) => Comparison::Less,
            Some(Token::Symbol("<=")) => Comparison::LessEqual,
            Some(Token::Symbol(">")) => Comparison::Greater,
            Some(Token::Symbol(">=")) => Comparison::GreaterEqual,
            _ => return Ok(left),
        };
        let Either::Number(left) = left else { return Err(self.error("only numbers are compared")) };
        self.next += 1;
        match self.sum()? {
            Either::Number(right) => Ok(Either::Truth(Truth::Compare(comparison, left, right))),
            Either::Truth(_) => Err(self.error("only numbers are compared")),
        }
    }

    fn sum(&mut self) -> Result<Either, PredicateError> {
        self.arithmetic(Self::product, |symbol| match symbol {
            "+" => Some(Arithmetic::Add),
            "-" => Some(Arithmetic::Subtract),
            _ => None,
        })
    }

    fn product(&mut self) -> Result<Either, PredicateError> {
        self.arithmetic(Self::unary, |symbol| match symbol {
            "*" => Some(Arithmetic::Multiply),
            "/" => Some(Arithmetic::Divide),
            "%" => Some(Arithmetic::Remainder),
            _ => None,
        })
    }

    fn arithmetic(
        &mut self,
        operand: fn(&mut Self) -> Result<Either, PredicateError>,
        operator: fn(&str) -> Option<Arithmetic>,
    ) -> Result<Either, PredicateError> {
        let mut left = operand(self)?;
        let mut links = 0;
        while let Some(Token::Symbol(symbol)) = self.peek()
            && let Some(arithmetic) = operator(symbol)
        {
            links += 1;
            if links > MAX_DEPTH {
                return Err(self.error(format!("more than {MAX_DEPTH} terms in a row")));
            }
            let Either::Number(number) = left else {
                return Err(self.error("expected a number before this"));
            };
            self.next += 1;
            let Either::Number(right) = operand(self)? else { return Err(self.error("expected a number")) };
            left = Either::Number(Number::Arithmetic(arithmetic, Box::new(number), Box::new(right)));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Either, PredicateError> {
        if self.take(Token::Symbol("-")) {
            return match self.deeper(Self::unary)? {
                Either::Number(number) => Ok(Either::Number(Number::Negate(Box::new(number)))),
                Either::Truth(_) => Err(self.error("expected a number")),
            };
        }
        if self.take(Token::Symbol("(")) {
            let inner = self.deeper(Self::either)?;
            self.expect(")")?;
            return Ok(inner);
        }
        match self.peek() {
            Some(Token::Int(digits)) => {
                let value = digits.parse().map_err(|_| self.error("number out of range"))?;
                self.next += 1;
                Ok(Either::Number(Number::Literal(value)))
            }
            Some(Token::Word(word)) => self.word(word),
            Some(token) => Err(self.error(format!("unexpected {token}"))),
            None => Err(self.error("unexpected end")),
        }
    }

    fn word(&mut self, word: &str) -> Result<Either, PredicateError> {
        let either = match word {
            "true" => Either::Truth(Truth::Literal(true)),
            "false" => Either::Truth(Truth::Literal(false)),
            "any" | "all" => return self.quantifier(word),
            _ => match (word.strip_prefix("seq."), BATCH_NAMES.iter().position(|name| *name == word)) {
                (_, Some(name)) => Either::Number(Number::Batch(name)),
                (Some(_), None) if !self.in_sequence => {
                    return Err(self.error("`seq` is known inside any(seq: …) and all(seq: …) only"));
                }
                (Some(field), None) => match SEQUENCE_NAMES.iter().position(|name| *name == field) {
                    Some(name) => Either::Number(Number::Sequence(name)),
                    None => return Err(self.error(format!("a sequence has {}", SEQUENCE_NAMES.join(", ")))),
                },
                (None, None) => {
                    return Err(self.error(format!("`{word}` is none of {}", BATCH_NAMES.join(", "))));
                }
            },
        };
        self.next += 1;
        Ok(either)
    }

    fn quantifier(&mut self, word: &str) -> Result<Either, PredicateError> {
        if self.in_sequence {
            return Err(self.error("any and all don't nest"));
        }
        self.next += 1;
        self.expect("(")?;
        if !self.take(Token::Word("seq")) {
            return Err(self.error("expected `seq:`"));
        }
        self.expect(":")?;
        self.in_sequence = true;
        let body = self.deeper(Self::truth)?;
        self.in_sequence = false;
        self.expect(")")?;
        let body = Box::new(body);
        Ok(Either::Truth(if word == "any" { Truth::Any(body) } else { Truth::All(body) }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Two sequences, (q, kv) = (3, 5) and (2, 40), pages of 16, no window.
    fn facts() -> Facts {
        let mut batch = [None; BATCH_NAMES.len()];
        for (name, value) in [
            ("num_seqs", 2),
            ("max_seqs", 4),
            ("tokens", 8),
            ("total_q", 5),
            ("page_size", 16),
            ("q_block", 8),
        ] {
            batch[BATCH_NAMES.iter().position(|known| *known == name).unwrap()] = Some(value);
        }
        let sequences = vec![
            [Some(0), Some(0), Some(3), Some(3), Some(5), Some(1), Some(7), Some(7), Some(7)],
            [Some(1), Some(3), Some(5), Some(2), Some(40), Some(3), Some(1), Some(9), Some(4)],
        ];
        Facts { batch, sequences }
    }

    #[test]
    fn evaluates() {
        for (text, expected) in [
            ("true", true),
            ("num_seqs == 2 and total_q < tokens", true),
            ("not num_seqs == 2", false),
            ("num_seqs + 2 * 3 == 8", true),
            ("(num_seqs + 2) * 3 == 12", true),
            ("num_seqs - 1 - 1 == 0", true),
            ("any(seq: seq.kv_len > 2 * page_size)", true),
            ("all(seq: seq.kv_len > 2 * page_size)", false),
            ("all(seq: seq.q_len <= seq.kv_len)", true),
            ("any(seq: seq.index == 1 and seq.q_end % q_block != 0)", true),
            ("any(seq: seq.max_page >= 9 or seq.min_page < 0)", true),
            ("-7 / 2 == -4 and -7 % 2 == 1", true),
            ("false or true and false", false),
            ("true or false and false", true),
            ("(num_seqs == 2) and ((tokens == 8))", true),
            // Unknown: doesn't hold, nor does its negation; but a truth beside it decides.
            ("window > 3", false),
            ("not window > 3", false),
            ("window > 3 or true", true),
            ("num_seqs / 0 == 1", false),
            ("9223372036854775807 + num_seqs > 0", false),
        ] {
            let predicate = Predicate::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(predicate.holds(&facts()), expected, "{text}");
        }
    }

    #[test]
    fn quantifiers_over_no_sequence() {
        let mut empty = facts();
        empty.sequences.clear();
        assert!(!Predicate::parse("any(seq: true)").unwrap().holds(&empty));
        assert!(Predicate::parse("all(seq: false)").unwrap().holds(&empty));
    }

    #[test]
    fn errors_have_a_place() {
        for (text, column, word) in [
            ("", 0, "end"),
            ("num_seqs", 8, "comparison"),
            ("num_seqs ==", 11, "end"),
            ("num_seqs = 2", 9, "character"),
            ("nun_seqs == 2", 0, "nun_seqs"),
            ("seq.kv_len == 2", 0, "any(seq"),
            ("any(seq: seq.length == 2)", 9, "q_len"),
            ("any(seq: any(seq: true))", 9, "nest"),
            ("num_seqs == 2)", 13, "`)`"),
            ("num_seqs == 99999999999999999999", 12, "range"),
            ("num_seqs == ü", 12, "character"),
        ] {
            let error = Predicate::parse(text).unwrap_err();
            assert_eq!(error.column, column, "{text}: {error}");
            assert!(error.message.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        for text in [
            format!("{}true{}", "(".repeat(100_000), ")".repeat(100_000)),
            format!("{}true", "not ".repeat(100_000)),
            format!("{}1 == 1", "-".repeat(100_000)),
            format!("1{} == 1", "+1".repeat(100_000)),
            format!("true{}", " and true".repeat(100_000)),
        ] {
            assert!(Predicate::parse(&text).is_err());
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = Predicate::parse(&text);
        }

        #[test]
        fn no_mix_of_tokens_panics(tokens in proptest::collection::vec(proptest::sample::select(vec![
            "any", "all", "(", ")", "seq", ":", "seq.kv_len", "num_seqs", "window", "not", "and", "or", "==", "<", "-", "/",
            "%", "*", "0", "-1", "9223372036854775807", "true",
        ]), 0..14)) {
            if let Ok(predicate) = Predicate::parse(&tokens.join(" ")) {
                predicate.holds(&facts());
            }
        }
    }
}
