/*
 * What Debian's kcat calls and librdkafka 1.0 does not have yet. Preloaded beside the old library, so that kcat runs on
 * it; nothing of it touches the wire. kcat's transactions and cooperative assignments are left out: it would end there.
 */
#include <stddef.h>
#include <stdint.h>

/* The beginning of rd_kafka_message_t, which is the same in every release of librdkafka. */
typedef struct {
    int err;
    void *topic;
    int32_t partition;
    void *payload;
} message_t;

extern const char *rd_kafka_err2str(int err);

const char *rd_kafka_message_errstr(const message_t *message) {
    if (message->err == 0) return NULL;
    return message->payload != NULL ? message->payload : rd_kafka_err2str(message->err);
}

/* "not known", as the later library says where no broker was involved. */
int32_t rd_kafka_message_broker_id(const message_t *message) {
    (void)message;
    return -1;
}

/* All assignors of 1.0 are eager. */
const char *rd_kafka_rebalance_protocol(void *client) {
    (void)client;
    return "EAGER";
}

int rd_kafka_assignment_lost(void *client) {
    (void)client;
    return 0;
}
