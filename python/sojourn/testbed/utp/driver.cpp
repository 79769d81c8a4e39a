// One end of a libutp connection: sends without end or so many bytes, or receives and counts per bin.
//
// usage: driver send|receive LOCAL PEER PORT RUN_START_S START_S STOP_S END_S BIN_S SIZE TOS TARGET_US
//
// Times are seconds of CLOCK_MONOTONIC. last_byte_s in the report is when the last byte arrived. SIZE is the number of payload bytes to send, 0 for no end; TARGET_US
// the target delay in microseconds, 0 for libutp's own. The report goes to
// standard output, as JSON, when END_S has come. A connection that libutp gives up, after some timeouts in a row, is
// made anew where there is no end of data to send, as a program would that has more for its peer. One thread sleeps in ppoll until a packet arrives or libutp's clock,
// which it wants to be asked every 500 ms, may have something to do; so its cost is that of its system calls.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "utp.h"

namespace {

constexpr double CHECK_EVERY_S = 0.5;  // utp_check_timeouts does nothing more often
constexpr int BUFFER_BYTES = 8 << 20;  // the queue under test decides what is dropped, not a socket
constexpr size_t CHUNK_BYTES = 1 << 16;

double now_s() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

struct End {
    bool sends = false;
    int udp = -1;
    sockaddr_in peer{};
    double start_s = 0, stop_s = 0, end_s = 0, bin_s = 0;
    uint64_t size = 0;

    utp_context *context = nullptr;
    utp_socket *socket = nullptr;
    bool writable = false;
    bool stopped = false;
    bool broken = false;
    unsigned reconnections = 0;
    uint64_t written = 0;
    uint64_t received = 0;
    double run_start_s = 0;
    double last_byte_s = 0;
    std::vector<uint64_t> bins;
    std::string problem;
};

End self;

[[noreturn]] void fail(const std::string &message) {
    std::fprintf(stderr, "%s: %s\n", message.c_str(), std::strerror(errno));
    std::exit(1);
}

uint64 on_sendto(utp_callback_arguments *arguments) {
    // What the kernel has no room for is lost, as in a full queue.
    (void)!sendto(self.udp, arguments->buf, arguments->len, 0, arguments->address, arguments->address_len);
    return 0;
}

uint64 on_read(utp_callback_arguments *arguments) {
    double now = now_s();
    self.received += arguments->len;
    self.last_byte_s = now;
    double bin = (now - self.run_start_s) / self.bin_s;
    if (bin >= 0 && bin < static_cast<double>(self.bins.size()) && now < self.end_s) {
        self.bins[static_cast<size_t>(bin)] += arguments->len;
    }
    utp_read_drained(arguments->socket);
    return 0;
}

uint64 on_state(utp_callback_arguments *arguments) {
    switch (arguments->state) {
        case UTP_STATE_CONNECT:
        case UTP_STATE_WRITABLE:
            self.writable = true;
            break;
        case UTP_STATE_EOF:
            if (!self.sends) utp_close(arguments->socket);
            break;
        case UTP_STATE_DESTROYING:
            if (arguments->socket == self.socket) self.socket = nullptr;
            break;
    }
    return 0;
}

uint64 on_accept(utp_callback_arguments *arguments) {
    self.socket = arguments->socket;
    return 0;
}

uint64 on_error(utp_callback_arguments *arguments) {
    if (self.size != 0) {
        self.problem = utp_error_code_names[arguments->error_code];
    } else if (self.sends && arguments->socket == self.socket) {
        self.broken = true;
    }
    utp_close(arguments->socket);
    if (arguments->socket == self.socket) self.socket = nullptr;
    return 0;
}

bool wants_to_write() {
    return self.sends && self.socket && self.writable && !self.stopped && (self.size == 0 || self.written < self.size);
}

void write_all() {
    static std::vector<byte> zeros(CHUNK_BYTES, 0);
    while (wants_to_write()) {
        size_t most = zeros.size();
        if (self.size != 0 && self.size - self.written < most) most = static_cast<size_t>(self.size - self.written);
        ssize_t taken = utp_write(self.socket, zeros.data(), most);
        if (taken <= 0) {
            self.writable = false;
            return;
        }
        self.written += static_cast<uint64_t>(taken);
    }
}

// The larger buffer takes CAP_NET_ADMIN.
void make_room(int forced, int plain) {
    if (setsockopt(self.udp, SOL_SOCKET, forced, &BUFFER_BYTES, sizeof BUFFER_BYTES) < 0) {
        setsockopt(self.udp, SOL_SOCKET, plain, &BUFFER_BYTES, sizeof BUFFER_BYTES);
    }
}

void open_udp(const char *local, int port, int tos) {
    self.udp = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (self.udp < 0) fail("a socket");
    make_room(SO_SNDBUFFORCE, SO_SNDBUF);
    make_room(SO_RCVBUFFORCE, SO_RCVBUF);
    if (setsockopt(self.udp, IPPROTO_IP, IP_TOS, &tos, sizeof tos) < 0) fail("the code point");
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_port = htons(static_cast<uint16_t>(port));
    if (inet_pton(AF_INET, local, &own.sin_addr) != 1) fail(std::string("the address ") + local);
    if (bind(self.udp, reinterpret_cast<sockaddr *>(&own), sizeof own) < 0) {
        fail("port " + std::to_string(port) + " of " + local);
    }
}

void receive_all() {
    static byte buffer[1 << 16];
    for (;;) {
        sockaddr_in from{};
        socklen_t length = sizeof from;
        ssize_t bytes = recvfrom(self.udp, buffer, sizeof buffer, 0, reinterpret_cast<sockaddr *>(&from), &length);
        if (bytes < 0) {
            if (errno == ECONNREFUSED || errno == EINTR) continue;
            if (errno != EAGAIN) fail("receiving");
            break;
        }
        if (from.sin_addr.s_addr != self.peer.sin_addr.s_addr) continue;
        utp_process_udp(self.context, buffer, static_cast<size_t>(bytes), reinterpret_cast<sockaddr *>(&from), length);
    }
    utp_issue_deferred_acks(self.context);
}

void sleep_until(double time_s) {
    double left = time_s - now_s();
    if (left < 0) left = 0;
    timespec patience{};
    patience.tv_sec = static_cast<time_t>(left);
    patience.tv_nsec = static_cast<long>((left - std::floor(left)) * 1e9);
    pollfd entry{self.udp, POLLIN, 0};
    if (ppoll(&entry, 1, &patience, nullptr) > 0) receive_all();
}

void start() {
    if (!self.sends) return;
    self.socket = utp_create_socket(self.context);
    if (!self.socket || utp_connect(self.socket, reinterpret_cast<sockaddr *>(&self.peer), sizeof self.peer) < 0) {
        fail("connecting");
    }
}

void run() {
    bool started = false;
    double check_s = now_s();
    for (;;) {
        double now = now_s();
        if (now >= self.end_s) return;
        if (!started && now >= self.start_s) {
            started = true;
            start();
        }
        // What was written is still sent: libutp takes no more than its window.
        if (now >= self.stop_s) self.stopped = true;
        if (now >= check_s) {
            utp_check_timeouts(self.context);
            check_s = now + CHECK_EVERY_S;
        }
        if (self.broken && !self.stopped) {
            self.broken = false;
            ++self.reconnections;
            self.writable = false;
            start();
        }
        write_all();
        double next = std::fmin(check_s, self.end_s);
        if (!started) next = std::fmin(next, self.start_s);
        if (!self.stopped) next = std::fmin(next, self.stop_s);
        sleep_until(next);
    }
}

void report() {
    std::printf("{\"sent_bytes\": %llu, \"received_bytes\": %llu, \"last_byte_s\": %.9f, \"reconnections\": %u, \"problem\": \"%s\", \"bins\": [",
                static_cast<unsigned long long>(self.written), static_cast<unsigned long long>(self.received),
                self.last_byte_s, self.reconnections, self.problem.c_str());
    for (size_t index = 0; index < self.bins.size(); ++index) {
        std::printf("%s%llu", index ? ", " : "", static_cast<unsigned long long>(self.bins[index]));
    }
    std::printf("]}\n");
}

}  // namespace

int main(int count, char **words) {
    if (count != 13) {
        std::fprintf(stderr, "usage: %s send|receive LOCAL PEER PORT RUN_START_S START_S STOP_S END_S BIN_S SIZE TOS TARGET_US\n", words[0]);
        return 2;
    }
    self.sends = std::strcmp(words[1], "send") == 0;
    int port = std::atoi(words[4]);
    self.peer.sin_family = AF_INET;
    self.peer.sin_port = htons(static_cast<uint16_t>(port));
    if (inet_pton(AF_INET, words[3], &self.peer.sin_addr) != 1) fail(std::string("the address ") + words[3]);
    self.run_start_s = std::atof(words[5]);
    self.start_s = std::atof(words[6]);
    self.stop_s = std::atof(words[7]);
    self.end_s = std::atof(words[8]);
    self.bin_s = std::atof(words[9]);
    self.size = std::strtoull(words[10], nullptr, 10);
    self.bins.assign(static_cast<size_t>(std::ceil((self.end_s - self.run_start_s) / self.bin_s - 1e-9)), 0);
    open_udp(words[2], self.sends ? 0 : port, std::atoi(words[11]));

    self.context = utp_init(2);
    if (int target_us = std::atoi(words[12])) utp_context_set_option(self.context, UTP_TARGET_DELAY, target_us);
    utp_set_callback(self.context, UTP_SENDTO, on_sendto);
    utp_set_callback(self.context, UTP_ON_READ, on_read);
    utp_set_callback(self.context, UTP_ON_STATE_CHANGE, on_state);
    utp_set_callback(self.context, UTP_ON_ERROR, on_error);
    if (!self.sends) utp_set_callback(self.context, UTP_ON_ACCEPT, on_accept);
    run();
    report();
    // No goodbye: the run is over, and nothing must follow it.
    return 0;
}
