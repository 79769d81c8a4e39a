//! A chain of links, written as a network.

use crate::routes::NUMBER;
use crate::{Direction, Group, Scenario, Which};

impl Scenario {
    /// The same links and flows as a network, in which every link says from which node to which it leads: runs of both leave the
    /// same records. A scenario that is a network already stays as it is.
    ///
    /// # Errors
    /// Why it cannot be written so.
    pub fn as_network(&self) -> Result<Scenario, String> {
        if self.bottleneck.from.is_some() {
            return Ok(self.clone());
        }
        if let Some(group) = self.groups.iter().find(|group| group.enters.is_some()) {
            return Err(format!(
                "the data of {:?} enters at {:?}, and its acknowledgements return to where the chain begins",
                group.name,
                group.enters.as_deref().unwrap_or_default()
            ));
        }
        if self.air().is_some() { self.with_stations() } else { Ok(self.with_ends()) }
    }

    /// A chain from one end to another.
    fn with_ends(&self) -> Scenario {
        let mut network = self.clone();
        let [forward, reverse] = self.ways();
        let last = network.lay(forward, reverse);
        for group in &mut network.groups {
            (group.keys.from, group.keys.to) = match group.direction {
                Direction::Forward => (Some(node(0)), Some(last.clone())),
                Direction::Reverse => (Some(last.clone()), Some(node(0))),
            };
        }
        network
    }

    /// A chain that ends at stations.
    fn with_stations(&self) -> Result<Scenario, String> {
        let mut network = self.clone();
        let [forward, reverse] = self.ways();
        let (forward, reverse) = (&forward[..forward.len() - 1], &reverse[1..]);
        if forward.is_empty() != reverse.is_empty() {
            return Err("there are further links one way only, and what goes the other way crosses none".to_owned());
        }
        network.bottleneck.keys.from = Some(network.lay(forward, reverse));
        for (index, group) in self.groups.iter().enumerate() {
            let station = Some(self.one_name(group)?);
            let keys = &mut network.groups[index].keys;
            (keys.from, keys.to) = match group.direction {
                Direction::Forward => (Some(node(0)), station),
                Direction::Reverse => (station, Some(node(0))),
            };
        }
        Ok(network)
    }

    /// Lays links in a row from the first node on, and others from its end back to the first; that end.
    fn lay(&mut self, forward: &[Which], reverse: &[Which]) -> String {
        for (place, &which) in forward.iter().enumerate() {
            self.put(which, node(place), node(place + 1));
        }
        let last = node(forward.len());
        let mut at = last.clone();
        for (place, &which) in reverse.iter().enumerate() {
            let to = node(if place + 1 == reverse.len() { 0 } else { forward.len() + place + 1 });
            self.put(which, std::mem::replace(&mut at, to.clone()), to);
        }
        last
    }

    /// A name of a node that stands for all stations of a group.
    fn one_name(&self, group: &Group) -> Result<String, String> {
        let names: Vec<_> =
            group.routes.iter().filter_map(|route| Some(self.stations[route.station?].name.as_str())).collect();
        let base = names[0].strip_suffix("-0");
        let numbered = |place: u64| base.map(|base| format!("{base}-{place}"));
        let is_all = (0u64..)
            .map(numbered)
            .map_while(|name| name.filter(|name| self.stations.iter().any(|one| one.name == *name)));
        match (&names[..], base) {
            ([only], _) => Ok((*only).to_owned()),
            (_, Some(base)) if is_all.eq(names.iter().copied()) => Ok(format!("{base}-{NUMBER}")),
            _ => Err(format!(
                "the flows of {:?} have the stations {}, which no name with a * stands for",
                group.name,
                names.join(", ")
            )),
        }
    }

    /// The links of the chain forward and in reverse: all groups take the same.
    fn ways(&self) -> [&[Which]; 2] {
        let group = &self.groups[0];
        let (there, back) = (&group.route(0).there, &group.route(0).back);
        match group.direction {
            Direction::Forward => [there, back],
            Direction::Reverse => [back, there],
        }
    }

    /// Puts a link between two nodes.
    fn put(&mut self, which: Which, from: String, to: String) {
        let keys = match which {
            Which::Bottleneck => &mut self.bottleneck.keys,
            Which::Reverse => &mut self.reverse.as_mut().expect("a link of the chain").keys,
            Which::Hop(index) => {
                self.hops[index].keys.place = None;
                &mut self.hops[index].link.keys
            }
            Which::Station => unreachable!("no link of a chain"),
        };
        (keys.from, keys.to) = (Some(from), Some(to));
    }
}

fn node(number: usize) -> String {
    format!("n{number}")
}
