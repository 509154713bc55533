//! What is declared about a parameter besides its value: type, range, meaning.

use std::fmt;

use super::{ParameterError, ParameterType, ParameterValue};

/// Values a numeric parameter may take; the ends are always allowed, a step of zero means any value between them.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "the ends and the step are what the sentence above says")]
pub enum Range {
    /// Of an integer parameter.
    Integer { from: i64, to: i64, step: u64 },
    /// Of a floating-point parameter.
    Double { from: f64, to: f64, step: f64 },
}

/// What is in it, for people.
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer { from, to, step: 0 | 1 } => write!(f, "in {from} … {to}"),
            Self::Integer { from, to, step } => write!(f, "in {from} … {to} in steps of {step}"),
            Self::Double { from, to, step } if *step == 0.0 => write!(f, "in {from} … {to}"),
            Self::Double { from, to, step } => write!(f, "in {from} … {to} in steps of {step}"),
        }
    }
}

impl Range {
    /// Values of the other number type, and of no number type, are not this range's business.
    fn allows(&self, value: &ParameterValue) -> bool {
        match (self, value) {
            (_, ParameterValue::Integer(v)) => self.allows_integer(*v),
            (_, ParameterValue::IntegerArray(v)) => v.iter().all(|v| self.allows_integer(*v)),
            (_, ParameterValue::Double(v)) => self.allows_double(*v),
            (_, ParameterValue::DoubleArray(v)) => v.iter().all(|v| self.allows_double(*v)),
            _ => true,
        }
    }

    fn allows_integer(&self, value: i64) -> bool {
        let Self::Integer { from, to, step } = *self else { return true };
        let on_step = || step == 0 || (i128::from(value) - i128::from(from)) % i128::from(step) == 0;
        value == from || value == to || (from..=to).contains(&value) && on_step()
    }

    fn allows_double(&self, value: f64) -> bool {
        let Self::Double { from, to, step } = *self else { return true };
        if !value.is_finite() {
            // Infinity is within any tolerance of everything.
            return (from..=to).contains(&value);
        }
        // As tolerant as rclcpp: a hundred units in the last place.
        let equal = |a: f64, b: f64| (a - b).abs() <= f64::EPSILON * (a + b).abs() * 100.0;
        let on_step = || step == 0.0 || equal(value, from + ((value - from) / step).round() * step);
        equal(value, from) || equal(value, to) || (from..=to).contains(&value) && on_step()
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Integer { .. } => "integer",
            Self::Double { .. } => "floating point",
        }
    }
}

/// What is declared about a parameter, besides its value.
///
/// ```
/// use rosless_graph::parameters::Descriptor;
/// let rate = Descriptor::new("rate").description("Publications per second").integer_range(1, 1000, 1).read_only();
/// assert!(rate.read_only);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Descriptor {
    /// What it is called; dots make groups.
    pub name: String,
    /// What values it takes, unless it is dynamically typed.
    pub kind: ParameterType,
    /// What it is for, for people.
    pub description: String,
    /// What else it must be, for people.
    pub additional_constraints: String,
    /// It has the value it was declared with.
    pub read_only: bool,
    /// The type may change with each value.
    pub dynamic_typing: bool,
    /// Numbers it may be.
    pub range: Option<Range>,
}

impl Descriptor {
    /// Any value of the type it is declared with.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// What it is for, for people.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = text.into();
        self
    }

    /// Rules in words, for those that a range cannot say.
    #[must_use]
    pub fn constraints(mut self, text: impl Into<String>) -> Self {
        self.additional_constraints = text.into();
        self
    }

    /// It keeps the value it is declared with.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Its type may change.
    #[must_use]
    pub fn dynamic_typing(mut self) -> Self {
        self.dynamic_typing = true;
        self
    }

    /// From, to, and the step between two values; a step of 0 allows all.
    #[must_use]
    pub fn integer_range(mut self, from: i64, to: i64, step: u64) -> Self {
        self.range = Some(Range::Integer { from, to, step });
        self
    }

    /// From, to, and the step between two values; a step of 0 allows all.
    #[must_use]
    pub fn double_range(mut self, from: f64, to: f64, step: f64) -> Self {
        self.range = Some(Range::Double { from, to, step });
        self
    }

    pub(super) fn check(&self, value: &ParameterValue) -> Result<(), ParameterError> {
        let name = || self.name.clone();
        if !self.dynamic_typing && value.kind() != self.kind {
            return Err(ParameterError::WrongType { name: name(), declared: self.kind, given: value.kind() });
        }
        match &self.range {
            Some(range) if !range.allows(value) => {
                Err(ParameterError::OutOfRange { name: name(), value: value.to_string(), range: *range })
            }
            _ => Ok(()),
        }
    }
}

impl From<&str> for Descriptor {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}
