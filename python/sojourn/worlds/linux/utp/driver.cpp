// One end of a libutp connection: sends without end or so many bytes, or receives and counts per bin.
//
// usage: driver send|receive LOCAL PEER PORT RUN_START_S START_S STOP_S END_S BIN_S SIZE TOS TARGET_US
//               TOKEN MAX_RATE_BPS BUDGET_FILE BUDGET_RATE_BPS BUDGET_BYTES
//
// TOKEN is what a connection begins with, eight bytes, little-endian, or "-" for nothing: a receiver counts nothing
// before it, and closes what begins otherwise. MAX_RATE_BPS bounds this flow, 0 does not. BUDGET_FILE bounds what the
// session's processes send together (crates/sojourn-wire/src/budget.rs), "-" does not; BUDGET_BYTES may leave at once.
// What there is no room for waits, as in a router's queue.
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
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "utp.h"

namespace {

constexpr double CHECK_EVERY_S = 0.5;  // utp_check_timeouts does nothing more often
constexpr int BUFFER_BYTES = 8 << 20;  // the queue under test decides what is dropped, not a socket
constexpr size_t CHUNK_BYTES = 1 << 16;
constexpr size_t TOKEN_BYTES = 8;
constexpr unsigned MOST_STRANGERS = 16;  // connections that have not shown the token
constexpr double HEADER_BYTES = 28;      // IPv4 and UDP
constexpr size_t MOST_WAITING_BYTES = 1 << 20;
constexpr double FLOW_BURST_BYTES = 6000, FLOW_BURST_S = 0.01;

double now_s() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

uint64_t now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

// A token bucket: until when all that was sent would keep a link of its rate busy. Without a rate it has room for all.
struct Bucket {
    std::atomic<uint64_t> own{0};
    std::atomic<uint64_t> *busy_until = &own;
    double nanos_per_byte = 0;
    double depth_nanos = 0;

    void bound(double rate_bps, double depth_bytes) {
        nanos_per_byte = 8e9 / rate_bps;
        depth_nanos = depth_bytes * nanos_per_byte;
    }

    bool has_room(double bytes, uint64_t now) const {
        if (nanos_per_byte == 0) return true;
        uint64_t until = busy_until->load();
        double busy = until > now ? static_cast<double>(until - now) : 0.0;
        return busy + bytes * nanos_per_byte <= depth_nanos;
    }

    // When it has room, where it has none now.
    double room_s(double bytes) const {
        double spare = std::fmax(0.0, depth_nanos - bytes * nanos_per_byte);
        return nanos_per_byte == 0 ? 0.0 : (static_cast<double>(busy_until->load()) - spare) * 1e-9;
    }

    void spend(double bytes, uint64_t now) {
        if (nanos_per_byte == 0) return;
        uint64_t until = busy_until->load();
        uint64_t next = 0;
        do {
            next = (until > now ? until : now) + static_cast<uint64_t>(bytes * nanos_per_byte);
        } while (!busy_until->compare_exchange_weak(until, next));
    }
};

// What waits for room.
struct Packet {
    std::vector<byte> data;
    sockaddr_in to;

    double bytes() const { return static_cast<double>(data.size()) + HEADER_BYTES; }
};

// What a connection has shown of the token.
struct Shown {
    size_t bytes = 0;
    bool wrong = false;
};

struct End {
    bool sends = false;
    int udp = -1;
    sockaddr_in peer{};
    Bucket flow, session;
    std::deque<Packet> waiting;
    size_t waiting_bytes = 0;
    bool has_token = false;
    byte token[TOKEN_BYTES] = {};
    size_t token_written = 0;
    unsigned strangers = 0;
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

// Sends what there is room for.
void send_waiting() {
    uint64_t now = now_ns();
    while (!self.waiting.empty()) {
        const Packet &packet = self.waiting.front();
        if (!self.flow.has_room(packet.bytes(), now) || !self.session.has_room(packet.bytes(), now)) return;
        self.flow.spend(packet.bytes(), now);
        self.session.spend(packet.bytes(), now);
        // What the kernel has no room for is lost, as in a full queue.
        (void)!sendto(self.udp, packet.data.data(), packet.data.size(), 0, reinterpret_cast<const sockaddr *>(&packet.to), sizeof packet.to);
        self.waiting_bytes -= packet.data.size();
        self.waiting.pop_front();
    }
}

// When what waits has room.
double sends_s() {
    if (self.waiting.empty()) return HUGE_VAL;
    double bytes = self.waiting.front().bytes();
    return std::fmax(self.flow.room_s(bytes), self.session.room_s(bytes)) + 1e-6;  // never just too early
}

uint64 on_sendto(utp_callback_arguments *arguments) {
    if (self.waiting_bytes + arguments->len > MOST_WAITING_BYTES) return 0;
    Packet packet{std::vector<byte>(arguments->buf, arguments->buf + arguments->len), {}};
    std::memcpy(&packet.to, arguments->address, sizeof packet.to);
    self.waiting_bytes += packet.data.size();
    self.waiting.push_back(std::move(packet));
    send_waiting();
    return 0;
}

Shown *shown(utp_socket *socket) { return static_cast<Shown *>(utp_get_userdata(socket)); }

bool is_known(utp_socket *socket) {
    Shown *so_far = shown(socket);
    return !self.has_token || self.sends || (so_far && !so_far->wrong && so_far->bytes == TOKEN_BYTES);
}

// The bytes of a connection's token at the beginning of what was read.
size_t check_token(utp_socket *socket, const byte *data, size_t length) {
    Shown *so_far = shown(socket);
    if (!self.has_token || !so_far || so_far->bytes == TOKEN_BYTES) return 0;
    size_t taken = std::min(length, TOKEN_BYTES - so_far->bytes);
    so_far->wrong |= std::memcmp(data, self.token + so_far->bytes, taken) != 0;
    so_far->bytes += taken;
    if (so_far->bytes == TOKEN_BYTES && !so_far->wrong) --self.strangers;
    return taken;
}

uint64 on_read(utp_callback_arguments *arguments) {
    double now = now_s();
    size_t before = check_token(arguments->socket, arguments->buf, arguments->len);
    size_t length = arguments->len - before;
    utp_read_drained(arguments->socket);
    if (!is_known(arguments->socket)) {
        if (shown(arguments->socket)->wrong) utp_close(arguments->socket);
        return 0;
    }
    if (length == 0) return 0;
    self.socket = arguments->socket;
    self.received += length;
    self.last_byte_s = now;
    double bin = (now - self.run_start_s) / self.bin_s;
    if (bin >= 0 && bin < static_cast<double>(self.bins.size()) && now < self.end_s) {
        self.bins[static_cast<size_t>(bin)] += length;
    }
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
            if (Shown *so_far = shown(arguments->socket)) {
                if (so_far->bytes < TOKEN_BYTES || so_far->wrong) --self.strangers;
                delete so_far;
                utp_set_userdata(arguments->socket, nullptr);
            }
            break;
    }
    return 0;
}

uint64 on_accept(utp_callback_arguments *arguments) {
    if (!self.has_token) {
        self.socket = arguments->socket;
        return 0;
    }
    utp_set_userdata(arguments->socket, new Shown);
    ++self.strangers;
    return 0;
}

uint64 on_firewall(utp_callback_arguments *) { return self.strangers >= MOST_STRANGERS; }

uint64 on_error(utp_callback_arguments *arguments) {
    if (!is_known(arguments->socket)) {
        utp_close(arguments->socket);
        return 0;
    }
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
    while (self.has_token && wants_to_write() && self.token_written < TOKEN_BYTES) {
        ssize_t taken = utp_write(self.socket, self.token + self.token_written, TOKEN_BYTES - self.token_written);
        if (taken <= 0) {
            self.writable = false;
            return;
        }
        self.token_written += static_cast<size_t>(taken);
    }
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
    self.token_written = 0;
    self.socket = utp_create_socket(self.context);
    if (!self.socket || utp_connect(self.socket, reinterpret_cast<sockaddr *>(&self.peer), sizeof self.peer) < 0) {
        fail("connecting");
    }
}

void bound(const char *max_rate_bps, const char *file, const char *rate_bps, const char *depth_bytes) {
    if (double rate = std::atof(max_rate_bps); rate > 0) {
        self.flow.bound(rate, std::fmax(FLOW_BURST_BYTES, rate / 8 * FLOW_BURST_S));
    }
    if (std::strcmp(file, "-") == 0) return;
    int descriptor = open(file, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) fail(std::string("the budget ") + file);
    void *place = mmap(nullptr, sizeof(std::atomic<uint64_t>), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (place == MAP_FAILED) fail(std::string("the budget ") + file);
    close(descriptor);
    self.session.busy_until = static_cast<std::atomic<uint64_t> *>(place);
    self.session.bound(std::atof(rate_bps), std::atof(depth_bytes));
}

void read_token(const char *word) {
    self.has_token = std::strcmp(word, "-") != 0;
    uint64_t token = std::strtoull(word, nullptr, 10);
    for (size_t place = 0; place < TOKEN_BYTES; ++place) self.token[place] = static_cast<byte>(token >> (8 * place));
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
        send_waiting();
        write_all();
        double next = std::fmin(check_s, self.end_s);
        if (!started) next = std::fmin(next, self.start_s);
        if (!self.stopped) next = std::fmin(next, self.stop_s);
        sleep_until(std::fmin(next, sends_s()));
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
    if (count != 18) {
        std::fprintf(stderr, "usage: %s send|receive LOCAL PEER PORT RUN_START_S START_S STOP_S END_S BIN_S SIZE TOS TARGET_US TOKEN MAX_RATE_BPS BUDGET_FILE BUDGET_RATE_BPS BUDGET_BYTES\n", words[0]);
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
    read_token(words[13]);
    bound(words[14], words[15], words[16], words[17]);
    open_udp(words[2], self.sends ? 0 : port, std::atoi(words[11]));

    self.context = utp_init(2);
    if (int target_us = std::atoi(words[12])) utp_context_set_option(self.context, UTP_TARGET_DELAY, target_us);
    utp_set_callback(self.context, UTP_SENDTO, on_sendto);
    utp_set_callback(self.context, UTP_ON_READ, on_read);
    utp_set_callback(self.context, UTP_ON_STATE_CHANGE, on_state);
    utp_set_callback(self.context, UTP_ON_ERROR, on_error);
    if (!self.sends) {
        utp_set_callback(self.context, UTP_ON_ACCEPT, on_accept);
        utp_set_callback(self.context, UTP_ON_FIREWALL, on_firewall);
    }
    run();
    report();
    // No goodbye: the run is over, and nothing must follow it.
    return 0;
}
