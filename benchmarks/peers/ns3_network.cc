// Links in a row with a flow over all of them and one over each (a parking lot), or homes behind one link, in ns-3.37.
// Prints one line of JSON. What is chosen of TCP and of devices is as in ns3_dumbbell.cc.
//
//   ns3_network --key=value ...          (--help lists the keys)
//
// Units: rates in bit/s, times in seconds, limits in packets.

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
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t kPacket = 1500;
constexpr uint32_t kPpp = 2; // bytes that PointToPointNetDevice adds to every packet
constexpr uint32_t kBuckets = 65536;
constexpr const char* kAccessRate = "100Gbps";

struct Settings
{
    uint32_t links = 2;
    uint32_t homes = 0;
    uint32_t flows = 4;
    double rate = 10e6;
    double homeRate = 25e6;
    double delay = 0.005;
    double rtt = 0.02;
    uint32_t limit = 50;
    std::string queue = "droptail";
    std::string control = "newreno";
    double duration = 60.0;
    double warmup = 10.0;
    double startMax = 0.1;
    uint32_t seed = 1;
};

struct Builder
{
    Settings config;
    InternetStackHelper internet;
    Ipv4AddressHelper address;
    TrafficControlHelper none;
    Ptr<UniformRandomVariable> starts;
    std::vector<Ptr<PacketSink>> sinks;
    std::vector<Ptr<PointToPointNetDevice>> devices;

    Ptr<Node> Router()
    {
        Ptr<Node> node = CreateObject<Node>();
        internet.Install(node);
        return node;
    }

    Ptr<QueueDisc> Discipline(double rate)
    {
        const std::string type = config.queue == "droptail"   ? "Fifo"
                                 : config.queue == "codel"    ? "CoDel"
                                 : config.queue == "fq_codel" ? "FqCoDel"
                                                              : "Pie";
        ObjectFactory disc("ns3::" + type + "QueueDisc");
        // One more packet waits in the device.
        disc.Set("MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, config.limit - 1)));
        if (type == "FqCoDel")
        {
            disc.Set("Flows", UintegerValue(kBuckets));
        }
        return disc.Create<QueueDisc>();
    }

    // A link whose way there has the queue, and whose way back is fast.
    void Link(Ptr<Node> from, Ptr<Node> to, double rate, double delay)
    {
        PointToPointHelper link;
        // The rate pays for the bytes that the device adds, so that a full packet takes 8 * 1500 / rate.
        const auto paid = uint64_t(std::llround(rate * (kPacket + kPpp) / kPacket));
        link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(paid)));
        link.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
        NetDeviceContainer pair = link.Install(from, to);
        auto back = DynamicCast<PointToPointNetDevice>(pair.Get(1));
        back->SetDataRate(DataRate(kAccessRate));
        back->GetQueue()->SetMaxSize(QueueSize("1000000p"));
        from->GetObject<TrafficControlLayer>()->SetRootQueueDiscOnDevice(pair.Get(0), Discipline(rate));
        address.NewNetwork();
        address.Assign(pair);
        none.Uninstall(pair.Get(1));
        devices.push_back(DynamicCast<PointToPointNetDevice>(pair.Get(0)));
    }

    // A host at a router; its address.
    std::pair<Ptr<Node>, Ipv4Address> Host(Ptr<Node> router)
    {
        PointToPointHelper access;
        access.SetDeviceAttribute("DataRate", StringValue(kAccessRate));
        access.SetChannelAttribute("Delay", TimeValue(Seconds(config.rtt / 4.0)));
        access.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000000p"));
        Ptr<Node> node = CreateObject<Node>();
        internet.Install(node);
        NetDeviceContainer pair = access.Install(router, node);
        address.NewNetwork();
        Ipv4InterfaceContainer interfaces = address.Assign(pair);
        none.Uninstall(pair);
        return {node, interfaces.GetAddress(1)};
    }

    void Flow(Ptr<Node> at, Ptr<Node> to, uint32_t segment)
    {
        Ptr<Node> source = Host(at).first;
        const auto [target, where] = Host(to);
        const TypeId control = config.control == "cubic" ? TcpCubic::GetTypeId() : TcpNewReno::GetTypeId();
        source->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", TypeIdValue(control));
        auto app = CreateObject<BulkSendApplication>();
        app->SetAttribute("SendSize", UintegerValue(segment));
        app->SetAttribute("Protocol", TypeIdValue(TcpSocketFactory::GetTypeId()));
        app->SetAttribute("Remote", AddressValue(InetSocketAddress(where, 5000)));
        source->AddApplication(app);
        app->SetStartTime(Seconds(starts->GetValue()));
        auto sink = CreateObject<PacketSink>();
        sink->SetAttribute("Protocol", TypeIdValue(TcpSocketFactory::GetTypeId()));
        sink->SetAttribute("Local", AddressValue(InetSocketAddress(Ipv4Address::GetAny(), 5000)));
        target->AddApplication(sink);
        sink->SetStartTime(Seconds(0.0));
        sinks.push_back(sink);
    }
};

} // namespace

int
main(int argc, char* argv[])
{
    Builder world;
    Settings& config = world.config;
    CommandLine cmd;
    cmd.AddValue("links", "bottlenecks in a row, with a flow over all and one over each", config.links);
    cmd.AddValue("homes", "in place of the row: homes behind one link of the rate", config.homes);
    cmd.AddValue("flows", "downloads of each home", config.flows);
    cmd.AddValue("rate", "bit/s of each link, or of the one before the homes, in IP bytes", config.rate);
    cmd.AddValue("home_rate", "bit/s of a home's line", config.homeRate);
    cmd.AddValue("delay", "s of each link", config.delay);
    cmd.AddValue("rtt", "s, base round trip beside the links", config.rtt);
    cmd.AddValue("limit", "packets that may wait", config.limit);
    cmd.AddValue("queue", "droptail, codel, fq_codel, pie", config.queue);
    cmd.AddValue("control", "newreno or cubic", config.control);
    cmd.AddValue("duration", "s", config.duration);
    cmd.AddValue("warmup", "s", config.warmup);
    cmd.AddValue("start_max", "s, starts are uniform below it", config.startMax);
    cmd.AddValue("seed", "run number of the random generator", config.seed);
    cmd.Parse(argc, argv);
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(config.seed);

    // Timestamps take 12 bytes of the segment, so that packets stay as long.
    const uint32_t segment = kPacket - 52;
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4000000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4000000));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(1.0)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));

    world.address.SetBase("10.0.0.0", "255.255.255.252");
    world.starts = CreateObject<UniformRandomVariable>();
    world.starts->SetAttribute("Min", DoubleValue(0.0));
    world.starts->SetAttribute("Max", DoubleValue(config.startMax));
    std::vector<Ptr<Node>> routers = {world.Router()};
    if (config.homes == 0)
    {
        for (uint32_t i = 0; i < config.links; ++i)
        {
            routers.push_back(world.Router());
            world.Link(routers[i], routers[i + 1], config.rate, config.delay);
        }
        world.Flow(routers.front(), routers.back(), segment);
        for (uint32_t i = 0; i < config.links; ++i)
        {
            world.Flow(routers[i], routers[i + 1], segment);
        }
    }
    else
    {
        routers.push_back(world.Router());
        world.Link(routers[0], routers[1], config.rate, config.delay);
        for (uint32_t i = 0; i < config.homes; ++i)
        {
            Ptr<Node> home = world.Router();
            world.Link(routers[1], home, config.homeRate, config.delay);
            for (uint32_t j = 0; j < config.flows; ++j)
            {
                world.Flow(routers[0], home, segment);
            }
        }
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    uint64_t sent = 0;
    for (const auto& device : world.devices)
    {
        device->TraceConnectWithoutContext(
            "PhyTxBegin",
            Callback<void, Ptr<const Packet>>([&sent](Ptr<const Packet>) { ++sent; }));
    }
    std::vector<uint64_t> begin(world.sinks.size());
    if (config.duration > 0)
    {
        Simulator::Schedule(Seconds(config.warmup), [&] {
            for (size_t i = 0; i < world.sinks.size(); ++i)
            {
                begin[i] = world.sinks[i]->GetTotalRx();
            }
        });
    }
    Simulator::Stop(Seconds(config.duration));
    Simulator::Run();
    std::cout << std::setprecision(10) << "{\"sent\": " << sent << ", \"goodput_mbps\": [";
    const double span = config.duration - config.warmup;
    for (size_t i = 0; i < world.sinks.size() && span > 0; ++i)
    {
        std::cout << (i ? ", " : "") << 8e-6 * double(world.sinks[i]->GetTotalRx() - begin[i]) / span;
    }
    std::cout << "]}" << std::endl;
    Simulator::Destroy();
    return 0;
}
