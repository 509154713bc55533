//! Waiting for a condition with a deadline, instead of sleeping and hoping.

use std::time::{Duration, Instant};

const POLL_PERIOD: Duration = Duration::from_millis(10);

/// Polls `probe` until it gives a value.
///
/// # Panics
/// With `what` when the deadline passes first.
#[track_caller]
pub fn eventually_some<T>(what: &str, timeout: Duration, mut probe: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + timeout;
    loop {
        if let Some(value) = probe() {
            return value;
        }
        assert!(Instant::now() < deadline, "not within {timeout:?}: {what}");
        std::thread::sleep(POLL_PERIOD);
    }
}

/// Polls `condition` until it holds; panics with `what` when the deadline passes first.
#[track_caller]
pub fn eventually(what: &str, timeout: Duration, mut condition: impl FnMut() -> bool) {
    eventually_some(what, timeout, || condition().then_some(()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_the_first_value() {
        let mut calls = 0;
        let got = eventually_some("third call", Duration::from_secs(5), || {
            calls += 1;
            (calls == 3).then_some(calls)
        });
        assert_eq!(got, 3);
    }

    #[test]
    #[should_panic(expected = "not within 30ms: the impossible")]
    fn says_what_did_not_happen() {
        eventually("the impossible", Duration::from_millis(30), || false);
    }
}
