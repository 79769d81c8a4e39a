/*
 * One end of a QUIC connection of picoquic as an end of Sojourn's, through its C header: one stream, and what is sent or
 * received over it. What picoquic draws at random is of the seed, and its time is Sojourn's.
 */
#include "sojourn_endpoint.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picoquic.h"
#include "picoquic_internal.h"
#include "picotls.h"
#include "picotls/minicrypto.h"
#include "tls_api.h"

/* Room for what is under way on any path of the ready scenarios: nothing but the congestion window is to hold a sender back. */
#define WINDOW_BYTES UINT64_C(64000000)
/* Packets of 1500 bytes with the headers of IPv4 and UDP. */
#define DATAGRAM_BYTES 1472
#define NS_PER_US UINT64_C(1000)
#define ALPN "sojourn"
/* The client's first stream that goes one way (RFC 9000 section 2.1). */
#define STREAM UINT64_C(2)

/* CERTIFICATE, of certificate.der: for localhost, valid for a century, no CA's, and signed with its own key, which is no
 * secret. */
#include "certificate.h"
static const uint8_t KEY[SECP256R1_PRIVATE_KEY_SIZE] = {
    0x00, 0x05, 0x7f, 0x65, 0xc9, 0xa5, 0xe2, 0x09, 0x0b, 0x4e, 0xf8, 0x56, 0x92, 0x5e, 0xf7, 0xf0,
    0x16, 0x99, 0x96, 0xf7, 0x71, 0x9c, 0xf4, 0x82, 0x41, 0x08, 0x3e, 0x8b, 0x97, 0x73, 0xd1, 0xa7,
};

struct end {
    uint64_t number; /* of its connection in the run */
    picoquic_quic_t *quic;
    picoquic_cnx_t *connection; /* a client's, and NULL before it has begun */
    const picoquic_congestion_algorithm_t *control;
    uint64_t now_us; /* picoquic reads it through the address that it was given */
    uint64_t due_ns;
    uint64_t left; /* what a client has not sent yet */
    uint64_t delivered_bytes;
    bool is_client;
};

static uint64_t drawn;

/* In place of picotls's, which asks the machine: SplitMix64. */
void ptls_minicrypto_random_bytes(void *bytes, size_t count) {
    for (size_t place = 0; place < count; place++) {
        uint64_t mixed = drawn += UINT64_C(0x9E3779B97F4A7C15);
        mixed = (mixed ^ mixed >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94D049BB133111EB);
        ((uint8_t *)bytes)[place] = (uint8_t)(mixed ^ mixed >> 31);
    }
}

static void send_more(struct end *end, void *context, size_t most) {
    const size_t bytes = end->left < most ? (size_t)end->left : most;
    if (end->left != SOJOURN_WITHOUT_END)
        end->left -= bytes;
    uint8_t *room = picoquic_provide_stream_data_buffer(context, bytes, 0, end->left > 0);
    if (room != NULL)
        memset(room, 0, bytes);
}

/* What picoquic tells the application. */
static int on_event(picoquic_cnx_t *connection, uint64_t stream, uint8_t *bytes, size_t length,
                    picoquic_call_back_event_t event, void *context, void *stream_context) {
    struct end *end = context;
    (void)stream, (void)stream_context;
    switch (event) {
    case picoquic_callback_prepare_to_send:
        send_more(end, bytes, length);
        return 0;
    case picoquic_callback_stream_data:
    case picoquic_callback_stream_fin:
        end->delivered_bytes += length;
        return 0;
    case picoquic_callback_stateless_reset:
    case picoquic_callback_close:
    case picoquic_callback_application_close:
        if (end->quic == NULL) /* the run is over */
            return 0;
        /* Nobody closes a connection here: a record of one that ended would be taken for one of a slow path. */
        fprintf(stderr, "error: connection %llu at %.6f s: the connection is lost: error 0x%llx here, 0x%llx from the peer\n",
                (unsigned long long)end->number, (double)end->now_us / 1e6,
                (unsigned long long)picoquic_get_local_error(connection),
                (unsigned long long)picoquic_get_remote_error(connection));
        exit(1);
    default:
        return 0;
    }
}

static void place_of(struct sockaddr_storage *place, bool is_client) {
    struct sockaddr_in *address = (struct sockaddr_in *)place;
    memset(place, 0, sizeof *place);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(is_client ? UINT32_C(0x0A000001) : UINT32_C(0x0A000002));
    address->sin_port = htons(443);
}

static void end_receive(void *self, uint64_t now_ns, uint8_t ecn, const uint8_t *datagram, size_t bytes) {
    struct end *end = self;
    /* Picoquic takes the encryption off in place. */
    uint8_t packet[PICOQUIC_MAX_PACKET_SIZE];
    struct sockaddr_storage from, to;
    if (bytes > sizeof packet)
        return;
    memcpy(packet, datagram, bytes);
    place_of(&from, !end->is_client), place_of(&to, end->is_client);
    end->now_us = now_ns / NS_PER_US;
    picoquic_cnx_t *first = NULL;
    (void)picoquic_incoming_packet_ex(end->quic, packet, bytes, (struct sockaddr *)&from, (struct sockaddr *)&to, 0, ecn,
                                      &first, end->now_us);
}

static void end_wake(void *self, uint64_t now_ns) {
    struct end *end = self;
    struct sockaddr_storage to;
    const picoquic_connection_id_t none = picoquic_null_connection_id;
    end->now_us = now_ns / NS_PER_US;
    if (!end->is_client || end->connection != NULL)
        return;
    place_of(&to, false);
    end->connection =
        picoquic_create_cnx(end->quic, none, none, (struct sockaddr *)&to, end->now_us, 0, "localhost", ALPN, 1);
    if (end->connection != NULL) {
        picoquic_set_callback(end->connection, on_event, end);
        (void)picoquic_mark_active_stream(end->connection, STREAM, 1, NULL);
        (void)picoquic_start_client_cnx(end->connection);
    }
}

static void end_write(void *self, uint64_t now_ns, uint64_t bytes) {
    struct end *end = self;
    end->now_us = now_ns / NS_PER_US;
    end->left += bytes;
    if (end->connection != NULL)
        (void)picoquic_mark_active_stream(end->connection, STREAM, 1, NULL);
}

static uint64_t end_next_wake(const void *self) {
    return ((const struct end *)self)->due_ns;
}

static size_t end_transmit(void *self, uint64_t now_ns, uint8_t *room, size_t room_bytes, uint8_t *ecn) {
    struct end *end = self;
    struct sockaddr_storage to, from;
    picoquic_connection_id_t name;
    picoquic_cnx_t *last = NULL;
    size_t bytes = 0;
    int interface_index = 0;
    end->now_us = now_ns / NS_PER_US;
    (void)picoquic_prepare_next_packet_ex(end->quic, end->now_us, room, room_bytes, &bytes, &to, &from, &interface_index,
                                          &name, &last, NULL);
    if (bytes > 0) {
        *ecn = end->control->ecn_mark;
        return bytes;
    }
    const uint64_t due_us = picoquic_get_next_wake_time(end->quic, end->now_us);
    end->due_ns = due_us > SOJOURN_NEVER / NS_PER_US ? SOJOURN_NEVER : due_us * NS_PER_US;
    return 0;
}

static uint64_t end_delivered_bytes(const void *self) {
    return ((const struct end *)self)->delivered_bytes;
}

static void end_destroy(void *self) {
    struct end *end = self;
    if (end == NULL)
        return;
    picoquic_quic_t *quic = end->quic;
    end->quic = NULL;
    if (quic != NULL)
        picoquic_free(quic);
    free(end);
}

/* What a server needs of TLS. Picoquic frees both. */
static bool certify(picoquic_quic_t *quic) {
    ptls_iovec_t *chain = malloc(sizeof *chain);
    uint8_t *certificate = malloc(sizeof CERTIFICATE);
    ptls_minicrypto_secp256r1sha256_sign_certificate_t *signer = malloc(sizeof *signer);
    if (chain == NULL || certificate == NULL || signer == NULL)
        return false;
    memcpy(certificate, CERTIFICATE, sizeof CERTIFICATE);
    *chain = ptls_iovec_init(certificate, sizeof CERTIFICATE);
    picoquic_set_tls_certificate_chain(quic, chain, 1);
    ptls_minicrypto_init_secp256r1sha256_sign_certificate(signer, ptls_iovec_init(KEY, sizeof KEY));
    ((ptls_context_t *)quic->tls_master_ctx)->sign_certificate = &signer->super;
    return true;
}

static struct end *end_new(const struct sojourn_asked *asked, const picoquic_congestion_algorithm_t *control, bool is_client) {
    struct end *end = calloc(1, sizeof *end);
    uint8_t reset_seed[PICOQUIC_RESET_SECRET_SIZE];
    if (end == NULL)
        return NULL;
    ptls_minicrypto_random_bytes(reset_seed, sizeof reset_seed);
    *end = (struct end){.number = asked->number, .control = control, .is_client = is_client};
    end->left = is_client ? asked->bytes : 0;
    end->due_ns = is_client ? 0 : SOJOURN_NEVER;
    end->quic = picoquic_create(1, NULL, NULL, NULL, ALPN, on_event, end, NULL, NULL, reset_seed, 0, &end->now_us, NULL, NULL, 0);
    if (end->quic == NULL || (!is_client && !certify(end->quic))) {
        end_destroy(end);
        return NULL;
    }
    /* Without files of a certificate and a key it would refuse all clients. */
    picoquic_enforce_client_only(end->quic, is_client);
    picoquic_set_default_congestion_algorithm(end->quic, control);
    picoquic_set_mtu_max(end->quic, DATAGRAM_BYTES);
    picoquic_set_null_verifier(end->quic);
    picoquic_set_default_idle_timeout(end->quic, 0);
    /* Picoquic adds the instant at which the connection begins; with the whole range the sum would lie in the past. */
    picoquic_set_default_handshake_timeout(end->quic, UINT64_MAX / 2);
    (void)picoquic_set_default_tp_value(end->quic, picoquic_tp_initial_max_data, WINDOW_BYTES);
    (void)picoquic_set_default_tp_value(end->quic, picoquic_tp_initial_max_stream_data_uni, WINDOW_BYTES);
    return end;
}

static const char *const CONTROLS[] = {"cubic", "newreno", "bbr", "bbr1", "prague", "dcubic", "fast", "c4", NULL};

static const char *connect_ends(const struct sojourn_asked *asked, struct sojourn_end *sender, struct sojourn_end *receiver) {
    const char *name = asked->control == NULL ? CONTROLS[0] : asked->control;
    if (asked->number == 0) {
        picoquic_register_all_congestion_control_algorithms();
        drawn = asked->seed;
        picoquic_public_random_seed_64(asked->seed, 1);
    }
    const picoquic_congestion_algorithm_t *control = picoquic_get_congestion_algorithm(name);
    if (control == NULL)
        return "picoquic has no control of this name";
    struct end *from = end_new(asked, control, true), *to = end_new(asked, control, false);
    if (from == NULL || to == NULL) {
        end_destroy(from), end_destroy(to);
        return "picoquic makes no connection";
    }
    *sender = (struct sojourn_end){from, end_receive, end_wake, end_next_wake, end_transmit, end_delivered_bytes,
                                   end_destroy, 28, end_write};
    *receiver = *sender;
    receiver->self = to;
    return NULL;
}

int main(int argc, char **argv) {
    return sojourn_endpoint_main(argc, argv, CONTROLS, connect_ends);
}
