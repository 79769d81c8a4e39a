//! What is heard of calls: when each packet is played, as the playout buffer of the engine's own receiver has it, and
//! the opinion over time that goes with it.

use sojourn_core::{Span, Time};
use sojourn_scenario::{Scenario, Traffic, Voip};
use sojourn_sim::{PacketEvent, PacketLog};
use sojourn_traffic::e_model;
use sojourn_traffic::voip::{Call, Tally};

/// Speech on which one opinion rests.
const WINDOW: Span = Span::from_secs(2);

/// One direction of a call from its sender's packets to its receiver's ear.
#[derive(Debug)]
struct Ear<'a> {
    voip: &'a Voip,
    group: f64,
    index: f64,
    call: Call,
    packets: Vec<Spoken>,
}

/// A packet of a call.
#[derive(Debug)]
struct Spoken {
    number: u32,
    sent: Time,
    /// When it arrived, and how many ms after it was sent it is to be played.
    arrived: Option<(Time, f64)>,
}

/// What is heard of all calls, as columns.
#[derive(Default, Debug)]
pub struct Heard {
    /// One row for each packet whose fate is known, in the order of speaking: group, index in the group, when it was
    /// spoken, when it arrived (NaN: lost) and when it is played (NaN: lost or late), in s.
    pub packets: [Vec<f64>; 5],
    /// One row for each [`WINDOW`]: group, index in the group, its start in s, and the mean opinion score (NaN: unknown).
    pub opinions: [Vec<f64>; 4],
}

/// What is heard of the calls of `scenario` in a run with these packets.
pub fn heard(packets: &PacketLog, scenario: &Scenario) -> Heard {
    let mut ears = ears(scenario);
    if ears.iter().all(Option::is_none) {
        return Heard::default();
    }
    for row in &packets.rows {
        let Some(ear) = ears.get_mut(row.packet.flow as usize).and_then(Option::as_mut) else { continue };
        let number = row.packet.body.number;
        match row.event {
            PacketEvent::Send => ear.packets.push(Spoken { number, sent: row.time, arrived: None }),
            PacketEvent::Receive => {
                let playout_ms = ear.call.on_packet(row.sojourn);
                if let Ok(place) = ear.packets.binary_search_by_key(&number, |packet| packet.number) {
                    ear.packets[place].arrived = Some((row.time, playout_ms));
                }
            }
            _ => {}
        }
    }
    let mut heard = Heard::default();
    ears.iter().flatten().for_each(|ear| ear.tell(&mut heard));
    heard
}

/// The ears of connections that are calls, by the simulator's number of the connection.
fn ears(scenario: &Scenario) -> Vec<Option<Ear<'_>>> {
    let mut ears = Vec::new();
    for (group, number) in scenario.groups.iter().zip(0_u32..) {
        for index in 0..group.flows {
            match &group.traffic {
                Traffic::Voip(voip) => ears.push(Some(Ear {
                    voip,
                    group: f64::from(number),
                    index: f64::from(index),
                    call: Call::new(voip),
                    packets: Vec::new(),
                })),
                traffic => ears.extend((0..traffic.connections()).map(|_| None)),
            }
        }
    }
    ears
}

impl Ear<'_> {
    /// Adds the packets and the opinions of this call.
    fn tell(&self, heard: &mut Heard) {
        // What was sent after the last packet that arrived may still be under way when the run ends.
        let known = self.packets.iter().rposition(|packet| packet.arrived.is_some()).map_or(0, |last| last + 1);
        let packets = &self.packets[..known];
        let codec = self.voip.codec_delay();
        for packet in packets {
            let (arrived, played) = packet.arrived.map_or((f64::NAN, f64::NAN), |(arrived, playout_ms)| {
                let played_s = packet.sent.as_secs_f64() + playout_ms / 1e3;
                (arrived.as_secs_f64(), if packet.is_late() { f64::NAN } else { played_s })
            });
            let spoken_s = packet.sent.as_secs_f64() - codec.as_secs_f64();
            add(&mut heard.packets, [self.group, self.index, spoken_s, arrived, played]);
        }
        let Some(first) = packets.first() else { return };
        let window = |packet: &Spoken| packet.sent.since(first.sent).as_nanos() / WINDOW.as_nanos();
        for spoken in packets.chunk_by(|one, other| window(one) == window(other)) {
            let opinion = self.opinion(spoken).unwrap_or(f64::NAN);
            add(&mut heard.opinions, [self.group, self.index, spoken[0].sent.as_secs_f64(), opinion]);
        }
    }

    /// The opinion on what was spoken in these packets, by the rules of the run's record.
    fn opinion(&self, packets: &[Spoken]) -> Option<f64> {
        let mut tally = Tally::default();
        for (packet, playout_ms) in packets.iter().filter_map(|packet| Some((packet, packet.arrived?.1))) {
            tally.arrived += 1;
            tally.late += u64::from(packet.is_late());
            tally.mouth_to_ear += self.voip.codec_delay().as_millis_f64() + playout_ms;
        }
        let lost = packets.len() as u64 - tally.arrived;
        Some(e_model::opinion(tally.rating(self.voip.quality?, self.voip.echo, lost)?))
    }
}

impl Spoken {
    fn is_late(&self) -> bool {
        self.arrived.is_some_and(|(arrived, playout_ms)| arrived.since(self.sent).as_millis_f64() > playout_ms)
    }
}

fn add<const N: usize>(columns: &mut [Vec<f64>; N], row: [f64; N]) {
    columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
}
