//! A subset of URScript, as instructions of a stack machine: functions, threads, `if`, `while`, numbers, lists, poses and
//! texts. Reading is total and bounded.

use std::collections::BTreeMap;

/// A program longer than this is refused.
pub const LONGEST: usize = 1 << 18;
/// How deep expressions and blocks may be nested.
const DEEPEST: usize = 64;

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Puts a number.
    Number(f64),
    /// Puts a truth value.
    Truth(bool),
    /// Puts a text.
    Text(String),
    /// Puts what a variable holds.
    Load(String),
    /// Takes a value into a variable.
    Store {
        /// Its name.
        name: String,
        /// For all threads.
        global: bool,
    },
    /// Makes a list of so many values.
    List(usize),
    /// Makes a pose of six values.
    Pose,
    /// Takes an index and a list, puts the element.
    Index,
    /// Takes two values, puts what the operator makes of them.
    Binary(Binary),
    /// Negates a number.
    Negate,
    /// Negates a truth value.
    Not,
    /// Calls a function with so many values, and then so many with a name.
    Call {
        /// Its name.
        name: String,
        /// Values without a name.
        plain: usize,
        /// Names of the values after those.
        named: Vec<String>,
    },
    /// Forgets a value.
    Drop,
    /// Goes on there.
    Jump(usize),
    /// Goes on there if the value is false.
    Unless(usize),
    /// Starts a thread, puts its handle.
    Run(String),
    /// Takes a handle, ends the thread.
    Kill,
    /// Takes a value, ends the function with it.
    Return,
    /// Ends the whole program.
    Halt,
}

/// An operator between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are what they are called")]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
}

/// A function or thread.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Function {
    /// Names of its arguments.
    pub arguments: Vec<String>,
    /// What it does.
    pub ops: Vec<Op>,
}

/// A whole program.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// The name of what is run.
    pub name: String,
    /// All functions and threads, that one among them.
    pub functions: BTreeMap<String, Function>,
}

/// Why a text is no program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {text}")]
pub struct Wrong {
    /// From 1.
    pub line: usize,
    /// What is wrong there.
    pub text: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    Number(f64),
    Text(String),
    Sign(&'static str),
    End,
}

const SIGNS: [&str; 19] =
    ["==", "!=", "<=", ">=", "(", ")", "[", "]", ",", ":", "=", "+", "-", "*", "/", "<", ">", "%", "."];

fn tokens(line: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        if first == '#' {
            break;
        }
        let length = if first == '"' {
            let end = rest[1..].find('"').ok_or("a text without end")?;
            tokens.push(Token::Text(rest[1..=end].to_owned()));
            end + 2
        } else if first.is_ascii_digit() {
            let exponent = |i: usize| i > 0 && matches!(rest.as_bytes()[i - 1], b'e' | b'E');
            let inside = |(i, c): (usize, char)| {
                !(c.is_ascii_digit()
                    || matches!(c, '.' | 'e' | 'E')
                    || (matches!(c, '-' | '+') && exponent(i)))
            };
            let end = rest.char_indices().find(|at| inside(*at)).map_or(rest.len(), |(i, _)| i);
            tokens.push(Token::Number(
                rest[..end].parse().map_err(|_| format!("\"{}\" is no number", &rest[..end]))?,
            ));
            end
        } else if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..end].to_owned()));
            end
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let sign = sign.ok_or_else(|| format!("\"{first}\" is not understood"))?;
            tokens.push(Token::Sign(sign));
            sign.len()
        };
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

/// Reads a program: one `def`, which is run, or lines that are run one after the other.
///
/// # Errors
/// Says in which line it is not understood.
pub fn parse(text: &str) -> Result<Program, Wrong> {
    if text.len() > LONGEST {
        return Err(Wrong { line: 1, text: format!("more than {LONGEST} bytes") });
    }
    let mut lines = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let tokens = tokens(line).map_err(|text| Wrong { line: i + 1, text })?;
        if !tokens.is_empty() {
            lines.push((i + 1, tokens));
        }
    }
    let mut reader = Reader { lines, at: 0, place: 0, depth: 0, functions: BTreeMap::new() };
    let is_def = matches!(reader.lines.first(), Some((_, tokens)) if tokens[0] == Token::Word("def".into()));
    if is_def {
        let name = reader.definition(1)?;
        if reader.at == reader.lines.len() {
            return Ok(Program { name, functions: reader.functions });
        }
    }
    let ops = reader.block(&[], 0)?;
    reader.functions.insert("program".into(), Function { arguments: Vec::new(), ops });
    Ok(Program { name: "program".into(), functions: reader.functions })
}

struct Reader {
    lines: Vec<(usize, Vec<Token>)>,
    /// The line that is read, and the place in it.
    at: usize,
    place: usize,
    depth: usize,
    functions: BTreeMap<String, Function>,
}

type Read<T> = Result<T, Wrong>;

impl Reader {
    fn wrong(&self, text: &str) -> Wrong {
        let line = self.lines.get(self.at).or(self.lines.last()).map_or(1, |(line, _)| *line);
        Wrong { line, text: text.to_owned() }
    }

    fn peek(&self) -> Token {
        self.lines.get(self.at).and_then(|(_, tokens)| tokens.get(self.place)).cloned().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek();
        self.place += 1;
        token
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Token::Sign(found) if found == sign);
        self.place += usize::from(found);
        found
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(found) if found == word);
        self.place += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Read<()> {
        if self.takes(sign) { Ok(()) } else { Err(self.wrong(&format!("\"{sign}\" is missing"))) }
    }

    fn name(&mut self) -> Read<String> {
        match self.next() {
            Token::Word(name) => Ok(name),
            _ => Err(self.wrong("a name is missing")),
        }
    }

    fn end_of_line(&mut self) -> Read<()> {
        if self.peek() != Token::End {
            return Err(self.wrong("there is more in this line than is understood"));
        }
        (self.at, self.place) = (self.at + 1, 0);
        Ok(())
    }

    fn nest(&mut self) -> Read<()> {
        self.depth += 1;
        if self.depth > DEEPEST { Err(self.wrong("nested too deeply")) } else { Ok(()) }
    }

    /// `def` or `thread`, its words before the name still ahead; returns the name.
    fn definition(&mut self, skip: usize) -> Read<String> {
        self.nest()?;
        self.place += skip;
        let name = self.name()?;
        let mut arguments = Vec::new();
        self.expect("(")?;
        while !self.takes(")") {
            arguments.push(self.name()?);
            if !self.takes(",") && !matches!(self.peek(), Token::Sign(")")) {
                return Err(self.wrong("\",\" or \")\" is missing"));
            }
        }
        self.expect(":")?;
        self.end_of_line()?;
        let ops = self.block(&["end"], 0)?;
        self.place = 1;
        self.end_of_line()?;
        self.functions.insert(name.clone(), Function { arguments, ops });
        self.depth -= 1;
        Ok(name)
    }

    /// Statements until one of these words begins a line; without any, until the end.
    fn block(&mut self, until: &[&str], base: usize) -> Read<Vec<Op>> {
        let mut ops = Vec::new();
        loop {
            match self.peek() {
                Token::End if until.is_empty() => return Ok(ops),
                Token::End => return Err(self.wrong("\"end\" is missing")),
                Token::Word(word) if until.contains(&word.as_str()) => return Ok(ops),
                _ => self.statement(&mut ops, base)?,
            }
        }
    }

    /// `base` is where `ops` will begin in its function.
    fn statement(&mut self, ops: &mut Vec<Op>, base: usize) -> Read<()> {
        let word = match self.peek() {
            Token::Word(word) => word,
            _ => String::new(),
        };
        match word.as_str() {
            "def" | "thread" => self.definition(1).map(drop),
            "if" => self.condition(ops, base),
            "while" => {
                self.nest()?;
                self.place += 1;
                let start = base + ops.len();
                self.expression(ops)?;
                self.expect(":")?;
                self.end_of_line()?;
                let unless = ops.len();
                ops.push(Op::Halt);
                let body = self.block(&["end"], base + ops.len())?;
                ops.extend(body);
                ops.push(Op::Jump(start));
                ops[unless] = Op::Unless(base + ops.len());
                self.place = 1;
                self.depth -= 1;
                self.end_of_line()
            }
            "return" => {
                self.place += 1;
                match self.peek() {
                    Token::End => ops.push(Op::Truth(false)),
                    _ => self.expression(ops)?,
                }
                ops.push(Op::Return);
                self.end_of_line()
            }
            "halt" => {
                self.place += 1;
                ops.push(Op::Halt);
                self.end_of_line()
            }
            "kill" => {
                self.place += 1;
                self.expression(ops)?;
                ops.push(Op::Kill);
                self.end_of_line()
            }
            _ => {
                let global = self.takes_word("global");
                let _ = !global && self.takes_word("local");
                let ahead = self.lines.get(self.at).and_then(|(_, tokens)| tokens.get(self.place + 1));
                if let (Token::Word(name), Some(Token::Sign("="))) = (self.peek(), ahead) {
                    self.place += 2;
                    self.expression(ops)?;
                    ops.push(Op::Store { name, global });
                } else {
                    self.expression(ops)?;
                    ops.push(Op::Drop);
                }
                self.end_of_line()
            }
        }
    }

    /// `if` … `elif` … `else` … `end`.
    fn condition(&mut self, ops: &mut Vec<Op>, base: usize) -> Read<()> {
        self.nest()?;
        let mut ends = Vec::new();
        loop {
            self.place = 1;
            self.expression(ops)?;
            self.expect(":")?;
            self.end_of_line()?;
            let unless = ops.len();
            ops.push(Op::Halt);
            let body = self.block(&["elif", "else", "end"], base + ops.len())?;
            ops.extend(body);
            ends.push(ops.len());
            ops.push(Op::Halt);
            ops[unless] = Op::Unless(base + ops.len());
            if self.takes_word("elif") {
                continue;
            }
            if self.takes_word("else") {
                self.expect(":")?;
                self.end_of_line()?;
                let body = self.block(&["end"], base + ops.len())?;
                ops.extend(body);
            }
            break;
        }
        for end in ends {
            ops[end] = Op::Jump(base + ops.len());
        }
        self.place = 1;
        self.depth -= 1;
        self.end_of_line()
    }

    fn expression(&mut self, ops: &mut Vec<Op>) -> Read<()> {
        self.nest()?;
        self.binary(ops, 0)?;
        self.depth -= 1;
        Ok(())
    }

    /// Operators of this level bind less than those of the next.
    fn binary(&mut self, ops: &mut Vec<Op>, level: usize) -> Read<()> {
        use Binary as B;
        const LEVELS: [&[(&str, Binary)]; 5] = [
            &[("or", B::Or)],
            &[("and", B::And)],
            &[
                ("==", B::Equal),
                ("!=", B::Unequal),
                ("<=", B::LessEqual),
                (">=", B::GreaterEqual),
                ("<", B::Less),
                (">", B::Greater),
            ],
            &[("+", B::Add), ("-", B::Subtract)],
            &[("*", B::Multiply), ("/", B::Divide)],
        ];
        let Some(operators) = LEVELS.get(level) else { return self.unary(ops) };
        self.binary(ops, level + 1)?;
        loop {
            let found = operators.iter().find(|(sign, _)| match self.peek() {
                Token::Sign(found) => found == *sign,
                Token::Word(found) => found == *sign,
                _ => false,
            });
            let Some((_, operator)) = found else { return Ok(()) };
            self.place += 1;
            self.binary(ops, level + 1)?;
            ops.push(Op::Binary(*operator));
        }
    }

    fn unary(&mut self, ops: &mut Vec<Op>) -> Read<()> {
        self.nest()?;
        if self.takes("-") {
            self.unary(ops)?;
            ops.push(Op::Negate);
        } else if self.takes_word("not") {
            self.unary(ops)?;
            ops.push(Op::Not);
        } else {
            self.operand(ops)?;
            while self.takes("[") {
                self.expression(ops)?;
                self.expect("]")?;
                ops.push(Op::Index);
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn operand(&mut self, ops: &mut Vec<Op>) -> Read<()> {
        match self.next() {
            Token::Number(number) => ops.push(Op::Number(number)),
            Token::Text(text) => ops.push(Op::Text(text)),
            Token::Sign("(") => {
                self.expression(ops)?;
                self.expect(")")?;
            }
            Token::Sign("[") => {
                let length = self.list(ops)?;
                ops.push(Op::List(length));
            }
            Token::Word(word) if word == "p" && self.takes("[") => {
                if self.list(ops)? != 6 {
                    return Err(self.wrong("a pose has six numbers"));
                }
                ops.push(Op::Pose);
            }
            Token::Word(word) if word == "True" || word == "False" => ops.push(Op::Truth(word == "True")),
            Token::Word(word) if word == "run" => {
                let name = self.name()?;
                self.expect("(")?;
                self.expect(")")?;
                ops.push(Op::Run(name));
            }
            Token::Word(name) if self.takes("(") => self.call(name, ops)?,
            Token::Word(name) => ops.push(Op::Load(name)),
            _ => return Err(self.wrong("a value is missing")),
        }
        Ok(())
    }

    fn list(&mut self, ops: &mut Vec<Op>) -> Read<usize> {
        let mut length = 0;
        while !self.takes("]") {
            self.expression(ops)?;
            length += 1;
            if !self.takes(",") && !matches!(self.peek(), Token::Sign("]")) {
                return Err(self.wrong("\",\" or \"]\" is missing"));
            }
        }
        Ok(length)
    }

    fn call(&mut self, name: String, ops: &mut Vec<Op>) -> Read<()> {
        let (mut plain, mut named) = (0, Vec::new());
        while !self.takes(")") {
            let ahead = self.lines.get(self.at).and_then(|(_, tokens)| tokens.get(self.place + 1));
            if let (Token::Word(argument), Some(Token::Sign("="))) = (self.peek(), ahead) {
                self.place += 2;
                named.push(argument);
            } else if named.is_empty() {
                plain += 1;
            } else {
                return Err(self.wrong("a value without a name after one with a name"));
            }
            self.expression(ops)?;
            if !self.takes(",") && !matches!(self.peek(), Token::Sign(")")) {
                return Err(self.wrong("\",\" or \")\" is missing"));
            }
        }
        ops.push(Op::Call { name, plain, named });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Setup;
    use proptest::prelude::*;
    use std::time::Duration;

    pub(crate) fn our_program() -> String {
        let setup = Setup {
            address: [127, 0, 0, 1].into(),
            port: 5,
            number: 3,
            watchdog: Duration::from_millis(500),
            deceleration: 4.0,
            tool: nalgebra::Isometry3::identity(),
            payload: Some((1.0, [0.0, 0.0, 0.1])),
        };
        setup.text()
    }

    #[test]
    fn our_own_program_is_understood() {
        let program = parse(&our_program()).unwrap();
        assert_eq!(program.name, "rosless_queue");
        assert!(program.functions.contains_key("mover"));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, line, expected) in [
            ("def f():\n  movej([0,0], a=1\nend", 2, "\",\" or \")\""),
            ("def f():\n  while True:\n  sync()\nend", 4, "\"end\" is missing"),
            ("movej(\"x)", 1, "without end"),
            ("a = 1 2", 1, "more in this line"),
            ("x = 1..2", 1, "is no number"),
            ("x = ;", 1, "not understood"),
        ] {
            let wrong = parse(text).expect_err(text);
            assert_eq!(wrong.line, line, "{wrong}");
            assert!(wrong.text.contains(expected), "{wrong}");
        }
    }

    #[test]
    fn nesting_has_an_end() {
        assert!(parse(&format!("x = {}1{}", "(".repeat(10_000), ")".repeat(10_000))).is_err());
        assert!(parse(&"-".repeat(10_000)).is_err());
        assert!(parse(&"if True:\n".repeat(1000)).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_program_or_an_error(text in "[a-z0-9 \\[\\](){}=:,.\"#<>+*/\n-]{0,200}") {
            let _ = parse(&text);
        }

        #[test]
        fn so_is_any_piece_of_ours(from in 0usize..1500, length in 0usize..800) {
            let text = our_program();
            let piece: String = text.chars().skip(from).take(length).collect();
            let _ = parse(&piece);
        }
    }
}
