//! `rosless version`.

use clap::Args;
use serde_json::json;

use crate::{Environment, failure::Result, output};

/// Version, platform, what was compiled in, and the distributions and middleware that are spoken.
#[derive(Args, Debug)]
pub(crate) struct Version {}

/// What needs C code and may be left out.
const PARTS: [(&str, bool); 3] = [
    ("security", cfg!(feature = "security")),
    ("zstd", cfg!(feature = "zstd")),
    ("sqlite3", cfg!(feature = "sqlite3")),
];

impl Version {
    #[expect(clippy::unused_self, reason = "like every command")]
    pub(crate) fn run(&self, _: &Environment) -> Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        let platform = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
        let libc = if cfg!(target_env = "musl") { "musl, static" } else { "glibc" };
        let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
        let has = |wanted: bool| PARTS.iter().filter(move |(_, has)| *has == wanted).map(|(name, _)| *name);
        let (with, without) = (has(true).collect::<Vec<_>>(), has(false).collect::<Vec<_>>());
        let list = |names: &[&str]| if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        output::answer(
            &json!({"version": version, "platform": platform, "libc": libc, "profile": profile,
                "rust": env!("CARGO_PKG_RUST_VERSION"), "features": with, "left_out": without}),
            || {
                format!(
                    "rosless {version} ({platform}, {libc}, {profile}, Rust {} or newer)\nwith {}, without {}",
                    env!("CARGO_PKG_RUST_VERSION"),
                    list(&with),
                    list(&without)
                )
            },
        );
        Ok(())
    }
}
