//! `rosless topic echo`.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use clap::Args;
use rosless_graph::{Sample, SampleInfo};
use rosless_schema::{DynamicMessage, Value, YamlStyle};
use serde_json::json;

use super::Source;
use crate::{
    Environment,
    cli::seconds,
    failure::{Failure, Result},
    output::{self, out},
    qos::{self, QosArgs},
};

#[derive(Args, Debug)]
pub(crate) struct Echo {
    topic_name: String,
    /// Needed only to wait for a topic that is not published yet
    message_type: Option<String>,
    #[command(flatten)]
    qos: QosArgs,
    /// Print the first message and leave
    #[arg(long)]
    once: bool,
    /// Give up after this long; exit code 1 if no message came
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
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
    /// Print when and from whom each message came
    #[arg(long)]
    include_message_info: bool,
}

impl Echo {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        let session = environment.join()?;
        let source = Source::find(environment, &session, &self.topic_name, self.message_type.as_deref())?;
        let (adapted, remarks) = qos::to_hear_all(&source.publishers.iter().collect::<Vec<_>>());
        remarks.iter().for_each(|remark| eprintln!("{remark}"));
        let (once, report_losses, timeout) = (self.once, !self.no_lost_messages, self.timeout);
        let qos = self.qos.apply(adapted);
        let shown = Rc::new(Cell::new(0_u64));
        let failure = Rc::new(RefCell::new(None));
        let printer = Printer { echo: self, json: environment.json() };
        let (ty, counter, problem) = (source.known.ty.clone(), shown.clone(), failure.clone());
        let subscription = session.event_loop.subscribe_raw(
            &session.node,
            &source.topic,
            source.known.name(),
            &source.known.hash,
            qos,
            move |(), sample: Sample<Vec<u8>>| {
                if once && counter.get() > 0 {
                    return;
                }
                let printed = if printer.echo.raw {
                    printer.print_raw(&sample.message);
                    Ok(())
                } else {
                    DynamicMessage::from_payload(&ty, &sample.message)
                        .map_err(|error| Failure::new(format!("a message cannot be decoded: {error}")))
                        .and_then(|message| printer.print(&message, &sample.info))
                };
                match printed {
                    Ok(()) => counter.set(counter.get() + 1),
                    Err(error) => *problem.borrow_mut() = Some(error),
                }
            },
        )?;
        let mut lost = 0;
        let ended = session.run_until(timeout.unwrap_or(Duration::MAX / 4), || {
            let now_lost = subscription.counters().lost;
            if report_losses && now_lost > lost {
                eprintln!("{} messages lost ({now_lost} in all)", now_lost - lost);
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
    fn print_raw(&self, payload: &[u8]) {
        let escaped: String = payload.iter().map(|byte| format!("\\x{byte:02x}")).collect();
        out!("b'{escaped}'\n---");
    }

    fn print(&self, message: &DynamicMessage, info: &SampleInfo) -> Result<()> {
        let field = match &self.echo.field {
            None => None,
            Some(path) => Some(message.get(path).ok_or_else(|| {
                let fields: Vec<_> = message.message_type().fields().iter().map(|f| f.name()).collect();
                Failure::new(format!(
                    "Invalid field '{path}': {} has {}",
                    message.message_type().name(),
                    fields.join(", ")
                ))
            })?),
        };
        if self.json {
            let value = field.map_or_else(|| json!(message), |value| json!(value));
            match self.echo.include_message_info {
                true => output::json_line(&json!({"info": info_json(info), "message": value})),
                false => output::json_line(&value),
            }
            return Ok(());
        }
        if self.echo.include_message_info {
            out!("{}", info_json(info));
        }
        let style = YamlStyle {
            truncate: (!self.echo.full_length).then_some(self.echo.truncate_length),
            no_arrays: self.echo.no_arr,
            no_strings: self.echo.no_str,
            flow: self.echo.flow_style,
        };
        let whole = Value::Message(message.clone());
        match (field.unwrap_or(&whole), self.echo.csv) {
            (value, true) => {
                let mut cells = Vec::new();
                flatten(value, &mut cells);
                out!("{}", cells.join(","));
            }
            (Value::Message(message), _) => out!("{}---", message.to_yaml(style)),
            (value, _) => out!("{}\n---", plain(value)),
        }
        Ok(())
    }
}

fn info_json(info: &SampleInfo) -> serde_json::Value {
    let nanoseconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
    json!({"source_timestamp": info.source_stamp.map_or(0, nanoseconds),
        "received_timestamp": nanoseconds(info.reception_stamp),
        "publication_sequence_number": info.sequence_number, "publisher": info.publisher.to_string()})
}

/// A value that is not a message, as Python's `str` shows it.
fn plain(value: &Value) -> String {
    match value {
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::String(text) => text.clone(),
        Value::Message(message) => {
            message.to_yaml(YamlStyle { flow: true, ..Default::default() }).trim_end().to_owned()
        }
        Value::List(items) => format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(", ")),
        other => json!(other).to_string().replace(',', ", "),
    }
}

/// The values in the order of the definition, without their names.
fn flatten(value: &Value, cells: &mut Vec<String>) {
    match value {
        Value::Message(message) => message.fields().for_each(|(_, value)| flatten(value, cells)),
        Value::List(items) => items.iter().for_each(|item| flatten(item, cells)),
        Value::Bytes(bytes) => cells.extend(bytes.iter().map(u8::to_string)),
        other => cells.push(plain(other)),
    }
}
