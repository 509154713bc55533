//! Runs a program: threads that take turns, and wait for what takes time.

use std::{collections::BTreeMap, rc::Rc};

use super::script::{Binary, Function, Op, Program};

/// Steps of all threads together in one turn; a loop that waits for nothing goes on in the next.
const TURN: usize = 20_000;
/// Values and calls of one thread.
const DEEPEST: usize = 256;
/// Threads of one program.
const MOST_THREADS: usize = 16;

/// What a variable holds.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "they are what they are called")]
pub enum Value {
    Number(f64),
    Truth(bool),
    Text(String),
    List(Vec<f64>),
    Pose([f64; 6]),
    Thread(u32),
}

impl Value {
    /// As a number.
    ///
    /// # Errors
    /// When it is none.
    pub fn number(&self) -> Result<f64, String> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Truth(yes) => Ok(f64::from(u8::from(*yes))),
            other => Err(format!("{other:?} is no number")),
        }
    }

    fn truth(&self) -> Result<bool, String> {
        match self {
            Self::Truth(yes) => Ok(*yes),
            other => Err(format!("{other:?} is neither True nor False")),
        }
    }
}

/// The values of a call, by their place or their name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Arguments {
    plain: Vec<Value>,
    named: BTreeMap<String, Value>,
}

impl Arguments {
    /// The argument at this place or with this name.
    pub fn get(&self, place: usize, name: &str) -> Option<&Value> {
        self.plain.get(place).or_else(|| self.named.get(name))
    }

    /// The same as a number.
    ///
    /// # Errors
    /// When it is something else.
    pub fn number(&self, place: usize, name: &str, default: f64) -> Result<f64, String> {
        self.get(place, name).map_or(Ok(default), Value::number)
    }

    /// The same as a text.
    ///
    /// # Errors
    /// When it is something else.
    pub fn text(&self, place: usize, name: &str, default: &str) -> Result<String, String> {
        match self.get(place, name) {
            None => Ok(default.to_owned()),
            Some(Value::Text(text)) => Ok(text.clone()),
            Some(other) => Err(format!("{name} is {other:?}, a text is needed")),
        }
    }
}

/// What comes of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome<W> {
    /// It is done.
    Done(Value),
    /// It takes time; the thread waits.
    Wait(W),
}

/// What the machine's functions do.
pub trait Host {
    /// Something that takes time.
    type Wait;

    /// Calls a function that the program does not have itself.
    ///
    /// # Errors
    /// When there is none of that name, or its arguments are wrong.
    fn call(&mut self, name: &str, arguments: &Arguments) -> Result<Outcome<Self::Wait>, String>;

    /// Whether what is waited for has come, and what it gives.
    ///
    /// # Errors
    /// When it will never come.
    fn poll(&mut self, wait: &mut Self::Wait) -> Result<Option<Value>, String>;
}

#[derive(Debug)]
struct Frame {
    function: Rc<Function>,
    at: usize,
    locals: BTreeMap<String, Value>,
}

#[derive(Debug)]
struct Thread<W> {
    id: u32,
    frames: Vec<Frame>,
    stack: Vec<Value>,
    wait: Option<W>,
}

/// A program that runs. The first thread is the program itself: it ends with it.
#[derive(Debug)]
pub struct Machine<W> {
    functions: BTreeMap<String, Rc<Function>>,
    globals: BTreeMap<String, Value>,
    threads: Vec<Thread<W>>,
    next: u32,
    halted: bool,
}

enum Step {
    Go,
    Waits,
    Ends,
}

impl<W> Machine<W> {
    /// At its beginning.
    pub fn new(program: Program) -> Self {
        let name = program.name;
        let functions =
            program.functions.into_iter().map(|(name, function)| (name, Rc::new(function))).collect();
        let mut machine =
            Self { functions, globals: BTreeMap::new(), threads: Vec::new(), next: 0, halted: false };
        let _ = machine.spawn(&name);
        machine
    }

    /// Whether it has come to its end.
    pub fn is_over(&self) -> bool {
        self.halted || self.threads.first().is_none_or(|first| first.id != 0)
    }

    fn spawn(&mut self, name: &str) -> Result<u32, String> {
        let function = self.functions.get(name).ok_or_else(|| format!("there is no thread {name}"))?.clone();
        if self.threads.len() >= MOST_THREADS {
            return Err(format!("more than {MOST_THREADS} threads"));
        }
        let id = self.next;
        self.next += 1;
        let frame = Frame { function, at: 0, locals: BTreeMap::new() };
        self.threads.push(Thread { id, frames: vec![frame], stack: Vec::new(), wait: None });
        Ok(id)
    }

    /// Runs every thread until it waits.
    ///
    /// # Errors
    /// When a thread does what it cannot: then the program is over.
    pub fn turn<H: Host<Wait = W>>(&mut self, host: &mut H) -> Result<(), String> {
        let mut budget = TURN;
        // Threads that are started on the way have their turn, too.
        let mut i = 0;
        while i < self.threads.len() && !self.is_over() {
            let id = self.threads[i].id;
            loop {
                let step = match budget {
                    0 => Step::Waits,
                    _ => self.step(i, host).inspect_err(|_| self.halted = true)?,
                };
                budget = budget.saturating_sub(1);
                // A thread may have ended one before it.
                i = self.threads.iter().position(|thread| thread.id == id).unwrap_or(i);
                match step {
                    Step::Go if !self.halted => {}
                    Step::Go | Step::Waits => break,
                    Step::Ends => {
                        self.threads.retain(|thread| thread.id != id);
                        break;
                    }
                }
            }
            i += usize::from(self.threads.get(i).is_some_and(|thread| thread.id == id));
        }
        Ok(())
    }

    fn step<H: Host<Wait = W>>(&mut self, i: usize, host: &mut H) -> Result<Step, String> {
        let thread = &mut self.threads[i];
        if let Some(wait) = &mut thread.wait {
            let Some(value) = host.poll(wait)? else { return Ok(Step::Waits) };
            thread.stack.push(value);
            thread.wait = None;
        }
        let Some(frame) = thread.frames.last_mut() else { return Ok(Step::Ends) };
        let function = frame.function.clone();
        let Some(op) = function.ops.get(frame.at) else {
            thread.frames.pop();
            thread.stack.push(Value::Truth(false));
            return Ok(if thread.frames.is_empty() { Step::Ends } else { Step::Go });
        };
        frame.at += 1;
        if thread.stack.len() > DEEPEST || thread.frames.len() > DEEPEST {
            return Err("calls are nested too deeply".into());
        }
        let frame = thread.frames.last_mut().ok_or("no function")?;
        let stack = &mut thread.stack;
        let mut pop = || stack.pop().ok_or("a value is missing");
        match op {
            Op::Number(number) => stack.push(Value::Number(*number)),
            Op::Truth(yes) => stack.push(Value::Truth(*yes)),
            Op::Text(text) => stack.push(Value::Text(text.clone())),
            Op::Load(name) => {
                let value = frame.locals.get(name).or_else(|| self.globals.get(name));
                stack.push(value.ok_or_else(|| format!("{name} has no value"))?.clone());
            }
            Op::Store { name, global } => {
                let value = pop()?;
                let is_global =
                    *global || (!frame.locals.contains_key(name) && self.globals.contains_key(name));
                let place = if is_global { &mut self.globals } else { &mut frame.locals };
                place.insert(name.clone(), value);
            }
            Op::List(length) => {
                let first = stack.len().checked_sub(*length).ok_or("a value is missing")?;
                let values: Result<Vec<f64>, String> =
                    stack.drain(first..).map(|value| value.number()).collect();
                stack.push(Value::List(values?));
            }
            Op::Pose => {
                let first = stack.len().checked_sub(6).ok_or("a value is missing")?;
                let values: Result<Vec<f64>, String> =
                    stack.drain(first..).map(|value| value.number()).collect();
                stack.push(Value::Pose(values?.try_into().map_err(|_| "a pose has six numbers")?));
            }
            Op::Index => {
                let (index, list) = (pop()?.number()?, pop()?);
                let values = match &list {
                    Value::List(values) => values.as_slice(),
                    Value::Pose(values) => values.as_slice(),
                    other => return Err(format!("{other:?} has no elements")),
                };
                let value = (index >= 0.0).then(|| values.get(index as usize)).flatten();
                stack.push(Value::Number(*value.ok_or_else(|| format!("there is no element {index}"))?));
            }
            Op::Binary(operator) => {
                let (right, left) = (pop()?, pop()?);
                stack.push(binary(*operator, &left, &right)?);
            }
            Op::Negate => {
                let number = pop()?.number()?;
                stack.push(Value::Number(-number));
            }
            Op::Not => {
                let truth = pop()?.truth()?;
                stack.push(Value::Truth(!truth));
            }
            Op::Drop => drop(pop()?),
            Op::Jump(to) => frame.at = *to,
            Op::Unless(to) => {
                if !pop()?.truth()? {
                    frame.at = *to;
                }
            }
            Op::Return => {
                let value = pop()?;
                thread.frames.pop();
                if thread.frames.is_empty() {
                    return Ok(Step::Ends);
                }
                thread.stack.push(value);
            }
            Op::Halt => self.halted = true,
            Op::Run(name) => {
                let id = self.spawn(name)?;
                self.threads[i].stack.push(Value::Thread(id));
            }
            Op::Kill => {
                let handle = pop()?;
                let Value::Thread(id) = handle else { return Err(format!("{handle:?} is no thread")) };
                self.threads.retain(|thread| thread.id != id);
            }
            Op::Call { name, plain, named } => {
                let first = stack.len().checked_sub(plain + named.len()).ok_or("a value is missing")?;
                let mut values = stack.drain(first..);
                let arguments = Arguments {
                    plain: values.by_ref().take(*plain).collect(),
                    named: named.iter().cloned().zip(values).collect(),
                };
                if let Some(function) = self.functions.get(name) {
                    let mut locals = BTreeMap::new();
                    for (place, argument) in function.arguments.iter().enumerate() {
                        let value = arguments.get(place, argument);
                        let value = value.ok_or_else(|| format!("{name} needs {argument}"))?;
                        locals.insert(argument.clone(), value.clone());
                    }
                    thread.frames.push(Frame { function: function.clone(), at: 0, locals });
                } else {
                    match host.call(name, &arguments)? {
                        Outcome::Done(value) => stack.push(value),
                        Outcome::Wait(wait) => {
                            thread.wait = Some(wait);
                            return Ok(Step::Go);
                        }
                    }
                }
            }
        }
        Ok(Step::Go)
    }
}

fn binary(operator: Binary, left: &Value, right: &Value) -> Result<Value, String> {
    use Binary as B;
    Ok(match operator {
        B::Equal => Value::Truth(left == right),
        B::Unequal => Value::Truth(left != right),
        B::And => Value::Truth(left.truth()? && right.truth()?),
        B::Or => Value::Truth(left.truth()? || right.truth()?),
        _ => {
            let (left, right) = (left.number()?, right.number()?);
            match operator {
                B::Add => Value::Number(left + right),
                B::Subtract => Value::Number(left - right),
                B::Multiply => Value::Number(left * right),
                B::Divide if right == 0.0 => return Err("division by zero".into()),
                B::Divide => Value::Number(left / right),
                B::Less => Value::Truth(left < right),
                B::LessEqual => Value::Truth(left <= right),
                B::Greater => Value::Truth(left > right),
                _ => Value::Truth(left >= right),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::script::parse;

    /// Notes what is called; `wait(n)` waits for n polls.
    #[derive(Default)]
    struct Notes(Vec<String>);

    impl Host for Notes {
        type Wait = u32;

        fn call(&mut self, name: &str, arguments: &Arguments) -> Result<Outcome<u32>, String> {
            match name {
                "wait" => Ok(Outcome::Wait(arguments.number(0, "n", 1.0)? as u32)),
                "note" => {
                    self.0.push(format!("{:?}", arguments.get(0, "what").ok_or("what?")?));
                    Ok(Outcome::Done(Value::Truth(true)))
                }
                other => Err(format!("there is no function {other}")),
            }
        }

        fn poll(&mut self, wait: &mut u32) -> Result<Option<Value>, String> {
            *wait = wait.saturating_sub(1);
            Ok((*wait == 0).then_some(Value::Number(7.0)))
        }
    }

    fn notes(text: &str, turns: usize) -> Result<Vec<String>, String> {
        let mut machine = Machine::new(parse(text).unwrap());
        let mut host = Notes::default();
        for _ in 0..turns {
            machine.turn(&mut host)?;
        }
        assert!(machine.is_over(), "not over after {turns} turns");
        Ok(host.0)
    }

    #[test]
    fn expressions_loops_and_calls() {
        let text = "def f():\n def twice(x):\n  return x * 2\n end\n i = 0\n while i < 3 and not False:\n  i = i + 1\n  if i == 2:\n   note(twice(i) - 1 / 4)\n  elif i == 3:\n   note([1, 2, -3][2])\n  else:\n   note(what=\"one\")\n  end\n end\nend\n";
        assert_eq!(notes(text, 1).unwrap(), ["Text(\"one\")", "Number(3.75)", "Number(-3.0)"]);
    }

    #[test]
    fn threads_take_turns_and_a_killed_one_is_gone() {
        let text = "def f():\n global n = 0\n thread t():\n  while True:\n   n = n + 1\n   wait(1)\n  end\n end\n h = run t()\n wait(5)\n kill h\n note(n)\n wait(3)\n note(n)\nend\n";
        let seen = notes(text, 20).unwrap();
        assert_eq!(seen[0], seen[1]);
        assert_ne!(seen[0], "Number(0.0)");
    }

    #[test]
    fn a_loop_without_end_does_not_stop_the_world_and_mistakes_end_the_program() {
        let mut machine = Machine::new(parse("while True:\n x = 1\nend").unwrap());
        for _ in 0..3 {
            machine.turn(&mut Notes::default()).unwrap();
        }
        assert!(!machine.is_over());
        for (text, expected) in [
            ("y = x", "x has no value"),
            ("nonsense(1)", "no function nonsense"),
            ("x = 1 / 0", "division by zero"),
            ("x = [1][3]", "no element 3"),
            ("def f():\n def g():\n  g()\n end\n g()\nend", "too deeply"),
        ] {
            let reason = notes(text, 1).expect_err(text);
            assert!(reason.contains(expected), "{reason}");
        }
    }
}
