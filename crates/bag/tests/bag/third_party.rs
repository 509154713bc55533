//! What we write, read by others; what others write, read by us.

use std::collections::BTreeMap;

use rosless_bag::{Bag, BagOptions, BagWriter, Compression, Error, Filter, WriteOptions};
use rosless_tests::{BagJudge, Scratch};

use crate::world::{latched, message, text, texts, topic};

fn write(folder: &Scratch, name: &str, compression: Compression) {
    let write = WriteOptions { compression, chunk_size: 2000, ..Default::default() };
    let options = BagOptions { write, ros_distro: "jazzy".into(), ..Default::default() };
    let mut bag = BagWriter::create(&folder.join(name), options).unwrap();
    let chatter = bag.add_topic(topic("/chatter", "std_msgs/msg/String"));
    let map = bag.add_topic(latched("/map"));
    bag.add_topic(topic("/silent", "std_msgs/msg/String"));
    bag.write(map, message(0, text("the map"))).unwrap();
    for n in 1..200 {
        bag.write(chatter, message(n, text(&format!("number {n}")))).unwrap();
    }
    bag.attach(5, "manifest.json", "application/json", b"{}").unwrap();
    bag.note("rosless_session", &BTreeMap::from([("session".into(), "take_1".into())])).unwrap();
    bag.finish().unwrap();
}

#[test]
fn others_read_a_file_as_rosbag2_would_have_written_it() {
    let Some(judge) = BagJudge::find() else { return };
    let folder = Scratch::make();
    for (name, compression) in [("plain", Compression::None), ("lz4", Compression::Lz4)] {
        write(&folder, name, compression);
        let file = folder.join(format!("{name}/{name}_0.mcap"));
        let summary = &judge.ask("summary", &file, &[]).unwrap()[0];
        assert_eq!(
            (&summary["profile"], &summary["message_count"]),
            (&"ros2".into(), &200.into()),
            "{summary}"
        );
        assert!(summary["chunks"].as_u64().unwrap() > 3, "{summary}");
        let channel = &summary["channels"]["/map"];
        assert_eq!((&channel["encoding"], &channel["count"]), (&"cdr".into(), &1.into()));
        let offered = channel["metadata"]["offered_qos_profiles"].as_str().unwrap();
        assert!(offered.contains("durability: transient_local"), "{offered}");
        assert!(channel["metadata"]["topic_type_hash"].as_str().unwrap().starts_with("RIHS01_"));
        assert_eq!(summary["schemas"]["std_msgs/msg/String"]["encoding"], "ros2msg");
        // At the beginning and at the end.
        let metadata: Vec<_> =
            summary["metadata"].as_array().unwrap().iter().map(|m| m["name"].as_str()).collect();
        assert_eq!(metadata, [Some("rosbag2"), Some("rosless_session"), Some("rosbag2")]);
        assert!(
            summary["metadata"][2]["metadata"]["serialized_metadata"]
                .as_str()
                .unwrap()
                .contains("message_count: 200")
        );
        assert_eq!(summary["attachments"][0]["name"], "manifest.json");

        let decoded = judge.ask("decode", &file, &[]).unwrap();
        assert_eq!(decoded.len(), 200);
        assert_eq!((&decoded[7]["value"]["data"], &decoded[7]["sequence"]), (&"number 7".into(), &7.into()));
        assert_eq!(
            decoded[7]["log_time"].as_u64().unwrap() - decoded[7]["publish_time"].as_u64().unwrap(),
            1000
        );
        assert_eq!(judge.ask("stream", &file, &[]).unwrap().len(), 200);

        // The opening and the closing record `rosbag2` are alike on purpose.
        let findings = judge.ask("doctor", &file, &[]).unwrap();
        let serious = |finding: &&serde_json::Value| {
            ["error", "warning"].iter().any(|severity| finding["severity"] == *severity)
        };
        let codes: Vec<_> = findings.iter().filter(serious).map(|finding| &finding["code"]).collect();
        assert_eq!(codes, ["METADATA_NAME_DUPLICATE"], "{findings:?}");
        let end = findings.last().unwrap();
        assert_eq!((&end["type"], &end["messages"]), (&"summary".into(), &200.into()), "{end}");

        let said = judge.ask("rosbag", &folder.join(name), &[]).unwrap();
        assert_eq!((&said[0]["message_count"], said.len()), (&200.into(), 201));
        let map = said[0]["topics"].as_array().unwrap().iter().find(|t| t["topic"] == "/map").unwrap();
        assert_eq!((&map["qos"][0]["durability"], &map["count"]), (&"transient_local".into(), &1.into()));
        assert!(map["digest"].as_str().unwrap().starts_with("RIHS01_"));
    }
}

#[test]
fn we_read_what_we_wrote_the_same_way() {
    let folder = Scratch::make();
    for (name, compression) in [("plain", Compression::None), ("lz4", Compression::Lz4)] {
        write(&folder, name, compression);
        let bag = Bag::open(&folder.join(name)).unwrap();
        assert_eq!((bag.remarks.len(), bag.metadata.message_count), (0, 200), "{:?}", bag.remarks);
        assert_eq!(bag.attachments()[0].name, "manifest.json");
        assert_eq!(bag.notes()[0].1["session"], "take_1");
        let read = texts(&folder.join(name));
        assert_eq!((read[0].1.as_str(), read[199].1.as_str()), ("the map", "number 199"));
        let some = Filter {
            topics: Some(["/chatter".to_owned()].into()),
            start: message(50, vec![]).log_time,
            end: Some(message(60, vec![]).log_time),
        };
        assert_eq!(bag.messages(&some).count(), 10);
    }
}

#[test]
fn we_read_bags_of_others_and_say_which_feature_is_missing() {
    let Some(judge) = BagJudge::find() else { return };
    let folder = Scratch::make();
    for storage in ["mcap", "sqlite3"] {
        let path = folder.join(storage);
        judge.ask("write", &path, &[storage]).unwrap();
        if storage == "sqlite3" && !cfg!(feature = "sqlite3") {
            let refused = Bag::open(&path).unwrap_err();
            assert!(matches!(refused, Error::Feature { feature: "sqlite3", .. }), "{refused}");
            continue;
        }
        let bag = Bag::open(&path).unwrap();
        assert_eq!((bag.metadata.message_count, bag.remarks.len()), (21, 0), "{:?}", bag.remarks);
        assert!(bag.topics.iter().any(|topic| topic.name == "/text" && topic.is_latched()));
        let read = texts(&path);
        assert_eq!(read[0], ("/text".into(), "said once".into()));
        assert_eq!(read.len(), 21);
    }
    let packed = folder.join("packed");
    judge.ask("write", &packed, &["mcap", "storage"]).unwrap();
    let opened = Bag::open(&packed);
    match cfg!(feature = "zstd") {
        true => assert_eq!(opened.unwrap().messages(&Filter::default()).filter(Result::is_ok).count(), 21),
        false => {
            // The file's summary is not packed; its messages are.
            let refused = opened.unwrap().messages(&Filter::default()).find_map(Result::err).unwrap();
            assert!(refused.to_string().contains("--features zstd"), "{refused}");
        }
    }
}

#[cfg(feature = "sqlite3")]
#[test]
fn others_read_a_database_of_ours() {
    use rosless_bag::StorageKind;
    let Some(judge) = BagJudge::find() else { return };
    let folder = Scratch::make();
    let path = folder.join("old");
    let options = BagOptions { storage: StorageKind::Sqlite3, ..Default::default() };
    let mut bag = BagWriter::create(&path, options).unwrap();
    let chatter = bag.add_topic(topic("/chatter", "std_msgs/msg/String"));
    (0..50).for_each(|n| bag.write(chatter, message(n, text("x"))).unwrap());
    bag.flush().unwrap();
    bag.finish().unwrap();
    assert_eq!(judge.ask("rosbag", &path, &[]).unwrap().len(), 51);
    assert_eq!(texts(&path).len(), 50);
}

#[cfg(feature = "zstd")]
#[test]
fn others_read_chunks_packed_with_zstd() {
    let Some(judge) = BagJudge::find() else { return };
    let folder = Scratch::make();
    write(&folder, "small", Compression::Zstd);
    assert_eq!(judge.ask("decode", &folder.join("small/small_0.mcap"), &[]).unwrap().len(), 200);
    assert_eq!(texts(&folder.join("small")).len(), 200);
}
