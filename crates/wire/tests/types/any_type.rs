//! Each type as a row of functions, so that the tests themselves compile once and not once per type.

use crate::source::Source;
use ::cdr::{BigEndian, LittleEndian, Serializer};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rosless_wire::cdr::{self, ByteOrder, Error};
use rosless_wire::registry::{Visitor, visit_all};
use rosless_wire::{Action, Message, Service, TypeInfo};

/// A message type whose values are known by their bytes.
pub(crate) struct AnyType {
    pub(crate) name: &'static str,
    pub(crate) hash: &'static str,
    /// Decodes and drops.
    pub(crate) decode: fn(&[u8]) -> Result<(), Error>,
    /// Decodes and encodes again.
    pub(crate) recode: fn(&[u8], ByteOrder) -> Result<Vec<u8>, Error>,
    /// Decodes, then encodes the body with the `cdr` crate.
    pub(crate) foreign: fn(&[u8], ByteOrder) -> Vec<u8>,
    /// Takes a value from a source and encodes it.
    pub(crate) encode: fn(Source<'_>, ByteOrder) -> Result<Vec<u8>, serde::de::value::Error>,
    /// Encodes the default value.
    pub(crate) default: fn() -> Vec<u8>,
}

impl AnyType {
    /// The encoding of a value that depends on nothing but the seed.
    pub(crate) fn random(&self, seed: u64, order: ByteOrder) -> Vec<u8> {
        let mut rng = SmallRng::seed_from_u64(seed);
        // Bounded sequences refuse what is too long for them: ask for shorter ones until they agree.
        [4, 3, 2, 1]
            .into_iter()
            .find_map(|max_len| (self.encode)(Source::Random { rng: &mut rng, max_len }, order).ok())
            .expect(self.name)
    }
}

/// All types: messages as rows; services and actions, which have no bytes of their own, by name and hash.
#[derive(Default)]
pub(crate) struct AllTypes {
    pub(crate) messages: Vec<AnyType>,
    pub(crate) others: Vec<TypeInfo>,
}

impl AllTypes {
    pub(crate) fn new() -> Self {
        let mut all = AllTypes::default();
        visit_all(&mut all);
        all
    }
}

impl Visitor for AllTypes {
    fn message<M: Message>(&mut self) {
        self.messages.push(AnyType {
            name: M::TYPE_NAME,
            hash: M::TYPE_HASH,
            decode: |payload| cdr::from_payload::<M>(payload).map(drop),
            recode: |payload, order| Ok(cdr::to_bytes(&cdr::from_payload::<M>(payload)?, order)),
            foreign: |payload, order| {
                let value: M = cdr::from_payload(payload).expect(M::TYPE_NAME);
                let mut body = Vec::new();
                match order {
                    ByteOrder::Little => value.serialize(&mut Serializer::<_, LittleEndian>::new(&mut body)),
                    ByteOrder::Big => value.serialize(&mut Serializer::<_, BigEndian>::new(&mut body)),
                }
                .expect(M::TYPE_NAME);
                body
            },
            encode: |source, order| Ok(cdr::to_bytes(&M::deserialize(source)?, order)),
            default: || cdr::to_bytes(&M::default(), ByteOrder::Little),
        });
    }

    fn service<S: Service>(&mut self) {
        self.others.push(TypeInfo { name: S::TYPE_NAME, hash: S::TYPE_HASH });
        self.service_parts::<S>();
    }

    fn action<A: Action>(&mut self) {
        self.others.push(TypeInfo { name: A::TYPE_NAME, hash: A::TYPE_HASH });
        self.action_parts::<A>();
    }
}
