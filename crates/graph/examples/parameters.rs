//! Parameters of a node, and those of another one: `cargo run --example parameters`, then
//! `rosless param set /thermostat wanted 25.0` (which is refused) or, as a program, `… --example parameters -- 19.5`.

use std::time::Duration;

use rosless_graph::{
    Context, Error, EventLoop, Result, config,
    parameters::{Descriptor, NamedValue, ParameterValue, Table},
};

/// All parameters as one struct.
#[derive(Clone, Debug)]
struct Thermostat {
    wanted: f64,
    highest: f64,
}

impl Table for Thermostat {
    fn rows(&self) -> Vec<(Descriptor, ParameterValue)> {
        let celsius = |name, text| Descriptor::new(name).description(text).double_range(5.0, 30.0, 0.0);
        vec![
            (celsius("wanted", "degrees; at most what `highest` says"), self.wanted.into()),
            (celsius("highest", "degrees"), self.highest.into()),
        ]
    }

    fn take(&mut self, values: &[NamedValue]) -> Result<(), String> {
        for (name, value) in values {
            match (name.as_str(), value) {
                ("wanted", ParameterValue::Double(value)) => self.wanted = *value,
                ("highest", ParameterValue::Double(value)) => self.highest = *value,
                _ => {}
            }
        }
        if self.wanted > self.highest {
            return Err(format!("{} is above the highest that is allowed, {}", self.wanted, self.highest));
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let (settings, args) = config::settings_or_exit();
    let context = Context::new(settings)?;
    match args.get(1) {
        None => serve(&context),
        Some(text) => {
            let wanted: f64 = text.parse().map_err(|error| Error::Usage(format!("'{text}': {error}")))?;
            set(&context, wanted)
        }
    }
}

fn serve(context: &Context) -> Result<()> {
    let node = context.node("thermostat")?;
    // Values of the command line and of parameter files are in it already, and were judged together.
    let parameters = node.declare_table(Thermostat { wanted: 20.0, highest: 24.0 })?;
    let event_loop = EventLoop::<()>::new(context)?;
    event_loop.on_parameter_change(&node, move |_, _| log::info!("{:?}", parameters.read()));
    event_loop.run(&mut ())
}

fn set(context: &Context, wanted: f64) -> Result<()> {
    let node = context.node("hand")?;
    let event_loop = EventLoop::<bool>::new(context)?;
    let thermostat = event_loop.parameters_of(&node, "/thermostat");
    let value = [("wanted".to_owned(), wanted.into())];
    thermostat.set(&value, Duration::from_secs(5), |done, answer| {
        match answer {
            Ok(results) if results.iter().all(|result| result.successful) => log::info!("set"),
            Ok(results) => results.iter().for_each(|result| log::error!("refused: {}", result.reason)),
            Err(error) => log::error!("{error}"),
        }
        *done = true;
    })?;
    event_loop.run_until(&mut false, Duration::from_secs(6), |done| *done).map(drop)
}
