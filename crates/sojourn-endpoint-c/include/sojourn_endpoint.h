/*
 * Sojourn's interface for transport stacks in C: datagrams and time in, datagrams and the next wake-up out.
 *
 * A stack that does no I/O and reads no clock fills in a struct of functions for each end of a connection. Its datagrams cross
 * the links of a scenario with their real bytes, on the flows of groups with the key stack. Time is virtual: nanoseconds
 * since the run began. A stack that draws nothing at random, or from the seed, gives the same record each time.
 *
 * All calls come from the thread that called sojourn_endpoint_main, one at a time. No function may throw a C++ exception or
 * leave by longjmp.
 */
#ifndef SOJOURN_ENDPOINT_H
#define SOJOURN_ENDPOINT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A time that never comes, in ns. */
#define SOJOURN_NEVER UINT64_MAX

/* As many bytes as fit: a connection without end. */
#define SOJOURN_WITHOUT_END UINT64_MAX

/* What the ECN field of an IP header says (RFC 3168): two bits. */
enum sojourn_ecn {
    SOJOURN_NOT_ECT = 0, /* the ends do not speak ECN */
    SOJOURN_ECT1 = 1,    /* they do; the identifier of scalable controls (RFC 9331) */
    SOJOURN_ECT0 = 2,    /* they do */
    SOJOURN_CE = 3       /* congestion experienced: a queue has marked it */
};

/* What a connection is asked for. It and its string are there until connect returns. */
struct sojourn_asked {
    const char *control; /* the congestion control, as the stack names it, in UTF-8; NULL: the stack's own choice */
    uint64_t seed;       /* the run's seed */
    uint64_t number;     /* the connection's number in the run, from 0 */
    uint64_t bytes;      /* what its application writes at first, in bytes; SOJOURN_WITHOUT_END: until the run ends */
    const char *qlog;    /* the file for a log of what its sender decides; NULL: none is wanted */
};

/* One end of a connection. All functions but the last have to be there: an end without one is an error, and is not destroyed. */
struct sojourn_end {
    /* The stack's own state: what each function gets first. It may be NULL. */
    void *self;

    /* A datagram of so many bytes has arrived, with its ECN field, one of enum sojourn_ecn. Its bytes are there until this
     * function returns. */
    void (*receive)(void *self, uint64_t now_ns, uint8_t ecn, const uint8_t *datagram, size_t bytes);

    /* The time has come for which next_wake asked. */
    void (*wake)(void *self, uint64_t now_ns);

    /* When it wants to be woken next, in ns, whatever arrives; SOJOURN_NEVER: it waits for nothing. The first time is when it
     * begins. A time that is past means now: if it stays past after wake, again and again, the run ends with an error. */
    uint64_t (*next_wake)(const void *self);

    /* Writes the next datagram that may be sent now to room, which has room_bytes bytes, and returns how many it wrote; 0:
     * nothing may be sent now. *ecn is SOJOURN_NOT_ECT; where the datagram's ECN field is another, it says which. It is asked
     * after each receive and wake until it returns 0. */
    size_t (*transmit)(void *self, uint64_t now_ns, uint8_t *room, size_t room_bytes, uint8_t *ecn);

    /* Bytes that the application at this end has got so far, in order. It never falls. */
    uint64_t (*delivered_bytes)(const void *self);

    /* Called once, when the run is over or has failed, and the last call for this end. Ends of a connection are destroyed one
     * by one: what both share is the stack's to count. */
    void (*destroy)(void *self);

    /* Bytes of headers that a datagram gets on its way: 28 for UDP over IPv4 (RFC 768, RFC 791); 0 where the datagrams are IP
     * packets. */
    uint16_t header_bytes;

    /* The application has so many bytes more, to follow those that the connection was asked for. NULL: it cannot have an
     * application that pauses (traffic of the kind messages), and a run with one ends with an error. */
    void (*write)(void *self, uint64_t now_ns, uint64_t bytes);
};

/*
 * Makes both ends of a connection: fills in *sender, where data comes from, and *receiver, where it goes to, which are zeroed.
 * It is called for each connection before the run begins. Returns NULL; or a sentence that says what is wrong, in UTF-8, which
 * has to stay until the next call into the stack. With a sentence nothing of what it filled in is used, or destroyed.
 */
typedef const char *(*sojourn_connect)(const struct sojourn_asked *asked, struct sojourn_end *sender,
                                       struct sojourn_end *receiver);

/*
 * Does what the words of a command line ask for: SCENARIO [SEED]. Without a seed it is the scenario's. Each flow of a group with
 * the key stack is a connection, with that group's control and size. Prints the run's record to stdout as JSON and returns 0.
 * SCENARIO SEED FOLDER KEPT... writes more to a folder that exists: series=SECONDS, probes, packets, transfers, delays, and
 * decisions, for which asked->qlog is in that folder.
 * With --controls it prints the names of the stack's controls instead, with --laws the laws of stacks, with --law NAME [CONTROL]
 * the verdict on one, as JSON.
 * controls are the names of the stack's congestion controls, then NULL; a scenario that asks for another is refused. NULL: it
 * has none to ask for.
 * Where something is wrong, also what a stack did that none may do, it prints a sentence to stderr and returns 1. The words have
 * to be UTF-8.
 */
int sojourn_endpoint_main(int argc, char **argv, const char *const *controls, sojourn_connect connect);

#ifdef __cplusplus
}
#endif

#endif
