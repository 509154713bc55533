//! A service and its client in one program: `cargo run --example add_two_ints -- server`, then `… -- client 2 40`.

use std::time::Duration;

use rosless_graph::{CallError, Context, Error, EventLoop, Introspection, Result, config};
use rosless_wire::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse};

fn main() -> Result<()> {
    let (settings, args) = config::settings_or_exit();
    let context = Context::new(settings)?;
    match args.get(1..).unwrap_or_default() {
        [role] if role == "server" => serve(&context),
        [role, a, b] if role == "client" => call(&context, number(a)?, number(b)?),
        _ => Err(Error::Usage("usage: add_two_ints server | add_two_ints client A B".into())),
    }
}

fn number(text: &str) -> Result<i64> {
    text.parse().map_err(|error| Error::Usage(format!("'{text}': {error}")))
}

fn serve(context: &Context) -> Result<()> {
    let node = context.node("add_two_ints_server")?;
    let event_loop = EventLoop::<()>::new(context)?;
    let server = event_loop.serve::<AddTwoInts>(&node, "add_two_ints", |_, request, responder| {
        log::info!("{} + {}", request.a, request.b);
        responder.reply(&AddTwoIntsResponse { sum: request.a.wrapping_add(request.b) });
    })?;
    // `rosless service echo /add_two_ints` shows every call.
    server.configure_introspection(Introspection::Contents)?;
    event_loop.run(&mut ())
}

fn call(context: &Context, a: i64, b: i64) -> Result<()> {
    let node = context.node("add_two_ints_client")?;
    let event_loop = EventLoop::<Option<Result<AddTwoIntsResponse, CallError>>>::new(context)?;
    let client = event_loop.client::<AddTwoInts>(&node, "add_two_ints")?;
    client.call(&AddTwoIntsRequest { a, b }, Duration::from_secs(5), |answer, result| *answer = Some(result));
    let mut answer = None;
    event_loop.run_until(&mut answer, Duration::from_secs(6), |answer| answer.is_some())?;
    match answer {
        Some(Ok(response)) => log::info!("Result: {}", response.sum),
        Some(Err(error)) => log::error!("{error}"),
        None => log::error!("no answer"),
    }
    Ok(())
}
