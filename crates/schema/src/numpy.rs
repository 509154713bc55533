//! Fixed-size arrays of numbers as numpy prints them with its default options, which is how Python shows those of a
//! ROS message: `array([0. , 1.5])` in a `repr`, `[0.  1.5]` in a `str`.

use std::fmt::{Debug, LowerExp};

use crate::python;
use crate::value::Value;

const LINE_WIDTH: usize = 75;
/// Longer arrays are shown by their first and last elements.
const THRESHOLD: usize = 1000;
const EDGE: usize = 3;
/// Most digits behind the point.
const PRECISION: usize = 8;

/// `repr(array)`.
pub(crate) fn repr(value: &Value, dtype: &str) -> String {
    let (prefix, is_default) = ("array(", matches!(dtype, "float64" | "int64"));
    let is_empty = matches!(value, Value::Bytes(bytes) if bytes.is_empty())
        || matches!(value, Value::List(items) if items.is_empty());
    let implied = is_default && !is_empty;
    let array = format!("{prefix}{}", lines(value, ", ", prefix.len(), 1));
    if implied {
        return format!("{array})");
    }
    let array = format!("{array},");
    let dtype = format!("dtype={dtype})");
    let last_line = array.rsplit('\n').next().map_or(0, str::len);
    let fits = last_line + dtype.len() < LINE_WIDTH;
    format!("{array}{}{dtype}", if fits { " ".to_owned() } else { format!("\n{}", " ".repeat(prefix.len())) })
}

/// `str(array)`.
pub(crate) fn str(value: &Value) -> String {
    lines(value, " ", 0, 0)
}

/// The elements in brackets, wrapped; `prefix` characters stand before them, and `suffix` characters follow.
fn lines(value: &Value, separator: &str, prefix: usize, suffix: usize) -> String {
    let words = match value {
        Value::Bytes(bytes) => words(bytes, integers),
        Value::List(items) => words(items, |all| match all.first() {
            Some(Value::F64(_)) => floats(all, |v| if let Value::F64(f) = v { *f } else { 0.0 }),
            Some(Value::F32(_)) => floats(all, |v| if let Value::F32(f) = v { *f } else { 0.0 }),
            _ => integers(&all.iter().map(integer).collect::<Vec<_>>()),
        }),
        _ => Vec::new(),
    };
    let indent = " ".repeat(prefix + 1);
    // Room for the separator or the closing bracket.
    let width = LINE_WIDTH - suffix - 1;
    let (mut text, mut line) = (String::new(), indent.clone());
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            line.push_str(separator);
        }
        if line.len() + word.len() > width && line.len() > indent.len() {
            text.push_str(line.trim_end());
            text.push('\n');
            line.clone_from(&indent);
        }
        line.push_str(word);
    }
    text.push_str(&line);
    format!("[{}]", &text[indent.len()..])
}

/// The elements as words, the middle of long arrays left out.
fn words<T: Clone>(items: &[T], format: impl Fn(&[T]) -> Vec<String>) -> Vec<String> {
    if items.len() <= THRESHOLD {
        return format(items);
    }
    let mut words = format(&[&items[..EDGE], &items[items.len() - EDGE..]].concat());
    words.insert(EDGE, "...".to_owned());
    words
}

fn integer(value: &Value) -> i128 {
    match value {
        Value::Int(i) => (*i).into(),
        Value::Uint(u) => (*u).into(),
        _ => 0,
    }
}

fn integers(items: &[impl ToString]) -> Vec<String> {
    let words: Vec<_> = items.iter().map(ToString::to_string).collect();
    let width = words.iter().map(String::len).max().unwrap_or(0);
    words.into_iter().map(|word| format!("{word:>width$}")).collect()
}

fn floats<T, F>(items: &[T], value: impl Fn(&T) -> F) -> Vec<String>
where
    F: Copy + Into<f64> + LowerExp + Debug + std::ops::Div<Output = F>,
{
    let numbers: Vec<F> = items.iter().map(value).collect();
    let finite: Vec<F> = numbers.iter().copied().filter(|n| (*n).into().is_finite()).collect();
    let size = |n: &F| -> f64 { (*n).into().abs() };
    let nonzero = || finite.iter().copied().filter(|n| size(n) != 0.0);
    let largest = nonzero().max_by(|a, b| size(a).total_cmp(&size(b)));
    let smallest = nonzero().min_by(|a, b| size(a).total_cmp(&size(b)));
    let scientific = largest.zip(smallest).is_some_and(|(largest, smallest)| {
        size(&largest) >= 1e8 || size(&smallest) < 1e-4 || size(&(largest / smallest)) > 1000.0
    });
    let parts: Vec<Parts> = finite.iter().map(|n| Parts::shortest(*n, scientific)).collect();
    let longest = |length: fn(&Parts) -> usize| parts.iter().map(length).max().unwrap_or(0);
    let (whole, fraction) = (longest(|p| p.whole.len()), longest(|p| p.fraction.len()));
    let power = longest(|p| p.power.len());
    let behind = 1 + fraction + if scientific { 2 + power } else { 0 };
    let others = numbers.iter().filter(|n| !(**n).into().is_finite()).map(|n| python::float((*n).into()));
    let width = others.map(|word| word.len()).chain([whole + behind]).max().unwrap_or(0);
    let mut parts = parts.into_iter();
    let word = |number: &F| {
        let value: f64 = (*number).into();
        if !value.is_finite() {
            return format!("{:>width$}", python::float(value));
        }
        let shortest = parts.next().unwrap_or_default();
        if !scientific {
            return format!("{:>2$}.{:<fraction$}", shortest.whole, shortest.fraction, width - behind);
        }
        // With an exponent all have as many digits as the longest, and they are digits of the number, not zeros.
        let Parts { whole, fraction, sign, power: digits } = Parts::of(&format!("{value:.fraction$e}"));
        format!("{whole:>0$}.{fraction}e{sign}{digits:0>power$}", width - behind)
    };
    numbers.iter().map(word).collect()
}

/// A number's digits before and behind the point, and its exponent.
#[derive(Default)]
struct Parts {
    whole: String,
    fraction: String,
    sign: &'static str,
    power: String,
}

impl Parts {
    /// The fewest digits that identify the number, but no more than `PRECISION` behind the point.
    fn shortest<F: Copy + Into<f64> + LowerExp + Debug>(number: F, scientific: bool) -> Self {
        let write = |exact: bool| match (scientific, exact) {
            (true, true) => format!("{number:e}"),
            (true, false) => format!("{:.PRECISION$e}", number.into()),
            // From 1e-4 and below 1e8, where Debug writes no exponent.
            (false, true) => format!("{number:?}"),
            (false, false) => format!("{:.PRECISION$}", number.into()),
        };
        let exact = Self::of(&write(true));
        let mut parts = if exact.fraction.len() > PRECISION { Self::of(&write(false)) } else { exact };
        parts.fraction.truncate(parts.fraction.trim_end_matches('0').len());
        parts
    }

    fn of(text: &str) -> Self {
        let (mantissa, power) = text.split_once('e').unwrap_or((text, ""));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let (sign, power) = power.strip_prefix('-').map_or(("+", power), |power| ("-", power));
        Self { whole: whole.to_owned(), fraction: fraction.to_owned(), sign, power: format!("{power:0>2}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: &serde_json::Value) -> f64 {
        value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
    }

    /// The table holds arrays with what `repr` and `str` of numpy 1.26 made of them.
    #[test]
    fn arrays_print_as_numpy_prints_them() {
        let table: Vec<serde_json::Value> =
            serde_json::from_str(include_str!("../tests/data/numpy_arrays.json")).unwrap();
        for row in &table {
            let (dtype, items) = (row["dtype"].as_str().unwrap(), row["values"].as_array().unwrap());
            let value = match dtype {
                "float64" => Value::List(items.iter().map(|v| Value::F64(number(v))).collect()),
                "float32" => Value::List(items.iter().map(|v| Value::F32(number(v) as f32)).collect()),
                "uint8" => Value::Bytes(items.iter().map(|v| v.as_u64().unwrap() as u8).collect()),
                "uint64" => Value::List(items.iter().map(|v| Value::Uint(v.as_u64().unwrap())).collect()),
                _ => Value::List(items.iter().map(|v| Value::Int(v.as_i64().unwrap())).collect()),
            };
            assert_eq!(repr(&value, dtype), row["repr"].as_str().unwrap());
            assert_eq!(str(&value), row["str"].as_str().unwrap());
        }
    }
}
