//! Any of the media: what is the same about them for those above.

use crate::cell::{self, Cell};
use crate::wifi::{self, Wifi};
use crate::{Above, AirTime, Device, Tally};
use sojourn_core::registry::{Descriptor, ParameterError, Params};
use sojourn_core::{Rate, Span, Stream, Time};
use sojourn_queue::Dscp;

/// The state of a medium.
#[derive(Debug)]
pub enum Medium<B> {
    /// An access point and its stations.
    Wifi(Box<Wifi<B>>),
    /// A cell of LTE or 5G.
    Cell(Box<Cell<B>>),
}

/// How a medium is set up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Setup {
    /// An access point and its stations.
    Wifi(wifi::Setup),
    /// A cell of LTE or 5G.
    Cell(cell::Setup),
}

/// A station of a medium.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Station {
    /// Of an access point.
    Wifi(wifi::Station),
    /// Of a cell.
    Cell(cell::Station),
}

/// The names of all media, those that were left out included.
pub const NAMES: [&str; 3] = ["wifi", "lte", "5g"];

impl Setup {
    /// What media there are.
    pub const DESCRIPTORS: &'static [&'static Descriptor] = &[&wifi::DESCRIPTOR, &cell::LTE, &cell::NR];

    /// The medium that `params` of one of the [descriptors](Setup::DESCRIPTORS) describe.
    ///
    /// # Errors
    /// Where the standard does not have what they ask for.
    pub fn new(params: &Params) -> Result<Setup, ParameterError> {
        if !std::ptr::eq(params.descriptor(), &raw const wifi::DESCRIPTOR) {
            return Ok(Setup::Cell(cell::Setup::new(params)?));
        }
        Ok(Setup::Wifi(wifi::Setup::new(params)?))
    }

    /// How many queues a device that sends to so many receivers has.
    pub fn queues(&self, receivers: usize) -> usize {
        match self {
            Setup::Wifi(setup) => setup.queues(receivers),
            Setup::Cell(_) => receivers,
        }
    }

    /// What `station` gets where it is alone, for packets of `packet_bytes` as IP sees them; none where it is a station of
    /// another medium.
    pub fn nominal_rate(&self, station: &Station, packet_bytes: u32) -> Option<Rate> {
        match (self, station) {
            (Setup::Wifi(setup), Station::Wifi(station)) => Some(setup.nominal_rate(&station.mode, packet_bytes)),
            (Setup::Cell(setup), Station::Cell(station)) => Some(setup.nominal_rate(station, packet_bytes)),
            _ => None,
        }
    }

    /// The medium before anything happens, with those of `stations` that are its own. `stream` makes a random stream of a
    /// device and a name.
    pub fn build<B: Copy>(self, stations: &[Station], stream: impl Fn(Device, &str) -> Stream) -> Medium<B> {
        match self {
            Setup::Wifi(setup) => {
                let own = stations.iter().filter_map(Station::as_wifi).collect();
                Medium::Wifi(Box::new(Wifi::new(setup, own, stream)))
            }
            Setup::Cell(setup) => {
                let own: Vec<_> = stations.iter().filter_map(Station::as_cell).collect();
                Medium::Cell(Box::new(Cell::new(setup, &own, stream)))
            }
        }
    }
}

impl Station {
    /// As a station of an access point.
    pub fn as_wifi(&self) -> Option<wifi::Station> {
        match self {
            Station::Wifi(station) => Some(*station),
            Station::Cell(_) => None,
        }
    }

    /// As a station of a cell.
    pub fn as_cell(&self) -> Option<cell::Station> {
        if let Station::Cell(station) = self { Some(*station) } else { None }
    }
}

/// Does `$work` with whichever medium `$medium` is.
macro_rules! with {
    ($medium:expr, $one:ident => $work:expr) => {
        match $medium {
            Medium::Wifi($one) => $work,
            Medium::Cell($one) => $work,
        }
    };
}

impl<B: Copy> Medium<B> {
    /// How many stations there are.
    pub fn stations(&self) -> usize {
        with!(self, medium => medium.stations())
    }

    /// How many queues `device` has.
    pub fn queues(&self, device: Device) -> usize {
        with!(self, medium => medium.queues(device))
    }

    /// The queue of `device` for packets with `dscp` that are for `station`, or come from it.
    pub fn queue_of(&self, device: Device, station: usize, dscp: Dscp) -> usize {
        match self {
            Medium::Wifi(wifi) => wifi.queue_of(device, station, dscp),
            Medium::Cell(cell) => cell.queue_of(device, station),
        }
    }

    /// When it wants [`act`](Medium::act) to be called next.
    pub fn next(&self) -> Time {
        with!(self, medium => medium.next())
    }

    /// Something has come to queue `queue` of `device`, or may leave it now.
    pub fn offer(&mut self, device: Device, queue: usize, now: Time, above: &mut impl Above<B>) {
        match self {
            Medium::Wifi(wifi) => wifi.offer(device, queue, now, above),
            Medium::Cell(cell) => cell.offer(device, queue, now),
        }
    }

    /// What happens [now](Medium::next).
    pub fn act(&mut self, now: Time, above: &mut impl Above<B>) {
        with!(self, medium => medium.act(now, above));
    }

    /// Packets that have left a queue of `device` and not reached the other side.
    pub fn packets(&self, device: Device) -> usize {
        with!(self, medium => medium.packets(device))
    }

    /// What `device` has done.
    pub fn tally(&self, device: Device) -> &Tally {
        with!(self, medium => medium.tally(device))
    }

    /// Air time that `station` has used.
    pub fn air_time(&self, station: usize) -> AirTime {
        with!(self, medium => medium.air_time(station))
    }

    /// Time during which the medium was in use: the air of WiFi, the downlink of a cell.
    pub fn busy(&self) -> Span {
        with!(self, medium => medium.busy())
    }
}
