//! `rosless topic echo`.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use clap::Args;
use rosless_graph::{Sample, SampleInfo};
use rosless_schema::{DynamicMessage, Filter, Value, YamlStyle, python};
use serde_json::json;

use super::{SERVICE_EVENT, SimTime, Source, accepts};
use crate::{
    Environment,
    cli::seconds,
    commands::names,
    failure::{Failure, Result},
    output::{self, err, out},
    qos::{self, QosArguments},
};

#[derive(Args, Debug)]
pub(crate) struct Echo {
    #[arg(add = names::topics())]
    topic_name: String,
    /// Needed only to wait for a topic that is not published yet
    message_type: Option<String>,
    #[command(flatten)]
    qos: QosArguments,
    /// Print the first message and leave
    #[arg(long)]
    once: bool,
    /// Give up after this long; exit code 1 if no message came
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,
    /// Print only this field, such as `header.stamp` or `position.0`
    #[arg(long, value_name = "FIELD")]
    field: Option<String>,
    /// Print long strings and lists in full
    #[arg(short, long)]
    full_length: bool,
    /// Cut strings and lists longer than this
    #[arg(short = 'l', long, value_name = "N", default_value_t = 128)]
    truncate_length: usize,
    /// Print only the type and length of lists
    #[arg(long)]
    no_arr: bool,
    /// Print only the length of strings
    #[arg(long)]
    no_str: bool,
    /// Print each message on one line
    #[arg(long)]
    flow_style: bool,
    /// Print values separated by commas
    #[arg(long, conflicts_with = "flow_style")]
    csv: bool,
    /// Print the bytes as they came
    #[arg(long)]
    raw: bool,
    /// Do not report lost messages
    #[arg(long)]
    no_lost_messages: bool,
    /// Print when each message was sent and came, and its number; with --json also who sent it
    #[arg(short = 'i', long)]
    include_message_info: bool,
    /// Print only messages for which this holds, such as `m.data > 3 and m.header.frame_id == "map"`
    #[arg(long, value_name = "CONDITION", value_parser = Filter::parse, conflicts_with = "raw")]
    filter: Option<Filter>,
    #[command(flatten)]
    sim_time: SimTime,
}

impl Echo {
    /// The same for what is told of a service's calls.
    pub(crate) fn of_service(mut self) -> Self {
        self.topic_name += SERVICE_EVENT;
        self.message_type = self.message_type.map(|ty| ty + "_Event");
        self
    }

    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        let session = self.sim_time.join(environment, None)?;
        let ty = self.message_type.as_deref();
        let source = Source::find(environment, &session, &self.topic_name, ty, Duration::ZERO)?;
        let (adapted, remarks) = qos::to_hear_all(&source.publishers.iter().collect::<Vec<_>>());
        remarks.iter().for_each(|remark| err!("{remark}"));
        let (once, report_losses, timeout) = (self.once, !self.no_lost_messages, self.timeout);
        let qos = self.qos.apply(adapted);
        let shown = Rc::new(Cell::new(0_u64));
        let failure = Rc::new(RefCell::new(None));
        let printer = Printer { echo: self, json: environment.json() };
        let (ty, counter, problem) = (source.known.ty.clone(), shown.clone(), failure.clone());
        let subscription = session.event_loop.subscribe_raw(
            &session.node,
            (&source.topic, qos),
            (source.known.name(), &source.known.hash),
            move |(), sample: Sample<Vec<u8>>| {
                if once && counter.get() > 0 {
                    return;
                }
                let printed = if printer.echo.raw {
                    printer.print_plain(&python::bytes(&sample.message), &sample.info);
                    Ok(true)
                } else {
                    DynamicMessage::from_payload(&ty, &sample.message)
                        .map_err(|error| Failure::new(format!("a message cannot be decoded: {error}")))
                        .and_then(|message| printer.print_wanted(&message, &sample.info))
                };
                match printed {
                    Ok(shown) => counter.set(counter.get() + u64::from(shown)),
                    Err(error) => *problem.borrow_mut() = Some(error),
                }
            },
        )?;
        let mut lost = 0;
        let ended = session.run_until(timeout.unwrap_or(Duration::MAX / 4), || {
            let now_lost = subscription.counters().lost;
            if report_losses && now_lost > lost {
                err!("{} messages lost ({now_lost} in all)", now_lost - lost);
            }
            lost = now_lost;
            (once && shown.get() > 0) || failure.borrow().is_some() || output::closed()
        });
        if let Some(failure) = failure.take() {
            return Err(failure);
        }
        match ended {
            // Being interrupted is how an endless command ends.
            Err(interrupted) if interrupted.code == 130 && shown.get() > 0 && !once => Ok(()),
            Err(other) => Err(other),
            Ok(false) if shown.get() == 0 => Err(Failure::new(format!(
                "no message on {} within {:.1} s ({} publishers matched)",
                source.topic,
                timeout.unwrap_or_default().as_secs_f64(),
                subscription.matched(),
            ))),
            Ok(_) => Ok(()),
        }
    }
}

struct Printer {
    echo: Echo,
    json: bool,
}

impl Printer {
    /// What is no message: bytes, or a field.
    fn print_plain(&self, text: &str, info: &SampleInfo) {
        if self.echo.include_message_info {
            let entries: Vec<_> =
                info_entries(info).iter().map(|(name, value)| format!("'{name}': {value}")).collect();
            out!("---Got new message, message info:---\n{{{}}}\n---Message data:---", entries.join(", "));
        }
        out!("{text}\n---");
    }

    /// Whether the message was one that is wanted.
    fn print_wanted(&self, message: &DynamicMessage, info: &SampleInfo) -> Result<bool> {
        let wanted = accepts(self.echo.filter.as_ref(), message)?;
        if wanted {
            self.print(message, info)?;
        }
        Ok(wanted)
    }

    fn print(&self, message: &DynamicMessage, info: &SampleInfo) -> Result<()> {
        let path = self.echo.field.as_deref();
        let field = match path.map(|path| (path, message.get(path))) {
            None => None,
            Some((path, None)) => {
                let fields: Vec<_> = message.message_type().fields().iter().map(|f| f.name()).collect();
                return Err(Failure::new(format!(
                    "Invalid field '{path}': {} has {}",
                    message.message_type().name(),
                    fields.join(", ")
                )));
            }
            Some((_, field)) => field,
        };
        if self.json {
            let value = field.map_or_else(|| json!(message), |value| json!(value));
            match self.echo.include_message_info {
                true => output::json_line(&json!({"info": info_json(info), "message": value})),
                false => output::json_line(&value),
            }
            return Ok(());
        }
        let message = match field {
            None => message,
            Some(Value::Message(message)) => message,
            Some(_) => {
                let text = path.and_then(|path| message.get_python(path));
                self.print_plain(&text.unwrap_or_default(), info);
                return Ok(());
            }
        };
        let style = YamlStyle {
            truncate: (!self.echo.full_length).then_some(self.echo.truncate_length),
            no_arrays: self.echo.no_arr,
            no_strings: self.echo.no_str,
            flow: self.echo.flow_style,
        };
        let mut entries = info_entries(info);
        match (self.echo.csv, self.echo.include_message_info) {
            (true, true) => {
                let cells = entries.map(|(_, value)| value).join(",");
                out!("{cells},{}", message.to_csv(style));
            }
            (true, false) => out!("{}", message.to_csv(style)),
            (false, with_info) => {
                entries.sort();
                for (name, value) in entries.iter().filter(|_| with_info) {
                    out!("{name}: {}", value.replace("None", "null"));
                }
                out!("{}{}---", if with_info { "---\n" } else { "" }, message.to_yaml(style));
            }
        }
        Ok(())
    }
}

fn nanoseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |duration| duration.as_nanos() as u64)
}

/// What rclpy tells of a message, in its order and as Python shows it; no middleware of ROS counts receptions.
fn info_entries(info: &SampleInfo) -> [(&'static str, String); 4] {
    [
        ("source_timestamp", info.source_stamp.map_or(0, nanoseconds).to_string()),
        ("received_timestamp", nanoseconds(info.reception_stamp).to_string()),
        ("publication_sequence_number", info.sequence_number.to_string()),
        ("reception_sequence_number", "None".to_owned()),
    ]
}

fn info_json(info: &SampleInfo) -> serde_json::Value {
    json!({"source_timestamp": info.source_stamp.map_or(0, nanoseconds),
        "received_timestamp": nanoseconds(info.reception_stamp),
        "publication_sequence_number": info.sequence_number, "publisher": info.publisher.to_string()})
}
