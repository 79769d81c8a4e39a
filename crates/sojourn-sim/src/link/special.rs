//! What few links do to their packets, or note of them. All others see with one look that they have none of it.

use crate::Packet;
use crate::grants::Grants;
use crate::noise::{Fate, NoisyWire};
use crate::packets::{PacketEvent, PacketLog};
use crate::tokens::Tokens;
use sojourn_core::{Stream, Time};
use sojourn_queue::framing::Framing;
use sojourn_scenario::Remark;

/// What a link may have beside a queue and a wire.
#[derive(Default, Debug)]
pub struct Special {
    /// Rows of packets, where they are wanted.
    pub log: Option<PacketLog>,
    /// What it writes into packets before the queue, where it does.
    pub remark: Option<Remark>,
    /// What drops packets before the queue, where anything does.
    pub policer: Option<Tokens>,
    /// When its packets may be sent, where they wait for grants.
    pub grants: Option<Grants>,
    /// What keeps packets in the queue, where anything does.
    pub shaper: Option<Tokens>,
    /// What packets occupy on the wire, where it is not what IP sees.
    pub framing: Option<Framing>,
    /// Impulse noise, where it may do harm.
    pub noise: Option<NoisyWire>,
    /// Since when the packet on the wire is there.
    pub(crate) taken_at: Time,
    /// Random loss after transmission: probability and stream.
    pub loss: Option<(f64, Stream)>,
}

impl Special {
    /// Whether it does or notes anything.
    pub(super) fn acts(&self) -> bool {
        let before_queue = self.remark.is_some() || self.policer.is_some() || self.grants.is_some();
        let behind_queue =
            self.shaper.is_some() || self.framing.is_some() || self.noise.is_some() || self.loss.is_some();
        before_queue || behind_queue || self.log.is_some()
    }

    /// `packet` as the queue is to see it.
    pub(super) fn remarked(&self, packet: &Packet) -> Packet {
        let Some(remark) = self.remark else { return *packet };
        let (dscp, ecn) = remark.of(packet.dscp, packet.ecn);
        Packet { dscp, ecn, ..*packet }
    }

    /// Adds a row, where rows are wanted.
    pub(super) fn note(&mut self, event: PacketEvent, packet: &Packet, now: Time) {
        if let Some(log) = &mut self.log {
            log.add(event, packet, now);
        }
    }

    /// Whether the policer lets `packet` pass.
    pub(super) fn admits(&mut self, packet: &Packet, now: Time) -> bool {
        self.policer.as_mut().is_none_or(|policer| policer.admit(packet.bytes, now))
    }

    /// So many packets wait `now`.
    pub(super) fn on_backlog(&mut self, packets: usize, now: Time) {
        if let Some(grants) = &mut self.grants {
            grants.on_backlog(packets, now);
        }
    }

    /// Until when nothing may be sent of the `packets` that wait `now`, where something forbids it.
    pub(super) fn holds_back(&mut self, packets: usize, now: Time) -> Option<Time> {
        self.on_backlog(packets, now);
        let granted = self.grants.as_ref().and_then(Grants::next);
        let granted = granted.filter(|&granted| granted > now);
        granted.or_else(|| self.shaper.as_mut().map(|shaper| shaper.free_at(now)).filter(|&free_at| free_at > now))
    }

    /// `packet` leaves the queue for the wire; `packets` wait behind it. The bytes that it occupies there.
    pub(super) fn depart(&mut self, packet: &Packet, packets: usize, now: Time) -> u32 {
        if let Some(grants) = &mut self.grants {
            grants.take();
            grants.on_backlog(packets, now);
        }
        if let Some(shaper) = &mut self.shaper {
            shaper.spend(packet.bytes, now);
        }
        self.note(PacketEvent::Departure, packet, now);
        self.taken_at = now;
        self.framing.map_or(packet.bytes, |framing| framing.bytes(packet.bytes))
    }

    /// When a packet has been sent that would be sent from `now` to `end`.
    pub(super) fn end_of(&mut self, now: Time, end: Time) -> Time {
        self.noise.as_mut().map_or(end, |noise| noise.end_of(now, end))
    }

    /// Whether a packet on the wire may be lost.
    #[inline]
    pub(super) fn may_lose(&self) -> bool {
        self.noise.is_some() || self.loss.is_some()
    }

    /// Whether the packet of `bytes` bytes that was on the wire until `end` is spoilt for good.
    pub(super) fn spoils(&mut self, bytes: u32, end: Time) -> bool {
        self.noise.as_mut().is_some_and(|noise| noise.pass(bytes, self.taken_at, end) == Fate::Lost)
    }

    /// Before when no packet may arrive behind a noisy wire.
    pub(super) fn held_until(&self) -> Option<Time> {
        self.noise.as_ref().map(NoisyWire::held_until)
    }

    /// Whether a packet that has been sent is lost at random.
    pub(super) fn loses_at_random(&mut self) -> bool {
        self.loss.as_mut().is_some_and(|(probability, random)| random.chance(*probability))
    }
}
