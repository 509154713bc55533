//! Where the figures come from.

use std::{fs, process::Command, sync::OnceLock, thread};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Keeps this thread, and what it starts, on a core that the other side of a conversation does not have, where
/// there is more than one: left alone, two sides that only wait for each other may share a core or not.
pub fn keep_apart(side: usize) {
    static ALLOWED: OnceLock<Vec<usize>> = OnceLock::new();
    let allowed = ALLOWED.get_or_init(|| {
        let cores = sched_getaffinity(None).unwrap_or_default();
        (0..CpuSet::MAX_CPU).filter(|core| cores.is_set(*core)).collect()
    });
    if let Some(core) = allowed.get(side).filter(|_| allowed.len() > 1) {
        let mut own = CpuSet::new();
        own.set(*core);
        // Where it is not allowed, the figures are those of two sides that were left alone.
        let _ = sched_setaffinity(None, &own);
    }
}

/// A table of what matters for speed: processor, memory, kernel, compiler, how busy it was.
///
/// `load_before` is the text of `/proc/loadavg` before the first benchmark; `manifest` the workspace's Cargo.toml.
pub fn describe(load_before: &str, manifest: &str) -> String {
    let processor = read("/proc/cpuinfo").lines().find_map(|line| value_of(line, "model name"));
    let memory = read("/proc/meminfo")
        .lines()
        .find_map(|line| value_of(line, "MemTotal")?.strip_suffix(" kB")?.parse::<f64>().ok())
        .map(|kilobytes| format!("{:.1} GB", kilobytes * 1024.0 / 1e9));
    let cores = thread::available_parallelism().map(|count| count.to_string()).ok();
    let rows = [
        ("processor", processor),
        ("cores", cores),
        ("memory", memory),
        ("kernel", output("uname", &["-sr"])),
        ("compiler", output("rustc", &["--version"])),
        ("profile", Some(profile(manifest, std::env::vars()))),
        (
            "load average over 1 min, before and after",
            Some(format!("{}, {}", minute(load_before), minute(&read("/proc/loadavg")))),
        ),
        ("date", output("date", &["-u", "+%F"])),
    ];
    let rows =
        rows.map(|(what, value)| format!("| {what} | {} |\n", value.unwrap_or_else(|| "unknown".into())));
    format!("| machine | |\n|---|---|\n{}", rows.concat())
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn value_of(line: &str, key: &str) -> Option<String> {
    let (name, value) = line.split_once(':')?;
    (name.trim() == key).then(|| value.trim().to_owned())
}

fn minute(loadavg: &str) -> &str {
    loadavg.split(' ').next().unwrap_or_default()
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The settings of the release profile, which benchmarks inherit, and what the environment changes of it.
fn profile(manifest: &str, environment: impl Iterator<Item = (String, String)>) -> String {
    let settings = manifest
        .lines()
        .skip_while(|line| line.trim() != "[profile.release]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .map(|line| line.replace('"', ""))
        .filter(|line| line.contains('='));
    let changed = environment
        .filter(|(key, _)| {
            key.starts_with("CARGO_PROFILE_RELEASE_") || key.starts_with("CARGO_PROFILE_BENCH_")
        })
        .map(|(key, value)| format!("{key}={value}"));
    let all: Vec<String> = settings.chain(changed).collect();
    format!("release ({})", all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_is_read_from_manifest_and_environment() {
        let manifest = "[profile.dev]\nopt-level = 1\n\n[profile.release]\nlto = \"thin\"\ncodegen-units = 1\n\n[other]\na = 1\n";
        let environment = [("CARGO_PROFILE_RELEASE_LTO", "off"), ("HOME", "/")];
        let environment = environment.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(
            profile(manifest, environment.into_iter()),
            "release (lto = thin, codegen-units = 1, CARGO_PROFILE_RELEASE_LTO=off)"
        );
    }

    #[test]
    fn the_machine_is_a_table_with_the_load_before() {
        let table = describe("0.50 0.40 0.30 1/200 4711", "[profile.release]\nlto = true\n");
        assert!(table.contains("| 0.50, "), "{table}");
        assert!(table.contains("| release (lto = true"), "{table}");
        assert!(table.lines().all(|line| line.matches('|').count() == 3), "{table}");
    }
}
