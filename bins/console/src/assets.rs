//! The pages, compiled in.

use rosless_web::{Asset, Request, Response};

static ASSETS: &[Asset] = &include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Every page is a deep link to the same document.
pub(crate) const PAGES: [&str; 7] = ["/", "/capture", "/arm", "/motion", "/mechanism", "/dummy", "/graph"];

/// The file that is asked for.
pub(crate) fn response(request: &Request) -> Response {
    let path = if PAGES.contains(&request.path.as_str()) { "/index.html" } else { &request.path };
    match ASSETS.iter().find(|asset| asset.path == path) {
        Some(asset) => Response::asset(asset, request),
        None => Response::text(404, "there is no such page; the console begins at /"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_page_is_small_and_loads_nothing_from_elsewhere() {
        let sum: usize = ASSETS.iter().map(|asset| asset.gzip.len()).sum();
        assert!(sum < 150_000, "{sum} bytes over the wire for everything");
        for asset in ASSETS {
            let text = std::str::from_utf8(asset.plain).expect("text");
            let addresses = text
                .match_indices("://")
                .map(|(at, _)| &text[at.saturating_sub(5)..(at + 20).min(text.len())]);
            // The name of SVG's namespace is no address, and a page's own host is its own.
            let foreign: Vec<_> =
                addresses.filter(|a| !a.contains("www.w3.org") && !a.contains("location")).collect();
            assert!(foreign.is_empty(), "{}: {foreign:?}", asset.path);
        }
        assert!(ASSETS.iter().any(|asset| asset.path == "/index.html"));
    }
}
