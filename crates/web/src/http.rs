//! Requests as they come, and responses as they go.

use bytes::Bytes;

use crate::Limits;

/// The head of a request. Bodies are not taken: everything that changes something goes over a WebSocket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// `GET` or `HEAD`.
    pub method: String,
    /// The path, percent-decoded: begins with a slash and has no empty, `.` or `..` part.
    pub path: String,
    /// What follows the question mark, as it came.
    pub query: String,
    fields: Vec<(String, String)>,
}

/// What a head of a request came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Head {
    Incomplete,
    /// With its length.
    Complete(Request, usize),
    /// With what to answer before the connection is closed.
    Refused(u16, &'static str),
}

impl Request {
    /// Reads the head at the beginning of `bytes`.
    pub(crate) fn parse(bytes: &[u8], limits: &Limits) -> Head {
        let mut fields = vec![httparse::EMPTY_HEADER; limits.fields];
        let mut parsed = httparse::Request::new(&mut fields);
        let length = match parsed.parse(bytes) {
            Ok(httparse::Status::Complete(length)) if length <= limits.head => length,
            Ok(httparse::Status::Partial) if bytes.len() <= limits.head => return Head::Incomplete,
            Ok(_) | Err(httparse::Error::TooManyHeaders) => {
                return Head::Refused(431, "the request's head is too large");
            }
            Err(_) => return Head::Refused(400, "this is not HTTP/1.1"),
        };
        let (method, target) = (parsed.method.unwrap_or_default(), parsed.path.unwrap_or_default());
        let mut request = Self { method: method.to_owned(), ..Self::default() };
        for field in parsed.headers.iter() {
            let Ok(value) = std::str::from_utf8(field.value) else {
                return Head::Refused(400, "a header field is not text");
            };
            request.fields.push((field.name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        if parsed.version != Some(1) {
            return Head::Refused(505, "only HTTP/1.1 is spoken here");
        }
        if !matches!(method, "GET" | "HEAD") {
            return Head::Refused(405, "only GET and HEAD are answered; commands go over the WebSocket");
        }
        let empty = |length: &str| length == "0";
        if request.field("transfer-encoding").is_some()
            || request.field("content-length").is_some_and(|l| !empty(l))
        {
            return Head::Refused(413, "requests have no body here");
        }
        if request.all("host").count() != 1 {
            return Head::Refused(400, "a request names one host");
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        match decoded_path(path) {
            Some(path) => request.path = path,
            None => return Head::Refused(400, "this is not a path of this server"),
        }
        request.query = query.to_owned();
        Head::Complete(request, length)
    }

    /// The first value of a header field; names in lower case.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All values of a header field.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// Whether a header field that is a list separated by commas has this word, in any case.
    pub fn has_word(&self, name: &str, word: &str) -> bool {
        self.words(name).any(|w| w.eq_ignore_ascii_case(word))
    }

    /// The words of a header field that is a list separated by commas.
    pub fn words<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.all(name).flat_map(|value| value.split(',')).map(str::trim)
    }

    /// The value of `name` in the query.
    pub fn query_value(&self, name: &str) -> Option<String> {
        self.query.split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=')?;
            (key == name).then(|| percent_decoded(value)).flatten()
        })
    }

    /// The value of a cookie.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        self.all("cookie").flat_map(|line| line.split(';')).find_map(|pair| {
            let (key, value) = pair.split_once('=')?;
            (key.trim() == name).then_some(value.trim())
        })
    }

    /// Whether it asks for a WebSocket.
    pub fn is_upgrade(&self) -> bool {
        self.has_word("upgrade", "websocket") && self.has_word("connection", "upgrade")
    }

    pub(crate) fn wants_close(&self) -> bool {
        self.has_word("connection", "close")
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes().iter();
    while let Some(byte) = rest.next() {
        if *byte == b'%' {
            let mut digit = || char::from(*rest.next()?).to_digit(16);
            bytes.push((digit()? * 16 + digit()?) as u8);
        } else {
            bytes.push(*byte);
        }
    }
    String::from_utf8(bytes).ok()
}

fn decoded_path(path: &str) -> Option<String> {
    let path = percent_decoded(path)?;
    let parts = path.strip_prefix('/')?;
    let good = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0']);
    (parts.is_empty() || parts.strip_suffix('/').unwrap_or(parts).split('/').all(good)).then_some(path)
}

/// A file that was compiled in.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// As it is asked for.
    pub path: &'static str,
    /// Its media type.
    pub media: &'static str,
    /// Its bytes.
    pub plain: &'static [u8],
    /// The same, compressed.
    pub gzip: &'static [u8],
    /// What it is known by in caches: changes with the bytes.
    pub tag: &'static str,
}

/// What is answered to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Such as 200.
    pub status: u16,
    fields: Vec<(&'static str, String)>,
    body: Bytes,
}

impl Response {
    /// A few words.
    pub fn text(status: u16, text: &str) -> Self {
        let body = format!("{text}\n");
        Self {
            status,
            fields: vec![("Content-Type", "text/plain; charset=utf-8".to_owned())],
            body: body.into(),
        }
    }

    /// Bytes of a media type.
    pub fn bytes(media: &str, body: impl Into<Bytes>) -> Self {
        Self { status: 200, fields: vec![("Content-Type", media.to_owned())], body: body.into() }
    }

    /// A compiled-in file, compressed if the client takes that, or nothing if it has it already.
    pub fn asset(asset: &Asset, request: &Request) -> Self {
        let tag = format!("\"{}\"", asset.tag);
        let mut fields = vec![("ETag", tag.clone()), ("Vary", "Accept-Encoding".to_owned())];
        if request.has_word("if-none-match", &tag) {
            return Self { status: 304, fields, body: Bytes::new() };
        }
        fields.push(("Content-Type", asset.media.to_owned()));
        let compressed = request.words("accept-encoding").any(|word| word.split(';').next() == Some("gzip"));
        let body = if compressed {
            fields.push(("Content-Encoding", "gzip".to_owned()));
            asset.gzip
        } else {
            asset.plain
        };
        Self { status: 200, fields, body: Bytes::from_static(body) }
    }

    /// With one more header field. The value must not come from a client.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// As bytes; a `HEAD` gets no body, and of a body that follows only the length is told.
    pub(crate) fn encode(&self, body: bool, close: bool, follows: Option<u64>) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        let secured = [
            (
                "Content-Security-Policy",
                "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
            ),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cache-Control", "no-cache"),
            ("Connection", if close { "close" } else { "keep-alive" }),
        ];
        let own = self.fields.iter().map(|(name, value)| (*name, value.as_str()));
        for (name, value) in own.chain(secured) {
            // A line break in a value would begin another field.
            let value: String = value.chars().filter(|c| !c.is_control()).collect();
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.status != 304 {
            let length = follows.unwrap_or(self.body.len() as u64);
            head.push_str(&format!("Content-Length: {length}\r\n"));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        if body {
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        303 => "See Other",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        426 => "Upgrade Required",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Answer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Head {
        Request::parse(text.as_bytes(), &Limits::default())
    }

    fn refused(text: &str) -> u16 {
        match parse(text) {
            Head::Refused(status, _) => status,
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn a_head_is_read_when_it_is_whole() {
        let text = "GET /a%20b/c.js?x=1&y=%41 HTTP/1.1\r\nHost: h\r\nCookie: a=1; b=2\r\nConnection: a, Upgrade\r\n\r\n";
        for end in 0..text.len() {
            assert_eq!(parse(&text[..end]), Head::Incomplete, "{end}");
        }
        let Head::Complete(request, length) = parse(&format!("{text}GET")) else { panic!("complete") };
        assert_eq!((request.path.as_str(), length), ("/a b/c.js", text.len()));
        assert_eq!((request.query_value("y").as_deref(), request.query_value("z")), (Some("A"), None));
        assert_eq!((request.cookie("b"), request.field("host")), (Some("2"), Some("h")));
        assert!(request.has_word("connection", "upgrade") && !request.is_upgrade());
    }

    #[test]
    fn what_is_no_request_of_ours_is_refused_with_the_reason() {
        let long = format!("GET / HTTP/1.1\r\nHost: h\r\nX: {}", "x".repeat(20_000));
        let many = format!("GET / HTTP/1.1\r\nHost: h\r\n{}\r\n", "X: y\r\n".repeat(100));
        for (text, status) in [
            ("POST / HTTP/1.1\r\nHost: h\r\n\r\n", 405),
            ("GET / HTTP/1.0\r\nHost: h\r\n\r\n", 505),
            ("GET / HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            ("GET /../etc/passwd HTTP/1.1\r\nHost: h\r\n\r\n", 400),
            ("GET /%2e%2e/etc/passwd HTTP/1.1\r\nHost: h\r\n\r\n", 400),
            ("GET /a//b HTTP/1.1\r\nHost: h\r\n\r\n", 400),
            ("GET /a%5c..%5cb HTTP/1.1\r\nHost: h\r\n\r\n", 400),
            ("GET /%ff HTTP/1.1\r\nHost: h\r\n\r\n", 400),
            ("GET /%0 HTTP/1.1\r\nHost: h\r\n\r\n", 400),
            ("GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n", 413),
            ("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", 413),
            ("\u{0}\u{1}\u{2}\r\n\r\n", 400),
            (&long, 431),
            (&many, 431),
        ] {
            assert_eq!(refused(text), status, "{text:.40?}");
        }
    }

    #[test]
    fn a_file_is_compressed_for_those_who_take_it_and_not_sent_twice() {
        let asset = Asset { path: "/x", media: "text/plain", plain: b"plain", gzip: b"gz", tag: "t" };
        let request = |fields: &str| match parse(&format!("GET /x HTTP/1.1\r\nHost: h\r\n{fields}\r\n")) {
            Head::Complete(request, _) => request,
            other => panic!("{other:?}"),
        };
        assert_eq!(&Response::asset(&asset, &request("")).body[..], b"plain");
        assert_eq!(&Response::asset(&asset, &request("Accept-Encoding: br, gzip;q=1\r\n")).body[..], b"gz");
        assert_eq!(Response::asset(&asset, &request("If-None-Match: \"t\"\r\n")).status, 304);
        let text = String::from_utf8(
            Response::text(200, "x").with("X", "a\r\nSet-Cookie: b").encode(true, true, None),
        )
        .unwrap();
        assert!(text.contains("X: aSet-Cookie: b\r\n") && text.contains("default-src 'self'"), "{text}");
    }
}
