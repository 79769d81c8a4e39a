//! Where packets come from and go to: a TUN device, or UDP sockets whose datagrams are taken for packets.

use crate::forwarding::{Entrance, Exits};
use sojourn_wire::{Interest, readable};
use std::fs::File;
use std::io::{Read, Result, Write};
use std::net::SocketAddr;

/// One end of the path. What it gives and takes begins with the prefix of a device (`struct virtio_net_hdr`).
#[derive(Debug)]
pub enum End {
    /// A device that gives and takes IP packets, each behind its prefix.
    Device(File),
    /// A socket that others send to.
    Local(Entrance),
    /// Sockets that are connected to where datagrams go, one for each that sends.
    Remote(Exits),
}

impl End {
    /// Both ends of a path for datagrams to `local`, which go on to `remote`.
    ///
    /// # Errors
    /// What the system says of an address.
    pub fn forwarding(local: SocketAddr, remote: SocketAddr) -> Result<[End; 2]> {
        Ok([End::Local(Entrance::open(local, remote)?), End::Remote(Exits::new(remote))])
    }

    /// Reads what has come next into `room`; its bytes.
    ///
    /// # Errors
    /// [`std::io::ErrorKind::WouldBlock`] where nothing has come; what the system says.
    pub fn read(&mut self, room: &mut [u8]) -> Result<usize> {
        match self {
            End::Device(file) => file.read(room),
            End::Local(entrance) => entrance.read(room),
            End::Remote(exits) => exits.read(room),
        }
    }

    /// Hands on a packet.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&mut self, packet: &[u8]) -> Result<usize> {
        match self {
            End::Device(file) => file.write(packet),
            End::Local(entrance) => entrance.write(packet),
            End::Remote(exits) => exits.write(packet),
        }
    }

    /// Adds what it may be read from to `all`.
    pub fn add_to(&self, all: &mut Vec<Interest>) {
        match self {
            End::Device(file) => all.push(readable(file)),
            End::Local(entrance) => all.push(readable(entrance.socket())),
            End::Remote(exits) => all.extend(exits.sockets().map(readable)),
        }
    }
}
