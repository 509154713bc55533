// A Cyclone DDS participant with DDS Security, which PyPI's build lacks. It speaks the line protocol of README.md as far as
// two types need it, because a type of raw bytes takes more than this API offers: std_msgs/String, and AddTwoInts of
// example_interfaces with the header that rmw_cyclonedds puts in front.

#include <dds/dds.h>
#include <dds/version.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char* data;
} Text;

static const uint32_t text_ops[] = {DDS_OP_ADR | DDS_OP_TYPE_STR, 0, DDS_OP_RTS};
static const dds_topic_descriptor_t text_descriptor = {.m_size = sizeof(Text),
                                                       .m_align = sizeof(char*),
                                                       .m_flagset = DDS_TOPIC_NO_OPTIMIZE,
                                                       .m_nkeys = 0,
                                                       .m_typename = "std_msgs::msg::dds_::String_",
                                                       .m_keys = NULL,
                                                       .m_nops = 2,
                                                       .m_ops = text_ops,
                                                       .m_meta = ""};

// Client, sequence, and two numbers or their sum.
typedef struct {
  int64_t numbers[4];
} Numbers;

#define NUMBER(i) DDS_OP_ADR | DDS_OP_TYPE_8BY, 8 * (i)
static const uint32_t request_ops[] = {NUMBER(0), NUMBER(1), NUMBER(2), NUMBER(3), DDS_OP_RTS};
static const uint32_t reply_ops[] = {NUMBER(0), NUMBER(1), NUMBER(2), DDS_OP_RTS};
#define NUMBERS(name, count, ops)                                                                    \
  {.m_size = sizeof(Numbers), .m_align = 8, .m_flagset = 0, .m_nkeys = 0, .m_typename = name,        \
   .m_keys = NULL, .m_nops = (count) + 1, .m_ops = ops, .m_meta = ""}
static const dds_topic_descriptor_t request_descriptor =
    NUMBERS("example_interfaces::srv::dds_::AddTwoInts_Request_", 4, request_ops);
static const dds_topic_descriptor_t reply_descriptor =
    NUMBERS("example_interfaces::srv::dds_::AddTwoInts_Response_", 3, reply_ops);

#define MAX_ENDPOINTS 16
static struct {
  char id[32];
  dds_entity_t entity;
  int is_writer;
  int matched;
  int numbers;  // 0: a string
} endpoints[MAX_ENDPOINTS];
static int count = 0;

static void say_guid(const char* what, dds_entity_t entity) {
  dds_guid_t guid;
  dds_get_guid(entity, &guid);
  printf("%s ", what);
  for (int i = 0; i < 16; i++) printf("%02x", guid.v[i]);
  printf("\n");
}

static void add_files(dds_qos_t* qos, const char* folder) {
  static const char* const files[][2] = {{"dds.sec.auth.identity_ca", "identity_ca.cert.pem"},
                                         {"dds.sec.auth.identity_certificate", "cert.pem"},
                                         {"dds.sec.auth.private_key", "key.pem"},
                                         {"dds.sec.access.permissions_ca", "permissions_ca.cert.pem"},
                                         {"dds.sec.access.governance", "governance.p7s"},
                                         {"dds.sec.access.permissions", "permissions.p7s"}};
  static const char* const plugins[][3] = {{"auth", "authentication", "auth"},
                                           {"crypto", "crypto", "crypto"},
                                           {"access", "access_control", "ac"}};
  char value[4096], name[256];
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    snprintf(value, sizeof value, "file:%s/%s", folder, files[i][1]);
    dds_qset_prop(qos, files[i][0], value);
  }
  for (size_t i = 0; i < 3; i++) {
    const char* where = getenv("ROSLESS_CYCLONE_PLUGINS");
    snprintf(name, sizeof name, "dds.sec.%s.library.path", plugins[i][0]);
    snprintf(value, sizeof value, "%s%sdds_security_%s", where ? where : "", where ? "/lib" : "", plugins[i][2]);
    if (where) strncat(value, ".so", sizeof value - strlen(value) - 1);
    dds_qset_prop(qos, name, value);
    snprintf(name, sizeof name, "dds.sec.%s.library.init", plugins[i][0]);
    snprintf(value, sizeof value, "init_%s", plugins[i][1]);
    dds_qset_prop(qos, name, value);
    snprintf(name, sizeof name, "dds.sec.%s.library.finalize", plugins[i][0]);
    snprintf(value, sizeof value, "finalize_%s", plugins[i][1]);
    dds_qset_prop(qos, name, value);
  }
}

static void make(dds_entity_t participant, int is_writer, const char* id, const char* name, const char* type,
                 const char* text) {
  const dds_topic_descriptor_t* descriptor = strstr(type, "AddTwoInts_Request")    ? &request_descriptor
                                             : strstr(type, "AddTwoInts_Response") ? &reply_descriptor
                                                                                   : &text_descriptor;
  dds_qos_t* qos = dds_create_qos();
  const int reliable = strncmp(text, "reliable", 8) == 0;
  dds_qset_reliability(qos, reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, DDS_SECS(10));
  const int latched = strstr(text, "transient_local") != NULL;
  dds_qset_durability(qos, latched ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
  const int depth = atoi(strrchr(text, ',') + 1);
  dds_qset_history(qos, depth ? DDS_HISTORY_KEEP_LAST : DDS_HISTORY_KEEP_ALL, depth ? depth : 1);
  dds_entity_t topic = dds_create_topic(participant, descriptor, name, NULL, NULL);
  dds_entity_t entity = topic < 0            ? topic
                        : is_writer          ? dds_create_writer(participant, topic, qos, NULL)
                                             : dds_create_reader(participant, topic, qos, NULL);
  dds_delete_qos(qos);
  if (entity < 0 || count == MAX_ENDPOINTS) {
    printf("denied %s %s\n", id, dds_strretcode(entity));
    return;
  }
  snprintf(endpoints[count].id, sizeof endpoints[count].id, "%s", id);
  endpoints[count].entity = entity;
  endpoints[count].is_writer = is_writer;
  endpoints[count].matched = 0;
  endpoints[count].numbers = descriptor == &text_descriptor ? 0 : (int)descriptor->m_nops - 1;
  count++;
  char line[64];
  snprintf(line, sizeof line, "created %s", id);
  say_guid(line, entity);
}

// The payload is an encapsulation header, and a length and a terminated string, or numbers.
static void write_payload(const char* id, const char* hex) {
  const size_t size = strlen(hex) / 2;
  unsigned char* bytes = malloc(size + 1);
  for (size_t i = 0; i < size; i++) {
    unsigned int byte;
    sscanf(hex + 2 * i, "%2x", &byte);
    bytes[i] = (unsigned char)byte;
  }
  bytes[size] = 0;
  Text sample = {.data = (char*)bytes + 8};
  Numbers numbers = {{0}};
  memcpy(&numbers, bytes + 4, size - 4 < sizeof numbers ? size - 4 : sizeof numbers);
  for (int i = 0; i < count; i++) {
    const void* written = endpoints[i].numbers ? (const void*)&numbers : (const void*)&sample;
    if (strcmp(endpoints[i].id, id) == 0 && dds_write(endpoints[i].entity, written) < 0) printf("error write\n");
  }
  free(bytes);
}

static void say_sample(const char* id, const char* text) {
  const size_t length = strlen(text) + 1;
  if (length > 4096) {
    printf("sample %s #%zu - 0 - 0\n", id, 8 + length);
    return;
  }
  printf("sample %s 00010000%02x%02x0000", id, (unsigned)(length & 255), (unsigned)(length >> 8));
  for (size_t i = 0; i < length; i++) printf("%02x", (unsigned char)text[i]);
  printf(" - 0 - 0\n");
}

static void say_numbers(const char* id, const Numbers* numbers, int count) {
  printf("sample %s 00010000", id);
  for (int i = 0; i < 8 * count; i++) printf("%02x", ((const unsigned char*)numbers)[i]);
  printf(" - 0 - 0\n");
}

static void report(void) {
  for (int i = 0; i < count; i++) {
    int matched;
    if (endpoints[i].is_writer) {
      dds_publication_matched_status_t status;
      dds_get_publication_matched_status(endpoints[i].entity, &status);
      matched = (int)status.current_count;
    } else {
      dds_subscription_matched_status_t status;
      dds_get_subscription_matched_status(endpoints[i].entity, &status);
      matched = (int)status.current_count;
      void* samples[64] = {NULL};
      dds_sample_info_t infos[64];
      const int taken = dds_take(endpoints[i].entity, samples, infos, 64, 64);
      for (int k = 0; k < taken; k++)
        if (infos[k].valid_data && endpoints[i].numbers)
          say_numbers(endpoints[i].id, samples[k], endpoints[i].numbers);
        else if (infos[k].valid_data)
          say_sample(endpoints[i].id, ((Text*)samples[k])->data);
      if (taken > 0) dds_return_loan(endpoints[i].entity, samples, taken);
    }
    if (matched != endpoints[i].matched) {
      endpoints[i].matched = matched;
      printf("matched %s %d\n", endpoints[i].id, matched);
    }
  }
}

int main(int argc, char** argv) {
  const char* folder = getenv("ROSLESS_PEER_ENCLAVE");
  if (argc != 3) {
    fprintf(stderr, "usage: cyclone_secure_peer DOMAIN ADDRESS\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  setvbuf(stdin, NULL, _IONBF, 0);  // what is in a buffer, poll does not see
  char uri[1024];
  snprintf(uri, sizeof uri,
           "<CycloneDDS><Domain><General><Interfaces><NetworkInterface address=\"%s\"/></Interfaces>"
           "<AllowMulticast>false</AllowMulticast></General><Discovery><ParticipantIndex>auto</ParticipantIndex>"
           "<MaxAutoParticipantIndex>32</MaxAutoParticipantIndex><Peers><Peer address=\"%s\"/></Peers></Discovery>"
           "</Domain></CycloneDDS>",
           argv[2], argv[2]);
  if (!getenv("CYCLONEDDS_URI")) setenv("CYCLONEDDS_URI", uri, 1);
  dds_qos_t* qos = dds_create_qos();
  dds_qset_userdata(qos, "enclave=/;", 10);
  if (folder) add_files(qos, folder);
  dds_entity_t participant = dds_create_participant((dds_domainid_t)atoi(argv[1]), qos, NULL);
  dds_delete_qos(qos);
  if (participant < 0) {
    printf("refused %s\n", dds_strretcode(participant));
    return 1;
  }
  printf("version Cyclone DDS %s\n", DDS_VERSION);
  say_guid("ready", participant);

  char* line = NULL;
  size_t room = 0;
  struct pollfd input = {.fd = 0, .events = POLLIN};
  for (;;) {
    report();
    if (poll(&input, 1, 2) <= 0) continue;
    if (getline(&line, &room, stdin) < 0) break;
    char* words[8] = {NULL};
    int n = 0;
    for (char* word = strtok(line, " \n"); word && n < 8; word = strtok(NULL, " \n")) words[n++] = word;
    if (n >= 5 && strcmp(words[0], "writer") == 0) make(participant, 1, words[1], words[2], words[3], words[4]);
    if (n >= 5 && strcmp(words[0], "reader") == 0) make(participant, 0, words[1], words[2], words[3], words[4]);
    if (n >= 3 && strcmp(words[0], "write") == 0) write_payload(words[1], words[2]);
  }
  dds_delete(participant);
  return 0;
}
