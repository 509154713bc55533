//! Keys, certificates and signatures, as SROS2 makes them: EC keys on P-256, SHA-256, S/MIME with the text beside the
//! signature.

use chrono::{DateTime, Utc};
use openssl::{
    asn1::{Asn1Integer, Asn1Time},
    bn::{BigNum, MsbOption},
    ec::{Asn1Flag, EcGroup, EcKey},
    error::ErrorStack,
    hash::MessageDigest,
    nid::Nid,
    pkcs7::{Pkcs7, Pkcs7Flags},
    pkey::{PKey, Private},
    stack::Stack,
    x509::{X509, X509Builder, X509Name, extension::BasicConstraints, store::X509StoreBuilder},
};

pub(crate) fn new_key() -> Result<PKey<Private>, ErrorStack> {
    let mut group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?;
    group.set_asn1_flag(Asn1Flag::NAMED_CURVE);
    PKey::from_ec_key(EcKey::generate(&group)?)
}

/// Whoever signs: a key and its certificate.
pub(crate) struct Authority {
    pub(crate) key: PKey<Private>,
    pub(crate) certificate: X509,
}

/// A certificate of `name` for `key`, signed by `authority`, or by itself where there is none: that is an authority then.
pub(crate) fn new_certificate(
    name: &str,
    key: &PKey<Private>,
    authority: Option<&Authority>,
    not_before: DateTime<Utc>,
    not_after: DateTime<Utc>,
) -> Result<X509, ErrorStack> {
    let mut subject = X509Name::builder()?;
    subject.append_entry_by_nid(Nid::COMMONNAME, name)?;
    let subject = subject.build();
    let mut serial = BigNum::new()?;
    serial.rand(159, MsbOption::MAYBE_ZERO, false)?;

    let mut builder = X509Builder::new()?;
    builder.set_version(2)?; // that is version 3
    builder.set_serial_number(&*Asn1Integer::from_bn(&serial)?)?;
    builder.set_subject_name(&subject)?;
    builder.set_issuer_name(authority.map_or(&*subject, |authority| authority.certificate.subject_name()))?;
    builder.set_pubkey(key)?;
    builder.set_not_before(&*Asn1Time::from_unix(not_before.timestamp())?)?;
    builder.set_not_after(&*Asn1Time::from_unix(not_after.timestamp())?)?;
    let mut constraints = BasicConstraints::new();
    if authority.is_none() {
        constraints.critical().ca().pathlen(1);
    }
    builder.append_extension(constraints.build()?)?;
    builder.sign(authority.map_or(key, |authority| &authority.key), MessageDigest::sha256())?;
    Ok(builder.build())
}

const FLAGS: Pkcs7Flags = Pkcs7Flags::TEXT.union(Pkcs7Flags::DETACHED);

/// The document and its signature.
pub(crate) fn signed(document: &str, authority: &Authority) -> Result<Vec<u8>, ErrorStack> {
    let none = Stack::new()?;
    let signature = Pkcs7::sign(&authority.certificate, &authority.key, &none, document.as_bytes(), FLAGS)?;
    signature.to_smime(document.as_bytes(), FLAGS)
}

/// What was signed, if it was by this authority.
pub(crate) fn verified(smime: &[u8], authority: &X509) -> Result<String, ErrorStack> {
    let (signature, content) = Pkcs7::from_smime(smime)?;
    let mut store = X509StoreBuilder::new()?;
    store.add_cert(authority.clone())?;
    let mut signers = Stack::new()?;
    signers.push(authority.clone())?;
    let mut text = Vec::new();
    // The dates of the authority are judged where its certificate is.
    let flags = Pkcs7Flags::TEXT | Pkcs7Flags::NOINTERN | Pkcs7Flags::NOVERIFY;
    signature.verify(&signers, &store.build(), content.as_deref(), Some(&mut text), flags)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
