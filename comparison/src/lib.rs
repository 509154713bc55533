//! What every stack does in the comparison: says texts (`std_msgs/msg/String`, reliable, depth 10) and hears them.
#![forbid(unsafe_code)]

use std::io::Write as _;
use std::time::{Duration, Instant};

/// One process of a conversation.
pub trait Peer: Sized {
    /// Joins the domain with a publisher and a subscription.
    fn join(domain: u16, says: &str, hears: &str) -> Self;
    /// Publishes.
    fn say(&mut self, text: String);
    /// The next text, if one comes in time.
    fn hear(&mut self, patience: Duration) -> Option<String>;
}

/// How long a lost answer is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long two processes may take to meet.
const MEETING: Duration = Duration::from_secs(20);

/// `pong DOMAIN`, `ping DOMAIN SIZE ROUNDS` or `idle DOMAIN`; the last two print `key value` lines.
pub fn run<P: Peer>() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<usize>().ok()).expect("a number");
    let domain = u16::try_from(number(1)).expect("a domain");
    match arguments[0].as_str() {
        "pong" => {
            let mut peer = P::join(domain, "pong", "ping");
            loop {
                if let Some(text) = peer.hear(PATIENCE) {
                    peer.say(text);
                }
            }
        }
        "idle" => {
            let mut peer = P::join(domain, "idle_out", "idle_in");
            loop {
                peer.hear(PATIENCE);
            }
        }
        _ => ping::<P>(domain, number(2), number(3)),
    }
}

fn ping<P: Peer>(domain: u16, size: usize, rounds: usize) {
    let started = Instant::now();
    let mut peer = P::join(domain, "ping", "pong");
    let mut met = None;
    while met.is_none() && started.elapsed() < MEETING {
        peer.say("hello".to_owned());
        met = peer.hear(Duration::from_millis(50)).map(|_| started.elapsed());
    }
    let Some(met) = met else {
        tell("met", "no");
        return;
    };
    tell("met_ms", &format!("{:.1}", met.as_secs_f64() * 1e3));
    while peer.hear(Duration::from_millis(300)).is_some() {}

    let text = "x".repeat(size);
    let mut times = Vec::with_capacity(rounds);
    let mut lost = 0;
    let warm_up = rounds / 10;
    for round in 0..warm_up + rounds {
        if round == warm_up {
            tell("begin", "");
            (times, lost) = (Vec::with_capacity(rounds), 0);
        }
        let said = Instant::now();
        peer.say(text.clone());
        match peer.hear(PATIENCE) {
            Some(heard) => {
                assert_eq!(heard.len(), size);
                times.push(said.elapsed());
            }
            None => lost += 1,
        }
        if lost > 5 {
            break;
        }
    }
    tell("end", "");
    times.sort_unstable();
    let at = |part: f64| times.get((times.len() as f64 * part) as usize).map_or(f64::NAN, |t| t.as_secs_f64() * 1e6);
    tell("p50_us", &format!("{:.1}", at(0.5)));
    tell("p99_us", &format!("{:.1}", at(0.99)));
    tell("lost", &lost.to_string());
}

/// One line for the program that compares.
fn tell(key: &str, value: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{key} {value}").and_then(|()| out.flush()).expect("somebody listens");
}
