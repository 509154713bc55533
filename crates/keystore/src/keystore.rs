//! The folders of a keystore.

use std::{
    fs, io,
    os::unix::fs::{OpenOptionsExt as _, symlink},
    path::{Path, PathBuf},
};

use chrono::{DateTime, TimeDelta, Utc};
use openssl::{error::ErrorStack, pkey::PKey, x509::X509};

use crate::{
    check::dates,
    permissions::{governance_xml, permissions_xml},
    policy::{Enclave, is_enclave},
    signing::{self, Authority},
};

/// Why a keystore could not be made, read or changed: one line for people.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder.
    #[error("{}: {reason}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// What was asked for makes no sense.
    #[error("{0}")]
    Usage(String),
    /// OpenSSL.
    #[error("OpenSSL: {0}")]
    Crypto(#[from] ErrorStack),
}

pub(crate) fn at(path: &Path, reason: impl ToString) -> Error {
    Error::File { path: path.to_owned(), reason: reason.to_string() }
}

/// SROS2's name for the authority of a keystore.
const AUTHORITY: &str = "sros2CA";
/// As in SROS2; the day is for peers whose clocks are behind.
const VALID_DAYS: i64 = 3650;

/// A folder with `public`, `private` and `enclaves`.
#[derive(Debug, Clone)]
pub struct Keystore {
    root: PathBuf,
}

impl Keystore {
    /// One that is there.
    ///
    /// # Errors
    /// When it is none.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, Error> {
        let root = root.into();
        for file in
            ["enclaves/governance.p7s", "public/identity_ca.cert.pem", "public/permissions_ca.cert.pem"]
        {
            if !root.join(file).exists() {
                return Err(at(
                    &root,
                    format!("no keystore: {file} is missing; `rosless security create_keystore` makes one"),
                ));
            }
        }
        Ok(Self { root })
    }

    /// A new one, with its authority and SROS2's governance for one domain.
    ///
    /// # Errors
    /// When there is something already, or it cannot be written.
    pub fn create(root: impl Into<PathBuf>, domain: u16, now: DateTime<Utc>) -> Result<Self, Error> {
        let root = root.into();
        if root.join("private").exists() || root.join("enclaves").exists() {
            return Err(at(&root, "there is a keystore already, and it is left as it is"));
        }
        for folder in ["public", "private", "enclaves"] {
            let folder = root.join(folder);
            fs::create_dir_all(&folder).map_err(|error| at(&folder, error))?;
        }
        let key = signing::new_key()?;
        let (not_before, not_after) = validity(now);
        let certificate = signing::new_certificate(AUTHORITY, &key, None, not_before, not_after)?;
        write_secret(&root.join("private/ca.key.pem"), &key.private_key_to_pem_pkcs8()?)?;
        write(&root.join("public/ca.cert.pem"), &certificate.to_pem()?)?;
        for role in ["identity_ca", "permissions_ca"] {
            link("ca.key.pem", &root.join(format!("private/{role}.key.pem")))?;
            link("ca.cert.pem", &root.join(format!("public/{role}.cert.pem")))?;
        }
        let keystore = Self { root };
        keystore.set_governance(&governance_xml(domain))?;
        Ok(keystore)
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Signs another governance, for all enclaves.
    ///
    /// # Errors
    /// When the authority's key is not here, or files cannot be written.
    pub fn set_governance(&self, xml: &str) -> Result<(), Error> {
        let authority = self.authority("permissions_ca")?;
        write(&self.root.join("enclaves/governance.xml"), xml.as_bytes())?;
        write(&self.root.join("enclaves/governance.p7s"), &signing::signed(xml, &authority)?)
    }

    /// A new enclave, which may do everything until [`Self::set_permissions`] says less.
    ///
    /// # Errors
    /// When there is one of that name, or it cannot be written.
    pub fn create_enclave(&self, enclave: &str, domain: u16, now: DateTime<Utc>) -> Result<(), Error> {
        let (not_before, not_after) = validity(now);
        self.create_enclave_for(enclave, domain, not_before, not_after)
    }

    /// The same with dates of one's own.
    ///
    /// # Errors
    /// As above.
    pub fn create_enclave_for(
        &self,
        enclave: &str,
        domain: u16,
        not_before: DateTime<Utc>,
        not_after: DateTime<Utc>,
    ) -> Result<(), Error> {
        let folder = self.folder(enclave)?;
        if folder.join("key.pem").exists() {
            return Err(at(&folder, "there is an enclave already, and its key is left as it is"));
        }
        let authority = self.authority("identity_ca")?;
        fs::create_dir_all(&folder).map_err(|error| at(&folder, error))?;
        let key = signing::new_key()?;
        let certificate = signing::new_certificate(enclave, &key, Some(&authority), not_before, not_after)?;
        write_secret(&folder.join("key.pem"), &key.private_key_to_pem_pkcs8()?)?;
        write(&folder.join("cert.pem"), &certificate.to_pem()?)?;
        // Relative, so that a keystore can be moved.
        let depth = enclave.split('/').filter(|word| !word.is_empty()).count();
        let (to_enclaves, to_root) = ("../".repeat(depth), "../".repeat(depth + 1));
        link(&format!("{to_enclaves}governance.p7s"), &folder.join("governance.p7s"))?;
        for file in ["identity_ca.cert.pem", "permissions_ca.cert.pem"] {
            link(&format!("{to_root}public/{file}"), &folder.join(file))?;
        }
        self.set_permissions(&Enclave::of_everything(enclave), domain)
    }

    /// What an enclave may do from now on, for as long as its certificate lasts.
    ///
    /// # Errors
    /// When there is no such enclave, or files cannot be written.
    pub fn set_permissions(&self, enclave: &Enclave, domain: u16) -> Result<(), Error> {
        let folder = self.folder(&enclave.path)?;
        if !folder.join("cert.pem").exists() {
            let enclave = &enclave.path;
            return Err(at(
                &folder,
                format!(
                    "no enclave; `rosless security create_enclave {} {enclave}` makes it",
                    self.root.display()
                ),
            ));
        }
        let authority = self.authority("permissions_ca")?;
        let path = folder.join("cert.pem");
        let certificate = read_certificate(&path)?;
        let (not_before, not_after) =
            dates(&certificate).ok_or_else(|| at(&path, "the dates of the certificate cannot be read"))?;
        let xml = permissions_xml(enclave, domain, not_before, not_after);
        write(&folder.join("permissions.xml"), xml.as_bytes())?;
        write(&folder.join("permissions.p7s"), &signing::signed(&xml, &authority)?)
    }

    /// The names of all enclaves, sorted.
    ///
    /// # Errors
    /// When folders cannot be read.
    pub fn enclaves(&self) -> Result<Vec<String>, Error> {
        let mut found = Vec::new();
        let top = self.root.join("enclaves");
        let mut open = vec![(String::new(), top)];
        while let Some((name, folder)) = open.pop() {
            if folder.join("cert.pem").exists() {
                found.push(if name.is_empty() { "/".to_owned() } else { name.clone() });
            }
            let context = |error: io::Error| at(&folder, error);
            for entry in fs::read_dir(&folder).map_err(context)? {
                let entry = entry.map_err(context)?;
                // Links are not followed: they could lead in a circle.
                if entry.file_type().map_err(context)?.is_dir() {
                    let child = format!("{name}/{}", entry.file_name().to_string_lossy());
                    open.push((child, entry.path()));
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// Where the files of an enclave are.
    ///
    /// # Errors
    /// When the name is none.
    pub fn folder(&self, enclave: &str) -> Result<PathBuf, Error> {
        if !is_enclave(enclave) {
            return Err(Error::Usage(format!(
                "'{enclave}' is no enclave: expected names behind '/', such as /lab/arm"
            )));
        }
        Ok(self.root.join("enclaves").join(&enclave[1..]))
    }

    fn authority(&self, role: &str) -> Result<Authority, Error> {
        let key_path = self.root.join(format!("private/{role}.key.pem"));
        let key = read(&key_path)?;
        let key = PKey::private_key_from_pem(&key).map_err(|error| at(&key_path, error))?;
        let certificate = read_certificate(&self.root.join(format!("public/{role}.cert.pem")))?;
        Ok(Authority { key, certificate })
    }
}

fn validity(now: DateTime<Utc>) -> (DateTime<Utc>, DateTime<Utc>) {
    (now - TimeDelta::days(1), now + TimeDelta::days(VALID_DAYS))
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|error| at(path, error))
}

pub(crate) fn read_certificate(path: &Path) -> Result<X509, Error> {
    X509::from_pem(&read(path)?).map_err(|error| at(path, format!("no certificate: {error}")))
}

fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    write_with(path, content, 0o644)
}

/// For its owner only, from the first moment.
fn write_secret(path: &Path, content: &[u8]) -> Result<(), Error> {
    write_with(path, content, 0o600)
}

/// Whole or not at all: a node may start while its permissions change.
fn write_with(path: &Path, content: &[u8], mode: u32) -> Result<(), Error> {
    let new = path.with_extension("new");
    let _ = fs::remove_file(&new);
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&new)
        .and_then(|mut file| io::Write::write_all(&mut file, content))
        .and_then(|()| fs::rename(&new, path));
    written.map_err(|error| at(path, error))
}

fn link(target: &str, path: &Path) -> Result<(), Error> {
    symlink(target, path).map_err(|error| at(path, error))
}
