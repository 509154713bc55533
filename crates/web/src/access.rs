//! Who may come in, and as what.

use std::{
    fmt::Write as _,
    net::{IpAddr, SocketAddr},
};

use crate::Request;

/// What somebody who came in may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Look, and stop.
    Viewer,
    /// Command, too.
    Operator,
}

/// A secret that is compared without telling how much of it was right.
#[derive(Clone)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// A new one from the kernel's random numbers.
    ///
    /// # Errors
    /// When there are none.
    pub fn random() -> std::io::Result<Self> {
        let mut bytes = [0; 16];
        rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
        Ok(Self(bytes.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })))
    }

    /// One that was given; at least 16 letters, digits, `-` or `_`.
    pub fn new(text: &str) -> Option<Self> {
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        (text.len() >= 16 && text.chars().all(good)).then(|| Self(text.to_owned()))
    }

    /// For showing it to whoever started the program.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    fn is(&self, other: &str) -> bool {
        let differing = self.0.bytes().zip(other.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
        self.0.len() == other.len() && std::hint::black_box(differing) == 0
    }
}

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The Host field names another host: a name that was made to lead here (DNS rebinding).
    Host,
    /// A page of another site asks.
    Origin,
    /// No token, or a wrong one.
    Token,
}

impl Refusal {
    /// The HTTP status.
    pub fn status(self) -> u16 {
        if self == Self::Token { 401 } else { 403 }
    }

    /// What is wrong, and what to do.
    pub fn text(self) -> &'static str {
        match self {
            Self::Host => {
                "this host name is not served here; use the address, or start with --allow-host NAME"
            }
            Self::Origin => {
                "pages of other sites may not connect; if this one may, start with --allow-origin ORIGIN"
            }
            Self::Token => "a token is needed: open the address that was printed at the start, with ?token=…",
        }
    }
}

/// The cookie that carries the token after the first page.
const COOKIE: &str = "rosless_token";

/// The rules of one server.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Host names besides addresses and `localhost`.
    pub hosts: Vec<String>,
    /// Origins of other sites whose pages may connect, such as `https://app.foxglove.dev`.
    pub origins: Vec<String>,
    /// Without tokens everybody who reaches the server is an operator.
    pub tokens: Option<(Token, Token)>,
    /// Nobody is an operator.
    pub read_only: bool,
    /// Not only this machine is served: addresses other than loopback are right, too.
    pub beyond_loopback: bool,
}

impl Access {
    /// Rules with new tokens, the viewers' first.
    #[must_use]
    pub fn with_tokens(mut self, viewer: Token, operator: Token) -> Self {
        self.tokens = Some((viewer, operator));
        self
    }

    /// What the sender of this request may do.
    ///
    /// # Errors
    /// Why it is not let in.
    pub fn judge(&self, request: &Request) -> Result<Role, Refusal> {
        let host = request.field("host").unwrap_or_default();
        if !self.is_own_host(host) {
            return Err(Refusal::Host);
        }
        for origin in request.all("origin") {
            let own = origin.strip_prefix("http://").is_some_and(|o| o.eq_ignore_ascii_case(host));
            if !own && !self.origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin)) {
                return Err(Refusal::Origin);
            }
        }
        // Browsers that say so tell of requests that another site caused and that have no origin, such as images.
        if request.field("sec-fetch-site") == Some("cross-site")
            && request.field("sec-fetch-mode") != Some("navigate")
            && request.field("origin").is_none()
        {
            return Err(Refusal::Origin);
        }
        let best = if self.read_only { Role::Viewer } else { Role::Operator };
        let Some((viewer, operator)) = &self.tokens else { return Ok(best) };
        let bearer = request.field("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let query = request.query_value("token");
        let given = [query.as_deref(), bearer, request.cookie(COOKIE)];
        let has = |token: &Token| given.iter().flatten().any(|given| token.is(given));
        match (has(operator), has(viewer)) {
            (true, _) => Ok(best),
            (false, true) => Ok(Role::Viewer),
            _ => Err(Refusal::Token),
        }
    }

    /// The value of `Set-Cookie` that lets a browser in from now on, if the request has its token in its address.
    pub fn cookie(&self, request: &Request) -> Option<String> {
        let (viewer, operator) = self.tokens.as_ref()?;
        let given = request.query_value("token")?;
        let token = [operator, viewer].into_iter().find(|token| token.is(&given))?;
        Some(format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict", token.reveal()))
    }

    fn is_own_host(&self, host: &str) -> bool {
        let name = match host.parse::<SocketAddr>() {
            Ok(address) => return self.is_own_address(address.ip()),
            Err(_) => {
                host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(n, _)| n)
            }
        };
        let bare = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(name);
        match bare.parse::<IpAddr>() {
            Ok(address) => self.is_own_address(address),
            Err(_) => {
                name.eq_ignore_ascii_case("localhost")
                    || self.hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
            }
        }
    }

    /// No name leads to an address that is written as one, so any will do where not only this machine is served.
    fn is_own_address(&self, address: IpAddr) -> bool {
        address.is_loopback() || self.beyond_loopback
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, http::Head};

    fn judge(access: &Access, target: &str, fields: &str) -> Result<Role, Refusal> {
        let text = format!("GET {target} HTTP/1.1\r\n{fields}\r\n\r\n");
        match Request::parse(text.as_bytes(), &Limits::default()) {
            Head::Complete(request, _) => access.judge(&request),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_this_machines_names_and_pages_are_let_in() {
        let access = Access::default();
        for (fields, expected) in [
            ("Host: 127.0.0.1:8765", Ok(Role::Operator)),
            ("Host: localhost:8765", Ok(Role::Operator)),
            ("Host: [::1]:8765", Ok(Role::Operator)),
            ("Host: evil.example:8765", Err(Refusal::Host)),
            ("Host: 192.168.1.5:8765", Err(Refusal::Host)),
            ("Host: localhost.evil.example", Err(Refusal::Host)),
            ("Host: localhost:8765\r\nOrigin: http://localhost:8765", Ok(Role::Operator)),
            ("Host: localhost:8765\r\nOrigin: http://localhost:9999", Err(Refusal::Origin)),
            ("Host: localhost:8765\r\nOrigin: https://evil.example", Err(Refusal::Origin)),
            ("Host: localhost:8765\r\nOrigin: null", Err(Refusal::Origin)),
            (
                "Host: localhost:8765\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors",
                Err(Refusal::Origin),
            ),
            (
                "Host: localhost:8765\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate",
                Ok(Role::Operator),
            ),
        ] {
            assert_eq!(judge(&access, "/", fields), expected, "{fields}");
        }
        let allowed = Access {
            hosts: vec!["robot.lab".to_owned()],
            origins: vec!["https://app.foxglove.dev".to_owned()],
            beyond_loopback: true,
            read_only: true,
            ..Access::default()
        };
        for fields in [
            "Host: robot.lab:8765",
            "Host: 192.168.1.5",
            "Host: robot.lab\r\nOrigin: https://app.foxglove.dev",
        ] {
            assert_eq!(judge(&allowed, "/", fields), Ok(Role::Viewer), "{fields}");
        }
    }

    #[test]
    fn tokens_say_what_one_may_do() {
        let token = |text| Token::new(text).unwrap();
        let access = Access::default().with_tokens(token("viewer-0123456789"), token("operator-0123456789"));
        for (target, fields, expected) in [
            ("/", "", Err(Refusal::Token)),
            ("/?token=viewer-0123456789", "", Ok(Role::Viewer)),
            ("/?token=operator-0123456789", "", Ok(Role::Operator)),
            ("/?token=operator-012345678", "", Err(Refusal::Token)),
            ("/?token=", "", Err(Refusal::Token)),
            ("/", "\r\nCookie: x=y; rosless_token=operator-0123456789", Ok(Role::Operator)),
            ("/", "\r\nAuthorization: Bearer viewer-0123456789", Ok(Role::Viewer)),
        ] {
            assert_eq!(
                judge(&access, target, &format!("Host: localhost{fields}")),
                expected,
                "{target} {fields}"
            );
        }
        assert!(Token::new("short").is_none() && Token::new("with spaces and so on").is_none());
        let random = Token::random().unwrap();
        assert!(random.reveal().len() == 32 && !format!("{random:?}").contains(random.reveal()));
    }
}
