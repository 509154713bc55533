//! Bags in parts.

use std::time::Duration;

use rosless_bag::{Bag, BagOptions, BagWriter, Error, Filter, Loss, WriteOptions};
use rosless_tests::{BagJudge, Scratch};

use crate::world::{latched, message, text, topic};

fn options() -> BagOptions {
    BagOptions { write: WriteOptions { durable: false, ..Default::default() }, ..Default::default() }
}

#[test]
fn every_part_stands_alone_with_the_latched_topics_repeated() {
    let folder = Scratch::make();
    let path = folder.join("run");
    let options = BagOptions { max_duration: Some(Duration::from_millis(100)), ..options() };
    let mut bag = BagWriter::create(&path, options).unwrap();
    let (chatter, map) =
        (bag.add_topic(topic("/chatter", "std_msgs/msg/String")), bag.add_topic(latched("/map")));
    bag.write(map, message(0, text("old"))).unwrap();
    bag.write(map, message(1, text("new"))).unwrap();
    (2..350).for_each(|n| bag.write(chatter, message(n, text("x"))).unwrap());
    bag.finish().unwrap();
    let bag = Bag::open(&path).unwrap();
    assert_eq!(bag.metadata.files.len(), 4);
    for part in 1..4 {
        let part = Bag::open(&path.join(format!("run_{part}.mcap"))).unwrap();
        let first = part.messages(&Filter::default()).next().unwrap().unwrap();
        assert_eq!((part.topics[first.0].name.as_str(), first.1.data), ("/map", text("new")));
    }
    if let Some(judge) = BagJudge::find() {
        let said = judge.ask("rosbag", &path, &[]).unwrap();
        assert_eq!(said[0]["message_count"].as_u64(), Some(bag.metadata.message_count));
        assert_eq!(said.len() as u64, bag.metadata.message_count + 1);
    }
}

#[test]
fn a_part_that_is_large_enough_is_followed_by_another() {
    let folder = Scratch::make();
    let path = folder.join("run");
    let mut bag = BagWriter::create(&path, BagOptions { max_size: Some(100_000), ..options() }).unwrap();
    let chatter = bag.add_topic(topic("/chatter", "std_msgs/msg/String"));
    (0..500).for_each(|n| bag.write(chatter, message(n, vec![0; 1000])).unwrap());
    let metadata = bag.finish().unwrap();
    assert_eq!(metadata.files.len(), 6, "{:?}", metadata.files);
    assert_eq!(Bag::open(&path).unwrap().messages(&Filter::default()).count(), 500);
}

/// Nobody asked for anything the wrong way.
#[test]
fn what_comes_after_a_part_that_could_not_be_begun_is_told_as_a_failure() {
    let folder = Scratch::make();
    let path = folder.join("run");
    let mut bag = BagWriter::create(&path, BagOptions { max_size: Some(100_000), ..options() }).unwrap();
    let chatter = bag.add_topic(topic("/chatter", "std_msgs/msg/String"));
    std::fs::remove_dir_all(&path).unwrap();
    let mut refusals = (0..500).filter_map(|n| bag.write(chatter, message(n, vec![0; 1000])).err());
    let first = refusals.next().unwrap();
    assert!(matches!(first, Error::File { .. }), "{first:?}");
    let next = refusals.next().unwrap();
    assert!(matches!(next, Error::Ended(_)), "{next:?}");
}

#[test]
fn a_recording_goes_on_in_a_new_part_and_keeps_what_it_had() {
    let folder = Scratch::make();
    let path = folder.join("take");
    let mut bag = BagWriter::create(&path, options()).unwrap();
    let chatter = bag.add_topic(topic("/chatter", "std_msgs/msg/String"));
    (0..10).for_each(|n| bag.write(chatter, message(n, text("a"))).unwrap());
    bag.flush().unwrap();
    drop(bag);
    let mut bag = BagWriter::resume(&path, options()).unwrap();
    let chatter = bag.add_topic(topic("/chatter", "std_msgs/msg/String"));
    (10..20).for_each(|n| bag.write(chatter, message(n, text("b"))).unwrap());
    let metadata = bag.finish().unwrap();
    assert_eq!((metadata.files.len(), metadata.message_count), (2, 20));
    assert_eq!(Bag::open(&path).unwrap().messages(&Filter::default()).count(), 20);
    assert!(BagWriter::create(&path, options()).unwrap_err().to_string().contains("exists already"));
}

#[test]
fn what_was_dropped_or_lost_is_written_down() {
    let folder = Scratch::make();
    let path = folder.join("run");
    let mut bag = BagWriter::create(&path, options()).unwrap();
    let chatter = bag.add_topic(topic("/chatter", "std_msgs/msg/String"));
    bag.write(chatter, message(0, text("a"))).unwrap();
    bag.set_loss(chatter, Loss { dropped: 3, lost: 4 });
    bag.finish().unwrap();
    let bag = Bag::open(&path).unwrap();
    let (name, losses) = &bag.notes()[0];
    assert_eq!((name.as_str(), losses["/chatter"].as_str()), ("rosless_losses", r#"{"dropped":3,"lost":4}"#));
    assert!(bag.metadata.custom["losses"].contains("/chatter"));
}
