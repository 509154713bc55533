//! The real-time data exchange protocol, version 2: packages of both directions. All numbers are big endian.
//!
//! Reading is total: any bytes give a package or an error, and no package is larger than its two bytes of length can say.

/// The port of every controller.
pub const PORT: u16 = 30004;
/// The protocol version spoken here.
pub const VERSION: u16 = 2;
/// Fields that one recipe may have; a controller takes 2048 bytes of names.
pub const MOST_FIELDS: usize = 512;

const HEADER: usize = 3;

/// Bytes that are no package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The length does not even cover the header: the stream is out of step.
    #[error("a package of {0} bytes is shorter than its header")]
    Length(u16),
    /// A package that is shorter or longer than its type wants.
    #[error("a package of type {kind} with {length} bytes of content")]
    Content {
        /// Its type.
        kind: u8,
        /// Bytes after the header.
        length: usize,
    },
    /// No such type.
    #[error("a package of the unknown type {0}")]
    Kind(u8),
    /// Data that does not fit the fields that were asked for.
    #[error("{found} bytes of data where the recipe has {expected}")]
    Data {
        /// What came.
        found: usize,
        /// What the fields need.
        expected: usize,
    },
}

mod kind {
    pub(super) const VERSION: u8 = 86;
    pub(super) const CONTROLLER: u8 = 118;
    pub(super) const TEXT: u8 = 77;
    pub(super) const DATA: u8 = 85;
    pub(super) const OUTPUTS: u8 = 79;
    pub(super) const INPUTS: u8 = 73;
    pub(super) const START: u8 = 83;
    pub(super) const PAUSE: u8 = 80;
}

/// What a client says.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// "I would like this protocol version."
    Version(u16),
    /// "Which software are you?"
    Controller,
    /// "Send me these fields so often."
    Outputs {
        /// Hz.
        frequency: f64,
        /// Names of fields.
        names: Vec<String>,
    },
    /// "I shall send you these fields."
    Inputs(Vec<String>),
    /// "Begin."
    Start,
    /// "Hold on."
    Pause,
    /// Values for a recipe of inputs.
    Data {
        /// Which recipe.
        recipe: u8,
        /// The values, one after the other.
        payload: Vec<u8>,
    },
    /// A message for the log.
    Text(String),
}

/// The controller's software.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct SoftwareVersion {
    /// 3 for CB3, 5 for the e-series.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub bugfix: u32,
    /// The fourth number.
    pub build: u32,
}

impl std::fmt::Display for SoftwareVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.bugfix)
    }
}

/// What a controller says.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Whether it speaks that version.
    Version(bool),
    /// Its software.
    Controller(SoftwareVersion),
    /// The types of the fields asked for, `NOT_FOUND` among them.
    Outputs {
        /// The recipe's number; 0 when it is refused.
        recipe: u8,
        /// One type per name.
        types: Vec<String>,
    },
    /// The types of the inputs announced, `NOT_FOUND` and `IN_USE` among them.
    Inputs {
        /// The recipe's number; 0 when it is refused.
        recipe: u8,
        /// One type per name.
        types: Vec<String>,
    },
    /// Whether it begins.
    Start(bool),
    /// Whether it pauses.
    Pause(bool),
    /// Values of a recipe of outputs.
    Data {
        /// Which recipe.
        recipe: u8,
        /// The values, one after the other.
        payload: Vec<u8>,
    },
    /// A message for people.
    Text {
        /// What it says.
        message: String,
        /// Who says so.
        source: String,
        /// 0 exception, 1 error, 2 warning, 3 information.
        level: u8,
    },
}

fn package(kind: u8, content: &[u8]) -> Vec<u8> {
    // Longer than a package can be is cut: only texts can, and nobody needs the end of those.
    let content = &content[..content.len().min(usize::from(u16::MAX) - HEADER)];
    let mut bytes = Vec::with_capacity(HEADER + content.len());
    bytes.extend(((HEADER + content.len()) as u16).to_be_bytes());
    bytes.push(kind);
    bytes.extend(content);
    bytes
}

fn after(first: &[u8], rest: &[u8]) -> Vec<u8> {
    [first, rest].concat()
}

fn list(bytes: &[u8]) -> Vec<String> {
    // Clients put a comma behind the last name, too.
    let text = String::from_utf8_lossy(bytes);
    text.split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .take(MOST_FIELDS)
        .map(str::to_owned)
        .collect()
}

fn short_text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (length, rest) = bytes.split_first()?;
    let (text, rest) = rest.split_at_checked(usize::from(*length))?;
    Some((String::from_utf8_lossy(text).into_owned(), rest))
}

fn put_short_text(bytes: &mut Vec<u8>, text: &str) {
    let length = text.len().min(usize::from(u8::MAX));
    bytes.push(length as u8);
    bytes.extend(&text.as_bytes()[..length]);
}

impl Request {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Version(version) => package(kind::VERSION, &version.to_be_bytes()),
            Self::Controller => package(kind::CONTROLLER, &[]),
            Self::Outputs { frequency, names } => {
                package(kind::OUTPUTS, &after(&frequency.to_be_bytes(), names.join(",").as_bytes()))
            }
            Self::Inputs(names) => package(kind::INPUTS, names.join(",").as_bytes()),
            Self::Start => package(kind::START, &[]),
            Self::Pause => package(kind::PAUSE, &[]),
            Self::Data { recipe, payload } => package(kind::DATA, &after(&[*recipe], payload)),
            Self::Text(text) => {
                let mut content = Vec::new();
                put_short_text(&mut content, text);
                put_short_text(&mut content, "client");
                content.push(3);
                package(kind::TEXT, &content)
            }
        }
    }

    /// From the type and content of a package.
    ///
    /// # Errors
    /// When a client says no such thing.
    pub fn decode(kind: u8, content: &[u8]) -> Result<Self, Malformed> {
        let wrong = || Malformed::Content { kind, length: content.len() };
        Ok(match (kind, content) {
            (kind::VERSION, [high, low]) => Self::Version(u16::from_be_bytes([*high, *low])),
            (kind::CONTROLLER, []) => Self::Controller,
            (kind::OUTPUTS, _) => {
                let (frequency, names) = content.split_first_chunk::<8>().ok_or_else(wrong)?;
                Self::Outputs { frequency: f64::from_be_bytes(*frequency), names: list(names) }
            }
            (kind::INPUTS, _) => Self::Inputs(list(content)),
            (kind::START, []) => Self::Start,
            (kind::PAUSE, []) => Self::Pause,
            (kind::DATA, [recipe, payload @ ..]) => Self::Data { recipe: *recipe, payload: payload.to_vec() },
            (kind::TEXT, _) => Self::Text(short_text(content).ok_or_else(wrong)?.0),
            (kind::VERSION | kind::CONTROLLER | kind::START | kind::PAUSE | kind::DATA, _) => {
                return Err(wrong());
            }
            _ => return Err(Malformed::Kind(kind)),
        })
    }
}

impl Reply {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Version(yes) => package(kind::VERSION, &[u8::from(*yes)]),
            Self::Controller(version) => {
                let numbers = [version.major, version.minor, version.bugfix, version.build];
                package(kind::CONTROLLER, &numbers.map(u32::to_be_bytes).concat())
            }
            Self::Outputs { recipe, types } => {
                package(kind::OUTPUTS, &after(&[*recipe], types.join(",").as_bytes()))
            }
            Self::Inputs { recipe, types } => {
                package(kind::INPUTS, &after(&[*recipe], types.join(",").as_bytes()))
            }
            Self::Start(yes) => package(kind::START, &[u8::from(*yes)]),
            Self::Pause(yes) => package(kind::PAUSE, &[u8::from(*yes)]),
            Self::Data { recipe, payload } => package(kind::DATA, &after(&[*recipe], payload)),
            Self::Text { message, source, level } => {
                let mut content = Vec::new();
                put_short_text(&mut content, message);
                put_short_text(&mut content, source);
                content.push(*level);
                package(kind::TEXT, &content)
            }
        }
    }

    /// From the type and content of a package.
    ///
    /// # Errors
    /// When a controller says no such thing.
    pub fn decode(kind: u8, content: &[u8]) -> Result<Self, Malformed> {
        let wrong = || Malformed::Content { kind, length: content.len() };
        Ok(match (kind, content) {
            (kind::VERSION, [yes]) => Self::Version(*yes != 0),
            (kind::CONTROLLER, _) => {
                let numbers: &[u8; 16] = content.try_into().map_err(|_| wrong())?;
                let number = |i: usize| u32::from_be_bytes(std::array::from_fn(|k| numbers[4 * i + k]));
                Self::Controller(SoftwareVersion {
                    major: number(0),
                    minor: number(1),
                    bugfix: number(2),
                    build: number(3),
                })
            }
            (kind::OUTPUTS, [recipe, types @ ..]) => Self::Outputs { recipe: *recipe, types: list(types) },
            (kind::INPUTS, [recipe, types @ ..]) => Self::Inputs { recipe: *recipe, types: list(types) },
            (kind::START, [yes]) => Self::Start(*yes != 0),
            (kind::PAUSE, [yes]) => Self::Pause(*yes != 0),
            (kind::DATA, [recipe, payload @ ..]) => Self::Data { recipe: *recipe, payload: payload.to_vec() },
            (kind::TEXT, _) => {
                let (message, rest) = short_text(content).ok_or_else(wrong)?;
                let (source, rest) = short_text(rest).ok_or_else(wrong)?;
                let [level] = rest else { return Err(wrong()) };
                Self::Text { message, source, level: *level }
            }
            (kind::VERSION | kind::OUTPUTS | kind::INPUTS | kind::START | kind::PAUSE | kind::DATA, _) => {
                return Err(wrong());
            }
            _ => return Err(Malformed::Kind(kind)),
        })
    }
}

/// Cuts a stream into packages. What it holds is at most one package, whose length has two bytes.
#[derive(Debug, Clone, Default)]
pub struct Packages {
    bytes: Vec<u8>,
    taken: usize,
}

impl Packages {
    /// Takes what came.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..std::mem::take(&mut self.taken));
        self.bytes.extend(bytes);
    }

    /// The next whole package: its type and content.
    ///
    /// # Errors
    /// When the stream is out of step; nothing that follows can be understood.
    pub fn next_package(&mut self) -> Result<Option<(u8, &[u8])>, Malformed> {
        let rest = &self.bytes[self.taken..];
        let Some((&[high, low, kind], _)) = rest.split_first_chunk::<HEADER>() else { return Ok(None) };
        let length = u16::from_be_bytes([high, low]);
        if usize::from(length) < HEADER {
            return Err(Malformed::Length(length));
        }
        let Some(content) = rest.get(HEADER..usize::from(length)) else { return Ok(None) };
        self.taken += usize::from(length);
        Ok(Some((kind, content)))
    }
}

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the protocol's own names")]
pub enum Type {
    Bool,
    Uint8,
    Uint32,
    Uint64,
    Int32,
    Double,
    Vector3d,
    Vector6d,
    Vector6Int32,
    Vector6Uint32,
}

impl Type {
    const ALL: [(Self, &'static str, usize); 10] = [
        (Self::Bool, "BOOL", 1),
        (Self::Uint8, "UINT8", 1),
        (Self::Uint32, "UINT32", 4),
        (Self::Uint64, "UINT64", 8),
        (Self::Int32, "INT32", 4),
        (Self::Double, "DOUBLE", 8),
        (Self::Vector3d, "VECTOR3D", 24),
        (Self::Vector6d, "VECTOR6D", 48),
        (Self::Vector6Int32, "VECTOR6INT32", 24),
        (Self::Vector6Uint32, "VECTOR6UINT32", 24),
    ];

    fn row(self) -> &'static (Self, &'static str, usize) {
        &Self::ALL[self as usize]
    }

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Bytes of a value.
    pub fn size(self) -> usize {
        self.row().2
    }

    /// The type of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|row| row.1 == name).map(|row| row.0)
    }
}

/// A value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "the protocol's own names")]
pub enum Value {
    Bool(bool),
    Uint8(u8),
    Uint32(u32),
    Uint64(u64),
    Int32(i32),
    Double(f64),
    Vector3d([f64; 3]),
    Vector6d([f64; 6]),
    Vector6Int32([i32; 6]),
    Vector6Uint32([u32; 6]),
}

impl Value {
    /// Its type.
    pub fn type_of(&self) -> Type {
        match self {
            Self::Bool(_) => Type::Bool,
            Self::Uint8(_) => Type::Uint8,
            Self::Uint32(_) => Type::Uint32,
            Self::Uint64(_) => Type::Uint64,
            Self::Int32(_) => Type::Int32,
            Self::Double(_) => Type::Double,
            Self::Vector3d(_) => Type::Vector3d,
            Self::Vector6d(_) => Type::Vector6d,
            Self::Vector6Int32(_) => Type::Vector6Int32,
            Self::Vector6Uint32(_) => Type::Vector6Uint32,
        }
    }

    /// Nothing of that type.
    pub fn zero(kind: Type) -> Self {
        match kind {
            Type::Bool => Self::Bool(false),
            Type::Uint8 => Self::Uint8(0),
            Type::Uint32 => Self::Uint32(0),
            Type::Uint64 => Self::Uint64(0),
            Type::Int32 => Self::Int32(0),
            Type::Double => Self::Double(0.0),
            Type::Vector3d => Self::Vector3d([0.0; 3]),
            Type::Vector6d => Self::Vector6d([0.0; 6]),
            Type::Vector6Int32 => Self::Vector6Int32([0; 6]),
            Type::Vector6Uint32 => Self::Vector6Uint32([0; 6]),
        }
    }

    /// Puts it behind `bytes`.
    pub fn put(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Bool(value) => bytes.push(u8::from(*value)),
            Self::Uint8(value) => bytes.push(*value),
            Self::Uint32(value) => bytes.extend(value.to_be_bytes()),
            Self::Uint64(value) => bytes.extend(value.to_be_bytes()),
            Self::Int32(value) => bytes.extend(value.to_be_bytes()),
            Self::Double(value) => bytes.extend(value.to_be_bytes()),
            Self::Vector3d(values) => bytes.extend(values.iter().flat_map(|value| value.to_be_bytes())),
            Self::Vector6d(values) => bytes.extend(values.iter().flat_map(|value| value.to_be_bytes())),
            Self::Vector6Int32(values) => bytes.extend(values.iter().flat_map(|value| value.to_be_bytes())),
            Self::Vector6Uint32(values) => bytes.extend(values.iter().flat_map(|value| value.to_be_bytes())),
        }
    }

    /// Reads exactly the bytes of one value.
    fn get(kind: Type, bytes: &[u8]) -> Option<Self> {
        fn many<const N: usize, const S: usize, T: Copy + Default>(
            bytes: &[u8],
            read: fn([u8; S]) -> T,
        ) -> Option<[T; N]> {
            let mut values = [T::default(); N];
            for (value, chunk) in values.iter_mut().zip(bytes.chunks_exact(S)) {
                *value = read(chunk.try_into().ok()?);
            }
            (bytes.len() == N * S).then_some(values)
        }
        Some(match kind {
            Type::Bool => Self::Bool(*bytes.first()? != 0),
            Type::Uint8 => Self::Uint8(*bytes.first()?),
            Type::Uint32 => Self::Uint32(u32::from_be_bytes(bytes.try_into().ok()?)),
            Type::Uint64 => Self::Uint64(u64::from_be_bytes(bytes.try_into().ok()?)),
            Type::Int32 => Self::Int32(i32::from_be_bytes(bytes.try_into().ok()?)),
            Type::Double => Self::Double(f64::from_be_bytes(bytes.try_into().ok()?)),
            Type::Vector3d => Self::Vector3d(many(bytes, f64::from_be_bytes)?),
            Type::Vector6d => Self::Vector6d(many(bytes, f64::from_be_bytes)?),
            Type::Vector6Int32 => Self::Vector6Int32(many(bytes, i32::from_be_bytes)?),
            Type::Vector6Uint32 => Self::Vector6Uint32(many(bytes, u32::from_be_bytes)?),
        })
    }
}

/// The values of `types`, one after the other.
///
/// # Errors
/// When there are more or fewer bytes.
pub fn values(types: &[Type], payload: &[u8]) -> Result<Vec<Value>, Malformed> {
    let expected = types.iter().map(|kind| kind.size()).sum();
    let wrong = Malformed::Data { found: payload.len(), expected };
    if payload.len() != expected {
        return Err(wrong);
    }
    let mut rest = payload;
    let mut next = |kind: &Type| {
        let (bytes, more) = rest.split_at_checked(kind.size())?;
        rest = more;
        Value::get(*kind, bytes)
    };
    types.iter().map(&mut next).collect::<Option<_>>().ok_or(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn only(bytes: &[u8]) -> (u8, Vec<u8>) {
        let mut packages = Packages::default();
        packages.push(bytes);
        let (kind, content) = packages.next_package().unwrap().expect("whole");
        let found = (kind, content.to_vec());
        assert_eq!(packages.next_package(), Ok(None), "one and no more");
        found
    }

    #[test]
    fn packages_have_the_bytes_of_the_guide() {
        assert_eq!(Request::Version(2).encode(), [0, 5, b'V', 0, 2]);
        assert_eq!(Request::Controller.encode(), [0, 3, b'v']);
        assert_eq!(Request::Start.encode(), [0, 3, b'S']);
        let outputs =
            Request::Outputs { frequency: 125.0, names: vec!["timestamp".into(), "actual_q".into()] };
        let mut expected = vec![0, 29, b'O', 0x40, 0x5f, 0x40, 0, 0, 0, 0, 0];
        expected.extend(b"timestamp,actual_q");
        assert_eq!(outputs.encode(), expected);
        assert_eq!(Reply::Data { recipe: 1, payload: vec![9] }.encode(), [0, 5, b'U', 1, 9]);
    }

    #[test]
    fn every_package_survives_its_bytes() {
        let names = vec!["actual_q".to_owned(), "robot_mode".to_owned()];
        for request in [
            Request::Version(2),
            Request::Controller,
            Request::Outputs { frequency: 500.0, names: names.clone() },
            Request::Inputs(names.clone()),
            Request::Start,
            Request::Pause,
            Request::Data { recipe: 3, payload: vec![1, 2] },
            Request::Text("hello".into()),
        ] {
            let (kind, content) = only(&request.encode());
            assert_eq!(Request::decode(kind, &content), Ok(request));
        }
        let version = SoftwareVersion { major: 5, minor: 12, bugfix: 0, build: 1_101_319 };
        for reply in [
            Reply::Version(true),
            Reply::Controller(version),
            Reply::Outputs { recipe: 1, types: vec!["VECTOR6D".into(), "NOT_FOUND".into()] },
            Reply::Inputs { recipe: 0, types: vec!["IN_USE".into()] },
            Reply::Start(true),
            Reply::Pause(false),
            Reply::Data { recipe: 1, payload: vec![0; 56] },
            Reply::Text { message: "m".into(), source: "s".into(), level: 1 },
        ] {
            let (kind, content) = only(&reply.encode());
            assert_eq!(Reply::decode(kind, &content), Ok(reply));
        }
    }

    #[test]
    fn a_comma_behind_the_last_name_is_no_name() {
        let mut content = 125.0_f64.to_be_bytes().to_vec();
        content.extend(b"timestamp,actual_q,");
        let Ok(Request::Outputs { names, .. }) = Request::decode(b'O', &content) else { panic!("outputs") };
        assert_eq!(names, ["timestamp", "actual_q"]);
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_give_packages_or_an_error(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..20)) {
            let mut packages = Packages::default();
            'stream: for piece in &pieces {
                packages.push(piece);
                loop {
                    match packages.next_package() {
                        Ok(Some((kind, content))) => {
                            let (kind, content) = (kind, content.to_vec());
                            if let Ok(request) = Request::decode(kind, &content) {
                                prop_assert!(request.encode().len() <= usize::from(u16::MAX));
                            }
                            let _ = Reply::decode(kind, &content);
                        }
                        Ok(None) => break,
                        Err(_) => break 'stream,
                    }
                }
                prop_assert!(packages.bytes.len() - packages.taken <= usize::from(u16::MAX));
            }
        }

        #[test]
        fn the_cuts_between_pieces_do_not_matter(cut in 0usize..60) {
            let stream = [
                Reply::Version(true).encode(),
                Reply::Data { recipe: 1, payload: vec![7; 30] }.encode(),
                Reply::Start(true).encode(),
            ].concat();
            let cut = cut.min(stream.len());
            let mut packages = Packages::default();
            let mut seen = Vec::new();
            for piece in [&stream[..cut], &stream[cut..]] {
                packages.push(piece);
                while let Some((kind, content)) = packages.next_package().unwrap() {
                    seen.push((kind, content.len()));
                }
            }
            prop_assert_eq!(seen, vec![(b'V', 1), (b'U', 31), (b'S', 1)]);
        }

        #[test]
        fn values_are_read_as_they_were_put(doubles in any::<[f64; 6]>(), ints in any::<[i32; 6]>(), word in any::<u64>()) {
            let put = [Value::Vector6d(doubles), Value::Vector6Int32(ints), Value::Uint64(word), Value::Bool(true), Value::Vector3d([1.0, 2.0, 3.0])];
            let mut bytes = Vec::new();
            put.iter().for_each(|value| value.put(&mut bytes));
            let types: Vec<Type> = put.iter().map(Value::type_of).collect();
            let got = values(&types, &bytes).unwrap();
            let mut again = Vec::new();
            got.iter().for_each(|value| value.put(&mut again));
            prop_assert_eq!(&bytes, &again);
            prop_assert!(values(&types, &bytes[1..]).is_err());
        }
    }
}
