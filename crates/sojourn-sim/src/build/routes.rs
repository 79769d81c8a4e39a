//! The routes of a scenario's flows, and what each link is to them.

use crate::link::{Link, Step};
use crate::network::place;
use sojourn_core::Optional;
use sojourn_scenario::{Direction, Group, Route, Scenario, Which};
use std::collections::HashMap;

/// The links that packets cross which travel forward, and those in reverse.
type Ways = [Vec<usize>; 2];
/// Links with what they are to a route.
type Steps = Vec<(usize, Step)>;

/// The routes of all flows, each once.
#[derive(Default, Debug)]
pub struct Routes {
    numbers: HashMap<(Ways, Steps), u32>,
    all: Vec<Known>,
}

#[derive(Debug)]
struct Known {
    ways: Ways,
    /// The links of which flows are told how long their data waits, by its way.
    mains: [Option<usize>; 2],
    /// Other links, on which packets were under way when it took the place of a route: they go on by that one, up to where they
    /// meet this one.
    others: Steps,
}

impl Routes {
    /// The number of `route`, which flows of `group` take: from the start, or after a change in place of the route `before`.
    pub fn number(&mut self, scenario: &Scenario, group: &Group, route: &Route, before: Option<u32>) -> u32 {
        let places = |links: &[Which]| links.iter().map(|&link| place(scenario, link)).collect();
        let ways = match group.direction {
            Direction::Forward => [places(&route.there), places(&route.back)],
            Direction::Reverse => [places(&route.back), places(&route.there)],
        };
        let before = before.into_iter().flat_map(|before| self.steps(before as usize));
        let mut others: Steps = before.filter(|(link, _)| !ways.iter().flatten().any(|own| own == link)).collect();
        others.sort_unstable_by_key(|&(link, _)| link);
        let next = self.all.len() as u32;
        // Routes that change to and fro are soon the same again.
        let number = *self.numbers.entry((ways.clone(), others.clone())).or_insert(next);
        if number == next {
            self.all.push(Known { ways, mains: [None; 2], others });
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

    /// What each link is to the route `number`.
    fn steps(&self, number: usize) -> impl Iterator<Item = (usize, Step)> {
        let Known { ways, mains, others } = &self.all[number];
        let own = [Direction::Forward, Direction::Reverse].into_iter().flat_map(move |way| {
            let crossed = &ways[way as usize];
            crossed.iter().enumerate().map(move |(place, &link)| {
                let next = crossed.get(place + 1).map(|&next| next as u32).into();
                (link, Step { next, way, is_main: mains[way as usize] == Some(link) })
            })
        });
        own.chain(others.iter().copied())
    }
}
