//! Whether an enclave would be let in, and by whom not.

use std::{fs, os::unix::fs::PermissionsExt as _};

use chrono::{DateTime, TimeDelta, Utc};
use openssl::{
    asn1::Asn1TimeRef,
    nid::Nid,
    pkey::PKey,
    x509::{CrlStatus, X509Crl, X509Ref},
};

use crate::{
    keystore::{Error, Keystore, at, read, read_certificate},
    signing,
};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be.
    Ok,
    /// It works, and should not stay so.
    Warn,
    /// Peers will refuse it.
    Fail,
}

/// One line about one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad.
    pub level: Level,
    /// Which file of the enclave.
    pub file: &'static str,
    /// What was found.
    pub found: String,
}

impl Keystore {
    /// Looks at every file of an enclave the way its peers do.
    ///
    /// # Errors
    /// When the name is none.
    pub fn check(&self, enclave: &str, domain: u16, now: DateTime<Utc>) -> Result<Vec<Finding>, Error> {
        let folder = self.folder(enclave)?;
        let mut findings = Vec::new();
        let mut note = |level, file, found: String| findings.push(Finding { level, file, found });
        let certificate = |file: &str| read_certificate(&folder.join(file));

        let identity_ca = certificate("identity_ca.cert.pem");
        let permissions_ca = certificate("permissions_ca.cert.pem");
        for (file, ca) in
            [("identity_ca.cert.pem", &identity_ca), ("permissions_ca.cert.pem", &permissions_ca)]
        {
            match ca {
                Ok(ca) => {
                    let (level, dates) = judged_dates(ca, now);
                    note(level, file, dates);
                }
                Err(error) => note(Level::Fail, file, error.to_string()),
            }
        }

        let own = certificate("cert.pem");
        match &own {
            Err(error) => note(Level::Fail, "cert.pem", error.to_string()),
            Ok(own) => {
                let (level, dates) = judged_dates(own, now);
                note(level, "cert.pem", dates);
                let name = common_name(own);
                if name != enclave {
                    note(Level::Fail, "cert.pem", format!("it is for '{name}', not for '{enclave}'"));
                }
                if let Ok(ca) = &identity_ca
                    && !ca.public_key().and_then(|key| own.verify(&key)).unwrap_or(false)
                {
                    note(Level::Fail, "cert.pem", "it was not signed by identity_ca.cert.pem".to_owned());
                }
            }
        }

        let path = folder.join("key.pem");
        match read(&path).and_then(|pem| PKey::private_key_from_pem(&pem).map_err(|e| at(&path, e))) {
            Err(error) => note(Level::Fail, "key.pem", error.to_string()),
            Ok(key) => {
                let belongs =
                    own.as_ref().is_ok_and(|own| own.public_key().is_ok_and(|public| public.public_eq(&key)));
                if !belongs {
                    note(Level::Fail, "key.pem", "it is not the key of cert.pem".to_owned());
                }
                let mode = fs::metadata(&path).map(|meta| meta.permissions().mode() & 0o077);
                match mode {
                    Ok(0) if belongs => {
                        note(Level::Ok, "key.pem", "the key of cert.pem, for its owner only".to_owned())
                    }
                    Ok(0) => {}
                    _ => note(
                        Level::Warn,
                        "key.pem",
                        format!("others can read it: chmod 600 {}", path.display()),
                    ),
                }
            }
        }

        for file in ["governance.p7s", "permissions.p7s"] {
            let text = read(&folder.join(file)).and_then(|smime| match &permissions_ca {
                Ok(ca) => signing::verified(&smime, ca).map_err(|_| {
                    at(&folder.join(file), "not signed by permissions_ca.cert.pem, or changed since")
                }),
                Err(_) => Err(at(&folder.join(file), "cannot be checked without permissions_ca.cert.pem")),
            });
            match text {
                Err(error) => note(Level::Fail, file, error.to_string()),
                Ok(text) => {
                    let (level, found) = if file == "governance.p7s" {
                        governance(&text, domain)
                    } else {
                        permissions(&text, enclave, domain, now)
                    };
                    note(level, file, found);
                }
            }
        }

        let path = folder.join("crl.pem");
        if path.exists() {
            let crl = read(&path).and_then(|pem| X509Crl::from_pem(&pem).map_err(|error| at(&path, error)));
            match (crl, &own, &identity_ca) {
                (Err(error), ..) => note(Level::Fail, "crl.pem", error.to_string()),
                (Ok(crl), own, ca) => {
                    let signed = ca
                        .as_ref()
                        .is_ok_and(|ca| ca.public_key().and_then(|key| crl.verify(&key)).unwrap_or(false));
                    let revoked =
                        own.as_ref().is_ok_and(|own| matches!(crl.get_by_cert(own), CrlStatus::Revoked(_)));
                    match (signed, revoked) {
                        (false, _) => note(
                            Level::Fail,
                            "crl.pem",
                            "it was not signed by identity_ca.cert.pem".to_owned(),
                        ),
                        (true, true) => note(Level::Fail, "crl.pem", "cert.pem is revoked".to_owned()),
                        (true, false) => note(Level::Ok, "crl.pem", "cert.pem is not revoked".to_owned()),
                    }
                }
            }
        }
        Ok(findings)
    }
}

fn common_name(certificate: &X509Ref) -> String {
    let entry = certificate.subject_name().entries_by_nid(Nid::COMMONNAME).next();
    entry.and_then(|entry| entry.data().to_string().ok()).unwrap_or_default()
}

fn unix(time: &Asn1TimeRef) -> Option<DateTime<Utc>> {
    let epoch = openssl::asn1::Asn1Time::from_unix(0).ok()?;
    let difference = epoch.diff(time).ok()?;
    DateTime::from_timestamp(i64::from(difference.days) * 86_400 + i64::from(difference.secs), 0)
}

pub(crate) fn dates(certificate: &X509Ref) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
    Some((unix(certificate.not_before())?, unix(certificate.not_after())?))
}

fn judged_dates(certificate: &X509Ref, now: DateTime<Utc>) -> (Level, String) {
    match dates(certificate) {
        Some((from, to)) => judged(from, to, now),
        None => (Level::Fail, "its dates cannot be read".to_owned()),
    }
}

fn judged(from: DateTime<Utc>, to: DateTime<Utc>, now: DateTime<Utc>) -> (Level, String) {
    let (first, last) = (from.format("%Y-%m-%d"), to.format("%Y-%m-%d"));
    if now < from {
        (Level::Fail, format!("not valid before {first}"))
    } else if now > to {
        (Level::Fail, format!("expired on {last}"))
    } else if to - now < TimeDelta::days(30) {
        (Level::Warn, format!("expires on {last}"))
    } else {
        (Level::Ok, format!("valid until {last}"))
    }
}

/// Whether a list of domains has this one: `<id>` and `<id_range>` of both kinds of documents.
fn has_domain(domains: roxmltree::Node<'_, '_>, domain: u16) -> bool {
    let number = |node: roxmltree::Node<'_, '_>| node.text().and_then(|text| text.trim().parse::<u16>().ok());
    domains.children().any(|child| match child.tag_name().name() {
        "id" => number(child) == Some(domain),
        "id_range" => {
            let bound = |name| child.children().find(|c| c.has_tag_name(name)).and_then(number);
            bound("min").is_none_or(|min| min <= domain) && bound("max").is_none_or(|max| domain <= max)
        }
        _ => false,
    })
}

fn governance(xml: &str, domain: u16) -> (Level, String) {
    let Ok(document) = roxmltree::Document::parse(xml.trim()) else {
        return (Level::Fail, "signed, but no XML".to_owned());
    };
    let rule = document.descendants().find(|node| {
        node.has_tag_name("domain_rule")
            && node.children().any(|child| child.has_tag_name("domains") && has_domain(child, domain))
    });
    let Some(rule) = rule else {
        return (Level::Fail, format!("signed, but it has no rule for domain {domain}"));
    };
    let open = rule.descendants().find(|node| node.has_tag_name("allow_unauthenticated_participants"));
    match open.and_then(|node| node.text()).map(str::trim) {
        Some("false" | "FALSE" | "0") => (Level::Ok, format!("signed; nobody unknown joins domain {domain}")),
        _ => (Level::Warn, format!("signed, but it lets anybody join domain {domain}")),
    }
}

fn permissions(xml: &str, enclave: &str, domain: u16, now: DateTime<Utc>) -> (Level, String) {
    let Ok(document) = roxmltree::Document::parse(xml.trim()) else {
        return (Level::Fail, "signed, but no XML".to_owned());
    };
    let text = |node: roxmltree::Node<'_, '_>, name: &str| {
        let found = node.descendants().find(|child| child.has_tag_name(name));
        found.and_then(|child| child.text()).map(|text| text.trim().to_owned()).unwrap_or_default()
    };
    let subject = format!("CN={enclave}");
    let grants = document.descendants().filter(|node| node.has_tag_name("grant"));
    let Some(grant) = grants.into_iter().find(|grant| text(*grant, "subject_name") == subject) else {
        return (Level::Fail, format!("signed, but it has no grant for {subject}"));
    };
    if !grant.descendants().any(|node| node.has_tag_name("domains") && has_domain(node, domain)) {
        return (Level::Fail, format!("signed, but nothing is granted in domain {domain}"));
    }
    let date = |name| {
        let text = text(grant, name);
        let zoned = text.parse::<DateTime<Utc>>();
        zoned.or_else(|_| format!("{text}Z").parse::<DateTime<Utc>>())
    };
    match (date("not_before"), date("not_after")) {
        (Ok(from), Ok(to)) => {
            let (level, found) = judged(from, to, now);
            (level, format!("signed, {found}"))
        }
        _ => (Level::Fail, "signed, but its dates cannot be read".to_owned()),
    }
}
