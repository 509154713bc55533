// A Fast DDS participant that moves raw CDR payloads; the line protocol is in README.md.

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/domain/DomainParticipantListener.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/DataWriterListener.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/rtps/common/WriteParams.h>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastdds/rtps/transport/UDPv6TransportDescriptor.h>
#include <fastrtps/config.h>
#include <fastrtps/utils/IPLocator.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

using namespace eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;

namespace {

constexpr size_t kLong = 4096;
constexpr uint32_t kMaxPayload = 16 * 1024 * 1024;
std::mutex out_mutex;

void say(const std::string& line) {
  std::lock_guard<std::mutex> guard(out_mutex);
  std::cout << line << std::endl;
}

std::string hexed(const uint8_t* data, size_t size) {
  static const char* digits = "0123456789abcdef";
  if (size == 0) return "-";
  std::string text;
  text.reserve(2 * size);
  for (size_t i = 0; i < size; ++i) {
    text.push_back(digits[data[i] >> 4]);
    text.push_back(digits[data[i] & 15]);
  }
  return text;
}

std::vector<uint8_t> unhexed(const std::string& text) {
  std::vector<uint8_t> bytes;
  if (text == "-") return bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::string hexed(const rtps::GUID_t& guid) {
  uint8_t bytes[16];
  std::memcpy(bytes, guid.guidPrefix.value, 12);
  std::memcpy(bytes + 12, guid.entityId.value, 4);
  return hexed(bytes, 16);
}

rtps::GUID_t guid_of(const std::string& text) {
  const auto bytes = unhexed(text);
  rtps::GUID_t guid;
  std::memcpy(guid.guidPrefix.value, bytes.data(), 12);
  std::memcpy(guid.entityId.value, bytes.data() + 12, 4);
  return guid;
}

using Bytes = std::vector<uint8_t>;

// The sample is the serialized payload itself, encapsulation header included.
class RawType : public TopicDataType {
 public:
  explicit RawType(const std::string& name) {
    setName(name.c_str());
    m_typeSize = kMaxPayload;
    m_isGetKeyDefined = false;
  }
  bool serialize(void* data, rtps::SerializedPayload_t* payload) override {
    const auto& bytes = *static_cast<Bytes*>(data);
    if (bytes.size() > payload->max_size) return false;
    std::memcpy(payload->data, bytes.data(), bytes.size());
    payload->length = static_cast<uint32_t>(bytes.size());
    payload->encapsulation = bytes.size() > 1 && bytes[1] == 1 ? CDR_LE : CDR_BE;
    return true;
  }
  bool deserialize(rtps::SerializedPayload_t* payload, void* data) override {
    static_cast<Bytes*>(data)->assign(payload->data, payload->data + payload->length);
    return true;
  }
  std::function<uint32_t()> getSerializedSizeProvider(void* data) override {
    return [data] { return static_cast<uint32_t>(static_cast<Bytes*>(data)->size()); };
  }
  void* createData() override { return new Bytes; }
  void deleteData(void* data) override { delete static_cast<Bytes*>(data); }
  bool getKey(void*, rtps::InstanceHandle_t*, bool) override { return false; }
};

template <typename Proxy>
void say_endpoint(const char* kind, const Proxy& info) {
  const auto& qos = info.m_qos;
  std::ostringstream line;
  line << "endpoint " << kind << ' ' << hexed(info.guid()) << ' ' << info.topicName() << ' ' << info.typeName() << ' '
       << hexed(qos.m_userData.data(), qos.m_userData.size()) << ' '
       << (qos.m_reliability.kind == RELIABLE_RELIABILITY_QOS ? "reliable" : "best_effort") << ','
       << (qos.m_durability.kind == VOLATILE_DURABILITY_QOS ? "volatile" : "transient_local") << ",-";
  say(line.str());
}

class Discovery : public DomainParticipantListener {
  void on_participant_discovery(DomainParticipant*, rtps::ParticipantDiscoveryInfo&& info) override {
    const auto guid = hexed(info.info.m_guid);
    if (info.status == rtps::ParticipantDiscoveryInfo::DISCOVERED_PARTICIPANT) {
      say("participant " + guid + ' ' + hexed(info.info.m_userData.data(), info.info.m_userData.size()));
    } else if (info.status != rtps::ParticipantDiscoveryInfo::CHANGED_QOS_PARTICIPANT) {
      say("gone participant " + guid);
    }
  }
  void on_subscriber_discovery(DomainParticipant*, rtps::ReaderDiscoveryInfo&& info) override {
    if (info.status == rtps::ReaderDiscoveryInfo::DISCOVERED_READER) {
      say_endpoint("reader", info.info);
    } else if (info.status == rtps::ReaderDiscoveryInfo::REMOVED_READER) {
      say("gone reader " + hexed(info.info.guid()));
    }
  }
  void on_publisher_discovery(DomainParticipant*, rtps::WriterDiscoveryInfo&& info) override {
    if (info.status == rtps::WriterDiscoveryInfo::DISCOVERED_WRITER) {
      say_endpoint("writer", info.info);
    } else if (info.status == rtps::WriterDiscoveryInfo::REMOVED_WRITER) {
      say("gone writer " + hexed(info.info.guid()));
    }
  }
};

class Reports : public DataReaderListener, public DataWriterListener {
 public:
  explicit Reports(std::string id) : id_(std::move(id)) {}

 private:
  void on_data_available(DataReader* reader) override {
    Bytes bytes;
    SampleInfo info;
    while (reader->take_next_sample(&bytes, &info) == ReturnCode_t::RETCODE_OK) {
      if (!info.valid_data) continue;
      const auto& related = info.related_sample_identity;
      const bool has_related = related.writer_guid() != rtps::GUID_t::unknown();
      std::ostringstream line;
      line << "sample " << id_ << ' '
           << (bytes.size() <= kLong ? hexed(bytes.data(), bytes.size()) : "#" + std::to_string(bytes.size())) << ' '
           << hexed(info.sample_identity.writer_guid()) << ' ' << info.sample_identity.sequence_number().to64long() << ' '
           << (has_related ? hexed(related.writer_guid()) : "-") << ' '
           << (has_related ? related.sequence_number().to64long() : 0);
      say(line.str());
    }
  }
  void on_subscription_matched(DataReader*, const SubscriptionMatchedStatus& status) override {
    say("matched " + id_ + ' ' + std::to_string(status.current_count));
  }
  void on_publication_matched(DataWriter*, const PublicationMatchedStatus& status) override {
    say("matched " + id_ + ' ' + std::to_string(status.current_count));
  }
  std::string id_;
};

template <typename Qos>
void apply(Qos& qos, const std::string& text, const std::string& user_data) {
  std::istringstream fields(text);
  std::string reliability, durability, depth;
  std::getline(fields, reliability, ',');
  std::getline(fields, durability, ',');
  std::getline(fields, depth, ',');
  qos.reliability().kind = reliability == "reliable" ? RELIABLE_RELIABILITY_QOS : BEST_EFFORT_RELIABILITY_QOS;
  qos.durability().kind = durability == "transient_local" ? TRANSIENT_LOCAL_DURABILITY_QOS : VOLATILE_DURABILITY_QOS;
  if (depth == "0") {
    qos.history().kind = KEEP_ALL_HISTORY_QOS;
  } else {
    qos.history().kind = KEEP_LAST_HISTORY_QOS;
    qos.history().depth = std::stoi(depth);
  }
  // The type is unbounded in ROS; without this Fast DDS would preallocate the maximum for every sample.
  qos.endpoint().history_memory_policy = rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
  const auto bytes = unhexed(user_data);
  qos.user_data().assign(bytes.begin(), bytes.end());
}

// As rmw_fastrtps does with the folder of an enclave.
void protect(DomainParticipantQos& qos, const std::string& folder) {
  const auto set = [&](const char* name, const std::string& value) { qos.properties().properties().emplace_back(name, value); };
  const auto file = [&](const char* name) { return "file://" + folder + '/' + name; };
  set("dds.sec.auth.plugin", "builtin.PKI-DH");
  set("dds.sec.auth.builtin.PKI-DH.identity_ca", file("identity_ca.cert.pem"));
  set("dds.sec.auth.builtin.PKI-DH.identity_certificate", file("cert.pem"));
  set("dds.sec.auth.builtin.PKI-DH.private_key", file("key.pem"));
  set("dds.sec.access.plugin", "builtin.Access-Permissions");
  set("dds.sec.access.builtin.Access-Permissions.permissions_ca", file("permissions_ca.cert.pem"));
  set("dds.sec.access.builtin.Access-Permissions.governance", file("governance.p7s"));
  set("dds.sec.access.builtin.Access-Permissions.permissions", file("permissions.p7s"));
  set("dds.sec.crypto.plugin", "builtin.AES-GCM-GMAC");
}

class Peer {
 public:
  Peer(uint32_t domain, const std::string& interface) {
    DomainParticipantQos qos = PARTICIPANT_QOS_DEFAULT;
    const std::string enclave("enclave=/;\0", 11);
    qos.user_data().assign(enclave.begin(), enclave.end());
    // Shared memory would bypass nothing with a foreign peer, but leaves segments behind when killed.
    qos.transport().use_builtin_transports = false;
    const bool everywhere = interface == "any" || interface == "any6";
    std::shared_ptr<eprosima::fastdds::rtps::UDPTransportDescriptor> udp;
    if (interface == "any6") {
      udp = std::make_shared<eprosima::fastdds::rtps::UDPv6TransportDescriptor>();
    } else {
      udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
    }
    if (!everywhere) udp->interfaceWhiteList.push_back(interface);
    // As many participants of one host as a test may have.
    udp->maxInitialPeersRange = 32;
    qos.transport().user_transports.push_back(udp);
    if (!everywhere) {
      rtps::Locator_t peer;
      rtps::IPLocator::setIPv4(peer, interface);
      qos.wire_protocol().builtin.initialPeersList.push_back(peer);
    }
    if (const char* folder = std::getenv("ROSLESS_PEER_ENCLAVE")) protect(qos, folder);
    participant_ = DomainParticipantFactory::get_instance()->create_participant(domain, qos, &discovery_, StatusMask::none());
    if (participant_ == nullptr) {
      say("refused");
      std::exit(1);
    }
    publisher_ = participant_->create_publisher(PUBLISHER_QOS_DEFAULT);
    subscriber_ = participant_->create_subscriber(SUBSCRIBER_QOS_DEFAULT);
    say(std::string("version Fast DDS ") + FASTRTPS_VERSION_STR);
    say("ready " + hexed(participant_->guid()));
  }

  void command(const std::vector<std::string>& words) {
    const auto& op = words[0];
    const auto& id = words[1];
    if (op == "writer") {
      DataWriterQos qos = DATAWRITER_QOS_DEFAULT;
      apply(qos, words[4], words[5]);
      qos.publish_mode().kind = ASYNCHRONOUS_PUBLISH_MODE;
      writers_[id] = publisher_->create_datawriter(topic(words[2], words[3]), qos, listener(id));
      if (writers_[id] == nullptr) return say("denied " + id);
      say("created " + id + ' ' + hexed(writers_[id]->guid()));
    } else if (op == "reader") {
      DataReaderQos qos = DATAREADER_QOS_DEFAULT;
      apply(qos, words[4], words[5]);
      readers_[id] = subscriber_->create_datareader(topic(words[2], words[3]), qos, listener(id));
      if (readers_[id] == nullptr) return say("denied " + id);
      say("created " + id + ' ' + hexed(readers_[id]->guid()));
    } else if (op == "write") {
      Bytes bytes = unhexed(words[2]);
      rtps::WriteParams params;
      if (words.size() > 4) {
        params.related_sample_identity().writer_guid(guid_of(words[3]));
        const auto number = std::stoull(words[4]);
        params.related_sample_identity().sequence_number(
            rtps::SequenceNumber_t(static_cast<int32_t>(number >> 32), static_cast<uint32_t>(number)));
      } else if (words.size() > 3) {
        // A request names the client's reply reader and leaves the sequence number unknown.
        params.related_sample_identity().writer_guid(guid_of(words[3]));
      }
      if (!writers_.at(id)->write(&bytes, params)) say("error write failed on " + id);
    } else if (op == "zeros") {
      const uint32_t count = static_cast<uint32_t>(std::stoul(words[2]));
      Bytes bytes(16 + count, 0);
      bytes[1] = 1;
      std::memcpy(bytes.data() + 12, &count, 4);
      if (!writers_.at(id)->write(&bytes)) say("error write failed on " + id);
    } else if (op == "delete") {
      if (writers_.count(id)) {
        publisher_->delete_datawriter(writers_[id]);
        writers_.erase(id);
      } else if (readers_.count(id)) {
        subscriber_->delete_datareader(readers_[id]);
        readers_.erase(id);
      }
    } else {
      say("error unknown command " + op);
    }
  }

  ~Peer() {
    participant_->delete_contained_entities();
    DomainParticipantFactory::get_instance()->delete_participant(participant_);
  }

 private:
  Topic* topic(const std::string& name, const std::string& type) {
    auto& topic = topics_[name];
    if (topic == nullptr) {
      TypeSupport(new RawType(type)).register_type(participant_, type);
      topic = participant_->create_topic(name, type, TOPIC_QOS_DEFAULT);
    }
    return topic;
  }
  Reports* listener(const std::string& id) {
    listeners_.push_back(std::make_unique<Reports>(id));
    return listeners_.back().get();
  }

  Discovery discovery_;
  DomainParticipant* participant_;
  Publisher* publisher_;
  Subscriber* subscriber_;
  std::map<std::string, Topic*> topics_;
  std::map<std::string, DataWriter*> writers_;
  std::map<std::string, DataReader*> readers_;
  std::vector<std::unique_ptr<Reports>> listeners_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: fastdds_peer DOMAIN ADDRESS|any|any6" << std::endl;
    return 2;
  }
  Peer peer(static_cast<uint32_t>(std::stoul(argv[1])), argv[2]);
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    if (words.size() > 1) peer.command(words);
  }
  return 0;
}
