// One stage of a probe of `sojourn detect` over a queue discipline of ns-3.37. Prints what the two ends log, a line for each packet.
//
//   ns3_probe --key=value ... < flows          (--help lists the keys)
//
// A line of the input is a flow:
//   datagrams START STOP SIZE COUNT EVERY REPEAT    trains of COUNT datagrams of SIZE bytes (IP), REPEAT times (0: until STOP)
//   greedy START STOP                               CUBIC with ECN of ns-3's TCP, packets of 1500 bytes
//
// A line of the output is a packet: flow, ns when sent, ns when received (-1: never), bytes (IP), 1 where it came with CE.
// Times of the input are in s, rates in bit/s.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cmath>
#include <cstdint>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t kFull = 1500;    // bytes, IP
constexpr uint32_t kIp = 20;        // bytes of header
constexpr uint32_t kDatagram = 28;  // bytes, IPv4 + UDP
constexpr uint32_t kSegment = 1448; // bytes: a full packet less IPv4, TCP and timestamps
constexpr uint32_t kNoData = 60;    // a packet of TCP that is no longer bears no data
constexpr uint32_t kPpp = 2;        // bytes that PointToPointNetDevice adds to every packet
constexpr uint32_t kBuffer = 1 << 24;
constexpr uint16_t kPort = 5000;
constexpr const char* kAccessRate = "100Gbps";

struct Seen
{
    uint32_t flow;
    int64_t sent;
    int64_t received;
    uint32_t bytes;
    bool marked;
};

std::vector<Seen> g_log;

// The place of a packet in the log. It stays with the packet through all headers.
class Place : public Tag
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("Place").SetParent<Tag>().AddConstructor<Place>();
        return id;
    }

    TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

    uint32_t GetSerializedSize() const override
    {
        return 4;
    }

    void Serialize(TagBuffer buffer) const override
    {
        buffer.WriteU32(place);
    }

    void Deserialize(TagBuffer buffer) override
    {
        place = buffer.ReadU32();
    }

    void Print(std::ostream& out) const override
    {
        out << place;
    }

    uint32_t place = 0;
};

// Called with what an IP header is put before.
void
Sent(const Ipv4Header& header, Ptr<const Packet> packet, uint32_t)
{
    const uint32_t bytes = packet->GetSize() + kIp;
    uint16_t port = 0;
    if (header.GetProtocol() == UdpL4Protocol::PROT_NUMBER)
    {
        UdpHeader udp;
        packet->PeekHeader(udp);
        port = udp.GetDestinationPort();
    }
    else
    {
        TcpHeader tcp;
        packet->PeekHeader(tcp);
        port = tcp.GetDestinationPort();
        if (bytes <= kNoData)
        {
            return;
        }
    }
    Place tag;
    tag.place = g_log.size();
    packet->AddByteTag(tag);
    g_log.push_back({uint32_t(port - kPort), Simulator::Now().GetNanoSeconds(), -1, bytes, false});
}

void
Received(const Ipv4Header& header, Ptr<const Packet> packet, uint32_t)
{
    Place tag;
    if (!packet->FindFirstMatchingByteTag(tag))
    {
        return;
    }
    Seen& seen = g_log.at(tag.place);
    seen.received = Simulator::Now().GetNanoSeconds();
    seen.marked = header.GetEcn() == Ipv4Header::ECN_CE;
}

// Trains of datagrams.
struct Datagrams
{
    Ptr<Socket> socket;
    double stop;
    uint32_t bytes;
    uint32_t count;
    double every;
    uint32_t left;

    void Send()
    {
        if (Simulator::Now().GetSeconds() >= stop)
        {
            return;
        }
        for (uint32_t i = 0; i < count; ++i)
        {
            socket->Send(Create<Packet>(bytes - kDatagram));
        }
        if (left != 1)
        {
            left -= left > 0;
            Simulator::Schedule(Seconds(every), &Datagrams::Send, this);
        }
    }
};

// The discipline with the attributes that are named; all others have the defaults of ns-3.
Ptr<QueueDisc>
Discipline(const std::string& name, const std::string& attributes)
{
    ObjectFactory disc("ns3::" + name + "QueueDisc");
    std::istringstream each(attributes);
    for (std::string one; std::getline(each, one, ',');)
    {
        const size_t at = one.find('=');
        NS_ABORT_MSG_IF(at == std::string::npos, "'" << one << "' is no NAME=VALUE");
        disc.Set(one.substr(0, at), StringValue(one.substr(at + 1)));
    }
    return disc.Create<QueueDisc>();
}

} // namespace

int
main(int argc, char* argv[])
{
    double rate = 10e6;
    double rtt = 0.03;
    double duration = 1.0;
    std::string disc = "Fifo";
    std::string attributes;
    uint32_t seed = 1;
    CommandLine cmd;
    cmd.AddValue("rate", "bit/s, bottleneck, counted in bytes of full IP packets", rate);
    cmd.AddValue("rtt", "s, base round trip", rtt);
    cmd.AddValue("duration", "s", duration);
    cmd.AddValue("disc", "queue discipline, without ns3:: and QueueDisc", disc);
    cmd.AddValue("set", "its attributes: NAME=VALUE,...", attributes);
    cmd.AddValue("seed", "run number of the random generator", seed);
    cmd.Parse(argc, argv);
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(seed);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", EnumValue(TcpSocketState::On));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegment));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(kBuffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(kBuffer));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));

    NodeContainer nodes; // sender, router, receiver
    nodes.Create(3);
    InternetStackHelper internet;
    internet.Install(nodes);
    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue(kAccessRate));
    access.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000000p"));
    NetDeviceContainer near = access.Install(nodes.Get(0), nodes.Get(1));
    PointToPointHelper line;
    line.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(std::llround(rate * (kFull + kPpp) / kFull)))));
    line.SetChannelAttribute("Delay", TimeValue(Seconds(rtt / 2)));
    // A device takes the packet that it sends, and one more.
    line.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    NetDeviceContainer far = line.Install(nodes.Get(1), nodes.Get(2));
    auto back = DynamicCast<PointToPointNetDevice>(far.Get(1));
    back->SetDataRate(DataRate(kAccessRate));
    back->GetQueue()->SetMaxSize(QueueSize("1000000p"));
    nodes.Get(1)->GetObject<TrafficControlLayer>()->SetRootQueueDiscOnDevice(far.Get(0), Discipline(disc, attributes));
    Ipv4AddressHelper address;
    address.SetBase("10.0.0.0", "255.255.255.252");
    address.Assign(near);
    address.NewNetwork();
    const Ipv4Address receiver = address.Assign(far).GetAddress(1);
    TrafficControlHelper none;
    none.Uninstall(near);
    none.Uninstall(far.Get(1));
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    nodes.Get(0)->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext("SendOutgoing", MakeCallback(&Sent));
    nodes.Get(2)->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext("LocalDeliver", MakeCallback(&Received));

    std::vector<std::unique_ptr<Datagrams>> trains;
    std::vector<double> ends;
    for (std::string text; std::getline(std::cin, text);)
    {
        std::istringstream words(text);
        std::string kind;
        double start = 0.0;
        double stop = 0.0;
        words >> kind >> start >> stop;
        const InetSocketAddress remote(receiver, kPort + ends.size());
        auto sink = CreateObject<PacketSink>();
        const bool greedy = kind == "greedy";
        const TypeId protocol = greedy ? TcpSocketFactory::GetTypeId() : UdpSocketFactory::GetTypeId();
        sink->SetAttribute("Protocol", TypeIdValue(protocol));
        sink->SetAttribute("Local", AddressValue(InetSocketAddress(Ipv4Address::GetAny(), remote.GetPort())));
        nodes.Get(2)->AddApplication(sink);
        if (greedy)
        {
            auto bulk = CreateObject<BulkSendApplication>();
            bulk->SetAttribute("SendSize", UintegerValue(kSegment));
            bulk->SetAttribute("Remote", AddressValue(remote));
            bulk->SetAttribute("Protocol", TypeIdValue(protocol));
            nodes.Get(0)->AddApplication(bulk);
            bulk->SetStartTime(Seconds(start));
        }
        else
        {
            auto own = std::make_unique<Datagrams>();
            own->stop = stop;
            words >> own->bytes >> own->count >> own->every >> own->left;
            own->socket = Socket::CreateSocket(nodes.Get(0), protocol);
            own->socket->Connect(remote);
            Simulator::Schedule(Seconds(start), &Datagrams::Send, own.get());
            trains.push_back(std::move(own));
        }
        NS_ABORT_MSG_IF(words.fail(), "'" << text << "' is no flow");
        ends.push_back(stop);
    }
    Simulator::Stop(Seconds(duration));
    Simulator::Run();
    for (const Seen& one : g_log)
    {
        // What a flow of TCP sends after its end, out of its buffer, is no part of the probe.
        if (one.sent < int64_t(ends.at(one.flow) * 1e9))
        {
            std::cout << one.flow << ',' << one.sent << ',' << one.received << ',' << one.bytes << ',' << one.marked << '\n';
        }
    }
    Simulator::Destroy();
    return 0;
}
