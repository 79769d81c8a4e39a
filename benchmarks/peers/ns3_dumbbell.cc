// A dumbbell with two groups of bulk flows in ns-3.37. Prints one line of JSON. See README.md for what is chosen and why.
//
//   ns3_dumbbell --key=value ...          (--help lists the keys)
//
// Units: rates in bit/s, times in seconds, limits in packets.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

struct Settings
{
    double rate = 4e6;
    uint32_t limit = 400;
    double rtt = 0.05;
    double bottleneckDelay = 0.0;
    uint32_t flows1 = 5;
    uint32_t flows2 = 5;
    std::string control1 = "newreno";
    std::string control2 = "newreno";
    std::string queue = "droptail";
    double duration = 60.0;
    double warmup = 10.0;
    uint32_t seed = 1;
    uint32_t payload = 1460;
    bool sack = true;
    std::string recovery = "prr";
    uint32_t initialWindow = 2;
    double minRto = 0.2;
    uint32_t delayedAck = 1;
    bool timestamps = false;
    double startMax = 0.1;
    std::string topology = "dumbbell";
    std::string fifo = "disc";
    bool monitor = true;
    uint32_t buffer = 0;
    double ledbatTarget = 0.1;
    bool ecn = false;
    uint32_t markedAbove = 20;
    double load = 0.0;
    double part1 = 0.25;
};

constexpr uint32_t kHeader = 40;  // bytes, IPv4 + TCP without options
constexpr uint32_t kTimestamp = 12;
constexpr uint32_t kDatagram = 28; // bytes, IPv4 + UDP
constexpr uint32_t kBuckets = 65536;
constexpr uint32_t kPpp = 2;      // bytes that PointToPointNetDevice adds to every packet
constexpr uint32_t kMeanPacket = 500;
constexpr const char* kAccessRate = "100Gbps";

// Integrates a step function of time, in packets * seconds.
class Integrator
{
  public:
    void Level(uint32_t level)
    {
        Advance();
        m_level = level;
    }

    double Sum()
    {
        Advance();
        return m_sum;
    }

  private:
    void Advance()
    {
        const Time now = Simulator::Now();
        m_sum += m_level * (now - m_since).GetSeconds();
        m_since = now;
    }

    Time m_since{0};
    double m_level = 0.0;
    double m_sum = 0.0;
};

struct Snapshot
{
    double time = 0.0;
    double discPackets = 0.0;
    double devicePackets = 0.0;
    double discBytes = 0.0;
    uint64_t arrivals = 0;
    uint64_t drops = 0;
    uint64_t marks = 0;
    uint64_t sentBytes = 0;
    std::vector<uint64_t> delivered;
};

struct World
{
    Settings config;
    Ptr<QueueDisc> disc;
    Ptr<Queue<Packet>> deviceQueue;
    Integrator discPackets;
    Integrator devicePackets;
    Integrator discBytes;
    uint64_t sentBytes = 0;
    // ns, of packets that left the disc and were not dropped by it at its head.
    std::vector<int64_t> sojourns;
    std::vector<Ptr<PacketSink>> sinks;
    Snapshot begin;
    Snapshot end;
    double redMin = 0.0;
    double redMax = 0.0;
    double redWeight = 0.0;
};

void
Take(World* world, Snapshot* snapshot)
{
    snapshot->time = Simulator::Now().GetSeconds();
    snapshot->discPackets = world->discPackets.Sum();
    snapshot->devicePackets = world->devicePackets.Sum();
    snapshot->discBytes = world->discBytes.Sum();
    snapshot->sentBytes = world->sentBytes;
    if (snapshot == &world->begin)
    {
        world->sojourns.clear();
    }
    if (world->disc)
    {
        const QueueDisc::Stats& stats = world->disc->GetStats();
        snapshot->arrivals = stats.nTotalReceivedPackets;
        snapshot->drops = stats.nTotalDroppedPackets;
        snapshot->marks = stats.nTotalMarkedPackets;
    }
    else
    {
        snapshot->arrivals = world->deviceQueue->GetTotalReceivedPackets();
        snapshot->drops = world->deviceQueue->GetTotalDroppedPackets();
        // The device queue does not count refused packets as received.
        snapshot->arrivals += world->deviceQueue->GetTotalDroppedPacketsBeforeEnqueue();
    }
    snapshot->delivered.clear();
    for (const auto& sink : world->sinks)
    {
        snapshot->delivered.push_back(sink->GetTotalRx());
    }
}

TypeId
Control(const std::string& name)
{
    const std::map<std::string, TypeId> known = {
        {"newreno", TcpNewReno::GetTypeId()},
        {"linuxreno", TcpLinuxReno::GetTypeId()},
        {"ledbat", TcpLedbat::GetTypeId()},
        {"cubic", TcpCubic::GetTypeId()},
        {"vegas", TcpVegas::GetTypeId()},
        {"westwood", TcpWestwood::GetTypeId()}, // Westwood+, see main
        {"dctcp", TcpDctcp::GetTypeId()},
        {"bbr", TcpBbr::GetTypeId()},
        {"lp", TcpLp::GetTypeId()},
    };
    const auto found = known.find(name);
    if (found == known.end())
    {
        NS_FATAL_ERROR("unknown control '" << name << "'");
    }
    return found->second;
}

// ns-2.35's automatic RED thresholds (bytes) and weight, for a mean packet of 500 bytes.
void
RedLikeNs2(World& world)
{
    const Settings& config = world.config;
    const double perSecond = config.rate / (8.0 * kMeanPacket);
    const double minPackets = std::max(5.0, 0.005 * perSecond / 2.0);
    const double rtt = std::max(0.1, 3.0 * (config.bottleneckDelay + 1.0 / perSecond));
    world.redMin = minPackets * kMeanPacket;
    world.redMax = 3.0 * world.redMin;
    world.redWeight = 1.0 - std::exp(-1.0 / (10.0 * rtt * perSecond));
}

// The discipline that the settings name: with its defaults, unless a comment says why not.
Ptr<QueueDisc>
Discipline(World& world)
{
    const Settings& config = world.config;
    const std::map<std::string, std::string> types = {
        {"droptail", "Fifo"},
        {"red", "Red"},
        {"step", "Red"},
        {"ared", "Red"},
        {"codel", "CoDel"},
        {"fq_codel", "FqCoDel"},
        {"pie", "Pie"},
        {"fq_pie", "FqPie"},
        {"cobalt", "Cobalt"},
    };
    const auto type = types.find(config.queue);
    NS_ABORT_MSG_IF(type == types.end(), "unknown queue '" << config.queue << "'");
    ObjectFactory disc("ns3::" + type->second + "QueueDisc");
    // One more packet waits in the device.
    disc.Set("MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, config.limit - 1)));
    if (type->second == "Red")
    {
        disc.Set("LinkBandwidth", DataRateValue(DataRate(uint64_t(config.rate))));
        disc.Set("LinkDelay", TimeValue(Seconds(config.bottleneckDelay)));
    }
    if (type->second.substr(0, 2) == "Fq")
    {
        disc.Set("Flows", UintegerValue(kBuckets));
    }
    if (config.queue == "red")
    {
        RedLikeNs2(world);
        const QueueSize limit(QueueSizeUnit::BYTES, config.limit * kMeanPacket);
        disc.Set("MaxSize", QueueSizeValue(limit));
        disc.Set("MeanPktSize", UintegerValue(kMeanPacket));
        disc.Set("MinTh", DoubleValue(world.redMin));
        disc.Set("MaxTh", DoubleValue(world.redMax));
        disc.Set("QW", DoubleValue(world.redWeight));
        disc.Set("LInterm", DoubleValue(10.0));
    }
    if (config.queue == "ared")
    {
        disc.Set("ARED", BooleanValue(true));
    }
    if (config.queue == "step")
    {
        // As DCTCP wants it: the queue itself, not its average, and a mark for all above the threshold.
        disc.Set("MinTh", DoubleValue(config.markedAbove));
        disc.Set("MaxTh", DoubleValue(config.markedAbove));
        disc.Set("QW", DoubleValue(1.0));
        disc.Set("Gentle", BooleanValue(false));
        disc.Set("UseHardDrop", BooleanValue(false));
    }
    if (config.ecn && config.queue != "droptail")
    {
        disc.Set("UseEcn", BooleanValue(true));
    }
    return disc.Create<QueueDisc>();
}

std::string
Number(bool known, double value)
{
    if (!known || !std::isfinite(value))
    {
        return "null";
    }
    std::ostringstream out;
    out << std::setprecision(10) << value;
    return out.str();
}

// The smallest time that so many percent of all do not exceed, in ms.
std::string
Quantiles(std::vector<int64_t> times)
{
    std::sort(times.begin(), times.end());
    std::ostringstream out;
    for (int percent : {10, 25, 50, 75, 90})
    {
        const size_t rank = (times.size() * percent + 99) / 100;
        const double found = times.empty() ? 0.0 : double(times[std::max<size_t>(rank, 1) - 1]);
        out << ", \"queue_ms_p" << percent << "\": " << Number(!times.empty(), found / 1e6);
    }
    return out.str();
}

void
Print(const World& world)
{
    const Settings& config = world.config;
    const Snapshot& a = world.begin;
    const Snapshot& b = world.end;
    const double span = b.time - a.time;
    double delivered[3] = {0.0, 0.0, 0.0};
    std::ostringstream each;
    each << std::setprecision(10);
    for (size_t i = 0; i < b.delivered.size(); ++i)
    {
        const double gained = double(b.delivered[i] - a.delivered[i]);
        delivered[i < config.flows1 ? 1 : 2] += gained;
        if (span > 0)
        {
            each << (i ? ", " : "") << 8.0 * gained / span;
        }
    }
    const bool known = config.monitor && span > 0;
    const double arrivals = double(b.arrivals - a.arrivals);
    const double drops = double(b.drops - a.drops);
    const double marks = double(b.marks - a.marks);
    const double disc = (b.discPackets - a.discPackets) / span;
    const double device = (b.devicePackets - a.devicePackets) / span;
    const double total = delivered[1] + delivered[2];
    std::cout << "{\"peer\": \"ns-3\", \"seed\": " << config.seed << ", \"utilization\": "
              << Number(known, 8.0 * (b.sentBytes - a.sentBytes) / (config.rate * span))
              << ", \"queue_packets_mean\": " << Number(known, world.disc ? disc : device)
              << ", \"device_packets_mean\": " << Number(known, device)
              << ", \"queue_bytes_mean\": null"
              << Quantiles(world.sojourns)
              << ", \"arrivals\": " << Number(span > 0, arrivals)
              << ", \"drops\": " << Number(span > 0, drops)
              << ", \"marks\": " << Number(span > 0 && config.ecn, marks)
              << ", \"drop_rate\": " << Number(span > 0 && arrivals > 0, drops / arrivals)
              << ", \"share_1\": " << Number(total > 0, delivered[1] / total)
              << ", \"goodput_1_bps\": " << Number(span > 0, 8.0 * delivered[1] / span)
              << ", \"goodput_2_bps\": " << Number(span > 0, 8.0 * delivered[2] / span)
              << ", \"timeouts\": null, \"retransmissions\": null"
              << ", \"red_min_bytes\": " << Number(config.queue == "red", world.redMin)
              << ", \"red_max_bytes\": " << Number(config.queue == "red", world.redMax)
              << ", \"red_weight\": " << Number(config.queue == "red", world.redWeight)
              << ", \"flow_goodput_bps\": [" << each.str() << "]}" << std::endl;
}

} // namespace

int
main(int argc, char* argv[])
{
    auto world = std::make_unique<World>();
    Settings& config = world->config;
    CommandLine cmd;
    cmd.AddValue("rate", "bit/s, bottleneck, counted in IP bytes", config.rate);
    cmd.AddValue("limit", "packets that may wait; RED: times 500 bytes", config.limit);
    cmd.AddValue("rtt", "s, base round trip, propagation only", config.rtt);
    cmd.AddValue("bottleneck_delay", "s, the part of rtt/2 on the bottleneck", config.bottleneckDelay);
    cmd.AddValue("flows_1", "flows in group 1", config.flows1);
    cmd.AddValue("flows_2", "flows in group 2", config.flows2);
    cmd.AddValue("control_1",
                 "newreno, linuxreno, cubic, vegas, westwood, dctcp, bbr, ledbat, lp",
                 config.control1);
    cmd.AddValue("control_2", "as control_1", config.control2);
    cmd.AddValue("queue",
                 "droptail, red, step, ared, codel, fq_codel, pie, fq_pie, cobalt",
                 config.queue);
    cmd.AddValue("ecn", "ECN in all flows and the queue", config.ecn);
    cmd.AddValue("marked_above", "packets above which step marks", config.markedAbove);
    cmd.AddValue("load", "0: TCP; otherwise UDP offers this part of the rate", config.load);
    cmd.AddValue("part_1", "what group 1 offers of the load", config.part1);
    cmd.AddValue("duration", "s", config.duration);
    cmd.AddValue("warmup", "s", config.warmup);
    cmd.AddValue("seed", "run number of the random generator", config.seed);
    cmd.AddValue("payload", "bytes of a segment", config.payload);
    cmd.AddValue("sack", "SACK on or off", config.sack);
    cmd.AddValue("recovery", "prr or classic", config.recovery);
    cmd.AddValue("initial_window", "segments", config.initialWindow);
    cmd.AddValue("min_rto", "s", config.minRto);
    cmd.AddValue("delayed_ack", "segments per acknowledgement", config.delayedAck);
    cmd.AddValue("timestamps", "in all flows; otherwise where a control needs them", config.timestamps);
    cmd.AddValue("start_max", "s, starts are uniform below it", config.startMax);
    cmd.AddValue("topology", "dumbbell or direct", config.topology);
    cmd.AddValue("fifo", "droptail in a queue disc (disc) or only in the device (device)", config.fifo);
    cmd.AddValue("monitor", "false: no queue figures (for timing)", config.monitor);
    cmd.AddValue("buffer", "bytes of socket buffers, 0: four windows", config.buffer);
    cmd.AddValue("ledbat_target", "s", config.ledbatTarget);
    cmd.Parse(argc, argv);

    NS_ABORT_MSG_IF(config.topology != "dumbbell" && config.topology != "direct",
                    "topology is dumbbell or direct");
    NS_ABORT_MSG_IF(config.fifo != "disc" && config.fifo != "device", "fifo is disc or device");
    NS_ABORT_MSG_IF(config.recovery != "prr" && config.recovery != "classic",
                    "recovery is prr or classic");
    NS_ABORT_MSG_IF(config.limit < 2, "limit is at least 2");
    NS_ABORT_MSG_IF(2.0 * config.bottleneckDelay > config.rtt, "bottleneck_delay exceeds rtt / 2");
    NS_ABORT_MSG_IF(config.duration > 0 && config.warmup >= config.duration,
                    "warmup must be below duration");

    const bool direct = config.topology == "direct";
    const bool onDevice = config.fifo == "device" && config.queue == "droptail";
    const uint32_t packet = config.payload + kHeader;
    if (direct)
    {
        config.bottleneckDelay = config.rtt / 2.0;
    }
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(config.seed);

    // Four times what the path and the queue can hold: never the limit, and not so much that filling it costs memory.
    if (config.buffer == 0)
    {
        const double window = config.limit * packet + config.rate * config.rtt / 8.0;
        config.buffer = uint32_t(std::max(262144.0, 4.0 * window));
    }
    // LEDBAT and LP read delays from timestamps, 12 bytes of options in every packet. The segment shrinks by as much: the packet
    // stays as long as without them (and is not fragmented by IP).
    const auto timed = [](const std::string& name) { return name == "ledbat" || name == "lp"; };
    const bool timestamps = config.timestamps || timed(config.control1) || timed(config.control2);
    const uint32_t segment = config.payload - (timestamps ? kTimestamp : 0);
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(timestamps));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(config.buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(config.buffer));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(config.initialWindow));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(config.delayedAck));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(config.minRto)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(config.sack));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(config.recovery == "prr" ? TcpPrrRecovery::GetTypeId()
                                                            : TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn",
                       EnumValue(config.ecn ? TcpSocketState::On : TcpSocketState::Off));
    Config::SetDefault("ns3::TcpLedbat::TargetDelay", TimeValue(Seconds(config.ledbatTarget)));
    Config::SetDefault("ns3::TcpWestwood::ProtocolType", EnumValue(TcpWestwood::WESTWOODPLUS));

    NodeContainer routers;
    routers.Create(2);
    InternetStackHelper internet;
    internet.Install(routers);

    PointToPointHelper bottleneck;
    // PointToPointNetDevice sends 2 more bytes per packet. The rate pays for them, so that a full packet takes
    // 8 * (payload + 40) / rate.
    const auto rate = uint64_t(std::llround(config.rate * (packet + kPpp) / packet));
    bottleneck.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
    bottleneck.SetChannelAttribute("Delay", TimeValue(Seconds(config.bottleneckDelay)));
    const uint32_t deviceLimit = onDevice ? config.limit : 1;
    bottleneck.SetQueue("ns3::DropTailQueue<Packet>",
                        "MaxSize",
                        QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, deviceLimit)));
    NetDeviceContainer core = bottleneck.Install(routers);
    auto forward = DynamicCast<PointToPointNetDevice>(core.Get(0));
    auto backward = DynamicCast<PointToPointNetDevice>(core.Get(1));
    backward->SetDataRate(DataRate(kAccessRate));
    backward->GetQueue()->SetMaxSize(QueueSize("1000000p"));

    if (!onDevice)
    {
        world->disc = Discipline(*world);
        routers.Get(0)->GetObject<TrafficControlLayer>()->SetRootQueueDiscOnDevice(core.Get(0), world->disc);
    }
    world->deviceQueue = forward->GetQueue();

    Ipv4AddressHelper address;
    address.SetBase("10.0.0.0", "255.255.255.252");
    Ipv4InterfaceContainer coreAddresses = address.Assign(core);
    TrafficControlHelper none;
    none.Uninstall(core.Get(1));
    if (onDevice)
    {
        none.Uninstall(core.Get(0));
    }

    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue(kAccessRate));
    access.SetChannelAttribute(
        "Delay",
        TimeValue(Seconds((config.rtt / 2.0 - config.bottleneckDelay) / 2.0)));
    access.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000000p"));
    auto edge = [&](uint32_t router) {
        Ptr<Node> node = CreateObject<Node>();
        internet.Install(node);
        NetDeviceContainer devices = access.Install(routers.Get(router), node);
        address.NewNetwork();
        Ipv4InterfaceContainer interfaces = address.Assign(devices);
        none.Uninstall(devices);
        return std::make_pair(node, interfaces.GetAddress(1));
    };

    auto starts = CreateObject<UniformRandomVariable>();
    starts->SetAttribute("Min", DoubleValue(0.0));
    starts->SetAttribute("Max", DoubleValue(config.startMax));
    const uint32_t flows = config.flows1 + config.flows2;
    for (uint32_t i = 0; i < flows; ++i)
    {
        Ptr<Node> source = routers.Get(0);
        Ptr<Node> target = routers.Get(1);
        Ipv4Address targetAddress = coreAddresses.GetAddress(1);
        if (!direct)
        {
            source = edge(0).first;
            std::tie(target, targetAddress) = edge(1);
        }
        const uint16_t port = direct ? 5000 + i : 5000;
        const TypeId control = Control(i < config.flows1 ? config.control1 : config.control2);
        const InetSocketAddress remote(targetAddress, port);
        Ptr<Application> app;
        if (config.load > 0)
        {
            const bool first = i < config.flows1;
            const double part = first ? config.part1 / config.flows1 : (1.0 - config.part1) / config.flows2;
            // The application counts its payload only.
            const double payload = double(packet - kDatagram) / packet;
            app = CreateObject<OnOffApplication>();
            app->SetAttribute("PacketSize", UintegerValue(packet - kDatagram));
            app->SetAttribute("DataRate",
                              DataRateValue(DataRate(uint64_t(config.rate * config.load * part * payload))));
            app->SetAttribute("OnTime", StringValue("ns3::ConstantRandomVariable[Constant=1e6]"));
            app->SetAttribute("OffTime", StringValue("ns3::ConstantRandomVariable[Constant=0]"));
        }
        else
        {
            app = CreateObject<BulkSendApplication>();
            app->SetAttribute("SendSize", UintegerValue(segment));
        }
        const TypeId protocol = config.load > 0 ? UdpSocketFactory::GetTypeId() : TcpSocketFactory::GetTypeId();
        app->SetAttribute("Protocol", TypeIdValue(protocol));
        app->SetAttribute("Remote", AddressValue(remote));
        source->AddApplication(app);
        app->SetStartTime(Seconds(starts->GetValue()));
        // The socket is created at the start of the application and takes the node's control at that instant. The
        // receiver's matters only to DCTCP, whose acknowledgements say which packets were marked.
        if (!direct)
        {
            source->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", TypeIdValue(control));
            target->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", TypeIdValue(control));
        }
        auto sink = CreateObject<PacketSink>();
        sink->SetAttribute("Protocol", TypeIdValue(protocol));
        sink->SetAttribute("Local", AddressValue(InetSocketAddress(Ipv4Address::GetAny(), port)));
        target->AddApplication(sink);
        sink->SetStartTime(Seconds(0.0));
        world->sinks.push_back(sink);
    }
    if (direct)
    {
        NS_ABORT_MSG_IF(config.control1 != config.control2,
                        "topology=direct has one node per side, hence one control");
        routers.Get(0)->GetObject<TcpL4Protocol>()->SetAttribute(
            "SocketType",
            TypeIdValue(Control(config.control1)));
    }
    else
    {
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    }

    if (config.monitor)
    {
        World* w = world.get();
        if (world->disc)
        {
            world->disc->TraceConnectWithoutContext(
                "PacketsInQueue",
                Callback<void, uint32_t, uint32_t>(
                    [w](uint32_t, uint32_t now) { w->discPackets.Level(now); }));
            world->disc->TraceConnectWithoutContext(
                "SojournTime",
                Callback<void, Time>(
                    [w](Time waited) { w->sojourns.push_back(waited.GetNanoSeconds()); }));
            // CoDel takes a packet from the disc before it drops it.
            world->disc->TraceConnectWithoutContext(
                "DropAfterDequeue",
                Callback<void, Ptr<const QueueDiscItem>, const char*>(
                    [w](Ptr<const QueueDiscItem>, const char*) { w->sojourns.pop_back(); }));
        }
        world->deviceQueue->TraceConnectWithoutContext(
            "PacketsInQueue",
            Callback<void, uint32_t, uint32_t>(
                [w](uint32_t, uint32_t now) { w->devicePackets.Level(now); }));
        forward->TraceConnectWithoutContext(
            "PhyTxBegin",
            Callback<void, Ptr<const Packet>>(
                [w](Ptr<const Packet> p) { w->sentBytes += p->GetSize() - kPpp; }));
    }

    World* w = world.get();
    if (config.duration > 0)
    {
        Simulator::Schedule(Seconds(config.warmup), &Take, w, &w->begin);
        Simulator::Schedule(Seconds(config.duration), &Take, w, &w->end);
        Simulator::Stop(Seconds(config.duration) + NanoSeconds(1));
    }
    else
    {
        Simulator::Stop(Seconds(0));
    }
    Simulator::Run();
    Print(*world);
    Simulator::Destroy();
    return 0;
}
