//! The parser's bounds, with the arithmetic behind them.

/// Longest statement text, in bytes: MySQL's default max_allowed_packet. Token offsets fit in u32.
pub const STATEMENT_SIZE_MAX: usize = 64 << 20;

/// The stack of the threads that run statements, which the bounds below are for: a test takes
/// statements of every deepest kind through parser, binder, wire form and evaluation on one of this
/// size, in a development build, whose frames are larger than those of a release.
pub const STACK_SIZE: usize = 16 << 20;

/// Deepest recursion of the parser: parentheses, subqueries, operators waiting for their right
/// operand. A level costs up to 3.5 kB of stack in an optimised build and 16 kB in one that is not
/// optimised at all: 640 levels are 2.3 MB, and 10.5 MB. `a=0 OR (b=1 OR (...` takes two levels a
/// parenthesis.
pub const NESTING_MAX: u32 = 640;

/// Tallest tree. Parsed by a loop, `1+1+1+...` is a left ladder that costs the parser no stack, but
/// whoever walks the tree recursively: binder and evaluator, which a development build takes 640
/// steps down on less than [`STACK_SIZE`].
pub const HEIGHT_MAX: u32 = 640;

/// Most expressions in a statement: at up to 150 bytes each, 300 MB for the longest tree. A 16 MiB
/// bulk INSERT of 8-byte values stays below.
pub const EXPRESSION_COUNT_MAX: u32 = 2_000_000;

/// Most expressions outside of the rows of INSERT and REPLACE. These are bound and evaluated row by row; all others are bound
/// at once, at 0.3 microseconds each, during which the worker serves no other session.
pub const EXPRESSION_COUNT_MAX_AT_ONCE: u32 = 250_000;

/// Most literals of a digest. Statements with more are not worth a place among the plans: a bulk
/// INSERT's plan is as large as its text, and looking for it would be another pass over that.
pub const DIGEST_LITERAL_COUNT_MAX: usize = 512;

/// Longest text in a syntax error's `near '...'`, in characters, as MySQL cuts it.
pub const NEAR_LENGTH_MAX: usize = 80;

/// What `/*!NNNNN ... */` is compared with: the MySQL version that the server announces (8.0.40).
pub const VERSION_NUMBER: u32 = 80_040;
