//! What the environment asks of DDS Security, in SROS2's words, and where its files are.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::UsageError;
use crate::names::check_namespace;

/// What happens when an enclave is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// The node does not start.
    Enforce,
    /// The node runs without protection, and says so. What is there and cannot be used is refused all the same.
    #[default]
    Permissive,
}

/// `ROS_SECURITY_ENABLE=true`, and what goes with it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Security {
    /// `ROS_SECURITY_STRATEGY`.
    pub strategy: Strategy,
    /// `ROS_SECURITY_KEYSTORE`.
    pub keystore: Option<PathBuf>,
    /// `ROS_SECURITY_ENCLAVE_OVERRIDE`: wins over `--enclave`.
    pub enclave_override: Option<String>,
}

impl Security {
    /// Nothing when it is not asked for. Words that rcl would read as "no" without a word are refused.
    pub(super) fn parse(get: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, UsageError> {
        let bad = |name: &str, value: &str, expected: &str| {
            Err(UsageError::new(format!("{name}='{value}' is not usable: expected {expected}")))
        };
        match get("ROS_SECURITY_ENABLE").as_deref() {
            None | Some("false") => return Ok(None),
            Some("true") => {}
            Some(text) => return bad("ROS_SECURITY_ENABLE", text, "true or false"),
        }
        let strategy = match get("ROS_SECURITY_STRATEGY").as_deref() {
            None | Some("Permissive") => Strategy::Permissive,
            Some("Enforce") => Strategy::Enforce,
            Some(text) => return bad("ROS_SECURITY_STRATEGY", text, "Enforce or Permissive"),
        };
        let enclave_override = get("ROS_SECURITY_ENCLAVE_OVERRIDE");
        if let Some(enclave) = &enclave_override
            && let Err(error) = check_namespace(enclave)
        {
            return Err(UsageError::new(format!("ROS_SECURITY_ENCLAVE_OVERRIDE: {error}")));
        }
        Ok(Some(Self {
            strategy,
            keystore: get("ROS_SECURITY_KEYSTORE").map(PathBuf::from),
            enclave_override,
        }))
    }

    /// The enclave of a node that was started with `--enclave argument`.
    pub fn enclave<'a>(&'a self, argument: &'a str) -> &'a str {
        self.enclave_override.as_deref().unwrap_or(argument)
    }

    /// The folder of an enclave, with every file that it must have; `read` is how files are read.
    ///
    /// # Errors
    /// Which file or folder is missing.
    pub fn files(
        &self,
        enclave: &str,
        read: impl Fn(&Path) -> io::Result<Vec<u8>>,
    ) -> Result<EnclaveFiles, MissingEnclave> {
        let missing = |reason: String| Err(MissingEnclave(reason));
        let Some(keystore) = &self.keystore else {
            return missing(
                "ROS_SECURITY_KEYSTORE is not set; it names the folder that `rosless security create_keystore` made"
                    .to_owned(),
            );
        };
        let folder = keystore.join("enclaves").join(enclave.trim_start_matches('/'));
        for file in EnclaveFiles::REQUIRED {
            let path = folder.join(file);
            let reason = match read(&path) {
                Ok(content) if !content.is_empty() => continue,
                Ok(_) => "is empty".to_owned(),
                Err(error) => error.to_string(),
            };
            return missing(format!(
                "enclave '{enclave}': {}: {reason}; `rosless security create_enclave {} {enclave}` makes it",
                path.display(),
                keystore.display()
            ));
        }
        let crl = folder.join(EnclaveFiles::CRL);
        let has_crl = match read(&crl) {
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            // Whoever was revoked must not come in because the list cannot be read.
            Err(error) => return missing(format!("enclave '{enclave}': {}: {error}", crl.display())),
        };
        Ok(EnclaveFiles { folder, has_crl })
    }
}

/// The files of an enclave are there; whether they are any good, only their use tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnclaveFiles {
    /// Where they are.
    pub folder: PathBuf,
    /// There is a list of revoked certificates.
    pub has_crl: bool,
}

impl EnclaveFiles {
    /// The names that every RMW gives them.
    pub const REQUIRED: [&'static str; 6] = [
        "identity_ca.cert.pem",
        "cert.pem",
        "key.pem",
        "permissions_ca.cert.pem",
        "governance.p7s",
        "permissions.p7s",
    ];
    /// Revoked certificates; may be absent.
    pub const CRL: &'static str = "crl.pem";
}

/// What is missing of an enclave.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MissingEnclave(String);

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(variables: &[(&str, &str)]) -> Result<Option<Security>, UsageError> {
        let found = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        Security::parse(found)
    }

    #[test]
    fn it_is_off_unless_asked_for() {
        assert_eq!(parse(&[]).unwrap(), None);
        assert_eq!(parse(&[("ROS_SECURITY_ENABLE", "false"), ("ROS_SECURITY_STRATEGY", "x")]).unwrap(), None);
        let on = parse(&[
            ("ROS_SECURITY_ENABLE", "true"),
            ("ROS_SECURITY_STRATEGY", "Enforce"),
            ("ROS_SECURITY_KEYSTORE", "/keys"),
            ("ROS_SECURITY_ENCLAVE_OVERRIDE", "/lab/arm"),
        ]);
        let on = on.unwrap().unwrap();
        assert_eq!((on.strategy, on.enclave("/other")), (Strategy::Enforce, "/lab/arm"));
        let on = parse(&[("ROS_SECURITY_ENABLE", "true")]).unwrap().unwrap();
        assert_eq!((on.strategy, on.enclave("/other")), (Strategy::Permissive, "/other"));
    }

    #[test]
    fn a_word_that_would_leave_a_node_open_is_refused() {
        for (variables, parts) in [
            (&[("ROS_SECURITY_ENABLE", "True")][..], ["ROS_SECURITY_ENABLE", "true or false"]),
            (&[("ROS_SECURITY_ENABLE", "1")], ["'1'", "true or false"]),
            (
                &[("ROS_SECURITY_ENABLE", "true"), ("ROS_SECURITY_STRATEGY", "enforce")],
                ["'enforce'", "Enforce"],
            ),
            (
                &[("ROS_SECURITY_ENABLE", "true"), ("ROS_SECURITY_ENCLAVE_OVERRIDE", "x/../y")],
                ["ROS_SECURITY_ENCLAVE_OVERRIDE", "x/../y"],
            ),
        ] {
            let error = parse(variables).unwrap_err().to_string();
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
    }

    #[test]
    fn the_first_missing_file_is_named_and_why() {
        let security = Security { keystore: Some("/keys".into()), ..Security::default() };
        let none = |_: &Path| Err(io::Error::from(io::ErrorKind::NotFound));
        let error = security.files("/lab/arm", none).unwrap_err().to_string();
        assert!(error.contains("/keys/enclaves/lab/arm/identity_ca.cert.pem: entity not found"), "{error}");
        assert!(error.contains("create_enclave /keys /lab/arm"), "{error}");
        let without_permissions = |path: &Path| match path.file_name().and_then(|name| name.to_str()) {
            Some("permissions.p7s") => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
            Some("crl.pem") => Err(io::Error::from(io::ErrorKind::NotFound)),
            _ => Ok(vec![1]),
        };
        let error = security.files("/lab/arm", without_permissions).unwrap_err().to_string();
        assert!(error.contains("permissions.p7s: permission denied"), "{error}");
        let empty = |_: &Path| Ok(Vec::new());
        assert!(security.files("/", empty).unwrap_err().to_string().contains("is empty"));
        let error = Security::default().files("/", none).unwrap_err().to_string();
        assert!(error.contains("ROS_SECURITY_KEYSTORE is not set"), "{error}");
        let all = |path: &Path| match path.ends_with("crl.pem") {
            true => Err(io::Error::from(io::ErrorKind::NotFound)),
            false => Ok(vec![1]),
        };
        let files = security.files("/", all).unwrap();
        assert_eq!(files, EnclaveFiles { folder: "/keys/enclaves/".into(), has_crl: false });
        assert!(security.files("/", |_| Ok(vec![1])).unwrap().has_crl);
    }
}
