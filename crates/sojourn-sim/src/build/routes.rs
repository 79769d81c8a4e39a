//! The routes of a scenario's flows, and what each link is to them.

use crate::link::{Link, Step};
use crate::network::place;
use sojourn_core::Optional;
use sojourn_scenario::{Direction, Group, Route, Scenario, Which};
use std::collections::HashMap;

/// The links that packets cross which travel forward, and those in reverse.
type Ways = [Vec<usize>; 2];

/// The routes of all flows, each once.
#[derive(Default, Debug)]
pub struct Routes {
    numbers: HashMap<(Ways, Option<u32>), u32>,
    all: Vec<Known>,
}

#[derive(Debug)]
struct Known {
    ways: Ways,
    /// The links of which flows are told how long their data waits, by its way.
    mains: [Option<usize>; 2],
    /// The route that it takes the place of, where a change makes it.
    before: Option<u32>,
}

impl Routes {
    /// The number of `route`, which flows of `group` take: from the start, or after a change in place of the route `before`.
    pub fn number(&mut self, scenario: &Scenario, group: &Group, route: &Route, before: Option<u32>) -> u32 {
        let places = |links: &[Which]| links.iter().map(|&link| place(scenario, link)).collect();
        let ways = match group.direction {
            Direction::Forward => [places(&route.there), places(&route.back)],
            Direction::Reverse => [places(&route.back), places(&route.there)],
        };
        let next = self.all.len() as u32;
        let number = *self.numbers.entry((ways.clone(), before)).or_insert(next);
        if number == next {
            self.all.push(Known { ways, mains: [None; 2], before });
        }
        self.all[number as usize].mains[group.direction as usize] = route.main.map(|link| place(scenario, link));
        number
    }

    /// The first link of each way of a route, where there is one.
    pub fn entrances(&self, route: u32) -> [Optional; 2] {
        [0, 1].map(|way| self.all[route as usize].ways[way].first().map(|&link| link as u32).into())
    }

    /// Tells all links where packets go behind them. Stations' links, from `first_station` on, lie side by side, and the first
    /// one stands for the one that a packet takes.
    pub fn lay(&self, links: &mut [Link], first_station: usize) {
        let mut steps: Vec<Vec<(u32, Step)>> = vec![Vec::new(); links.len()];
        for number in 0..self.all.len() {
            for (link, step) in self.steps(number) {
                steps[link].push((number as u32, step));
            }
        }
        for (index, link) in links.iter_mut().enumerate() {
            link.lay(&steps[index.min(first_station)]);
        }
    }

    /// What each link is to the route `number`. Packets that are under way when a route changes go on by the one before, up to
    /// where they meet the new one.
    fn steps(&self, number: usize) -> HashMap<usize, Step> {
        let known = &self.all[number];
        let mut steps = known.before.map_or_else(HashMap::new, |before| self.steps(before as usize));
        for way in [Direction::Forward, Direction::Reverse] {
            let crossed = &known.ways[way as usize];
            for (place, &link) in crossed.iter().enumerate() {
                let next = crossed.get(place + 1).map(|&next| next as u32).into();
                let is_main = known.mains[way as usize] == Some(link);
                steps.insert(link, Step { next, way, is_main });
            }
        }
        steps
    }
}
