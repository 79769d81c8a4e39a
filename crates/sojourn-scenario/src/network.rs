//! A chain of links, written as a network.

use crate::{Direction, Scenario, Which};

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
        if self.air().is_some() {
            return Err(
                "a medium that stations share is the bottleneck: its stations have no nodes of their own".to_owned()
            );
        }
        if let Some(group) = self.groups.iter().find(|group| group.enters.is_some()) {
            return Err(format!(
                "the data of {:?} enters at {:?}, and its acknowledgements return to where the chain begins",
                group.name,
                group.enters.as_deref().unwrap_or_default()
            ));
        }
        let mut network = self.clone();
        // All groups of a chain take the same links each way.
        let group = &self.groups[0];
        let (there, back) = (&group.route(0).there, &group.route(0).back);
        let [forward, reverse] = match group.direction {
            Direction::Forward => [there, back],
            Direction::Reverse => [back, there],
        };
        let (first, last) = (node(0), node(forward.len()));
        let mut next = 0;
        for &which in forward {
            network.put(which, node(next), node(next + 1));
            next += 1;
        }
        let mut at = last.clone();
        for (place, &which) in reverse.iter().enumerate() {
            next += 1;
            let to = if place + 1 == reverse.len() { first.clone() } else { node(next) };
            network.put(which, std::mem::replace(&mut at, to.clone()), to);
        }
        for group in &mut network.groups {
            let (from, to) = match group.direction {
                Direction::Forward => (&first, &last),
                Direction::Reverse => (&last, &first),
            };
            (group.keys.from, group.keys.to) = (Some(from.clone()), Some(to.clone()));
        }
        Ok(network)
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
