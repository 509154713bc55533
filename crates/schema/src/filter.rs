//! Conditions on a message, written as `ros2 topic echo --filter` takes them: `m.data > 3 and m.header.frame_id == "map"`.

use std::{borrow::Cow, cmp::Ordering};

use crate::{DynamicMessage, Value};

/// A condition in the part of Python's expressions that looks at values: fields, elements, numbers, strings, arithmetic,
/// comparisons (also `in`, also chained), `and`, `or`, `not`, `len`, `abs`, `min` and `max`. The message is `m`.
///
/// ```
/// use rosless_schema::{DynamicMessage, Filter, Registry};
///
/// let ty = Registry::embedded().message_type("std_msgs/msg/String").unwrap();
/// let message = DynamicMessage::from_yaml(&ty, "data: hello", None).unwrap();
/// assert_eq!(Filter::parse("m.data == 'hello' and len(m.data) < 9").unwrap().accepts(&message), Ok(true));
/// assert!(Filter::parse("m.data ==").is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Filter(Expression);

/// How deep conditions may be nested.
const DEEPEST: usize = 64;

#[derive(Clone, Debug)]
enum Expression {
    Message,
    Integer(i128),
    Float(f64),
    Text(String),
    Truth(bool),
    Field(Box<Self>, String),
    Element(Box<Self>, Box<Self>),
    Call(&'static str, Vec<Self>),
    Negative(Box<Self>),
    Arithmetic(char, Box<Self>, Box<Self>),
    Compared(Box<Self>, Vec<(&'static str, Self)>),
    Not(Box<Self>),
    And(Vec<Self>),
    Or(Vec<Self>),
}

impl Filter {
    /// Reads a condition.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { text, rest: text, depth: 0 };
        let expression = parser.any()?;
        match parser.rest.trim_start() {
            "" => Ok(Self(expression)),
            _ => Err(parser.wrong("a condition ends here")),
        }
    }

    /// Whether the condition holds for a message.
    ///
    /// # Errors
    /// When it speaks of fields that the message does not have, or compares what cannot be compared.
    pub fn accepts(&self, message: &DynamicMessage) -> Result<bool, String> {
        Ok(self.0.value(message)?.is_true())
    }
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    depth: usize,
}

const COMPARISONS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];
const FUNCTIONS: [&str; 4] = ["len", "abs", "min", "max"];

impl<'a> Parser<'a> {
    fn wrong(&self, expected: &str) -> String {
        let at = self.text.len() - self.rest.trim_start().len();
        let (before, after) = self.text.split_at(at);
        format!("{expected}: `{before}` ⟪here⟫ `{after}`")
    }

    fn symbol(&mut self, symbol: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(symbol);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn peek_word(&self) -> &'a str {
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    }

    fn word(&mut self, word: &str) -> bool {
        self.peek_word() == word && self.symbol(word)
    }

    fn any(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("nested too deeply"));
        }
        let mut parts = vec![self.all()?];
        while self.word("or") {
            parts.push(self.all()?);
        }
        self.depth -= 1;
        Ok(single(parts, Expression::Or))
    }

    fn all(&mut self) -> Result<Expression, String> {
        let mut parts = vec![self.inverted()?];
        while self.word("and") {
            parts.push(self.inverted()?);
        }
        Ok(single(parts, Expression::And))
    }

    fn inverted(&mut self) -> Result<Expression, String> {
        let mut inverted = false;
        while self.word("not") {
            inverted = !inverted;
        }
        let compared = self.compared()?;
        Ok(if inverted { Expression::Not(Box::new(compared)) } else { compared })
    }

    fn comparison(&mut self) -> Option<&'static str> {
        if self.word("in") {
            return Some("in");
        }
        let before = self.rest;
        if self.word("not") {
            if self.word("in") {
                return Some("not in");
            }
            self.rest = before;
        }
        COMPARISONS.into_iter().find(|symbol| self.symbol(symbol))
    }

    fn compared(&mut self) -> Result<Expression, String> {
        let first = self.sum()?;
        let mut others = Vec::new();
        while let Some(comparison) = self.comparison() {
            others.push((comparison, self.sum()?));
        }
        Ok(if others.is_empty() { first } else { Expression::Compared(Box::new(first), others) })
    }

    fn chain(
        &mut self,
        operators: &[char],
        operand: fn(&mut Self) -> Result<Expression, String>,
    ) -> Result<Expression, String> {
        let mut left = operand(self)?;
        while let Some(operator) =
            operators.iter().copied().find(|operator| self.symbol(operator.encode_utf8(&mut [0; 4])))
        {
            left = Expression::Arithmetic(operator, Box::new(left), Box::new(operand(self)?));
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Expression, String> {
        self.chain(&['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<Expression, String> {
        self.chain(&['*', '/', '%'], Self::signed)
    }

    fn signed(&mut self) -> Result<Expression, String> {
        let mut negative = false;
        loop {
            match (self.symbol("-"), self.symbol("+")) {
                (false, false) => break,
                (minus, _) => negative ^= minus,
            }
        }
        let value = self.part()?;
        Ok(if negative { Expression::Negative(Box::new(value)) } else { value })
    }

    fn part(&mut self) -> Result<Expression, String> {
        let mut whole = self.atom()?;
        loop {
            if self.symbol(".") {
                let name = self.peek_word();
                if name.is_empty() {
                    return Err(self.wrong("a field's name is missing"));
                }
                self.symbol(name);
                whole = Expression::Field(Box::new(whole), name.to_owned());
            } else if self.symbol("[") {
                let index = self.any()?;
                if !self.symbol("]") {
                    return Err(self.wrong("`]` is missing"));
                }
                whole = Expression::Element(Box::new(whole), Box::new(index));
            } else {
                return Ok(whole);
            }
        }
    }

    fn atom(&mut self) -> Result<Expression, String> {
        if self.symbol("(") {
            let inner = self.any()?;
            return if self.symbol(")") { Ok(inner) } else { Err(self.wrong("`)` is missing")) };
        }
        let rest = self.rest.trim_start();
        match rest.chars().next() {
            Some(quote @ ('\'' | '"')) => self.text(quote),
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            _ => match self.peek_word() {
                "m" if self.symbol("m") => Ok(Expression::Message),
                "True" if self.symbol("True") => Ok(Expression::Truth(true)),
                "False" if self.symbol("False") => Ok(Expression::Truth(false)),
                name => match FUNCTIONS.into_iter().find(|function| *function == name) {
                    Some(function) => self.call(function),
                    None if name.is_empty() => Err(self.wrong("a value is missing")),
                    None => Err(self.wrong(&format!("`{name}` is not known; the message is `m`"))),
                },
            },
        }
    }

    fn call(&mut self, function: &'static str) -> Result<Expression, String> {
        self.symbol(function);
        if !self.symbol("(") {
            return Err(self.wrong("`(` is missing"));
        }
        let mut arguments = vec![self.any()?];
        while self.symbol(",") {
            arguments.push(self.any()?);
        }
        if !self.symbol(")") {
            return Err(self.wrong("`)` is missing"));
        }
        match (function, arguments.len()) {
            ("len" | "abs", 2..) => Err(self.wrong(&format!("`{function}` takes one value"))),
            _ => Ok(Expression::Call(function, arguments)),
        }
    }

    fn text(&mut self, quote: char) -> Result<Expression, String> {
        let (mut text, mut escaped) = (String::new(), false);
        let rest = self.rest.trim_start();
        for (at, c) in rest.char_indices().skip(1) {
            match (escaped, c) {
                (false, '\\') => escaped = true,
                (false, c) if c == quote => {
                    self.rest = &rest[at + 1..];
                    return Ok(Expression::Text(text));
                }
                (was_escaped, c) => {
                    text.push(if was_escaped && c == 'n' { '\n' } else { c });
                    escaped = false;
                }
            }
        }
        Err(self.wrong("a string does not end"))
    }

    fn number(&mut self) -> Result<Expression, String> {
        let rest = self.rest.trim_start();
        let mut before = ' ';
        let end = rest.find(|c: char| {
            let sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
            before = c;
            !(c.is_alphanumeric() || c == '.' || c == '_' || sign)
        });
        let digits = &rest[..end.unwrap_or(rest.len())];
        let plain = digits.replace('_', "");
        let parsed = match plain.strip_prefix("0x") {
            Some(hex) => i128::from_str_radix(hex, 16).ok().map(Expression::Integer),
            None => (plain.parse().ok().map(Expression::Integer))
                .or_else(|| plain.parse().ok().filter(|f: &f64| f.is_finite()).map(Expression::Float)),
        };
        let parsed = parsed.ok_or_else(|| self.wrong("this is no number"))?;
        self.rest = &rest[digits.len()..];
        Ok(parsed)
    }
}

fn single(mut parts: Vec<Expression>, many: fn(Vec<Expression>) -> Expression) -> Expression {
    if parts.len() == 1 { parts.remove(0) } else { many(parts) }
}

/// What a part of a condition is worth for one message.
#[derive(Clone, Debug)]
enum Worth<'a> {
    Message(&'a DynamicMessage),
    List(&'a [Value]),
    Bytes(&'a [u8]),
    Text(Cow<'a, str>),
    Integer(i128),
    Float(f64),
    Truth(bool),
}

impl<'a> From<&'a Value> for Worth<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Bool(truth) => Self::Truth(*truth),
            Value::Int(integer) => Self::Integer(i128::from(*integer)),
            Value::Uint(integer) => Self::Integer(i128::from(*integer)),
            Value::F32(float) => Self::Float(f64::from(*float)),
            Value::F64(float) => Self::Float(*float),
            Value::String(text) => Self::Text(Cow::Borrowed(text)),
            Value::Bytes(bytes) => Self::Bytes(bytes),
            Value::List(items) => Self::List(items),
            Value::Message(message) => Self::Message(message),
        }
    }
}

impl<'a> Worth<'a> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Message(_) => "a message",
            Self::List(_) | Self::Bytes(_) => "a list",
            Self::Text(_) => "a string",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::Truth(_) => "a bool",
        }
    }

    /// As Python sees it.
    fn is_true(&self) -> bool {
        match self {
            Self::Message(_) => true,
            Self::List(items) => !items.is_empty(),
            Self::Bytes(bytes) => !bytes.is_empty(),
            Self::Text(text) => !text.is_empty(),
            Self::Integer(integer) => *integer != 0,
            Self::Float(float) => *float != 0.0,
            Self::Truth(truth) => *truth,
        }
    }

    fn integer(&self) -> Option<i128> {
        match self {
            Self::Integer(integer) => Some(*integer),
            Self::Truth(truth) => Some(i128::from(*truth)),
            _ => None,
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Float(float) => Some(*float),
            other => other.integer().map(|integer| integer as f64),
        }
    }

    fn items(&self) -> Option<Vec<Worth<'a>>> {
        match self {
            Self::List(items) => Some(items.iter().map(Worth::from).collect()),
            Self::Bytes(bytes) => Some(bytes.iter().map(|byte| Worth::Integer(i128::from(*byte))).collect()),
            _ => None,
        }
    }

    /// Equal or not; what is of different kinds is not.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Message(one), Self::Message(other)) => one == other,
            (Self::Text(one), Self::Text(other)) => one == other,
            _ => match (self.items(), other.items()) {
                (Some(one), Some(other)) => {
                    one.len() == other.len() && one.iter().zip(&other).all(|(one, other)| one.is(other))
                }
                _ => self.order(other).is_some_and(Ordering::is_eq),
            },
        }
    }

    fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => Some(one.cmp(other)),
            _ => match (self.integer(), other.integer()) {
                (Some(one), Some(other)) => Some(one.cmp(&other)),
                _ => self.number()?.partial_cmp(&other.number()?),
            },
        }
    }

    fn holds(&self, comparison: &str, other: &Self) -> Result<bool, String> {
        let contained = || match (self, other) {
            (Self::Text(part), Self::Text(whole)) => Ok(whole.contains(&**part)),
            _ => match other.items() {
                Some(items) => Ok(items.iter().any(|item| item.is(self))),
                None => Err(format!("{} has no elements to look for {} in", other.kind(), self.kind())),
            },
        };
        let not_a_number = |worth: &Self| worth.number().is_some_and(f64::is_nan);
        match comparison {
            "==" => Ok(self.is(other)),
            "!=" => Ok(!self.is(other)),
            "in" => contained(),
            "not in" => contained().map(|contained| !contained),
            _ if not_a_number(self) || not_a_number(other) => Ok(false),
            _ => {
                let order = self.order(other);
                let order = order.ok_or_else(|| {
                    format!("{} and {} cannot be compared with `{comparison}`", self.kind(), other.kind())
                })?;
                Ok(match comparison {
                    "<" => order.is_lt(),
                    "<=" => order.is_le(),
                    ">" => order.is_gt(),
                    _ => order.is_ge(),
                })
            }
        }
    }
}

impl Expression {
    fn value<'a>(&'a self, message: &'a DynamicMessage) -> Result<Worth<'a>, String> {
        Ok(match self {
            Self::Message => Worth::Message(message),
            Self::Integer(integer) => Worth::Integer(*integer),
            Self::Float(float) => Worth::Float(*float),
            Self::Text(text) => Worth::Text(Cow::Borrowed(text)),
            Self::Truth(truth) => Worth::Truth(*truth),
            Self::Field(whole, name) => match whole.value(message)? {
                Worth::Message(part) => {
                    let found = part.fields().find(|(field, _)| field.name() == name);
                    let names =
                        || part.fields().map(|(field, _)| field.name()).collect::<Vec<_>>().join(", ");
                    let unknown =
                        || format!("{} has no `{name}`, but {}", part.message_type().name(), names());
                    found.map(|(_, value)| value.into()).ok_or_else(unknown)?
                }
                other => return Err(format!("`.{name}` is asked of {}", other.kind())),
            },
            Self::Element(whole, index) => {
                let (whole, index) = (whole.value(message)?, index.value(message)?);
                let index = index.integer().ok_or_else(|| format!("{} is no index", index.kind()))?;
                let length = whole.length().ok_or_else(|| format!("{} has no elements", whole.kind()))?;
                let at = if index < 0 { index + length as i128 } else { index };
                let at = usize::try_from(at).ok().filter(|at| *at < length);
                let at = at.ok_or_else(|| format!("there is no element {index} of {length}"))?;
                match whole {
                    Worth::List(items) => (&items[at]).into(),
                    Worth::Bytes(bytes) => Worth::Integer(i128::from(bytes[at])),
                    Worth::Text(text) => {
                        Worth::Text(text.chars().skip(at).take(1).collect::<String>().into())
                    }
                    other => return Err(format!("{} has no elements", other.kind())),
                }
            }
            Self::Call(function, arguments) => {
                let arguments: Result<Vec<_>, _> = arguments.iter().map(|a| a.value(message)).collect();
                call(function, arguments?)?
            }
            Self::Negative(value) => match value.value(message)? {
                Worth::Float(float) => Worth::Float(-float),
                other => Worth::Integer(
                    other
                        .integer()
                        .and_then(i128::checked_neg)
                        .ok_or_else(|| format!("`-` is asked of {}", other.kind()))?,
                ),
            },
            Self::Arithmetic(operator, left, right) => {
                arithmetic(*operator, &left.value(message)?, &right.value(message)?)?
            }
            Self::Compared(first, others) => {
                let mut left = first.value(message)?;
                for (comparison, right) in others {
                    let right = right.value(message)?;
                    if !left.holds(comparison, &right)? {
                        return Ok(Worth::Truth(false));
                    }
                    left = right;
                }
                Worth::Truth(true)
            }
            Self::Not(value) => Worth::Truth(!value.value(message)?.is_true()),
            Self::And(parts) => {
                for part in parts {
                    if !part.value(message)?.is_true() {
                        return Ok(Worth::Truth(false));
                    }
                }
                Worth::Truth(true)
            }
            Self::Or(parts) => {
                for part in parts {
                    if part.value(message)?.is_true() {
                        return Ok(Worth::Truth(true));
                    }
                }
                Worth::Truth(false)
            }
        })
    }
}

impl Worth<'_> {
    fn length(&self) -> Option<usize> {
        match self {
            Self::List(items) => Some(items.len()),
            Self::Bytes(bytes) => Some(bytes.len()),
            Self::Text(text) => Some(text.chars().count()),
            _ => None,
        }
    }
}

fn call<'a>(function: &str, arguments: Vec<Worth<'a>>) -> Result<Worth<'a>, String> {
    let first = arguments.first().ok_or_else(|| format!("`{function}` takes a value"))?;
    match function {
        "len" => first
            .length()
            .map(|length| Worth::Integer(length as i128))
            .ok_or_else(|| format!("{} has no length", first.kind())),
        "abs" => match first {
            Worth::Float(float) => Ok(Worth::Float(float.abs())),
            other => (other.integer().map(|integer| Worth::Integer(integer.saturating_abs())))
                .ok_or_else(|| format!("`abs` is asked of {}", other.kind())),
        },
        _ => {
            let items = if arguments.len() == 1 { first.items() } else { Some(arguments) };
            let mut items =
                items.ok_or_else(|| format!("`{function}` takes a list or several values"))?.into_iter();
            let mut best = items.next().ok_or_else(|| format!("`{function}` of an empty list"))?;
            let wanted = if function == "min" { "<" } else { ">" };
            for item in items {
                if item.holds(wanted, &best)? {
                    best = item;
                }
            }
            Ok(best)
        }
    }
}

fn arithmetic<'a>(operator: char, left: &Worth<'a>, right: &Worth<'a>) -> Result<Worth<'a>, String> {
    if let (Worth::Text(left), Worth::Text(right), '+') = (left, right, operator) {
        return Ok(Worth::Text(format!("{left}{right}").into()));
    }
    if let (Some(left), Some(right)) = (left.integer(), right.integer())
        && operator != '/'
    {
        let result = match operator {
            '+' => left.checked_add(right),
            '-' => left.checked_sub(right),
            '*' => left.checked_mul(right),
            // The sign of Python's remainder is that of the divisor.
            _ => left
                .checked_rem(right)
                .map(|rest| if rest != 0 && (rest < 0) != (right < 0) { rest + right } else { rest }),
        };
        return result
            .map(Worth::Integer)
            .ok_or_else(|| format!("{left} {operator} {right} cannot be computed"));
    }
    match (left.number(), right.number()) {
        (Some(left), Some(right)) => match operator {
            '+' => Ok(Worth::Float(left + right)),
            '-' => Ok(Worth::Float(left - right)),
            '*' => Ok(Worth::Float(left * right)),
            _ if right == 0.0 => Err(format!("{left} {operator} 0 cannot be computed")),
            '/' => Ok(Worth::Float(left / right)),
            _ => Ok(Worth::Float(left - right * (left / right).floor())),
        },
        _ => Err(format!("{} {operator} {} cannot be computed", left.kind(), right.kind())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;

    fn joints() -> DynamicMessage {
        let ty = Registry::embedded().message_type("sensor_msgs/msg/JointState").unwrap();
        let text = "{header: {frame_id: base, stamp: {sec: 7}}, name: [a, b], position: [1.5, -2.0, 3.0]}";
        DynamicMessage::from_yaml(&ty, text, None).unwrap()
    }

    #[test]
    fn conditions_mean_what_they_mean_in_python() {
        for (text, expected) in [
            ("m.header.frame_id == 'base'", true),
            ("m.header.frame_id != \"base\" or m.header.stamp.sec >= 7", true),
            ("m.position[0] > 1 and m.position[-1] == 3", true),
            ("not m.position", false),
            ("len(m.name) == 2 and 'b' in m.name and 'c' not in m.name", true),
            ("-3 < m.position[1] < 0 < 1", true),
            ("1 < m.position[1] < 9", false),
            ("abs(m.position[1]) * 2 + 1 == 5.0", true),
            ("(m.header.stamp.sec - 1) % 4 == 2 and -1 % 4 == 3 and -1.5 % 4 == 2.5", true),
            ("max(m.position) - min(m.position) == 5 and max(1, 2) == 2", true),
            ("'as' in m.header.frame_id and m.header.frame_id[0] + 'x' == 'bx'", true),
            ("m.effort or m.velocity", false),
            ("1_000 == 1e3 and 0x10 == 16 and True == 1 and not False", true),
            ("m.position[0]", true),
            ("7 / 2 == 3.5 and - -1 == 1", true),
            ("m == m", true),
        ] {
            assert_eq!(Filter::parse(text).unwrap().accepts(&joints()), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, expected) in [
            ("", "a value is missing"),
            ("m.", "a field's name is missing"),
            ("m.data ==", "a value is missing"),
            ("m.data = 3", "a condition ends here"),
            ("(m.data", "`)` is missing"),
            ("m.data[1", "`]` is missing"),
            ("'abc", "a string does not end"),
            ("data > 3", "`data` is not known; the message is `m`"),
            ("1.2.3 > 1", "this is no number"),
            ("len(1, 2)", "`len` takes one value"),
        ] {
            let error = Filter::parse(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        let deep = "(".repeat(100_000);
        assert!(Filter::parse(&deep).unwrap_err().starts_with("nested too deeply"));
        for (text, expected) in [
            ("m.nothing", "sensor_msgs/msg/JointState has no `nothing`, but header, name"),
            ("m.name.x", "`.x` is asked of a list"),
            ("m.position[3]", "there is no element 3 of 3"),
            ("m.position['a']", "a string is no index"),
            ("m.name < 3", "a list and a number cannot be compared with `<`"),
            ("3 in m.header.stamp.sec", "a number has no elements"),
            ("1 / 0", "1 / 0 cannot be computed"),
            ("1 % 0", "1 % 0 cannot be computed"),
            ("max(m.effort)", "`max` of an empty list"),
        ] {
            let error = Filter::parse(text).unwrap().accepts(&joints()).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
