// A dumbbell with bulk flows of NewReno in htsim. Prints one line of JSON. See README.md for what is chosen and why.
//
//   htsim_dumbbell key value ...
//
// Units: rates in bit/s, times in seconds, limits in packets.

#include "eventlist.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace
{

constexpr int kPacket = 1500;
constexpr int kPayload = 1460;

// Returns what the command line says of a key.
double
Value(const std::map<std::string, double>& values, const std::string& key)
{
    const auto found = values.find(key);
    if (found == values.end())
    {
        std::fprintf(stderr, "htsim_dumbbell: error: no key %s\n", key.c_str());
        std::exit(2);
    }
    return found->second;
}

// DropTail that counts. Its limit includes the packet on the wire.
class Bottleneck : public Queue
{
  public:
    Bottleneck(double rate, double limit, EventList& events)
        : Queue(linkspeed_bps(rate), mem_b(limit * kPacket), events, nullptr)
    {
    }

    void receivePacket(Packet& packet) override
    {
        ++arrivals;
        Count();
        Queue::receivePacket(packet);
    }

    // Packets that have waited, times picoseconds, until now.
    double Waited()
    {
        Count();
        return waited;
    }

    uint64_t arrivals = 0;
    uint64_t begun = 0;

  protected:
    void beginService() override
    {
        ++begun;
        Queue::beginService();
    }

    void completeService() override
    {
        Count();
        Queue::completeService();
    }

  private:
    void Count()
    {
        const simtime_picosec now = eventlist().now();
        const int waiting = _enqueued.size() - 1;
        waited += waiting > 0 ? double(waiting) * double(now - last) : 0.0;
        last = now;
    }

    double waited = 0.0;
    simtime_picosec last = 0;
};

struct Delays
{
    Delays(simtime_picosec half, EventList& events)
        : there(half, events),
          back(half, events)
    {
    }

    Pipe there;
    Pipe back;
};

// A sender whose timeouts are counted.
class Counted : public TcpSrc
{
  public:
    Counted(EventList& events, uint64_t& sum)
        : TcpSrc(nullptr, nullptr, events),
          timeouts(sum)
    {
    }

    void rtx_timer_hook(simtime_picosec now, simtime_picosec period) override
    {
        const bool pending = _rtx_timeout_pending;
        TcpSrc::rtx_timer_hook(now, period);
        timeouts += !pending && _rtx_timeout_pending;
    }

  private:
    uint64_t& timeouts;
};

struct Flow
{
    Route routeThere;
    Route routeBack;
    std::unique_ptr<TcpSrc> source;
    TcpSink sink;
};

// What is read at the end of the warm-up and at the end of the run.
struct Reading
{
    double waited = 0.0;
    double arrivals = 0.0;
    double begun = 0.0;
    double drops = 0.0;
    double timeouts = 0.0;
    double sent = 0.0;
    double segments[2] = {0.0, 0.0};
};

class World : public EventSource
{
  public:
    World(const std::map<std::string, double>& values, EventList& events)
        : EventSource(events, "world"),
          monitor(Value(values, "monitor") != 0.0),
          rate(Value(values, "rate")),
          first(size_t(Value(values, "flows_1"))),
          scanner(timeFromMs(10), events)
    {
        const double limit = Value(values, "limit");
        if (monitor)
        {
            counting = new Bottleneck(rate, limit, events);
        }
        queue.reset(monitor ? counting : new Queue(linkspeed_bps(rate), mem_b(limit * kPacket), events, nullptr));
        const size_t count = first + size_t(Value(values, "flows_2"));
        // The flows' RTTs are evenly spread from 0.5 to 1.5 of the common one; flows with the same RTT share two pipes.
        const size_t rtts = size_t(Value(values, "rtts"));
        for (size_t index = 0; index < rtts; ++index)
        {
            const double half = Value(values, "rtt") * (0.5 + (double(index) + 0.5) / double(rtts)) / 2.0;
            delays.push_back(std::make_unique<Delays>(timeFromSec(half), events));
        }
        std::mt19937_64 random(uint64_t(Value(values, "seed")));
        std::uniform_real_distribution<double> start(0.0, Value(values, "start_within"));
        for (size_t index = 0; index < count; ++index)
        {
            flows.push_back(std::make_unique<Flow>());
            Flow& flow = *flows.back();
            // The prime scatters the RTTs over the flows.
            Connect(flow, *delays[index * 7919 % count * rtts / count], start(random), events);
        }
    }

    void doNextEvent() override { before = Read(); }

    void Print(uint64_t seed, double measured)
    {
        const Reading after = Read();
        std::printf("{\"peer\": \"htsim\", \"seed\": %lu", static_cast<unsigned long>(seed));
        const double all = after.segments[0] + after.segments[1] - before.segments[0] - before.segments[1];
        for (int group = 0; group < 2; ++group)
        {
            const double bits = 8.0 * kPayload * (after.segments[group] - before.segments[group]);
            std::printf(", \"goodput_%d_bps\": %.10g", group + 1, bits / measured);
        }
        if (all > 0.0)
        {
            std::printf(", \"share_1\": %.10g", (after.segments[0] - before.segments[0]) / all);
        }
        const double drops = after.drops - before.drops;
        std::printf(", \"packets\": %.10g", after.sent - before.sent - drops);
        std::printf(", \"drops\": %.10g", drops);
        if (monitor)
        {
            const double arrivals = after.arrivals - before.arrivals;
            std::printf(", \"arrivals\": %.10g, \"drop_rate\": %.10g", arrivals, drops / std::max(1.0, arrivals));
            std::printf(", \"timeouts\": %.10g", after.timeouts - before.timeouts);
            std::printf(", \"queue_packets_mean\": %.10g", (after.waited - before.waited) / (1e12 * measured));
            std::printf(", \"utilization\": %.10g", 8.0 * kPacket * (after.begun - before.begun) / (rate * measured));
        }
        std::printf(", \"peak_bytes\": %.10g}\n", Peak());
    }

  private:
    void Connect(Flow& flow, Delays& delays, double start, EventList& events)
    {
        flow.source.reset(monitor ? new Counted(events, timeouts) : new TcpSrc(nullptr, nullptr, events));
        // The acknowledgement of the SYN makes two segments of one.
        flow.source->set_cwnd(kPacket);
        flow.source->set_ssthresh(10000 * kPacket);
        flow.routeThere.push_back(queue.get());
        flow.routeThere.push_back(&delays.there);
        flow.routeThere.push_back(&flow.sink);
        flow.routeBack.push_back(&delays.back);
        flow.routeBack.push_back(flow.source.get());
        flow.source->connect(flow.routeThere, flow.routeBack, flow.sink, timeFromSec(start));
        scanner.registerTcp(*flow.source);
    }

    Reading Read()
    {
        Reading reading;
        reading.drops = queue->num_drops();
        if (monitor)
        {
            reading.waited = counting->Waited();
            reading.arrivals = double(counting->arrivals);
            reading.begun = double(counting->begun);
            reading.timeouts = double(timeouts);
        }
        for (size_t index = 0; index < flows.size(); ++index)
        {
            reading.sent += double(flows[index]->source->_packets_sent / kPacket);
            reading.segments[index < first ? 0 : 1] += double(flows[index]->sink._cumulative_ack / kPacket);
        }
        return reading;
    }

    // Returns the most memory that this process ever held, in bytes; 0 where the system does not say.
    static double Peak()
    {
        std::ifstream status("/proc/self/status");
        for (std::string word; status >> word;)
        {
            if (word == "VmHWM:")
            {
                double kilobytes = 0.0;
                status >> kilobytes;
                return 1024.0 * kilobytes;
            }
        }
        return 0.0;
    }

    bool monitor;
    double rate;
    size_t first;
    TcpRtxTimerScanner scanner;
    Bottleneck* counting = nullptr;
    uint64_t timeouts = 0;
    std::unique_ptr<Queue> queue;
    std::vector<std::unique_ptr<Delays>> delays;
    std::vector<std::unique_ptr<Flow>> flows;
    Reading before;
};

} // namespace

int
main(int argc, char** argv)
{
    std::map<std::string, double> values;
    for (int index = 1; index + 1 < argc; index += 2)
    {
        values[argv[index]] = std::atof(argv[index + 1]);
    }
    // htsim tells of each timeout there.
    std::cout.rdbuf(nullptr);
    EventList events;
    const double duration = Value(values, "duration");
    const double warmup = Value(values, "warmup");
    World world(values, events);
    if (duration > 0.0)
    {
        EventList::setEndtime(timeFromSec(duration));
        EventList::sourceIsPending(world, timeFromSec(warmup));
        while (EventList::doNextEvent())
        {
        }
    }
    world.Print(uint64_t(Value(values, "seed")), duration > warmup ? duration - warmup : 1.0);
    return 0;
}
