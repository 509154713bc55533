//! The program on the robot: how it gets there, what it says, and how its end is judged.

use rosless_motion::{ExecutionState, Fault, FaultKind};

use super::Link;
use crate::{
    driver::{Driver, GRACE, PROGRAM_TIMEOUT, Program, RETRY, SETTLED, Settings},
    program::{self, Control, NUMBERS, Setup, Word},
};

impl Driver {
    /// The program and its connections are no more.
    pub(in crate::driver) fn forget_program(&mut self) {
        for link in self.callers.control.take().into_iter().chain(self.callers.moves.take()) {
            self.callers.unread.remove(&link);
            self.close(link);
        }
        if !matches!(self.program, Program::Off(_)) {
            self.program = Program::Off(self.now + RETRY);
        }
        self.paused = false;
    }

    /// The program has hung up. Why, the next moment shows.
    pub(super) fn program_ended(&mut self) {
        self.forget_program();
        if self.status == ExecutionState::Stopping {
            self.stopping = None;
        } else if self.active {
            self.ended = Some(self.now);
        }
    }

    pub(super) fn caller_received(&mut self, link: Link, bytes: &[u8]) {
        let Some((_, unread)) = self.callers.unread.get_mut(&link) else { return };
        unread.extend(bytes);
        let known = self.callers.control == Some(link) || self.callers.moves == Some(link);
        if !known && self.settings.as_ref().is_some_and(|settings| settings.external) {
            if unread.starts_with(program::REQUEST) {
                return self.program_fetched(link);
            }
            if program::REQUEST.starts_with(unread) {
                return;
            }
        }
        let whole = unread.len() / 4 * 4;
        let words: Vec<u8> = unread.drain(..whole).collect();
        for four in words.chunks_exact(4) {
            let word = four.try_into().ok().and_then(Word::decode);
            let understood = word.is_some_and(|word| self.program_says(link, word));
            if !understood {
                self.log(
                    log::Level::Warn,
                    format!("the program on the robot says {four:?}, which is not understood"),
                );
                return self.drop_link(link, "not understood");
            }
        }
    }

    /// The External Control of a program that a person has started wants ours.
    fn program_fetched(&mut self, link: Link) {
        if matches!(self.program, Program::Off(_))
            && self.may_start()
            && let Some(setup) = self.setup()
        {
            self.send(link, setup.text_inside().into_bytes());
            self.program = Program::Sent(self.now);
        } else {
            self.log(
                log::Level::Warn,
                "a program was started at the pendant, but the robot may not move: it gets nothing",
            );
        }
        self.callers.unread.remove(&link);
        self.close(link);
    }

    /// False for what makes no sense.
    fn program_says(&mut self, link: Link, word: Word) -> bool {
        let is_control = self.callers.control == Some(link);
        let is_moves = self.callers.moves == Some(link);
        match word {
            Word::HelloControl(number)
                if number == self.number && self.callers.control.is_none() && !is_moves =>
            {
                self.callers.control = Some(link);
                self.next_alive = self.now;
                self.greeted();
            }
            Word::HelloMoves(number)
                if number == self.number && self.callers.moves.is_none() && !is_control =>
            {
                self.callers.moves = Some(link);
                self.greeted();
            }
            Word::Started(id) if is_moves => {
                // After a STOP something of the old epoch may still be under way.
                let known = self.moves.started(id, &mut self.events);
                self.news |= known;
            }
            Word::Done(id) if is_moves => {
                let known = self.moves.done(id, &mut self.events);
                self.news |= known;
            }
            Word::Stopped(epoch) if is_control => {
                if i64::from(epoch) == i64::from(self.epoch) {
                    self.stopping = None;
                    self.news = true;
                }
            }
            Word::Broken(_) if is_control => {
                self.log(
                    log::Level::Error,
                    "the program on the robot got a move that it does not understand",
                );
            }
            _ => return false,
        }
        true
    }

    fn greeted(&mut self) {
        if self.callers.control.is_some() && self.callers.moves.is_some() {
            self.program = Program::Up(self.now);
            // A STOP before this had nobody to hear it.
            self.epoch = 0;
            self.refused = None;
            // It has done its work; the next program gets a new connection.
            self.close(Link::Script);
            self.script.down("", self.now);
        }
    }

    /// Whether a program may be started.
    fn may_start(&self) -> bool {
        self.active
            && self.latched.is_none()
            && self.obstacle().is_none()
            && !matches!(self.status, ExecutionState::Stopping | ExecutionState::Stopped)
    }

    /// What the next program has to know.
    fn setup(&mut self) -> Option<Setup> {
        let (settings, port, local) = (self.settings.as_ref()?, self.listening?, self.local?);
        self.number = (self.number + 1) % NUMBERS as u32;
        Some(Setup {
            address: settings.reverse_address.unwrap_or(local),
            port,
            number: self.number,
            watchdog: settings.watchdog,
            deceleration: settings.stop_deceleration,
            tool: self.tool,
            payload: settings.payload,
        })
    }

    pub(in crate::driver) fn tick_program(&mut self, settings: &Settings) {
        self.tick_power(settings);
        self.judge_end();
        match self.program {
            Program::Off(not_before) => {
                if settings.external || self.now < not_before || !self.may_start() {
                    return;
                }
                self.call(Link::Script, settings);
                if self.script.is_up()
                    && let Some(setup) = self.setup()
                {
                    self.send(Link::Script, setup.text().into_bytes());
                    self.program = Program::Sent(self.now);
                }
            }
            Program::Sent(since) if self.now.saturating_sub(since) >= PROGRAM_TIMEOUT => {
                let port = self.listening.unwrap_or(0);
                let address =
                    settings.reverse_address.or(self.local).map(|a| a.to_string()).unwrap_or_default();
                self.refused = Some(format!(
                    "the program was sent to the robot, and nobody called back to {address}:{port} within {} s: a firewall, \
                     another address of this computer (reverse_address), or a robot that is not in remote control",
                    PROGRAM_TIMEOUT.as_secs()
                ));
                self.news = true;
                self.drop_link(Link::Script, "the program did not call back");
                self.forget_program();
            }
            Program::Up(since) => {
                let settled = since + SETTLED;
                let Some(sample) = self.sample.filter(|sample| sample.at >= settled) else { return };
                let apart = self.apart(&sample);
                if apart > settings.model_tolerance {
                    let robot = &self.planner.robot.name;
                    let ours = self.planner.robot.forward(&sample.joints.position);
                    let text = format!(
                        "wrong model: the controller has the tool at {}, a {robot} with this tool_offset would have it at {}, \
                         {:.0} mm away; check --robot and tool_offset",
                        Self::place(&sample.hand),
                        Self::place(&ours),
                        1000.0 * apart
                    );
                    self.unfit = Some(Fault { kind: FaultKind::Other, text });
                    self.control(Control::End);
                    self.forget_program();
                } else {
                    self.program = Program::Proved;
                    self.log(log::Level::Info, "the program runs on the robot: it takes moves");
                }
                self.news = true;
            }
            Program::Sent(_) | Program::Proved => {}
        }
    }

    /// Somebody has ended the program while the network is up, or it has not.
    fn judge_end(&mut self) {
        if self.ended.is_some_and(|ended| self.now.saturating_sub(ended) >= GRACE) {
            self.ended = None;
            if self.rtde.is_streaming() && self.latched.is_none() {
                let moved =
                    if self.status == ExecutionState::Executing { " while the arm moved" } else { "" };
                self.latch(
                    FaultKind::Other,
                    &format!(
                        "the program on the robot was stopped{moved}, at the pendant or by another client, or it lost its \
                         connection to us"
                    ),
                );
            }
        }
    }
}
