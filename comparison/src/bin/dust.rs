//! dust_dds, under the names that ROS gives the topics, as its example `ping` waits: on a wait set.
use dust_dds::{
    domain::domain_participant_factory::DomainParticipantFactory,
    infrastructure::{
        listener::NO_LISTENER,
        qos::{DataReaderQos, DataWriterQos, QosKind},
        qos_policy::{HistoryQosPolicy, HistoryQosPolicyKind, ReliabilityQosPolicy, ReliabilityQosPolicyKind},
        status::{NO_STATUS, StatusKind},
        time::{Duration as DdsDuration, DurationKind},
        type_support::DdsType,
    },
    publication::data_writer::DataWriter,
    subscription::data_reader::DataReader,
    wait_set::{Condition, WaitSet},
};
use rosless_comparison::{Peer, run};
use std::time::Duration;

#[derive(DdsType, Debug, Clone)]
struct Text {
    data: String,
}

struct Dust {
    writer: DataWriter<Text>,
    reader: DataReader<Text>,
    arrivals: WaitSet,
}

impl Peer for Dust {
    fn join(domain: u16, says: &str, hears: &str) -> Self {
        let participant = DomainParticipantFactory::get_instance()
            .create_participant(domain.into(), QosKind::Default, NO_LISTENER, NO_STATUS)
            .unwrap();
        let topic = |name: &str| {
            participant
                .create_topic::<Text>(
                    &format!("rt/{name}"),
                    "std_msgs::msg::dds_::String_",
                    QosKind::Default,
                    NO_LISTENER,
                    NO_STATUS,
                )
                .unwrap()
        };
        let reliability = ReliabilityQosPolicy {
            kind: ReliabilityQosPolicyKind::Reliable,
            max_blocking_time: DurationKind::Finite(DdsDuration::new(1, 0)),
        };
        let history = HistoryQosPolicy { kind: HistoryQosPolicyKind::KeepLast(10) };
        let reader_qos =
            DataReaderQos { reliability: reliability.clone(), history: history.clone(), ..Default::default() };
        let writer_qos = DataWriterQos { reliability, history, ..Default::default() };
        let subscriber = participant.create_subscriber(QosKind::Default, NO_LISTENER, NO_STATUS).unwrap();
        let reader = subscriber
            .create_datareader::<Text>(&topic(hears), QosKind::Specific(reader_qos), NO_LISTENER, NO_STATUS)
            .unwrap();
        let publisher = participant.create_publisher(QosKind::Default, NO_LISTENER, NO_STATUS).unwrap();
        let writer = publisher
            .create_datawriter::<Text>(&topic(says), QosKind::Specific(writer_qos), NO_LISTENER, NO_STATUS)
            .unwrap();
        let mut arrivals = WaitSet::new();
        let condition = reader.get_statuscondition();
        condition.set_enabled_statuses(&[StatusKind::DataAvailable]).unwrap();
        arrivals.attach_condition(Condition::StatusCondition(condition)).unwrap();
        Self { writer, reader, arrivals }
    }

    fn say(&mut self, data: String) {
        // A time-out while nobody acknowledges; it is said again.
        let _ = self.writer.write(Text { data }, None);
    }

    fn hear(&mut self, patience: Duration) -> Option<String> {
        if let Some(text) = self.take() {
            return Some(text);
        }
        let patience = DdsDuration::new(patience.as_secs() as i32, patience.subsec_nanos());
        self.arrivals.wait(patience).ok()?;
        self.take()
    }
}

impl Dust {
    fn take(&mut self) -> Option<String> {
        self.reader.take_next_sample().ok()?.data.map(|text| text.data)
    }
}

fn main() {
    run::<Dust>();
}
