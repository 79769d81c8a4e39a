// @TITLE@
//
//   g++ -O2 -std=c++17 -o scenario scenario.cc -lns3-applications -lns3-internet \
//       -lns3-traffic-control -lns3-point-to-point -lns3-network -lns3-core
//   ./scenario --seed=1
//
// With Debian's libns3-dev. It prints one line of JSON: goodputs in Mbit/s, and of each queue the mean in packets
// and in ms, drops, and how much of the time its link sends.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;

namespace
{

using Attributes = std::vector<std::pair<std::string, std::string>>;

struct Link
{
    std::string name;
    bool forward;
    double rate;  // bit/s of IP packets
    double delay; // s
    double loss;
    std::string discipline;
    Attributes attributes;
};

struct Flow
{
    double rtt;                         // s, without the links' own delays
    std::pair<double, double> start;    // s, drawn uniformly between both
    std::pair<double, double> stop;
};

struct Group
{
    std::string name;
    bool forward;
    std::string control; // empty: UDP at a constant rate
    std::string recovery;
    double rate;     // bit/s of IP packets, UDP alone
    uint32_t packet; // bytes of IP, UDP alone
    double access;   // bit/s of each sender's own line; 0 where it is not limited
    std::vector<Flow> flows;
};

const double kDuration = @DURATION@;
const double kWarmup = @WARMUP@;
const uint32_t kFull = @FULL@; // bytes of a full packet

const std::vector<Link> kLinks = {
@LINKS@
};

const std::vector<Group> kGroups = {
@GROUPS@
};

const Attributes kDefaults = {
@DEFAULTS@
};

constexpr uint32_t kPpp = 2;       // bytes that PointToPointNetDevice adds to every packet
constexpr uint32_t kDatagram = 28; // bytes of headers, IPv4 and UDP
constexpr uint16_t kPort = 5000;
constexpr const char* kUnlimited = "100Gbps";
constexpr const char* kEndless = "1000000p";

// Packets that wait, over time.
struct Level
{
    double since = 0.0;
    double packets = 0.0;
    double sum = 0.0;

    double To(double now)
    {
        sum += packets * (now - since);
        since = now;
        return sum;
    }
};

struct Measured
{
    Ptr<QueueDisc> disc;
    Level level;
    double waitedSeconds = 0.0;
    uint64_t waited = 0;
    uint64_t sentBytes = 0;
    double levelBefore = 0.0;
    double secondsBefore = 0.0;
    uint64_t waitedBefore = 0;
    uint64_t sentBefore = 0;
    uint64_t dropsBefore = 0;
};

struct World
{
    InternetStackHelper internet;
    Ipv4AddressHelper address;
    TrafficControlHelper none;
    Ptr<UniformRandomVariable> random;
    std::vector<std::unique_ptr<Measured>> links;
    std::vector<std::vector<Ptr<PacketSink>>> sinks;
    std::vector<uint64_t> before;

    Ptr<Node> Router()
    {
        Ptr<Node> node = CreateObject<Node>();
        internet.Install(node);
        return node;
    }

    // One way has the link's rate and queue, the other is not limited. The delay counts once in a round trip.
    void Connect(Ptr<Node> left, Ptr<Node> right, const Link& link)
    {
        PointToPointHelper helper;
        helper.SetDeviceAttribute("DataRate", StringValue(kUnlimited));
        helper.SetChannelAttribute("Delay", TimeValue(Seconds(link.delay / 2.0)));
        helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(kEndless));
        NetDeviceContainer pair = helper.Install(left, right);
        const uint32_t near = link.forward ? 0 : 1;
        auto device = DynamicCast<PointToPointNetDevice>(pair.Get(near));
        // The rate pays for the bytes that the device adds, so that a full packet takes as long as it should.
        device->SetDataRate(DataRate(uint64_t(std::llround(link.rate * (kFull + kPpp) / kFull))));
        // A device cannot do without a queue: the packet in it is a part of the path, see the round-trip times.
        device->GetQueue()->SetMaxSize(QueueSize("1p"));
        ObjectFactory factory("ns3::" + link.discipline);
        for (const auto& [name, value] : link.attributes)
        {
            factory.Set(name, StringValue(value));
        }
        auto measured = std::make_unique<Measured>();
        measured->disc = factory.Create<QueueDisc>();
        Ptr<Node> at = link.forward ? left : right;
        at->GetObject<TrafficControlLayer>()->SetRootQueueDiscOnDevice(device, measured->disc);
        if (link.loss > 0)
        {
            auto noise = CreateObject<RateErrorModel>();
            noise->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
            noise->SetRate(link.loss);
            DynamicCast<PointToPointNetDevice>(pair.Get(1 - near))->SetReceiveErrorModel(noise);
        }
        address.NewNetwork();
        address.Assign(pair);
        none.Uninstall(pair.Get(1 - near));

        Measured* m = measured.get();
        m->disc->TraceConnectWithoutContext("PacketsInQueue",
                                            Callback<void, uint32_t, uint32_t>([m](uint32_t, uint32_t now) {
                                                m->level.To(Simulator::Now().GetSeconds());
                                                m->level.packets = now;
                                            }));
        m->disc->TraceConnectWithoutContext("SojournTime", Callback<void, Time>([m](Time waited) {
                                                m->waitedSeconds += waited.GetSeconds();
                                                ++m->waited;
                                            }));
        device->TraceConnectWithoutContext("PhyTxBegin",
                                           Callback<void, Ptr<const Packet>>([m](Ptr<const Packet> packet) {
                                               m->sentBytes += packet->GetSize() - kPpp;
                                           }));
        links.push_back(std::move(measured));
    }

    // A host with a line of its own, which has a quarter of the round-trip time each way, and an endless buffer.
    std::pair<Ptr<Node>, Ipv4Address> Host(Ptr<Node> router, double rtt, double rate)
    {
        PointToPointHelper access;
        access.SetDeviceAttribute("DataRate", StringValue(kUnlimited));
        access.SetChannelAttribute("Delay", TimeValue(Seconds(rtt / 4.0)));
        access.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(kEndless));
        Ptr<Node> node = Router();
        NetDeviceContainer pair = access.Install(router, node);
        if (rate > 0)
        {
            auto device = DynamicCast<PointToPointNetDevice>(pair.Get(1));
            device->SetDataRate(DataRate(uint64_t(std::llround(rate * (kFull + kPpp) / kFull))));
        }
        address.NewNetwork();
        Ipv4InterfaceContainer interfaces = address.Assign(pair);
        none.Uninstall(pair);
        return {node, interfaces.GetAddress(1)};
    }

    double Drawn(const std::pair<double, double>& ends)
    {
        return ends.first < ends.second ? random->GetValue(ends.first, ends.second) : ends.first;
    }

    void Start(const Group& group, const Flow& flow, Ptr<Node> first, Ptr<Node> last)
    {
        Ptr<Node> source = Host(group.forward ? first : last, flow.rtt, group.access).first;
        const auto [target, where] = Host(group.forward ? last : first, flow.rtt, 0);
        const bool tcp = !group.control.empty();
        const TypeId protocol = tcp ? TcpSocketFactory::GetTypeId() : UdpSocketFactory::GetTypeId();
        Ptr<Application> app;
        if (tcp)
        {
            // The receiver's control matters to DCTCP alone, whose acknowledgements say which packets were marked.
            for (Ptr<Node> node : {source, Ptr<Node>(target)})
            {
                auto layer = node->GetObject<TcpL4Protocol>();
                layer->SetAttribute("SocketType", TypeIdValue(TypeId::LookupByName(group.control)));
                layer->SetAttribute("RecoveryType", TypeIdValue(TypeId::LookupByName(group.recovery)));
            }
            app = CreateObject<BulkSendApplication>();
            app->SetAttribute("SendSize", UintegerValue(kFull));
        }
        else
        {
            // The application counts its payload only.
            const uint32_t payload = group.packet - kDatagram;
            const double rate = group.rate * payload / group.packet;
            app = CreateObject<OnOffApplication>();
            app->SetAttribute("PacketSize", UintegerValue(payload));
            app->SetAttribute("DataRate", DataRateValue(DataRate(uint64_t(std::llround(rate)))));
            app->SetAttribute("OnTime", StringValue("ns3::ConstantRandomVariable[Constant=1e9]"));
            app->SetAttribute("OffTime", StringValue("ns3::ConstantRandomVariable[Constant=0]"));
        }
        app->SetAttribute("Protocol", TypeIdValue(protocol));
        app->SetAttribute("Remote", AddressValue(InetSocketAddress(where, kPort)));
        source->AddApplication(app);
        app->SetStartTime(Seconds(Drawn(flow.start)));
        app->SetStopTime(Seconds(Drawn(flow.stop)));
        auto sink = CreateObject<PacketSink>();
        sink->SetAttribute("Protocol", TypeIdValue(protocol));
        sink->SetAttribute("Local", AddressValue(InetSocketAddress(Ipv4Address::GetAny(), kPort)));
        target->AddApplication(sink);
        sink->SetStartTime(Seconds(0.0));
        sinks.back().push_back(sink);
    }

    uint64_t Received(size_t group) const
    {
        uint64_t sum = 0;
        for (const auto& sink : sinks[group])
        {
            sum += sink->GetTotalRx();
        }
        return sum;
    }

    void Begin()
    {
        for (size_t i = 0; i < sinks.size(); ++i)
        {
            before.push_back(Received(i));
        }
        for (auto& link : links)
        {
            link->levelBefore = link->level.To(Simulator::Now().GetSeconds());
            link->secondsBefore = link->waitedSeconds;
            link->waitedBefore = link->waited;
            link->sentBefore = link->sentBytes;
            link->dropsBefore = link->disc->GetStats().nTotalDroppedPackets;
        }
    }

    void Print()
    {
        const double span = kDuration - kWarmup;
        std::cout << std::setprecision(10) << "{\"goodput_mbps\": {";
        for (size_t i = 0; i < kGroups.size(); ++i)
        {
            std::cout << (i ? ", " : "") << '"' << kGroups[i].name << "\": "
                      << 8e-6 * double(Received(i) - before[i]) / span;
        }
        std::cout << "}, \"queues\": {";
        for (size_t i = 0; i < links.size(); ++i)
        {
            Measured& link = *links[i];
            const double packets = (link.level.To(kDuration) - link.levelBefore) / span;
            const uint64_t waited = link.waited - link.waitedBefore;
            const double ms = waited ? 1e3 * (link.waitedSeconds - link.secondsBefore) / double(waited) : 0.0;
            const uint64_t drops = link.disc->GetStats().nTotalDroppedPackets - link.dropsBefore;
            const double busy = 8.0 * double(link.sentBytes - link.sentBefore) / (kLinks[i].rate * span);
            std::cout << (i ? ", " : "") << '"' << kLinks[i].name << "\": {\"packets_mean\": " << packets
                      << ", \"ms_mean\": " << ms << ", \"drops\": " << drops << ", \"utilization\": " << busy
                      << "}";
        }
        std::cout << "}}" << std::endl;
    }
};

} // namespace

int
main(int argc, char* argv[])
{
    uint32_t seed = 1;
    CommandLine cmd;
    cmd.AddValue("seed", "run number of the random generator", seed);
    cmd.Parse(argc, argv);
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(seed);
    for (const auto& [name, value] : kDefaults)
    {
        Config::SetDefault("ns3::" + name, StringValue(value));
    }

    World world;
    world.address.SetBase("10.0.0.0", "255.255.255.252");
    world.random = CreateObject<UniformRandomVariable>();
    std::vector<Ptr<Node>> routers = {world.Router()};
    for (const Link& link : kLinks)
    {
        routers.push_back(world.Router());
        world.Connect(routers[routers.size() - 2], routers.back(), link);
    }
    for (const Group& group : kGroups)
    {
        world.sinks.emplace_back();
        for (const Flow& flow : group.flows)
        {
            world.Start(group, flow, routers.front(), routers.back());
        }
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Simulator::Schedule(Seconds(kWarmup), [&world] { world.Begin(); });
    Simulator::Stop(Seconds(kDuration));
    Simulator::Run();
    world.Print();
    Simulator::Destroy();
    return 0;
}
