//! Changes to a module's text that leave most of it a module: lines and tokens, not bytes.
//!
//! Real modules are a line an op. A line may go, come twice, or change places; an operand, a type or a number of one line may
//! replace one of another. That reaches ill-typed modules that random bytes never spell.
//!
//! Invariant: the same text and seed give the same text.

/// One to four changes to `text`, drawn from `seed`.
pub fn mutated(text: &str, seed: u64) -> String {
    let mut draws = Draws(seed);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=draws.below(4) {
        change(&mut lines, &mut draws);
    }
    lines.join("\n")
}

/// For libFuzzer: changes the first `size` bytes of `data` in place; the new size. What doesn't fit is left as it is.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let Ok(text) = std::str::from_utf8(&data[..size]) else { return size };
    let text = mutated(text, u64::from(seed));
    if text.len() > max_size.min(data.len()) {
        return size;
    }
    data[..text.len()].copy_from_slice(text.as_bytes());
    text.len()
}

fn change(lines: &mut Vec<String>, draws: &mut Draws) {
    if lines.is_empty() {
        return;
    }
    let (at, other) = (draws.below(lines.len()), draws.below(lines.len()));
    match draws.below(10) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(other, lines[at].clone()),
        2 => lines.swap(at, other),
        3 => lines[at] = with_number(&lines[at], draws),
        // The same type everywhere, so that uses still state what definitions say.
        8 | 9 => everywhere(lines, at, other, draws),
        kind => {
            let wanted = [is_operand, is_type, is_type, is_number][kind - 4];
            lines[at] = with_token(&lines[at], &lines[other], wanted, draws);
        }
    }
}

/// `line` with one of its tokens of a kind replaced by one of `other`'s.
fn with_token(line: &str, other: &str, wanted: fn(&str) -> bool, draws: &mut Draws) -> String {
    let mine: Vec<&str> = tokens(line).filter(|token| wanted(token)).collect();
    let theirs: Vec<&str> = tokens(other).filter(|token| wanted(token)).collect();
    if mine.is_empty() || theirs.is_empty() {
        return line.to_owned();
    }
    let (old, new) = (mine[draws.below(mine.len())], theirs[draws.below(theirs.len())]);
    replaced(line, old, new)
}

/// One type of line `at` replaced by one of line `other`, in all lines.
fn everywhere(lines: &mut [String], at: usize, other: usize, draws: &mut Draws) {
    let pick = |line: &str, draws: &mut Draws| {
        let types: Vec<String> = tokens(line).filter(|token| is_type(token)).map(str::to_owned).collect();
        (!types.is_empty()).then(|| types[draws.below(types.len())].clone())
    };
    let (old, new) = (pick(&lines[at], draws), pick(&lines[other], draws));
    if let (Some(old), Some(new)) = (old, new) {
        lines.iter_mut().for_each(|line| *line = line.replace(&old, &new));
    }
}

/// `line` with one of its numbers changed to one near a limit.
fn with_number(line: &str, draws: &mut Draws) -> String {
    const NUMBERS: [&str; 10] =
        ["0", "1", "2", "3", "8", "127", "128", "65536", "2147483647", "9223372036854775807"];
    let mine: Vec<&str> = tokens(line).filter(|token| is_number(token)).collect();
    if mine.is_empty() {
        return line.to_owned();
    }
    replaced(line, mine[draws.below(mine.len())], NUMBERS[draws.below(NUMBERS.len())])
}

/// `line` with `new` where `old`, a part of it, stands.
fn replaced(line: &str, old: &str, new: &str) -> String {
    let at = old.as_ptr() as usize - line.as_ptr() as usize;
    format!("{}{new}{}", &line[..at], &line[at + old.len()..])
}

/// Runs of characters that make a name, a number, or a type.
fn tokens(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '%' | '#' | '_' | '-' | '!' | '.'))
        .filter(|token| !token.is_empty())
}

fn is_operand(token: &str) -> bool {
    token.starts_with('%')
}

fn is_number(token: &str) -> bool {
    token.bytes().all(|byte| byte.is_ascii_digit())
}

/// An element type, or a shape with one.
fn is_type(token: &str) -> bool {
    ["f32", "bf16", "i32", "i1", "i8", "i16", "index", "semaphore", "vmem", "smem", "any"]
        .iter()
        .any(|end| token.ends_with(end))
}

/// SplitMix64.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }
}
