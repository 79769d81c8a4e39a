//! The C library's calls that no safe crate offers, each behind a safe function.
//!
//! `as _` stands where glibc and musl have lengths and flags of different types.

use sojourn_core::Span;
use std::fs::{File, OpenOptions};
use std::io::{Error, Result};
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

/// A socket, what it is waited for, and what came of it.
pub type Interest = libc::pollfd;

/// Nanoseconds of CLOCK_MONOTONIC.
pub fn monotonic_nanos() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to; the call cannot fail for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CLOCK_REALTIME less CLOCK_MONOTONIC, in nanoseconds: read once in a process, so that stamps of different captures can be
/// compared, and the narrowest of some readings, since anything may run between two system calls.
pub fn realtime_offset_nanos() -> i64 {
    const READINGS: usize = 20;
    static OFFSET: OnceLock<i64> = OnceLock::new();
    *OFFSET.get_or_init(|| {
        let readings = (0..READINGS).map(|_| realtime_reading());
        readings.min_by_key(|&(width, _)| width).map_or(0, |(_, offset)| offset)
    })
}

/// How long a reading of both clocks took, and their difference.
fn realtime_reading() -> (u64, i64) {
    let before = monotonic_nanos();
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as above.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut time) };
    let width = monotonic_nanos() - before;
    (width, time.tv_sec * 1_000_000_000 + time.tv_nsec - (before + width / 2) as i64)
}

/// The number of the interface `name`.
pub fn interface_index(name: &str) -> Result<i32> {
    let name = std::ffi::CString::new(name)?;
    // SAFETY: a string with its final zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(Error::last_os_error()),
        index => Ok(index as i32),
    }
}

/// Has a packet socket get what crosses the interface `index`, in either direction.
pub fn bind_packets(socket: &impl AsRawFd, index: i32) -> Result<()> {
    // SAFETY: the structure consists of integers, for which zero is a valid value.
    let mut address = unsafe { MaybeUninit::<libc::sockaddr_ll>::zeroed().assume_init() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of `address`.
    let result = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

/// Packets that a packet socket had no room for since it was asked before.
pub fn packets_lost(socket: &impl AsRawFd) -> Result<u64> {
    // struct tpacket_stats: packets, drops.
    let mut bytes = [0u8; 8];
    get(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut bytes)?;
    Ok(u64::from(u32::from_ne_bytes([bytes[4], bytes[5], bytes[6], bytes[7]])))
}

/// Has this thread's sleeps end when they should, and not up to 50 us later as by default, so that others may wake too.
pub fn wake_on_time() -> Result<()> {
    // SAFETY: a plain number, in nanoseconds; no memory is involved.
    if unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) } < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

/// Sleeps until a socket of `set` is ready or `patience` is over; returns whether any is ready. Without patience it
/// only looks.
pub fn wait(set: &mut [Interest], patience: Span) -> Result<bool> {
    let nanos = patience.as_nanos();
    let timeout = libc::timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 };
    // SAFETY: pointer and length are of the same slice; a null signal mask leaves the mask as it is.
    let count =
        unsafe { libc::ppoll(set.as_mut_ptr(), set.len() as libc::nfds_t, &raw const timeout, std::ptr::null()) };
    if count < 0 { Err(Error::last_os_error()) } else { Ok(count > 0) }
}

/// `fd` as something to wait for until it can be read.
pub fn readable(fd: &impl AsRawFd) -> Interest {
    Interest { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 }
}

/// A file of one's own for what `fd` is open for; without waiting in any of its calls.
pub fn duplicate(fd: RawFd) -> Result<File> {
    // SAFETY: plain numbers; the kernel checks `fd`.
    let own = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
    if own < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the kernel has just made it for this call alone.
    let file = unsafe { File::from_raw_fd(own) };
    // SAFETY: plain numbers.
    if unsafe { libc::fcntl(own, libc::F_SETFL, libc::O_NONBLOCK) } < 0 {
        return Err(Error::last_os_error());
    }
    Ok(file)
}

/// The first eight bytes of `file` as a number that all processes share which map it. It stays mapped until the process
/// ends.
pub fn shared_word(file: &Path) -> Result<&'static AtomicU64> {
    let file = OpenOptions::new().read(true).write(true).open(file)?;
    if file.metadata()?.len() < size_of::<AtomicU64>() as u64 {
        return Err(Error::other("the file has less than 8 bytes"));
    }
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at a place that the kernel chooses; no memory of this process is touched.
    let place = unsafe {
        libc::mmap(std::ptr::null_mut(), size_of::<AtomicU64>(), access, libc::MAP_SHARED, file.as_raw_fd(), 0)
    };
    if place == libc::MAP_FAILED {
        return Err(Error::last_os_error());
    }
    // SAFETY: the mapping begins at a page, which is aligned enough, has the size of the number, is never unmapped, and is
    // only used as an atomic number. Whoever cuts the file short makes the process end, as a missing page does.
    Ok(unsafe { &*place.cast::<AtomicU64>() })
}

/// What the kernel says of a TCP connection; `None` for what an older kernel does not say.
#[derive(Clone, Copy, Debug)]
pub struct TcpInfo {
    /// Whether the congestion state is Loss, which a timeout begins.
    pub in_loss: bool,
    /// Timeouts of the segment that is first in line, so far.
    pub consecutive_timeouts: u8,
    /// Payload bytes of a segment that it sends.
    pub segment_bytes: u32,
    /// Segments that were sent and not acknowledged.
    pub unacknowledged: u32,
    /// Smoothed round-trip time; zero before the first sample.
    pub rtt: Span,
    /// Congestion window in segments.
    pub cwnd_packets: u32,
    /// Segments sent again.
    pub retransmissions: u32,
    /// Segments sent, those without payload included.
    pub segments_out: u32,
    /// Bytes that were written and not sent yet.
    pub unsent_bytes: u32,
    /// Payload bytes sent, those that were sent again included.
    pub sent_bytes: u64,
    /// Payload bytes acknowledged, with one for the SYN and one for the FIN as in Linux.
    pub acked_bytes: u64,
    /// Retransmission timeouts (Linux 6.7).
    pub timeouts: Option<u16>,
}

/// Places in `struct tcp_info` of include/uapi/linux/tcp.h: a kernel fills as much as it knows.
mod place {
    pub const CA_STATE: usize = 1;
    pub const RETRANSMITS: usize = 2;
    pub const SND_MSS: usize = 16;
    pub const UNACKED: usize = 24;
    pub const RTT_MICROS: usize = 68;
    pub const SND_CWND: usize = 80;
    pub const TOTAL_RETRANS: usize = 100;
    pub const BYTES_ACKED: usize = 120;
    pub const SEGS_OUT: usize = 136;
    pub const NOTSENT_BYTES: usize = 144;
    pub const BYTES_SENT: usize = 200;
    pub const TOTAL_RTO: usize = 240;
    /// TCP_CA_Loss.
    pub const LOSS: u8 = 4;
}

/// Asks the kernel about a connection.
pub fn tcp_info(socket: &impl AsRawFd) -> Result<TcpInfo> {
    let mut bytes = [0u8; 256];
    let length = get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
    let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|index| bytes[at + index]));
    let long = |at: usize| u64::from_ne_bytes(std::array::from_fn(|index| bytes[at + index]));
    Ok(TcpInfo {
        in_loss: bytes[place::CA_STATE] == place::LOSS,
        consecutive_timeouts: bytes[place::RETRANSMITS],
        segment_bytes: word(place::SND_MSS),
        unacknowledged: word(place::UNACKED),
        rtt: Span::from_micros(u64::from(word(place::RTT_MICROS))),
        cwnd_packets: word(place::SND_CWND),
        retransmissions: word(place::TOTAL_RETRANS),
        segments_out: word(place::SEGS_OUT),
        unsent_bytes: word(place::NOTSENT_BYTES),
        sent_bytes: long(place::BYTES_SENT),
        acked_bytes: long(place::BYTES_ACKED),
        timeouts: (length >= place::TOTAL_RTO + 2)
            .then(|| u16::from_ne_bytes([bytes[place::TOTAL_RTO], bytes[place::TOTAL_RTO + 1]])),
    })
}

/// Reads an option into `bytes`; how many the kernel wrote.
fn get(socket: &impl AsRawFd, level: i32, name: i32, bytes: &mut [u8]) -> Result<usize> {
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which is the length of `bytes`.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, bytes.as_mut_ptr().cast(), &raw mut length) };
    if result < 0 { Err(Error::last_os_error()) } else { Ok(length as usize) }
}

/// Sets an option that is an integer.
pub fn set(socket: &impl AsRawFd, level: i32, name: i32, value: i32) -> Result<()> {
    // SAFETY: the kernel reads the bytes of `value`, whose size is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

/// Bytes for control messages of one datagram: a time stamp and a TOS byte, with their headers.
const CONTROL_BYTES: usize = 64;

/// Room for many datagrams, so that one system call takes or gives them all.
#[derive(Debug)]
pub struct Batch {
    slot_bytes: usize,
    data: Vec<u8>,
    control: Vec<Control>,
    seen: Vec<Datagram>,
}

#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

/// What is known of a datagram.
#[derive(Clone, Copy, Default, Debug)]
pub struct Datagram {
    /// Bytes that it had, which may be more than a slot holds.
    pub bytes: usize,
    /// The TOS byte or traffic class it came with, where the socket asked for it.
    pub tos: Option<u8>,
    /// When the kernel got it, nanoseconds of CLOCK_REALTIME, where the socket asked for it.
    pub stamp_nanos: Option<u64>,
    /// Who sent it, for IPv4: address and port.
    pub from: Option<std::net::SocketAddrV4>,
    /// Of a packet socket: whether it was leaving.
    pub outgoing: bool,
}

impl Batch {
    /// Room for `slots` datagrams of `slot_bytes` each.
    pub fn new(slots: usize, slot_bytes: usize) -> Batch {
        Batch {
            slot_bytes,
            data: vec![0; slots * slot_bytes],
            control: vec![Control([0; CONTROL_BYTES]); slots],
            seen: Vec::with_capacity(slots),
        }
    }

    /// Takes what has arrived at `socket`, as much as there is room for, without waiting; how many.
    pub fn receive(&mut self, socket: &impl AsRawFd) -> Result<usize> {
        self.seen.clear();
        let slots = self.control.len();
        let mut names = vec![MaybeUninit::<libc::sockaddr_storage>::zeroed(); slots];
        let mut pieces: Vec<libc::iovec> = self
            .data
            .chunks_mut(self.slot_bytes)
            .map(|slot| libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() })
            .collect();
        let mut headers: Vec<libc::mmsghdr> = (0..slots)
            .map(|slot| {
                let mut header = empty_header();
                header.msg_hdr.msg_name = names[slot].as_mut_ptr().cast();
                header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
                header.msg_hdr.msg_iov = &raw mut pieces[slot];
                header.msg_hdr.msg_iovlen = 1;
                header.msg_hdr.msg_control = self.control[slot].0.as_mut_ptr().cast();
                header.msg_hdr.msg_controllen = CONTROL_BYTES as _;
                header
            })
            .collect();
        // SAFETY: every header points at memory of this function or of `self`, with its length, and all of it outlives
        // the call.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                slots as u32,
                (libc::MSG_DONTWAIT | libc::MSG_TRUNC) as _,
                std::ptr::null_mut(),
            )
        };
        if count < 0 {
            return Err(Error::last_os_error());
        }
        for (header, name) in headers[..count as usize].iter().zip(&names) {
            // SAFETY: all zeros is a valid sockaddr_storage, and the kernel may have written over it.
            let name = unsafe { name.assume_init_ref() };
            self.seen.push(datagram(header, name));
        }
        Ok(count as usize)
    }

    /// The datagrams that were taken, with as many of their bytes as a slot holds.
    pub fn iter(&self) -> impl Iterator<Item = (&Datagram, &[u8])> {
        let slots = self.data.chunks(self.slot_bytes);
        self.seen.iter().zip(slots).map(|(seen, slot)| (seen, &slot[..seen.bytes.min(slot.len())]))
    }
}

fn empty_header() -> libc::mmsghdr {
    // SAFETY: the structure consists of integers and pointers, for which zero is a valid value.
    unsafe { MaybeUninit::<libc::mmsghdr>::zeroed().assume_init() }
}

fn datagram(header: &libc::mmsghdr, name: &libc::sockaddr_storage) -> Datagram {
    let mut seen = Datagram { bytes: header.msg_len as usize, ..Datagram::default() };
    match i32::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: the kernel wrote a sockaddr_in, as the family says, and the storage is large and aligned enough.
            let address = unsafe { &*std::ptr::from_ref(name).cast::<libc::sockaddr_in>() };
            let ip = u32::from_be(address.sin_addr.s_addr).into();
            seen.from = Some(std::net::SocketAddrV4::new(ip, u16::from_be(address.sin_port)));
        }
        libc::AF_PACKET => {
            // SAFETY: as above, for a sockaddr_ll.
            let address = unsafe { &*std::ptr::from_ref(name).cast::<libc::sockaddr_ll>() };
            seen.outgoing = address.sll_pkttype == libc::PACKET_OUTGOING;
        }
        _ => {}
    }
    // SAFETY: the kernel filled the header and its control messages, which are still there; the macros stay within
    // msg_controllen, and data is read without asking for alignment.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(&raw const header.msg_hdr);
        while let Some(control) = message.as_ref() {
            let data = libc::CMSG_DATA(message);
            match (control.cmsg_level, control.cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_TOS) => seen.tos = Some(data.read()),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => seen.tos = Some(data.cast::<i32>().read_unaligned() as u8),
                (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS) => {
                    let time = data.cast::<libc::timespec>().read_unaligned();
                    seen.stamp_nanos = Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
                }
                _ => {}
            }
            message = libc::CMSG_NXTHDR(&raw const header.msg_hdr, message);
        }
    }
    seen
}

/// Sends datagrams over the connected `socket`, each with its TOS byte, without waiting; how many the kernel took.
pub fn send_all(socket: &impl AsRawFd, datagrams: &[(Vec<u8>, u8)]) -> Result<usize> {
    let mut controls = vec![Control([0; CONTROL_BYTES]); datagrams.len()];
    let mut pieces: Vec<libc::iovec> = datagrams
        .iter()
        .map(|(data, _)| libc::iovec { iov_base: data.as_ptr().cast_mut().cast(), iov_len: data.len() })
        .collect();
    let mut headers: Vec<libc::mmsghdr> = Vec::with_capacity(datagrams.len());
    for (slot, (_, tos)) in datagrams.iter().enumerate() {
        let mut header = empty_header();
        header.msg_hdr.msg_iov = &raw mut pieces[slot];
        header.msg_hdr.msg_iovlen = 1;
        header.msg_hdr.msg_control = controls[slot].0.as_mut_ptr().cast();
        // SAFETY: the control buffer is aligned and larger than one message with an integer; the macros stay in it.
        unsafe {
            header.msg_hdr.msg_controllen = libc::CMSG_SPACE(size_of::<i32>() as u32) as _;
            let message = libc::CMSG_FIRSTHDR(&raw const header.msg_hdr);
            (*message).cmsg_level = libc::IPPROTO_IP;
            (*message).cmsg_type = libc::IP_TOS;
            (*message).cmsg_len = libc::CMSG_LEN(size_of::<i32>() as u32) as _;
            libc::CMSG_DATA(message).cast::<i32>().write_unaligned(i32::from(*tos));
        }
        headers.push(header);
    }
    // SAFETY: the kernel only reads what the headers point at, all of which outlives the call.
    let count = unsafe {
        libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), headers.len() as u32, libc::MSG_DONTWAIT as _)
    };
    if count < 0 { Err(Error::last_os_error()) } else { Ok(count as usize) }
}
