//! Parameters of a node as others see them: all six services, the events, and simulated time.

use std::time::Duration;

use crate::peer::{Here, PATIENCE, Peer};
use rosless_graph::{
    Context, ContextOptions, Error, EventLoop, Node, Qos, TopicQos,
    parameters::{Descriptor, NamedValue, ParameterError, ParameterValue as Value, Table},
};
use rosless_tests::{DomainLease, eventually};
use rosless_wire::{
    builtin_interfaces::msg::Time,
    rcl_interfaces::{
        msg::{Parameter, ParameterEvent, ParameterValue},
        srv,
    },
    rosgraph_msgs::msg::Clock,
    type_description_interfaces::srv::{GetTypeDescription, GetTypeDescriptionRequest},
};

/// A node with one parameter of each sort; its state is what it was told about changes.
fn robot(events: &EventLoop<Vec<String>>, node: &Node) -> Vec<String> {
    let rate = Descriptor::new("rate").description("Publications per second").integer_range(1, 100, 1);
    assert_eq!(node.declare_parameter(rate, 10i64).unwrap(), 25, "the command line wins");
    node.declare_parameter(Descriptor::new("serial").read_only(), "A1".to_owned()).unwrap();
    node.declare_parameter("gains.p", 0.5).unwrap();
    node.declare_parameter("gains.inner.i", vec![0.1, 0.2]).unwrap();
    node.validate_parameters(|values| {
        match values.iter().find(|(name, value)| name == "rate" && *value == 13i64.into()) {
            Some(_) => Err("13 brings bad luck".to_owned()),
            None => Ok(()),
        }
    });
    let same = node.clone();
    events.on_parameter_change(node, move |heard, change| {
        for (name, _) in change.changed.iter().filter(|(name, _)| name == "rate") {
            heard.push(format!("{name} is {}", same.parameter::<i64>("rate").unwrap()));
        }
    });
    // What the node heard is told to the test through another parameter.
    node.declare_parameter("heard", Vec::<String>::new()).unwrap();
    let same = node.clone();
    events.after_batch(move |heard: &mut Vec<String>| {
        if same.parameter::<Vec<String>>("heard").unwrap() != *heard {
            same.set_parameter("heard", heard.clone()).unwrap();
        }
    });
    Vec::new()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn integer(name: &str, value: i64) -> Parameter {
    Parameter {
        name: name.to_owned(),
        value: ParameterValue { r#type: 2, integer_value: value, ..Default::default() },
    }
}

#[test]
fn all_six_services_and_the_events_work_between_two_participants() {
    let domain = DomainLease::acquire();
    let _robot = Peer::start(&domain, "robot", "-p rate:=25 -r __ns:=/fleet", robot);
    let here = Here::new(&domain, "asker");
    let service = |name: &str| format!("/fleet/robot/{name}");

    let list = here.call::<srv::ListParameters>(&service("list_parameters"), Default::default()).result;
    assert_eq!(
        list.names,
        [
            "gains.inner.i",
            "gains.p",
            "heard",
            "qos_overrides./parameter_events.publisher.depth",
            "qos_overrides./parameter_events.publisher.durability",
            "qos_overrides./parameter_events.publisher.history",
            "qos_overrides./parameter_events.publisher.reliability",
            "rate",
            "serial",
            "start_type_description_service",
            "use_sim_time"
        ]
    );
    assert_eq!(list.prefixes, ["gains.inner", "gains", "qos_overrides./parameter_events.publisher"]);

    let request = srv::DescribeParametersRequest { names: names(&["rate", "serial"]) };
    let described =
        here.call::<srv::DescribeParameters>(&service("describe_parameters"), request).descriptors;
    assert_eq!((described[0].integer_range[0].to_value, described[0].r#type), (100, 2));
    assert_eq!(described[0].description, "Publications per second");
    assert!(described[1].read_only);

    let request = srv::GetParameterTypesRequest { names: names(&["rate", "gains.inner.i"]) };
    assert_eq!(here.call::<srv::GetParameterTypes>(&service("get_parameter_types"), request).types, [2, 8]);

    let get = |wanted: &[&str]| {
        let request = srv::GetParametersRequest { names: names(wanted) };
        here.call::<srv::GetParameters>(&service("get_parameters"), request).values
    };
    assert_eq!(get(&["rate"])[0].integer_value, 25);
    assert_eq!(get(&["rate", "nobody"]), [], "one unknown name empties the answer");

    let events = here.collect::<ParameterEvent>(("/parameter_events", Qos::parameter_events()));
    let request = srv::SetParametersRequest {
        parameters: vec![
            integer("rate", 50),
            integer("rate", 101),
            integer("rate", 13),
            integer("serial", 1),
            integer("nobody", 1),
            integer("gains.p", 1),
        ],
    };
    let results = here.call::<srv::SetParameters>(&service("set_parameters"), request).results;
    let reasons: Vec<_> = results.iter().map(|result| result.reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "",
            "Parameter {rate} doesn't comply with integer range: 101 is not in 1 … 100",
            "13 brings bad luck",
            "parameter 'serial' cannot be set because it is read-only",
            "parameter 'nobody' cannot be set because it was not declared",
            "Wrong parameter type, parameter {gains.p} is of type {double}, setting it to {integer} is not allowed.",
        ]
    );
    assert_eq!(results.iter().filter(|result| result.successful).count(), 1);
    let is_change = |event: &ParameterEvent| {
        event.node == "/fleet/robot"
            && event.changed_parameters == [integer("rate", 50)]
            && event.stamp.sec > 0
    };
    here.until("the event", || events.borrow().iter().any(is_change));

    let set = |parameters| {
        let request = srv::SetParametersAtomicallyRequest { parameters };
        here.call::<srv::SetParametersAtomically>(&service("set_parameters_atomically"), request).result
    };
    assert!(!set(vec![integer("rate", 60), integer("nobody", 1)]).successful);
    assert_eq!(get(&["rate"])[0].integer_value, 50, "nothing was set");
    assert!(set(vec![integer("rate", 60)]).successful);
    assert_eq!(get(&["heard"])[0].string_array_value[..2], ["rate is 50", "rate is 60"]);
}

#[test]
fn types_are_described_and_nodes_without_services_stay_without() {
    let domain = DomainLease::acquire();
    let _robot = Peer::start(&domain, "robot", "-p rate:=25", robot);
    let here = Here::new(&domain, "asker");
    let request = GetTypeDescriptionRequest {
        type_name: "std_msgs/msg/String".to_owned(),
        ..GetTypeDescriptionRequest::default()
    };
    let answer = here.call::<GetTypeDescription>("/robot/get_type_description", request);
    assert!(answer.successful, "{}", answer.failure_reason);
    assert_eq!(answer.type_description.type_description.fields[0].name, "data");

    let options = ContextOptions { node_services: false, ..ContextOptions::for_domain(domain.id()) };
    let context = Context::new(options).unwrap();
    let events = EventLoop::<()>::new(&context).unwrap();
    let _tool = context.node("tool").unwrap();
    let here_seen = events
        .run_until(&mut (), PATIENCE, |()| context.graph().services().contains_key("/robot/list_parameters"));
    assert!(here_seen.unwrap());
    assert!(context.graph().services().keys().all(|service| !service.starts_with("/tool/")));
}

#[test]
fn a_node_follows_the_clock_when_told_to() {
    let domain = DomainLease::acquire();
    let here = Here::new(&domain, "robot");
    assert!(here.node.now().sec > 1_700_000_000);
    let _clock = Peer::start(&domain, "simulator", "", |events, node| {
        let clock = node.publisher::<Clock>(("/clock", Qos::clock())).unwrap();
        let tick = Clock { clock: Time { sec: 42, nanosec: 7 } };
        events.timer(Duration::from_millis(20), move |()| {
            clock.publish(&tick);
        });
    });
    here.node.set_parameter("use_sim_time", true).unwrap();
    assert_eq!(here.node.now(), Time::default(), "nothing is known before the first tick");
    here.until("simulated time", || here.node.now() == Time { sec: 42, nanosec: 7 });
    here.node.set_parameter("use_sim_time", false).unwrap();
    assert!(here.node.now().sec > 1_700_000_000);
    let graph = || here.node.context().graph();
    let subscribers = || graph().subscriptions("/clock").len();
    here.until("the subscription to end", || subscribers() == 0);
}

#[test]
fn undeclared_parameters_come_and_go_where_the_node_allows_it() {
    let domain = DomainLease::acquire();
    let _open =
        Peer::start(&domain, "open", "", |_: &EventLoop<()>, node| node.allow_undeclared_parameters());
    let here = Here::new(&domain, "asker");
    let events = here.collect::<ParameterEvent>(("/parameter_events", Qos::parameter_events()));
    let heard = |pick: fn(&ParameterEvent) -> &[Parameter]| {
        events.borrow().iter().any(|event| event.node == "/open" && pick(event) == [integer("new", 5)])
    };
    // The answer may be here before the other side has met the subscription, so it is asked until that is so.
    eventually("both events", PATIENCE, || {
        for parameter in [integer("new", 5), Parameter { name: "new".to_owned(), ..Parameter::default() }] {
            let request = srv::SetParametersRequest { parameters: vec![parameter] };
            let results = here.call::<srv::SetParameters>("/open/set_parameters", request).results;
            assert!(results[0].successful, "{}", results[0].reason);
        }
        heard(|event| &event.new_parameters) && heard(|event| &event.deleted_parameters)
    });
}

#[test]
fn a_node_and_its_services_vanish_with_its_last_handle() {
    let domain = DomainLease::acquire();
    let here = Here::new(&domain, "asker");
    let context = here.node.context().clone();
    let guest = context.node("guest").unwrap();
    let services = || context.graph().services().keys().filter(|name| name.starts_with("/guest/")).count();
    here.until("the services of the guest", || services() == 7);
    drop(guest);
    here.until("the guest to vanish", || services() == 0);
    assert!(!context.graph().has_node("/guest"));
}

#[test]
fn a_table_of_parameters_does_not_keep_its_node_and_participant() {
    let domain = DomainLease::acquire();
    let here = Here::new(&domain, "observer");
    let context = here.node.context().clone();
    let declare = |_: &EventLoop<_>, node: &Node| node.declare_table(Window { low: 1, high: 5 }).unwrap();
    let robot = Peer::start(&domain, "robot", "", declare);
    here.until("the robot", || context.graph().has_node("/robot"));
    drop(robot);
    // Far below the lease of 10 s: it was told, not timed out.
    let gone = || !context.graph().has_node("/robot");
    assert!(
        here.events.run_until(&mut (), Duration::from_secs(4), |()| gone()).unwrap(),
        "it is still there"
    );
}

#[test]
fn values_from_the_command_line_must_fit_the_declaration() {
    let domain = DomainLease::acquire();
    let context = Context::new(crate::peer::options(&domain, "-p rate:=fast -p n:use_sim_time:=3")).unwrap();
    assert!(matches!(context.node("n"), Err(Error::Usage(reason)) if reason.contains("use_sim_time")));
    let node = context.node("m").unwrap();
    let error = node.declare_parameter("rate", 1i64).unwrap_err();
    assert!(matches!(error, Error::Usage(_)), "{error}");
    assert!(
        error.to_string().contains("node /m: Wrong parameter type, parameter {rate} is of type {integer}"),
        "{error}"
    );
    assert_eq!(node.parameter::<i64>("rate"), Err(ParameterError::NotDeclared("rate".to_owned())));
}

/// Runs two nodes, one with a parameter `rate`, that were started with these arguments.
fn start(args: &str) -> Result<(), Error> {
    let domain = DomainLease::acquire();
    let context = Context::new(crate::peer::options(&domain, args))?;
    let events = EventLoop::new(&context)?;
    let (robot, _other) = (context.node("robot")?, context.node("other")?);
    robot.declare_parameter("rate", 1_i64)?;
    events.once(Duration::ZERO, |turned| *turned = true);
    let mut turned = false;
    let early = events.check_parameters();
    let result = events.run_for(&mut turned, Duration::from_millis(50));
    assert_eq!(turned, result.is_ok(), "nothing is said or done by whoever is refused");
    assert_eq!(early.is_ok(), result.is_ok(), "{early:?}, {result:?}");
    result
}

#[test]
fn a_parameter_that_no_node_declares_is_an_error_where_that_was_asked_for() {
    start("-p rate:=5 -p use_sim_time:=false -p elsewhere:gain:=1 --strict-params").unwrap();
    start("-p rat:=5").unwrap();
    match start("-p rat:=5 --strict-params") {
        Err(Error::Usage(text)) => {
            assert!(text.contains("'rat'") && text.contains("/robot"), "{text}");
            assert!(text.contains("did you mean 'rate'?"), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

/// The qualities of service of both ends of /chatter, which were made as [`Qos::default`], of a node with these arguments.
fn chatter(args: &str) -> Result<(Qos, Qos, Node), Error> {
    let domain = DomainLease::acquire();
    let context = Context::new(crate::peer::options(&domain, args))?;
    let events = EventLoop::<()>::new(&context)?;
    let node = context.node("robot")?;
    let _publisher = node.publisher::<Clock>("chatter")?;
    let _subscription = events.subscribe::<Clock>(&node, "chatter", |_, _| {})?;
    // One more of the same is no new declaration.
    let _again = events.subscribe::<Clock>(&node, "chatter".latched(), |_, _| {})?;
    let topic = node.resolve_topic("chatter")?;
    let graph = context.graph();
    let (publisher, subscription) = (*graph.publishers(&topic)[0].qos, *graph.subscriptions(&topic)[0].qos);
    events.run_for(&mut (), Duration::from_millis(50))?;
    Ok((publisher, subscription, node))
}

#[test]
fn qos_overrides_win_over_the_program_and_are_read_only_parameters() {
    let (publisher, subscription, node) = chatter("").unwrap();
    assert_eq!((publisher, subscription), (Qos::default(), Qos::default()));
    let depth = "qos_overrides./chatter.publisher.depth";
    assert_eq!(node.parameter::<i64>(depth), Ok(10));
    assert_eq!(node.set_parameter(depth, 3), Err(ParameterError::ReadOnly(depth.to_owned())));
    let reliability = node.parameter::<String>("qos_overrides./chatter.subscription.reliability");
    assert_eq!(reliability.as_deref(), Ok("reliable"));

    let (publisher, subscription, node) = chatter(
        "-p qos_overrides./chatter.publisher.depth:=3 -p qos_overrides./chatter.publisher.durability:=transient_local \
         -p qos_overrides./chatter.publisher.deadline:=250000000 \
         -p qos_overrides./chatter.subscription.reliability:=best_effort --strict-params",
    )
    .unwrap();
    let deadline = Some(Duration::from_millis(250));
    assert_eq!(publisher, Qos { deadline, ..Qos::default().keep_last(3).transient_local() });
    assert_eq!(subscription, Qos::default().best_effort());
    assert_eq!(node.parameter::<i64>("qos_overrides./chatter.publisher.deadline"), Ok(250_000_000));

    // The name is the one after remapping and namespace.
    let moved = "-r __ns:=/r1 -r chatter:=talk -p qos_overrides./r1/talk.publisher.depth:=2 --strict-params";
    assert_eq!(chatter(moved).unwrap().0, Qos::default().keep_last(2));
}

#[test]
fn qos_overrides_that_mean_nothing_are_refused_or_warned_of() {
    let reliability = "-p qos_overrides./chatter.publisher.reliability:=perfect";
    for (args, reason) in [
        (reliability, "qos_overrides./chatter.publisher.reliability must be reliable or best_effort"),
        ("-p qos_overrides./chatter.publisher.depth:=many", "setting it to {string} is not allowed"),
        (
            "-p qos_overrides./chater.publisher.depth:=1 --strict-params",
            "/robot has no such publisher, subscription or policy; did you mean 'qos_overrides./chatter.publisher.depth'?",
        ),
        ("-p qos_overrides./chatter.subscription.lifespan:=1 --strict-params", "has no such publisher"),
    ] {
        match chatter(args) {
            Err(Error::Usage(text)) => assert!(text.contains(reason), "{text}"),
            other => panic!("{args}: {other:?}"),
        }
    }
    chatter("-p qos_overrides./chater.publisher.depth:=1").expect("a warning only");
}

/// Two values that only fit together.
#[derive(Clone, Debug, PartialEq)]
struct Window {
    low: i64,
    high: i64,
}

impl Table for Window {
    fn rows(&self) -> Vec<(Descriptor, Value)> {
        vec![("window.low".into(), self.low.into()), ("window.high".into(), self.high.into())]
    }

    fn take(&mut self, values: &[NamedValue]) -> Result<(), String> {
        for (name, value) in values {
            match (name.as_str(), value) {
                ("window.low", Value::Integer(value)) => self.low = *value,
                ("window.high", Value::Integer(value)) => self.high = *value,
                _ => {}
            }
        }
        if self.low <= self.high { Ok(()) } else { Err(format!("{} is above {}", self.low, self.high)) }
    }
}

#[test]
fn a_struct_of_parameters_is_declared_judged_and_read_as_a_whole() {
    let domain = DomainLease::acquire();
    let context = Context::new(crate::peer::options(&domain, "-p robot:window.high:=7")).unwrap();
    let node = context.node("robot").unwrap();
    let window = node.declare_table(Window { low: 1, high: 5 }).unwrap();
    assert_eq!(window.read(), Window { low: 1, high: 7 }, "the command line wins");
    let refused = node.set_parameter("window.low", 8).unwrap_err();
    assert_eq!(refused.to_string(), "8 is above 7");
    let both = [("window.low", 8), ("window.high", 9)].map(|(name, value)| (name.to_owned(), value.into()));
    node.set_parameters_atomically(&both).unwrap();
    assert_eq!(window.read(), Window { low: 8, high: 9 });
    node.declare_parameter("other", 3_i64).expect("is not its business");

    let given = "-p robot:window.low:=8 -p robot:window.high:=9";
    let context = Context::new(crate::peer::options(&domain, given)).unwrap();
    let window = context.node("robot").unwrap().declare_table(Window { low: 1, high: 5 }).unwrap();
    assert_eq!(window.read(), Window { low: 8, high: 9 }, "they fit together, whichever is declared first");

    let context = Context::new(crate::peer::options(&domain, "-p robot:window.high:=0")).unwrap();
    let refused = context.node("robot").unwrap().declare_table(Window { low: 1, high: 5 }).unwrap_err();
    assert!(matches!(&refused, Error::Usage(text) if text.contains("1 is above 0")), "{refused}");
}
