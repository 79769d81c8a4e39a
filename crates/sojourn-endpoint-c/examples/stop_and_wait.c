/*
 * A toy of a stack in C: stop and wait, with a retransmission timer. Each datagram is a sequence number and data; the next one
 * leaves when the last was acknowledged with its number, the same one again after 200 ms.
 */
#include "sojourn_endpoint.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DATAGRAM_BYTES 1200u
#define NUMBER_BYTES 4u
#define TIMEOUT_NS UINT64_C(200000000)

static void write_number(uint8_t *place, uint32_t number) {
    for (unsigned byte = 0; byte < NUMBER_BYTES; byte++)
        place[byte] = (uint8_t)(number >> (24 - 8 * byte));
}

static uint32_t read_number(const uint8_t *place) {
    uint32_t number = 0;
    for (unsigned byte = 0; byte < NUMBER_BYTES; byte++)
        number = number << 8 | place[byte];
    return number;
}

struct sender {
    uint32_t number;
    uint64_t left; /* bytes that are not yet acknowledged */
    uint64_t due_ns;
    bool sends;
};

static size_t data_bytes(const struct sender *sender) {
    const size_t most = DATAGRAM_BYTES - NUMBER_BYTES;
    return sender->left < most ? (size_t)sender->left : most;
}

static void sender_receive(void *self, uint64_t now_ns, uint8_t ecn, const uint8_t *datagram, size_t bytes) {
    struct sender *sender = self;
    (void)now_ns, (void)ecn;
    if (bytes != NUMBER_BYTES || read_number(datagram) != sender->number)
        return;
    sender->left -= data_bytes(sender);
    sender->number++;
    sender->sends = sender->left > 0;
    sender->due_ns = SOJOURN_NEVER;
}

static void sender_wake(void *self, uint64_t now_ns) {
    struct sender *sender = self;
    (void)now_ns;
    sender->sends = sender->left > 0;
    sender->due_ns = SOJOURN_NEVER;
}

static void sender_write(void *self, uint64_t now_ns, uint64_t bytes) {
    struct sender *sender = self;
    (void)now_ns;
    sender->sends = sender->sends || sender->left == 0;
    sender->left += bytes;
}

static uint64_t sender_next_wake(const void *self) {
    return ((const struct sender *)self)->due_ns;
}

static size_t sender_transmit(void *self, uint64_t now_ns, uint8_t *room, size_t room_bytes, uint8_t *ecn) {
    struct sender *sender = self;
    const size_t bytes = NUMBER_BYTES + data_bytes(sender);
    if (!sender->sends || room_bytes < bytes)
        return 0;
    sender->sends = false;
    sender->due_ns = now_ns + TIMEOUT_NS;
    write_number(room, sender->number);
    memset(room + NUMBER_BYTES, 'x', bytes - NUMBER_BYTES);
    *ecn = SOJOURN_ECT0;
    return bytes;
}

static uint64_t sender_delivered_bytes(const void *self) {
    (void)self;
    return 0;
}

struct receiver {
    uint32_t next;
    uint32_t answer;
    bool answers;
    uint64_t bytes;
};

static void receiver_receive(void *self, uint64_t now_ns, uint8_t ecn, const uint8_t *datagram, size_t bytes) {
    struct receiver *receiver = self;
    (void)now_ns, (void)ecn;
    if (bytes <= NUMBER_BYTES)
        return;
    receiver->answer = read_number(datagram);
    receiver->answers = true;
    if (receiver->answer == receiver->next) {
        receiver->next++;
        receiver->bytes += bytes - NUMBER_BYTES;
    }
}

static void receiver_wake(void *self, uint64_t now_ns) {
    (void)self, (void)now_ns;
}

static uint64_t receiver_next_wake(const void *self) {
    (void)self;
    return SOJOURN_NEVER;
}

static size_t receiver_transmit(void *self, uint64_t now_ns, uint8_t *room, size_t room_bytes, uint8_t *ecn) {
    struct receiver *receiver = self;
    (void)now_ns, (void)ecn;
    if (!receiver->answers || room_bytes < NUMBER_BYTES)
        return 0;
    receiver->answers = false;
    write_number(room, receiver->answer);
    return NUMBER_BYTES;
}

static uint64_t receiver_delivered_bytes(const void *self) {
    return ((const struct receiver *)self)->bytes;
}

static const char *const CONTROLS[] = {"stop-and-wait", NULL};

static const char *connect(const struct sojourn_asked *asked, struct sojourn_end *sender, struct sojourn_end *receiver) {
    struct sender *from = calloc(1, sizeof *from);
    struct receiver *to = calloc(1, sizeof *to);
    if (from == NULL || to == NULL) {
        free(from), free(to);
        return "there is no memory for a connection";
    }
    from->left = asked->bytes; /* SOJOURN_WITHOUT_END is more than any run sends */
    *sender = (struct sojourn_end){from, sender_receive, sender_wake, sender_next_wake, sender_transmit,
                                   sender_delivered_bytes, free, 28, sender_write};
    *receiver = (struct sojourn_end){to, receiver_receive, receiver_wake, receiver_next_wake, receiver_transmit,
                                     receiver_delivered_bytes, free, 28, NULL};
    return NULL;
}

int main(int argc, char **argv) {
    return sojourn_endpoint_main(argc, argv, CONTROLS, connect);
}
