//! Where packets go behind a link on which several routes lie that part there.

use sojourn_core::Optional;
use sojourn_scenario::Direction;

/// What a link is to a route: the way of a plain link's packets holds for all of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    /// The next link, where there is one.
    pub next: Optional,
    /// Which way its packets travel.
    pub way: Direction,
    /// Whether its flows are told how long their data waits here.
    pub is_main: bool,
}

/// The steps of all routes of which a link is a part.
#[derive(Debug)]
pub struct Forks {
    /// The first of these routes. Routes that share a link mostly stand together.
    first: u32,
    /// For each route from the first on.
    steps: Vec<Step>,
}

impl Forks {
    /// Of routes with these numbers, in ascending order, at least one. Those in between cross another link.
    pub fn new(routes: &[(u32, Step)]) -> Forks {
        let (first, step) = routes[0];
        let (last, _) = routes[routes.len() - 1];
        let mut steps = vec![step; (last - first + 1) as usize];
        routes.iter().for_each(|&(route, step)| steps[(route - first) as usize] = step);
        Forks { first, steps }
    }

    /// That of a route of which the link is a part.
    #[inline]
    pub fn of(&self, route: u32) -> Step {
        self.steps[(route - self.first) as usize]
    }
}
