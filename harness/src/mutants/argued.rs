//! Mutants that mean the same by a written argument.
//!
//! Invariant: an argument is asked for survivors alone, so it never stands against a finding.

use serde::Deserialize;

/// The arguments that come with the program.
const BUILTIN: &str = include_str!("equivalent.toml");

/// All arguments.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    equivalent: Vec<Argument>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Argument {
    line: String,
    next: Option<String>,
    operators: Vec<String>,
    argument: String,
}

impl Arguments {
    /// Those that come with the program.
    ///
    /// # Errors
    /// If they can't be read: a fault of ours.
    pub(super) fn builtin() -> Result<Arguments, String> {
        toml::from_str(BUILTIN).map_err(|error| error.to_string())
    }

    /// Why a mutant by `operator` means the same, if somebody has said so; `lines` are those of its stack, each with the next one
    /// of the file.
    pub(super) fn of<'l>(
        &self,
        operator: &str,
        mut lines: impl Iterator<Item = (&'l str, &'l str)>,
    ) -> Option<&str> {
        lines.find_map(|(line, next)| {
            let fits = |argument: &&Argument| {
                argument.line == line.trim()
                    && argument.next.as_ref().is_none_or(|wanted| wanted == next.trim())
                    && argument.operators.iter().any(|name| name == operator)
            };
            self.equivalent.iter().find(fits).map(|argument| argument.argument.as_str())
        })
    }
}

#[cfg(test)]
mod tests {
    use countersign_mosaic::mutation::Operator;

    use super::*;

    #[test]
    fn arguments_name_operators_and_fit_their_line_alone() {
        let arguments = Arguments::builtin().unwrap();
        let known: Vec<&str> = Operator::ALL.into_iter().map(Operator::name).collect();
        for argument in &arguments.equivalent {
            assert!(argument.operators.iter().all(|name| known.contains(&name.as_str())), "{argument:?}");
        }
        let of = |operator, line, next| arguments.of(operator, [(line, next)].into_iter());
        assert!(of("index-up", "      async_copy.wait()", "").is_some());
        assert_eq!(of("no-wait", "      async_copy.wait()", ""), None);
        assert_eq!(of("index-up", "async_copy.start()", ""), None);
        assert!(of("unmask", "masked_store(", "    head_l_ref,").is_some());
        assert_eq!(of("unmask", "masked_store(", "    head_acc_ref,"), None);
    }
}
