//! A reader of expressions for tests: enough SQL that a table of expected results can be written as it would be typed.
//! Columns are c0, c1, ...; parameters $0, $1, ....

use crate::expr::{BinaryOp, Expr, Function, IntervalUnit, UnaryOp};
use crate::{Collation, ColumnType, Date, DateTime, Decimal, IntWidth, Time, Value};

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Number(String),
    Text(String),
    Symbol(&'static str),
}

const SYMBOLS: [&str; 29] = [
    "<=>", "<<", ">>", "<=", ">=", "<>", "!=", "||", "&&", "(", ")", ",", "+", "-", "*", "/", "%",
    "=", "<", ">", "&", "|", "^", "~", "!", "@", ".", ";", "$",
];

fn tokens(text: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length;
        if first == '\'' {
            let mut content = String::new();
            let mut chars = rest.char_indices().skip(1);
            loop {
                match chars.next().expect("the string ends") {
                    (at, '\'') if rest[at + 1..].starts_with('\'') => {
                        content.push('\'');
                        chars.next();
                    }
                    (at, '\'') => {
                        length = at + 1;
                        break;
                    }
                    (_, '\\') => match chars.next().expect("the string ends").1 {
                        'n' => content.push('\n'),
                        '0' => content.push('\0'),
                        '%' => content.push_str("\\%"),
                        '_' => content.push_str("\\_"),
                        c => content.push(c),
                    },
                    (_, c) => content.push(c),
                }
            }
            out.push(Token::Text(content));
        } else if first.is_ascii_digit()
            || first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())
        {
            let bytes = rest.as_bytes();
            let mut at = 0;
            while at < bytes.len()
                && (bytes[at].is_ascii_digit()
                    || bytes[at] == b'.'
                    || matches!(bytes[at], b'e' | b'E')
                    || matches!(bytes[at], b'+' | b'-') && matches!(bytes[at - 1], b'e' | b'E'))
            {
                at += 1;
            }
            length = at;
            out.push(Token::Number(rest[..at].into()));
        } else if first.is_alphabetic() || first == '_' {
            length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            out.push(Token::Word(rest[..length].into()));
        } else {
            let symbol =
                SYMBOLS.iter().find(|s| rest.starts_with(**s)).expect("a symbol of the table");
            length = symbol.len();
            out.push(Token::Symbol(symbol));
        }
        rest = rest[length..].trim_start();
    }
    out
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

/// Panics on what it does not know: the tests' text is ours.
pub(super) fn parse(text: &str) -> Expr {
    let mut parser = Parser { tokens: tokens(text), at: 0 };
    let expr = parser.or();
    assert_eq!(parser.at, parser.tokens.len(), "text after the expression: {text}");
    expr
}

fn boxed(expr: Expr) -> Box<Expr> {
    Box::new(expr)
}

fn text(content: &str) -> Expr {
    Expr::Const(Value::text(content, Collation::DEFAULT))
}

impl Parser {
    fn peek_word(&self, word: &str) -> bool {
        matches!(self.tokens.get(self.at), Some(Token::Word(w)) if w.eq_ignore_ascii_case(word))
    }
    fn word(&mut self, word: &str) -> bool {
        let hit = self.peek_word(word);
        self.at += usize::from(hit);
        hit
    }
    fn symbol(&mut self, symbol: &str) -> bool {
        let hit = matches!(self.tokens.get(self.at), Some(Token::Symbol(s)) if *s == symbol);
        self.at += usize::from(hit);
        hit
    }
    fn expect(&mut self, symbol: &str) {
        assert!(self.symbol(symbol), "{symbol} expected at {:?}", &self.tokens[self.at..]);
    }
    fn next_word(&mut self) -> String {
        match self.tokens.get(self.at).cloned() {
            Some(Token::Word(word)) => {
                self.at += 1;
                word.to_uppercase()
            }
            other => panic!("a word expected, not {other:?}"),
        }
    }
    fn next_text(&mut self) -> String {
        match self.tokens.get(self.at).cloned() {
            Some(Token::Text(text)) => {
                self.at += 1;
                text
            }
            other => panic!("a string expected, not {other:?}"),
        }
    }
    fn next_number(&mut self) -> u32 {
        match self.tokens.get(self.at).cloned() {
            Some(Token::Number(number)) => {
                self.at += 1;
                number.parse().expect("an integer")
            }
            other => panic!("a number expected, not {other:?}"),
        }
    }

    fn or(&mut self) -> Expr {
        let mut terms = vec![self.xor()];
        while self.word("or") || self.symbol("||") {
            terms.push(self.xor());
        }
        if terms.len() == 1 { terms.remove(0) } else { Expr::Or(terms) }
    }
    fn xor(&mut self) -> Expr {
        let mut left = self.and();
        while self.word("xor") {
            left = Expr::Binary(BinaryOp::Xor, boxed(left), boxed(self.and()));
        }
        left
    }
    fn and(&mut self) -> Expr {
        let mut terms = vec![self.not()];
        while self.word("and") || self.symbol("&&") {
            terms.push(self.not());
        }
        if terms.len() == 1 { terms.remove(0) } else { Expr::And(terms) }
    }
    fn not(&mut self) -> Expr {
        if self.word("not") {
            return Expr::Unary(UnaryOp::Not, boxed(self.not()));
        }
        self.comparison()
    }
    fn comparison(&mut self) -> Expr {
        let mut left = self.binary(0);
        loop {
            const COMPARISONS: [(&str, BinaryOp); 8] = [
                ("<=>", BinaryOp::NullSafeEqual),
                ("<=", BinaryOp::LessOrEqual),
                (">=", BinaryOp::GreaterOrEqual),
                ("<>", BinaryOp::NotEqual),
                ("!=", BinaryOp::NotEqual),
                ("=", BinaryOp::Equal),
                ("<", BinaryOp::Less),
                (">", BinaryOp::Greater),
            ];
            if let Some((_, op)) = COMPARISONS.into_iter().find(|(symbol, _)| self.symbol(symbol)) {
                left = Expr::Binary(op, boxed(left), boxed(self.binary(0)));
            } else if self.word("is") {
                let negated = self.word("not");
                left = match self.next_word().as_str() {
                    "NULL" => Expr::IsNull(boxed(left), negated),
                    "TRUE" => Expr::IsTruth(boxed(left), true, negated),
                    "FALSE" => Expr::IsTruth(boxed(left), false, negated),
                    word => panic!("IS {word}"),
                };
            } else {
                let start = self.at;
                let negated = self.word("not");
                if self.word("between") {
                    let low = self.binary(0);
                    assert!(self.word("and"));
                    let high = self.binary(0);
                    let (operand, low, high) = (boxed(left), boxed(low), boxed(high));
                    left = Expr::Between { operand, low, high, negated };
                } else if self.word("in") {
                    self.expect("(");
                    let list = self.list();
                    left = Expr::In { operand: boxed(left), list, negated };
                } else if self.word("like") {
                    let pattern = boxed(self.binary(0));
                    let escape = self.word("escape").then(|| boxed(self.binary(0)));
                    left = Expr::Like { operand: boxed(left), pattern, escape, negated };
                } else if self.word("regexp") {
                    let pattern = self.binary(0);
                    left = Expr::Function(Function::RegexpLike, vec![left, pattern]);
                    if negated {
                        left = Expr::Unary(UnaryOp::Not, boxed(left));
                    }
                } else {
                    self.at = start;
                    return left;
                }
            }
        }
    }
    /// Binary operators by rising precedence.
    fn binary(&mut self, level: usize) -> Expr {
        const LEVELS: [&[(&str, BinaryOp)]; 6] = [
            &[("|", BinaryOp::BitOr)],
            &[("&", BinaryOp::BitAnd)],
            &[("<<", BinaryOp::ShiftLeft), (">>", BinaryOp::ShiftRight)],
            &[("+", BinaryOp::Add), ("-", BinaryOp::Subtract)],
            &[
                ("*", BinaryOp::Multiply),
                ("/", BinaryOp::Divide),
                ("%", BinaryOp::Modulo),
                ("div", BinaryOp::IntegerDivide),
                ("mod", BinaryOp::Modulo),
            ],
            &[("^", BinaryOp::BitXor)],
        ];
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1);
        while let Some((_, op)) =
            operators.iter().find(|(symbol, _)| self.symbol(symbol) || self.word(symbol))
        {
            if matches!(op, BinaryOp::Add | BinaryOp::Subtract) && self.word("interval") {
                left = self.interval(left, *op == BinaryOp::Subtract);
                continue;
            }
            left = Expr::Binary(*op, boxed(left), boxed(self.binary(level + 1)));
        }
        left
    }
    fn interval(&mut self, operand: Expr, subtract: bool) -> Expr {
        let amount = boxed(self.binary(0));
        let unit = self.unit();
        Expr::Interval { operand: boxed(operand), amount, unit, subtract }
    }
    fn unit(&mut self) -> IntervalUnit {
        let name = self.next_word().replace('_', "");
        let unit = IntervalUnit::ALL
            .into_iter()
            .find(|unit| format!("{unit:?}").eq_ignore_ascii_case(&name));
        unit.expect("a unit of intervals")
    }
    fn unary(&mut self) -> Expr {
        if self.symbol("-") {
            return Expr::Unary(UnaryOp::Negate, boxed(self.unary()));
        }
        if self.symbol("~") {
            return Expr::Unary(UnaryOp::BitNot, boxed(self.unary()));
        }
        if self.symbol("!") {
            return Expr::Unary(UnaryOp::Not, boxed(self.unary()));
        }
        let mut expr = self.primary();
        while self.word("collate") {
            let name = self.next_word().to_lowercase();
            let collation = Collation::by_name(&name).expect("a collation");
            expr = Expr::Collate(boxed(expr), collation);
        }
        expr
    }
    /// After the opening parenthesis.
    fn list(&mut self) -> Vec<Expr> {
        let mut items = Vec::new();
        if self.symbol(")") {
            return items;
        }
        loop {
            items.push(self.or());
            if !self.symbol(",") {
                break;
            }
        }
        self.expect(")");
        items
    }
    fn primary(&mut self) -> Expr {
        let token = self.tokens.get(self.at).cloned().expect("an operand");
        self.at += 1;
        match token {
            Token::Text(content) => text(&content),
            Token::Number(digits) => Expr::Const(number(&digits)),
            Token::Symbol("(") => {
                let inner = self.or();
                self.expect(")");
                inner
            }
            Token::Symbol("$") => Expr::Param(self.next_number() as u16),
            Token::Symbol(symbol) => panic!("{symbol} is no operand"),
            Token::Word(word) => self.named(&word.to_uppercase()),
        }
    }
    fn named(&mut self, word: &str) -> Expr {
        match word {
            "NULL" => return Expr::Const(Value::Null),
            "TRUE" => return Expr::Const(Value::Int(1)),
            "FALSE" => return Expr::Const(Value::Int(0)),
            "CASE" => return self.case(),
            "CAST" => return self.cast(),
            "X" if matches!(self.tokens.get(self.at), Some(Token::Text(_))) => {
                let digits = self.next_text();
                let bytes: Vec<u8> = (0..digits.len())
                    .step_by(2)
                    .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal"))
                    .collect();
                return Expr::Const(Value::bytes(&bytes));
            }
            "DATE" if matches!(self.tokens.get(self.at), Some(Token::Text(_))) => {
                let date = Date::parse(&self.next_text()).expect("a date");
                return Expr::Const(Value::Date(date));
            }
            "TIME" if matches!(self.tokens.get(self.at), Some(Token::Text(_))) => {
                let time = Time::parse(&self.next_text()).expect("a time");
                return Expr::Const(Value::Time(time.value));
            }
            "TIMESTAMP" if matches!(self.tokens.get(self.at), Some(Token::Text(_))) => {
                let datetime = DateTime::parse(&self.next_text()).expect("a datetime");
                return Expr::Const(Value::DateTime(datetime.value));
            }
            _ => {}
        }
        if let Some(digits) = word.strip_prefix('C')
            && let Ok(position) = digits.parse::<u16>()
        {
            return Expr::Column(position);
        }
        self.expect("(");
        match word {
            "DATE_ADD" | "DATE_SUB" => {
                let operand = self.or();
                self.expect(",");
                assert!(self.word("interval"));
                let expr = self.interval(operand, word == "DATE_SUB");
                self.expect(")");
                return expr;
            }
            "EXTRACT" | "TIMESTAMPDIFF" => {
                let unit = self.unit();
                if word == "EXTRACT" {
                    assert!(self.word("from"));
                } else {
                    self.expect(",");
                }
                let mut arguments = vec![Expr::Const(Value::Int(i64::from(unit.tag())))];
                arguments.extend(self.list());
                let function = Function::by_name(word).expect("both are functions");
                return Expr::Function(function, arguments);
            }
            _ => {}
        }
        let arguments = self.list();
        let function = Function::by_name(word).unwrap_or_else(|| panic!("function {word}"));
        Expr::Function(function, arguments)
    }
    fn case(&mut self) -> Expr {
        let operand = if self.peek_word("when") { None } else { Some(boxed(self.or())) };
        let mut branches = Vec::new();
        while self.word("when") {
            let when = self.or();
            assert!(self.word("then"));
            branches.push((when, self.or()));
        }
        let otherwise = self.word("else").then(|| boxed(self.or()));
        assert!(self.word("end"));
        Expr::Case { operand, branches, otherwise }
    }
    fn cast(&mut self) -> Expr {
        self.expect("(");
        let operand = boxed(self.or());
        assert!(self.word("as"));
        let name = self.next_word();
        let mut numbers = Vec::new();
        if self.symbol("(") {
            numbers.push(self.next_number());
            while self.symbol(",") {
                numbers.push(self.next_number());
            }
            self.expect(")");
        }
        self.expect(")");
        let first = numbers.first().copied();
        let fsp = first.unwrap_or(0) as u8;
        let target = match name.as_str() {
            "SIGNED" => ColumnType::Int { width: IntWidth::W8, unsigned: false },
            "UNSIGNED" => ColumnType::Int { width: IntWidth::W8, unsigned: true },
            "CHAR" => ColumnType::Varchar {
                length: first.unwrap_or(u32::MAX),
                collation: Collation::DEFAULT,
            },
            "BINARY" => match first {
                Some(length) => ColumnType::Binary { length },
                None => ColumnType::Varbinary { length: u32::MAX },
            },
            "DECIMAL" => ColumnType::Decimal {
                precision: first.unwrap_or(10) as u8,
                scale: numbers.get(1).copied().unwrap_or(0) as u8,
                unsigned: false,
            },
            "DOUBLE" => ColumnType::Double,
            "FLOAT" => ColumnType::Float,
            "DATE" => ColumnType::Date,
            "TIME" => ColumnType::Time { fsp },
            "DATETIME" => ColumnType::DateTime { fsp },
            "JSON" => ColumnType::Json,
            other => panic!("CAST AS {other}"),
        };
        Expr::Cast(operand, target)
    }
}

/// As MySQL reads a literal: an exponent makes a double, a point a decimal, the rest the smallest integer kind.
fn number(digits: &str) -> Value {
    if digits.contains(['e', 'E']) {
        return Value::Double(digits.parse().expect("a double"));
    }
    if digits.contains('.') {
        return Value::Decimal(Decimal::parse(digits).expect("a decimal"));
    }
    match (digits.parse::<i64>(), digits.parse::<u64>()) {
        (Ok(number), _) => Value::Int(number),
        (_, Ok(number)) => Value::UInt(number),
        _ => Value::Decimal(Decimal::parse(digits).expect("a decimal")),
    }
}
