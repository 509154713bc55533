//! Files at every instant of their making, cut ones and hostile ones.

use std::{fs, io::Write as _};

use proptest::prelude::*;
use rosless_bag::{Bag, BagOptions, BagWriter, Compression, Filter, McapWriter, WriteOptions};
use rosless_tests::{BagJudge, Scratch};

use crate::world::{message, text, topic};

fn read(path: &std::path::Path) -> usize {
    let bag = Bag::open(path).unwrap();
    bag.messages(&Filter::default()).inspect(|item| assert!(item.is_ok(), "{item:?}")).count()
}

#[test]
fn what_was_flushed_is_there_for_everybody_though_the_file_is_not_finished() {
    let judge = BagJudge::find();
    let folder = Scratch::make();
    let write = WriteOptions { chunk_size: 500, durable: false, ..Default::default() };
    let mut bag = BagWriter::create(&folder.join("run"), BagOptions { write, ..Default::default() }).unwrap();
    let chatter = bag.add_topic(topic("/chatter", "std_msgs/msg/String"));
    for round in 0..40_u64 {
        for n in 0..10 {
            bag.write(chatter, message(round * 10 + n, text(&"x".repeat(round as usize)))).unwrap();
        }
        // Not flushed: written, and not counted on.
        assert!(read(&folder.join("run")) as u64 == round * 10);
        bag.flush().unwrap();
        assert_eq!(read(&folder.join("run")) as u64, round * 10 + 10);
    }
    let remarks = Bag::open(&folder.join("run")).unwrap().remarks;
    assert!(remarks[0].contains("recover"), "{remarks:?}");
    if let Some(judge) = judge {
        assert_eq!(judge.ask("decode", &folder.join("run/run_0.mcap"), &[]).unwrap().len(), 400);
        assert_eq!(judge.ask("stream", &folder.join("run/run_0.mcap"), &[]).unwrap().len(), 400);
        assert_eq!(judge.ask("rosbag", &folder.join("run"), &[]).unwrap().len(), 401);
    }
    bag.finish().unwrap();
    assert_eq!(read(&folder.join("run")), 400);
}

#[test]
fn a_file_with_its_new_end_before_its_old_one_is_read_by_everybody() {
    let folder = Scratch::make();
    let (whole, path) = (folder.join("whole.mcap"), folder.join("two_ends.mcap"));
    let mut file = McapWriter::create(&whole, WriteOptions { durable: false, ..Default::default() }).unwrap();
    let chatter = file.add_topic(&topic("/chatter", "std_msgs/msg/String")).unwrap();
    (0..100).for_each(|n| file.write(chatter, &message(n, text("x"))).unwrap());
    file.flush().unwrap();
    let before = fs::read(&whole).unwrap();
    file.finish().unwrap();
    // A process killed between the last two steps has written the new end, and not cut off the old one.
    let mut image = fs::read(&whole).unwrap();
    image.extend_from_slice(&before[image.len()..]);
    fs::write(&path, image).unwrap();
    assert_eq!(read(&path), 100);
    if let Some(judge) = BagJudge::find() {
        assert_eq!(judge.ask("decode", &path, &[]).unwrap().len(), 100);
        assert_eq!(judge.ask("stream", &path, &[]).unwrap().len(), 100);
    }
}

#[test]
fn a_file_grows_by_any_steps_and_ends_where_its_data_ends() {
    let folder = Scratch::make();
    let path = folder.join("a.mcap");
    let mut file = McapWriter::create(&path, WriteOptions { durable: false, ..Default::default() }).unwrap();
    let chatter = file.add_topic(&topic("/chatter", "std_msgs/msg/String")).unwrap();
    // Sizes that put the next head on, before and behind the end of a page.
    for n in 0..3000 {
        file.write(chatter, &message(n, vec![0; 4 + (n as usize * 7) % 300])).unwrap();
        if n % 3 == 0 {
            file.flush().unwrap();
        }
    }
    file.write(chatter, &message(3000, vec![0; 9 << 20])).unwrap();
    let size = file.finish().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), size);
    assert_eq!(read(&path), 3001);
}

#[test]
fn of_a_file_cut_anywhere_everything_before_the_cut_is_read() {
    let folder = Scratch::make();
    for compression in [Compression::None, Compression::Lz4] {
        let path = folder.join(format!("{compression}.mcap"));
        let options = WriteOptions { compression, chunk_size: 400, durable: false };
        let mut file = McapWriter::create(&path, options).unwrap();
        let chatter = file.add_topic(&topic("/chatter", "std_msgs/msg/String")).unwrap();
        (0..60).for_each(|n| file.write(chatter, &message(n, text(&format!("{n}")))).unwrap());
        let size = file.finish().unwrap() as usize;
        let whole = fs::read(&path).unwrap();
        let mut before = 0;
        for length in (8..size).step_by(37) {
            fs::write(folder.join("cut.mcap"), &whole[..length]).unwrap();
            let count = read(&folder.join("cut.mcap"));
            assert!(count >= before, "{count} of {length} bytes, {before} of fewer");
            before = count;
        }
        assert_eq!(before, 60);
    }
}

#[test]
fn a_broken_chunk_costs_its_own_messages_and_is_told() {
    let folder = Scratch::make();
    let path = folder.join("a.mcap");
    let options = WriteOptions { chunk_size: 400, durable: false, ..Default::default() };
    let mut file = McapWriter::create(&path, options).unwrap();
    let chatter = file.add_topic(&topic("/chatter", "std_msgs/msg/String")).unwrap();
    (0..60).for_each(|n| file.write(chatter, &message(n, text(&format!("{n}")))).unwrap());
    file.finish().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let place = bytes.windows(3).position(|window| window == b"30\0").unwrap();
    bytes[place] ^= 1;
    fs::write(&path, bytes).unwrap();
    let bag = Bag::open(&path).unwrap();
    let (good, bad): (Vec<_>, Vec<_>) = bag.messages(&Filter::default()).partition(Result::is_ok);
    assert_eq!(bad.len(), 1, "{bad:?}");
    assert!(good.len() > 40 && good.len() < 60, "{}", good.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn hostile_bytes_are_an_error_or_a_bag_and_never_a_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        tail in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let folder = Scratch::make();
        let path = folder.join("a.mcap");
        let options = WriteOptions { compression: Compression::Lz4, chunk_size: 300, durable: false };
        let mut file = McapWriter::create(&path, options).unwrap();
        let chatter = file.add_topic(&topic("/chatter", "std_msgs/msg/String")).unwrap();
        (0..20).for_each(|n| file.write(chatter, &message(n, text("hi"))).unwrap());
        file.attach(1, "a", "b", b"c").unwrap();
        file.finish().unwrap();
        let mut bytes = fs::read(&path).unwrap();
        for (index, value) in flips {
            let place = index.index(bytes.len());
            bytes[place] = value;
        }
        let mut out = fs::File::create(&path).unwrap();
        out.write_all(&bytes).unwrap();
        out.write_all(&tail).unwrap();
        if let Ok(bag) = Bag::open(&path) {
            bag.messages(&Filter::default()).for_each(drop);
            bag.attachments();
            bag.notes();
        }
    }
}
