//! Regular expressions: REGEXP / RLIKE and the REGEXP_ functions.
//!
//! Matching takes time linear in the subject whatever the pattern, which rules out backreferences and look-around:
//! patterns with those are refused (error 3690) where MySQL's ICU would run them. The rest of the syntax is the same
//! for what is commonly written.

use regex::{Captures, Regex, RegexBuilder};
use regex_syntax::ast::ErrorKind;
use regex_syntax::ast::parse::Parser;
use regex_syntax::hir::{Hir, HirKind};

use super::super::{EvalError, Function};
use super::Call;
use crate::convert::to_text;
use crate::{Collation, Value, ValueRef};

/// Memory a compiled pattern may take.
const PATTERN_SIZE_MAX: usize = 1 << 20;

/// Work per byte of a subject and state of a pattern.
const WORK_PER_STATE: usize = 16;

/// Bytes of a pattern. The parser takes hundreds of bytes for each before the size of the compiled pattern is known: a pattern of
/// megabytes, as SPACE() makes one, held its worker for seconds, and the cluster excluded the node. A text of this size is compiled to
/// more than [`PATTERN_SIZE_MAX`].
const PATTERN_LENGTH_MAX: usize = 64 << 10;

/// The last pattern compiled: it is the same on every row as a rule.
#[derive(Default)]
pub(in super::super) struct RegexCache {
    last: Option<(String, String, bool, Regex, usize)>,
}

impl RegexCache {
    fn get(
        &mut self,
        pattern: &str,
        flags: &str,
        case_sensitive: bool,
    ) -> Result<(&Regex, usize), EvalError> {
        let hit = self.last.as_ref().is_some_and(|(known, known_flags, sensitive, ..)| {
            known == pattern && known_flags == flags && *sensitive == case_sensitive
        });
        if !hit {
            if pattern.is_empty() {
                return Err(illegal_argument());
            }
            if PATTERN_LENGTH_MAX < pattern.len() {
                return Err(too_big());
            }
            let mut insensitive = !case_sensitive;
            let (mut lines, mut dot, mut unix) = (false, false, true);
            for flag in flags.chars() {
                match flag {
                    'c' => insensitive = false,
                    'i' => insensitive = true,
                    'm' => lines = true,
                    'n' => dot = true,
                    'u' => unix = true,
                    _ => {
                        return Err(EvalError::raised(1210, "Incorrect arguments to regexp_like"));
                    }
                }
            }
            let compiled = RegexBuilder::new(pattern)
                .case_insensitive(insensitive)
                .multi_line(lines)
                .dot_matches_new_line(dot)
                .crlf(!unix)
                .size_limit(PATTERN_SIZE_MAX)
                .build()
                .map_err(|error| refusal(pattern, &error))?;
            let states = states(pattern);
            self.last = Some((pattern.into(), flags.into(), case_sensitive, compiled, states));
        }
        let (.., regex, states) = self.last.as_ref().expect("just set");
        Ok((regex, *states))
    }
}

/// About the number of states of the automaton that a pattern becomes. A match may look at each for each byte of the subject.
fn states(pattern: &str) -> usize {
    fn count(hir: &Hir) -> usize {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => 1,
            HirKind::Literal(literal) => literal.0.len(),
            HirKind::Class(_) => 4,
            HirKind::Repetition(repetition) => {
                let times = repetition.max.unwrap_or(repetition.min).max(1);
                count(&repetition.sub).saturating_mul(times as usize)
            }
            HirKind::Capture(capture) => 2 + count(&capture.sub),
            HirKind::Concat(parts) | HirKind::Alternation(parts) => {
                parts.iter().map(count).fold(1, usize::saturating_add)
            }
        }
    }
    regex_syntax::parse(pattern).map_or(1, |hir| count(&hir))
}

fn illegal_argument() -> EvalError {
    EvalError::raised(3685, "Illegal argument to a regular expression.")
}

/// What is wrong with a pattern, by MySQL's numbers.
fn refusal(pattern: &str, error: &regex::Error) -> EvalError {
    if matches!(error, regex::Error::CompiledTooBig(_)) {
        return too_big();
    }
    let Err(error) = Parser::new().parse(pattern) else { return illegal_argument() };
    let start = error.span().start;
    use ErrorKind::*;
    match error.kind() {
        CaptureLimitExceeded | NestLimitExceeded(_) => too_big(),
        ClassUnclosed => EvalError::raised(
            3696,
            "The regular expression contains an unclosed bracket expression.",
        ),
        ClassRangeInvalid | ClassRangeLiteral => EvalError::raised(
            3697,
            "The regular expression contains an [x-y] character range where x comes after y.",
        ),
        ClassEscapeInvalid
        | EscapeHexEmpty
        | EscapeHexInvalid
        | EscapeHexInvalidDigit
        | EscapeUnexpectedEof
        | EscapeUnrecognized
        | UnicodeClassInvalid
        | SpecialWordBoundaryUnclosed
        | SpecialWordBoundaryUnrecognized
        | SpecialWordOrRepetitionUnexpectedEof => {
            EvalError::raised(3689, "Unrecognized escape sequence in regular expression.")
        }
        GroupUnclosed | GroupUnopened => {
            EvalError::raised(3691, "Mismatched parenthesis in regular expression.")
        }
        DecimalEmpty | DecimalInvalid | RepetitionCountDecimalEmpty | RepetitionCountUnclosed => {
            EvalError::raised(3692, "Incorrect description of a {min,max} interval.")
        }
        RepetitionCountInvalid => {
            EvalError::raised(3693, "The maximum is less than the minimum in a {min,max} interval.")
        }
        UnsupportedBackreference | UnsupportedLookAround => EvalError::raised(
            3690,
            "The regular expression contains a feature that is not implemented in this library \
             version.",
        ),
        GroupNameDuplicate { .. } | GroupNameEmpty | GroupNameInvalid | GroupNameUnexpectedEof => {
            EvalError::raised(3887, "A capture group has an invalid name.")
        }
        FlagDanglingNegation
        | FlagDuplicate { .. }
        | FlagRepeatedNegation { .. }
        | FlagUnexpectedEof
        | FlagUnrecognized => {
            EvalError::raised(3900, "Invalid match mode flag in regular expression.")
        }
        RepetitionMissing => EvalError::raised(
            3688,
            format!(
                "Syntax error in regular expression on line {}, character {}.",
                start.line, start.column
            ),
        ),
        _ => illegal_argument(),
    }
}

fn too_big() -> EvalError {
    EvalError::raised(3700, "The regular expression pattern exceeds limits on size or complexity.")
}

/// What a match is replaced by, as ICU reads it: `$1` is a group, with as many digits as there are groups for, and whatever is behind a
/// backslash is itself.
fn replace_by(found: &Captures<'_>, replacement: &str, out: &mut String) -> Result<(), EvalError> {
    let mut rest = replacement.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '\\' => out.extend(rest.next()),
            '$' => {
                let mut group: Option<usize> = None;
                while let Some(digit) = rest.peek().and_then(|letter| letter.to_digit(10)) {
                    let longer = 10 * group.unwrap_or(0) + digit as usize;
                    if found.len() <= longer {
                        break;
                    }
                    group = Some(longer);
                    rest.next();
                }
                let Some(group) = group else {
                    return Err(match rest.peek() {
                        Some(letter) if letter.is_ascii_digit() => EvalError::raised(
                            3686,
                            "Index out of bounds in regular expression search.",
                        ),
                        _ => EvalError::raised(3887, "A capture group has an invalid name."),
                    });
                };
                out.push_str(found.get(group).map_or("", |found| found.as_str()));
            }
            _ => out.push(letter),
        }
    }
    Ok(())
}

impl Call<'_, '_, '_> {
    pub(super) fn regexp(&mut self) -> Result<Value, EvalError> {
        let has_flags = self.function == Function::RegexpLike && self.has(2);
        let flags = if has_flags { self.text(2) } else { "".into() };
        let (subject, pattern) = (self.text(0), self.text(1));
        let collation = match (self.values[0], self.values[1]) {
            (ValueRef::Bytes(_), _) | (_, ValueRef::Bytes(_)) => Collation::Utf8mb4Bin,
            (subject, pattern) => {
                subject.collation().or(pattern.collation()).unwrap_or(Collation::DEFAULT)
            }
        };
        let sensitive = collation.is_case_sensitive();
        let max = self.ctx.max_allowed_packet;
        let (_, states) = self.ctx.regex.get(&pattern, &flags, sensitive)?;
        self.ctx.spend(subject.len().saturating_mul(states.saturating_mul(WORK_PER_STATE)))?;
        let (regex, _) = self.ctx.regex.get(&pattern, &flags, sensitive)?;
        Ok(match self.function {
            Function::RegexpLike => Value::from(i64::from(regex.is_match(&subject))),
            Function::RegexpInstr => {
                let place = regex
                    .find(&subject)
                    .map_or(0, |found| subject[..found.start()].chars().count() as i64 + 1);
                Value::from(place)
            }
            Function::RegexpSubstr => match regex.find(&subject) {
                Some(found) => Value::text(found.as_str(), collation),
                None => Value::Null,
            },
            Function::RegexpReplace => {
                let replacement = to_text(self.values[2]);
                let mut out = String::new();
                let mut end = 0;
                let mut too_long = false;
                for found in regex.captures_iter(&subject) {
                    let whole = found.get(0).expect("group 0 is the match");
                    out.push_str(&subject[end..whole.start()]);
                    replace_by(&found, &replacement, &mut out)?;
                    end = whole.end();
                    too_long = out.len() > max;
                    if too_long {
                        break;
                    }
                }
                if too_long {
                    return Ok(self.too_long());
                }
                out.push_str(&subject[end..]);
                Value::text(&out, collation)
            }
            function => unreachable!("{function:?} is no function of regular expressions"),
        })
    }
}
