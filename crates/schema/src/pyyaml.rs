//! What a plain YAML scalar is to Python: the resolver of PyYAML's safe loader (YAML 1.1 without `y` and `n`).

/// A plain scalar after resolution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plain {
    /// `null`, `~` or nothing.
    Null,
    /// `true`, `on`, `yes` and their opposites.
    Bool(bool),
    /// `None` when it is larger than any ROS integer.
    Int(Option<i128>),
    /// A number with a fraction, or no number.
    Float(f64),
    /// A date, a merge key or the value key: no value of a message or parameter.
    Other,
    /// Whatever else.
    Text,
}

/// What the text of a plain scalar stands for.
pub fn resolve(text: &str) -> Plain {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Plain::Null,
        "<<" | "=" => return Plain::Other,
        "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => return Plain::Bool(true),
        "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => {
            return Plain::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Plain::Float(f64::NAN),
        _ => {}
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let negative = text.starts_with('-');
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        Plain::Float(if negative { f64::NEG_INFINITY } else { f64::INFINITY })
    } else if is_int(unsigned) {
        Plain::Int(int(&unsigned.replace('_', "")).map(|value| if negative { -value } else { value }))
    } else if is_float(unsigned, unsigned.len() == text.len()) {
        let value = float(&unsigned.replace('_', ""));
        Plain::Float(if negative { -value } else { value })
    } else if is_timestamp(text) {
        Plain::Other
    } else {
        Plain::Text
    }
}

fn int(digits: &str) -> Option<i128> {
    if let Some(binary) = digits.strip_prefix("0b") {
        i128::from_str_radix(binary, 2).ok()
    } else if let Some(hex) = digits.strip_prefix("0x") {
        i128::from_str_radix(hex, 16).ok()
    } else if digits.len() > 1 && digits.starts_with('0') {
        i128::from_str_radix(digits, 8).ok()
    } else {
        digits.split(':').try_fold(0i128, |sum, place| sum.checked_mul(60)?.checked_add(place.parse().ok()?))
    }
}

fn float(digits: &str) -> f64 {
    digits.split(':').fold(0.0, |sum, place| sum * 60.0 + place.parse().unwrap_or(0.0))
}

fn all(text: &str, accept: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(accept)
}

fn digits(text: &str) -> bool {
    all(text, |b| b.is_ascii_digit())
}

/// A digit, then digits and underscores.
fn number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) && all(text, |b| b.is_ascii_digit() || b == b'_')
}

/// `:` and one or two digits of base 60, at least once.
fn sexagesimal(mut parts: std::str::Split<'_, char>) -> bool {
    let place = |p: &str| digits(p) && (p.len() == 1 || (p.len() == 2 && p.as_bytes()[0] <= b'5'));
    parts.next().is_some_and(place) && parts.all(place)
}

fn is_int(unsigned: &str) -> bool {
    if let Some(binary) = unsigned.strip_prefix("0b") {
        return all(binary, |b| matches!(b, b'0' | b'1' | b'_'));
    }
    if let Some(hex) = unsigned.strip_prefix("0x") {
        return all(hex, |b| b.is_ascii_hexdigit() || b == b'_');
    }
    let octal = unsigned.strip_prefix('0').is_some_and(|o| all(o, |b| matches!(b, b'0'..=b'7' | b'_')));
    let decimal = |text: &str| number(text) && !text.starts_with('0');
    let mut parts = unsigned.split(':');
    let first = parts.next().unwrap_or_default();
    octal || unsigned == "0" || decimal(unsigned) || (decimal(first) && sexagesimal(parts))
}

fn is_float(unsigned: &str, has_no_sign: bool) -> bool {
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    if exponent.is_some_and(|e| !e.strip_prefix(['-', '+']).is_some_and(digits)) {
        return false;
    }
    let Some((whole, fraction)) = mantissa.split_once('.') else { return false };
    if whole.is_empty() {
        return has_no_sign && number(fraction);
    }
    let tail = fraction.is_empty() || all(fraction, |b| b.is_ascii_digit() || b == b'_');
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    tail && (number(whole) || (exponent.is_none() && number(first) && sexagesimal(parts)))
}

/// `2001-12-14`, or a date with a time behind it.
fn is_timestamp(text: &str) -> bool {
    let short = |t: &str| digits(t) && t.len() <= 2;
    let mut parts = text.splitn(3, '-');
    let (Some(year), Some(month), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    if year.len() != 4 || !digits(year) || !short(month) {
        return false;
    }
    let Some(day_end) = rest.find(['T', 't', ' ', '\t']) else {
        return month.len() == 2 && rest.len() == 2 && digits(rest);
    };
    let (day, time) = rest.split_at(day_end);
    let time = match time.strip_prefix(['T', 't']) {
        Some(time) => time,
        None => time.trim_start_matches([' ', '\t']),
    };
    let mut parts = time.splitn(3, ':');
    let (Some(hour), Some(minute), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    if !short(day)
        || !short(hour)
        || minute.len() != 2
        || !digits(minute)
        || !rest.get(..2).is_some_and(digits)
    {
        return false;
    }
    let rest = &rest[2..];
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    let zone = rest.trim_start_matches([' ', '\t']);
    if rest.is_empty() || zone == "Z" {
        return true;
    }
    let Some(offset) = zone.strip_prefix(['-', '+']) else { return false };
    match offset.split_once(':') {
        Some((hour, minute)) => short(hour) && minute.len() == 2 && digits(minute),
        None => short(offset),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `yaml.safe_load` of PyYAML 6.0.3 said.
    #[test]
    fn scalars_are_what_they_are_to_pyyaml() {
        let int = |value| Plain::Int(Some(value));
        for (text, expected) in [
            ("y", Plain::Text),
            ("n", Plain::Text),
            ("Y", Plain::Text),
            ("yes", Plain::Bool(true)),
            ("oFF", Plain::Text),
            ("Off", Plain::Bool(false)),
            ("null", Plain::Null),
            ("1", int(1)),
            ("+5", int(5)),
            ("-0x1F", int(-31)),
            ("0X1F", Plain::Text),
            ("010", int(8)),
            ("08", Plain::Text),
            ("0o10", Plain::Text),
            ("0b1_1", int(3)),
            ("1_000", int(1000)),
            ("_1", Plain::Text),
            ("1:30", int(90)),
            ("1:60", Plain::Text),
            ("-1:30:5", int(-5405)),
            ("9223372036854775808", int(9_223_372_036_854_775_808)),
            ("1e3", Plain::Text),
            ("1.0e3", Plain::Text),
            ("1.0e+3", Plain::Float(1000.0)),
            ("1.5", Plain::Float(1.5)),
            ("5.", Plain::Float(5.0)),
            (".5", Plain::Float(0.5)),
            ("-.5", Plain::Text),
            ("1:30.5", Plain::Float(90.5)),
            ("1_0.5_0", Plain::Float(10.5)),
            ("-.inf", Plain::Float(f64::NEG_INFINITY)),
            ("inf", Plain::Text),
            ("nan", Plain::Text),
            ("2001-12-14", Plain::Other),
            ("12:30:45", int(45_045)),
            ("1.2.3", Plain::Text),
        ] {
            assert_eq!(resolve(text), expected, "{text}");
        }
        assert!(matches!(resolve(".NaN"), Plain::Float(value) if value.is_nan()));
        assert_eq!(resolve(&format!("1{}", "0".repeat(40))), Plain::Int(None));
    }
}
