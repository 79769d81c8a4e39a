//! One end of a TCP connection of smoltcp as an endpoint of Sojourn. Its datagrams are IP packets.

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use sojourn_endpoint::{Ecn, Endpoint, Span, Time};
use std::collections::VecDeque;

const CLIENT: IpAddress = IpAddress::v4(10, 0, 0, 1);
const SERVER: IpAddress = IpAddress::v4(10, 0, 0, 2);
const PORTS: [u16; 2] = [40_000, 5_001];
const MTU: usize = 1500;
/// More than a path of 20 Mbit/s, 40 ms and 100 packets holds, so that nothing but the congestion window is to hold a sender back.
const BUFFER_BYTES: usize = 262_144;
static CHUNK: [u8; 65_536] = [0; 65_536];

/// The packets between smoltcp and the path.
#[derive(Default)]
struct Packets {
    arrived: VecDeque<Vec<u8>>,
    leaving: VecDeque<Vec<u8>>,
}

struct Arrived(Vec<u8>);

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(&self.0)
    }
}

struct Leaving<'a>(&'a mut VecDeque<Vec<u8>>);

impl TxToken for Leaving<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, bytes: usize, write: F) -> R {
        let mut packet = vec![0; bytes];
        let result = write(&mut packet);
        self.0.push_back(packet);
        result
    }
}

impl Device for Packets {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Leaving<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Arrived, Leaving<'_>)> {
        Some((Arrived(self.arrived.pop_front()?), Leaving(&mut self.leaving)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Leaving<'_>> {
        Some(Leaving(&mut self.leaving))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = MTU;
        capabilities
    }
}

/// One end.
pub struct Smoltcp {
    packets: Packets,
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    /// What is left to send; nothing of a server.
    left: Option<u64>,
    delivered_bytes: u64,
    due: Time,
}

impl Smoltcp {
    fn new(address: IpAddress, left: Option<u64>, seed: u64) -> Smoltcp {
        let mut packets = Packets::default();
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut packets, Instant::from_micros(0));
        interface.update_ip_addrs(|all| all.push(IpCidr::new(address, 24)).expect("room for one address"));
        let buffer = || SocketBuffer::new(vec![0; BUFFER_BYTES]);
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(Socket::new(buffer(), buffer()));
        Smoltcp { packets, interface, sockets, handle, left, delivered_bytes: 0, due: Time::ZERO }
    }

    /// A server that counts what it is sent.
    pub fn server(seed: u64) -> Smoltcp {
        let mut server = Smoltcp::new(SERVER, Some(0), seed);
        server.socket().listen(PORTS[1]).expect("a port that is free");
        server.due = Time::NEVER;
        server
    }

    /// A client that sends so many bytes, or without end.
    pub fn client(control: CongestionControl, bytes: Option<u64>, seed: u64) -> Smoltcp {
        let mut client = Smoltcp::new(CLIENT, bytes, seed);
        client.socket().set_congestion_control(control);
        let Smoltcp { interface, sockets, handle, .. } = &mut client;
        let socket = sockets.get_mut::<Socket<'_>>(*handle);
        socket.connect(interface.context(), (SERVER, PORTS[1]), PORTS[0]).expect("a socket that is closed");
        client
    }

    fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.handle)
    }

    /// Deals with what has arrived and is due, and lets the application write and read.
    fn poll(&mut self, now: Time) {
        let now = Instant::from_micros((now.as_nanos() / 1_000) as i64);
        self.write();
        self.interface.poll(now, &mut self.packets, &mut self.sockets);
        self.read();
        self.write();
        self.interface.poll(now, &mut self.packets, &mut self.sockets);
        let at = self.interface.poll_at(now, &self.sockets);
        self.due = at.map_or(Time::NEVER, |at| Time::ZERO + Span::from_micros(at.max(now).total_micros() as u64));
    }

    fn write(&mut self) {
        let mut left = self.left;
        let socket = self.socket();
        while left != Some(0) && socket.can_send() {
            let most = left.map_or(CHUNK.len(), |left| CHUNK.len().min(left as usize));
            let taken = socket.send_slice(&CHUNK[..most]).unwrap_or(0);
            left = left.map(|left| left - taken as u64);
        }
        self.left = left;
    }

    fn read(&mut self) {
        let socket = self.socket();
        let mut bytes = 0;
        while socket.can_recv() {
            bytes += socket.recv(|found| (found.len(), found.len())).unwrap_or(0);
        }
        self.delivered_bytes += bytes as u64;
    }
}

impl Endpoint for Smoltcp {
    fn receive(&mut self, now: Time, _: Ecn, datagram: &[u8]) {
        self.packets.arrived.push_back(datagram.to_vec());
        self.poll(now);
    }

    fn write(&mut self, now: Time, bytes: u64) {
        self.left = self.left.map(|left| left + bytes);
        self.poll(now);
    }

    fn wake(&mut self, now: Time) {
        self.poll(now);
    }

    fn next_wake(&self) -> Time {
        self.due
    }

    fn transmit(&mut self, _: Time, room: &mut Vec<u8>) -> Option<Ecn> {
        *room = self.packets.leaving.pop_front()?;
        Some(Ecn::NotEct)
    }

    fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }

    fn header_bytes(&self) -> u32 {
        0
    }
}
