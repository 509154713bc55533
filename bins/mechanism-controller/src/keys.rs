//! The sequence check controller: phases by keyboard, reports as they come, and a stop that is never further than a key.

use std::{
    collections::VecDeque,
    io::{ErrorKind, IsTerminal, Read, stdin},
    os::unix::net::UnixStream,
    thread,
};

use rosless_cli::{Failure, Result, out, output, session::FOREVER};
use rosless_graph::{EventLoop, Publisher, config::Settings, monotonic};
use rosless_mechanism::{
    engine::{LEAVE_ALONE, Which},
    following::{BOTH, End, Following, SILENCE},
    status::{Status, phase_name},
};
use rosless_wire::mecha_control::msg::MechaState;
use rustix::{
    process::getpgrp,
    termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr},
};

use crate::{
    Wait,
    brake::{Brake, judge, stop_both},
    phase::{tell_ends, tell_step},
    session::{App, Session, find, open},
};

const KEYS: &str = "\
q deploy daiza    w collect daiza   e place daiza   r stow daiza
a deploy hina     s collect hina    d place hina    f stow hina    p prepare hina
b bonbori on/off  x end             ? this help     Space or Esc: STOP
A key acts at once and takes the place of what runs; leaving, however it happens, stops what runs.";

const ESCAPE: u8 = 0x1b;
/// Ctrl-D, the end of what is typed.
const END: u8 = 0x04;

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Phase(Which, u8),
    Lantern,
    Stop,
    End,
    Help,
    Nothing,
}

fn wish(key: u8) -> Wish {
    match key {
        b'q' => Wish::Phase(Which::Pedestal, 1),
        b'w' => Wish::Phase(Which::Pedestal, 2),
        b'e' => Wish::Phase(Which::Pedestal, 3),
        b'r' => Wish::Phase(Which::Pedestal, 4),
        b'a' => Wish::Phase(Which::Doll, 1),
        b's' => Wish::Phase(Which::Doll, 2),
        b'd' => Wish::Phase(Which::Doll, 3),
        b'f' => Wish::Phase(Which::Doll, 4),
        b'p' => Wish::Phase(Which::Doll, 0),
        b'b' => Wish::Lantern,
        b' ' | ESCAPE => Wish::Stop,
        b'x' | END => Wish::End,
        b'\n' | b'\r' => Wish::Nothing,
        _ => Wish::Help,
    }
}

/// The keys in what a terminal sent at once. A stop goes before what was typed with it; an arrow or function key is an
/// escape and more, which stops, too, and is nothing else.
fn read_keys(typed: &[u8]) -> Vec<u8> {
    let mut keys = Vec::new();
    let mut rest = typed.iter().copied().peekable();
    while let Some(key) = rest.next() {
        keys.push(key);
        if key == ESCAPE && matches!(rest.peek(), Some(b'[' | b'O')) {
            rest.next();
            while rest.next().is_some_and(|byte| !(0x40..=0x7e).contains(&byte)) {}
        }
    }
    match keys.iter().rposition(|key| wish(*key) == Wish::Stop) {
        Some(last) => keys.split_off(last),
        None => keys,
    }
}

/// What was typed and not obeyed yet.
#[derive(Debug, Default)]
pub(crate) struct Typed {
    keys: VecDeque<u8>,
    ended: bool,
}

/// A terminal that gives each key as it is pressed, until this is dropped.
struct SingleKeys(Termios);

impl SingleKeys {
    /// `None` when standard input is no terminal.
    fn new() -> Result<Option<Self>> {
        if !stdin().is_terminal() {
            return Ok(None);
        }
        // Changing a terminal from the background would stop the process.
        if tcgetpgrp(stdin()).is_ok_and(|group| group != getpgrp()) {
            return Err(Failure::new(
                "keys are read in the foreground only: bring this command there with `fg`",
            ));
        }
        let failed = |error| Failure::new(format!("cannot read single keys from the terminal: {error}"));
        let before = tcgetattr(stdin()).map_err(failed)?;
        let mut single = before.clone();
        single.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        single.special_codes[SpecialCodeIndex::VMIN] = 1;
        single.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(stdin(), OptionalActions::Now, &single).map_err(failed)?;
        Ok(Some(Self(before)))
    }
}

impl Drop for SingleKeys {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
    }
}

/// Standard input on the event loop. A thread reads it, because a file cannot be polled.
fn listen_to_keys(event_loop: &EventLoop<App<Typed>>) -> Result<()> {
    let failed = |error| Failure::new(format!("cannot listen to standard input: {error}"));
    let (typed, mut writer) = UnixStream::pair().map_err(failed)?;
    typed.set_nonblocking(true).map_err(failed)?;
    thread::spawn(move || std::io::copy(&mut stdin().lock(), &mut writer));
    event_loop.watch(typed, |app, typed| {
        let mut buffer = [0; 256];
        loop {
            match typed.read(&mut buffer) {
                Ok(length @ 1..) => {
                    let keys = read_keys(&buffer[..length]);
                    if keys.first().is_some_and(|key| wish(*key) == Wish::Stop) {
                        // What waits was meant before the stop.
                        app.own.keys.clear();
                    }
                    app.own.keys.extend(keys);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => {
                    app.own.ended = true;
                    return false;
                }
            }
        }
    })?;
    Ok(())
}

/// What the keys have begun.
struct Operator {
    publisher: Publisher<MechaState>,
    following: [Option<(u8, Following)>; 2],
    /// What the last key made of the lantern, until the controller says the same.
    lit: Option<bool>,
}

impl Operator {
    fn phase(&mut self, which: Which, code: u8, seen: &Status) {
        let slot = &mut self.following[which as usize];
        if slot.as_ref().is_some_and(|(running, _)| *running == code) {
            return out!("{}: {} is on its way", which.name(), phase_name(code));
        }
        if let Some((before, _)) = slot.take() {
            let reason = format!("{} was asked for", phase_name(code));
            tell_ends(&[(which, End::Not { outcome: "pre-empted", reason })], &phase_name(before));
        }
        let following = Following::new(code, &[which], seen, monotonic());
        if !following.is_over() {
            self.publisher.publish(&following.message());
        }
        *slot = Some((code, following));
    }

    /// Only a change of the flag switches at once.
    fn lantern(&mut self, seen: &Status) {
        let (flag, lit) = (self.lit.unwrap_or(seen.bonbori.flag), self.lit.unwrap_or(seen.bonbori.lit));
        let switch = |bonbori_state| {
            self.publisher.publish(&MechaState {
                daiza_state: LEAVE_ALONE,
                hina_state: LEAVE_ALONE,
                bonbori_state,
            })
        };
        if flag != lit {
            switch(lit);
        }
        switch(!lit);
        self.lit = Some(!lit);
        out!("bonbori: {}", if lit { "off" } else { "on" });
    }

    /// Reports what has begun and ended since; `lost` is why what is on its way will not be told.
    fn look(&mut self, seen: &Status, lost: Option<&str>) {
        if self.lit == Some(seen.bonbori.lit) && seen.bonbori.flag == seen.bonbori.lit {
            self.lit = None;
        }
        for which in BOTH {
            let slot = &mut self.following[which as usize];
            let Some((code, following)) = slot else { continue };
            let code = *code;
            following.look(seen, monotonic()).iter().for_each(|step| tell_step(code, step));
            if following.asks_again(seen, monotonic()) {
                self.publisher.publish(&following.message());
            }
            if (following.is_over() || lost.is_some())
                && let Some((_, following)) = slot.take()
            {
                let ends = following.ends(|_| ("no outcome", lost.unwrap_or_default().to_owned()));
                tell_ends(&ends, &phase_name(code));
            }
        }
    }
}

fn tell_stop(brake: &Brake<Typed>, session: &Session<Typed>) -> Result<()> {
    let stopped = stop_both(brake, session)?;
    for each in &stopped {
        out!("{}: {}", each.which.name(), each.text());
    }
    judge(&stopped)
}

pub(crate) fn run(settings: &Settings, wait: Wait) -> Result<()> {
    let session = open::<Typed>(settings)?;
    let publisher = session.node.publisher::<MechaState>("mecha_state")?;
    let brake = Brake::new(&session)?;
    find(&session, wait.find, || publisher.matched() > 0 && brake.is_ready())?;
    session.settle(publisher.raw())?;
    let _single = SingleKeys::new()?;
    listen_to_keys(&session.event_loop)?;
    out!("{KEYS}");
    let mut operator = Operator { publisher, following: [None, None], lit: None };
    let ended = operate(&session, &brake, &mut operator);
    let moving = operator.following.iter().any(Option::is_some);
    let running =
        session.with(|app| app.seen.as_ref().is_some_and(|seen| BOTH.iter().any(|w| seen.part(*w).running)));
    // Whoever loses the terminal loses the stop key, too.
    match moving || running {
        true => ended.and(tell_stop(&brake, &session)),
        false => ended,
    }
}

fn operate(session: &Session<Typed>, brake: &Brake<Typed>, operator: &mut Operator) -> Result<()> {
    loop {
        session.wait(FOREVER, |app| {
            let lost = match (app.silence() > SILENCE, std::mem::take(&mut app.restarted)) {
                (true, _) => Some("the controller has fallen silent"),
                (false, true) => Some("the controller was restarted, or there are two: ask again"),
                (false, false) => None,
            };
            if let Some(seen) = &app.seen {
                operator.look(seen, lost);
            }
            app.own.ended || !app.own.keys.is_empty() || output::closed()
        })?;
        let key = session.with(|app| app.own.keys.pop_front()).filter(|_| !output::closed());
        let Some(key) = key else { return Ok(()) };
        let seen = session.with(|app| app.seen.clone()).unwrap_or_default();
        match wish(key) {
            Wish::Phase(which, code) => operator.phase(which, code, &seen),
            Wish::Lantern => operator.lantern(&seen),
            Wish::Stop => {
                operator.following = [None, None];
                // What a lift does nevertheless has been told; the keys go on.
                let _ = tell_stop(brake, session);
            }
            Wish::End => return Ok(()),
            Wish::Help => out!("{KEYS}"),
            Wish::Nothing => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_goes_before_what_was_typed_with_it_and_an_arrow_is_only_a_stop() {
        assert_eq!(read_keys(b"qw"), b"qw");
        assert_eq!(read_keys(b"qw e"), b" e", "what was typed before the stop is not begun after it");
        assert_eq!(read_keys(b"\x1b[A"), [ESCAPE]);
        assert_eq!(read_keys(b"\x1b[1;5Aq"), [ESCAPE, b'q']);
        assert_eq!(read_keys(b"\x1bOP"), [ESCAPE]);
        assert_eq!(read_keys(b"\x1b"), [ESCAPE]);
        assert_eq!(wish(b' '), Wish::Stop);
    }
}
