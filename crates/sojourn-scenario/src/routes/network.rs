//! Links between nodes, and the shortest ways over them.

#[cfg(test)]
mod tests;

use super::{NUMBER, Wrong, link, named, shown};
use crate::derived::mean_rate;
use crate::diagnostic::{Fault, nearest};
use crate::fields::{Fields, Item};
use crate::stations::{self, has_air};
use crate::{Route, Which};
use sojourn_core::Rate;
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::iter::repeat;

/// A link between two nodes.
#[derive(Debug)]
struct Edge<'f> {
    name: Cow<'f, str>,
    which: Which,
    from: usize,
    to: usize,
    /// The station at its end on a medium that stations share.
    station: Option<usize>,
}

/// The nodes and links of a scenario.
#[derive(Debug)]
pub(crate) struct Network<'f> {
    scenario: &'f Fields,
    nodes: Vec<Cow<'f, str>>,
    numbers: HashMap<Cow<'f, str>, usize>,
    edges: Vec<Edge<'f>>,
    /// The edges that a path can name: those that have no station.
    by_name: HashMap<Cow<'f, str>, usize>,
    /// The edges that leave each node, in the order of the file.
    leaving: Vec<Vec<usize>>,
    /// Whether no way leads back to any node.
    is_one_way: bool,
}

/// What is known of the ways from one node, or to one.
#[derive(Debug)]
enum Search {
    /// The last edge of the way to each node.
    From(Vec<Option<usize>>),
    /// How many edges lead from each node.
    To(Vec<usize>),
}

impl Search {
    /// Whether it tells the way between `ends`, made for that between `last`.
    fn serves(&self, last: [usize; 2], ends: [usize; 2]) -> bool {
        match self {
            Search::From(_) => last[0] == ends[0],
            Search::To(_) => last[1] == ends[1],
        }
    }
}

/// The last search, and the way that it was made for.
#[derive(Default, Debug)]
struct Searches {
    last: Option<([usize; 2], Search)>,
}

/// A flow of a group, to which names with a `*` are dealt out.
#[derive(Clone, Copy, Debug)]
struct Turn<'c> {
    flow: u64,
    /// How many nodes or links there are, numbered from 0, of each name with a `*`.
    counts: &'c HashMap<&'c str, u64>,
}

impl Turn<'_> {
    /// What `text` names for the flow among `known`; the name where there is no such thing.
    fn find(&self, text: &str, known: &HashMap<Cow<'_, str>, usize>) -> Result<usize, String> {
        let number = match self.counts.get(text) {
            None => return known.get(text).copied().ok_or_else(|| text.to_owned()),
            Some(&count) => self.flow.checked_rem(count).unwrap_or(0),
        };
        let name = numbered(text, number);
        known.get(name.as_str()).copied().ok_or(name)
    }
}

/// The name `text` of what has a number.
fn numbered(text: &str, number: u64) -> String {
    text.replacen(NUMBER, &number.to_string(), 1)
}

fn unknown<'n>(key: &'static str, name: &str, what: &str, names: impl Iterator<Item = &'n str>) -> Wrong {
    let names: Vec<_> = names.collect();
    let meant = nearest(name, names.iter().copied());
    (key, Fault::near(format!("{name:?}, which is no {what}"), meant), shown(names))
}

impl<'f> Network<'f> {
    /// Of the links that say both nodes.
    pub fn of(scenario: &'f Fields) -> Network<'f> {
        let mut network = Network {
            scenario,
            nodes: Vec::new(),
            numbers: HashMap::new(),
            edges: Vec::new(),
            by_name: HashMap::new(),
            leaving: Vec::new(),
            is_one_way: false,
        };
        for (name, which, link) in named(scenario) {
            let Some((from, to)) = link.text("from").zip(link.text("to")) else { continue };
            network.by_name.insert(Cow::Borrowed(name), network.edges.len());
            network.connect(Cow::Borrowed(name), which, [Cow::Borrowed(from), Cow::Borrowed(to)], None);
        }
        network.add_stations();
        network.is_one_way = network.has_no_cycle();
        network
    }

    /// Adds a link to and from each station of a medium that stations share.
    fn add_stations(&mut self) {
        let scenario = self.scenario;
        let Some(hub) = scenario.table("bottleneck").filter(|_| has_air(scenario)).and_then(|link| link.text("from"))
        else {
            return;
        };
        for (station, name) in scenario.tables("station").iter().flat_map(stations::names).enumerate() {
            let (hub, name) = (Cow::Borrowed(hub), Cow::Owned::<str>(name));
            let ends = [hub.clone(), name.clone()];
            self.connect(Cow::Borrowed("bottleneck"), Which::Bottleneck, ends, Some(station));
            self.connect(name.clone(), Which::Station, [name, hub], Some(station));
        }
    }

    fn connect(&mut self, name: Cow<'f, str>, which: Which, ends: [Cow<'f, str>; 2], station: Option<usize>) {
        let [from, to] = ends.map(|end| self.node(end));
        self.leaving[from].push(self.edges.len());
        self.edges.push(Edge { name, which, from, to, station });
    }

    fn node(&mut self, name: Cow<'f, str>) -> usize {
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.nodes.push(name.clone());
            self.leaving.push(Vec::new());
            self.nodes.len() - 1
        })
    }

    /// Whether the nodes can be put in an order in which all links lead on (Kahn's algorithm).
    fn has_no_cycle(&self) -> bool {
        let mut coming = vec![0; self.nodes.len()];
        self.edges.iter().for_each(|edge| coming[edge.to] += 1);
        let mut ready: Vec<_> = (0..self.nodes.len()).filter(|&node| coming[node] == 0).collect();
        let mut passed = 0;
        while let Some(node) = ready.pop() {
            passed += 1;
            for &edge in &self.leaving[node] {
                let to = self.edges[edge].to;
                coming[to] -= 1;
                if coming[to] == 0 {
                    ready.push(to);
                }
            }
        }
        passed == self.nodes.len()
    }

    /// The routes of the flows of `group`: one for all of them, or one for each.
    pub fn routes(&self, group: &Fields) -> Result<Vec<Route>, Wrong> {
        let named =
            |keys: [&'static str; 2], known| keys.into_iter().flat_map(move |key| texts(group, key).zip(repeat(known)));
        let dealt = named(["from", "to"], &self.numbers).chain(named(["path", "back"], &self.by_name));
        let count = |text: &str, known: &HashMap<Cow<'_, str>, usize>| {
            (0u64..).take_while(|&number| known.contains_key(numbered(text, number).as_str())).count() as u64
        };
        let dealt = dealt.filter(|(text, _)| text.contains(NUMBER));
        let counts: HashMap<&str, u64> = dealt.map(|(text, known)| (text, count(text, known))).collect();
        let flows = if counts.is_empty() { 1 } else { group.integer("flows").unwrap_or(1) };
        let mut known: HashMap<[usize; 2], [Vec<usize>; 2]> = HashMap::new();
        let (mut there_found, mut back_found) = (Searches::default(), Searches::default());
        (0..flows)
            .map(|flow| {
                let turn = Turn { flow, counts: &counts };
                let given = [self.path(group, "path", turn)?, self.path(group, "back", turn)?];
                let ends = self.ends(group, turn, &given)?;
                if given.iter().all(Option::is_none)
                    && let Some([there, back]) = known.get(&ends)
                {
                    return self.route(there, back);
                }
                let is_given = given.iter().any(Option::is_some);
                let [there, back] = given;
                let there = match there {
                    Some(there) => there,
                    None => self.shortest(&mut there_found, ends).ok_or_else(|| self.no_way(ends, "to"))?,
                };
                let [from, to] = ends;
                let back = match back.or_else(|| self.shortest(&mut back_found, [to, from])) {
                    Some(back) => back,
                    None if self.is_one_way => Vec::new(),
                    None => return Err(self.no_way([to, from], "from")),
                };
                let route = self.route(&there, &back)?;
                if !is_given {
                    known.insert(ends, [there, back]);
                }
                Ok(route)
            })
            .collect()
    }

    /// The route over these edges. The link that flows are told about is the bottleneck or the return link, or else the slowest.
    fn route(&self, there: &[usize], back: &[usize]) -> Result<Route, Wrong> {
        let mut stations = there.iter().chain(back).filter_map(|&edge| self.edges[edge].station);
        let station = stations.next();
        if let Some((one, other)) = station.zip(stations.find(|&other| station != Some(other))) {
            let name =
                |station| self.edges.iter().find(|edge| edge.station == Some(station) && edge.which == Which::Station);
            let [one, other] = [one, other].map(|station| name(station).map_or("", |edge| &edge.name));
            let found = Fault::new(format!("a way over the stations {one:?} and {other:?}"));
            return Err(("to", found, "one station of the medium on each way".to_owned()));
        }
        let links = |edges: &[usize]| edges.iter().map(|&edge| self.edges[edge].which).collect::<Vec<_>>();
        let there = links(there);
        let rate = |which: &Which| {
            let rate = link(*which, self.scenario).and_then(|link| mean_rate(link, self.scenario));
            rate.map_or(u64::MAX, Rate::bits_per_second)
        };
        let focus = there.iter().find(|which| !matches!(which, Which::Hop(_)));
        let main = focus.or_else(|| there.iter().min_by_key(|which| rate(which))).copied();
        Ok(Route { there, back: links(back), main, station })
    }

    /// The nodes at which a flow of `group` begins and ends.
    fn ends(&self, group: &Fields, turn: Turn<'_>, given: &[Option<Vec<usize>>; 2]) -> Result<[usize; 2], Wrong> {
        let [there, back] = given.each_ref().map(|path| path.as_ref().map(|path| self.ends_of(path)));
        let of_path = there.or(back.map(|[from, to]| [to, from]));
        let end = |key: &'static str, place: usize| match (group.text(key), of_path) {
            (Some(name), _) => turn
                .find(name, &self.numbers)
                .map_err(|exact| unknown(key, &exact, "node", self.nodes.iter().map(Cow::as_ref))),
            (None, Some(ends)) => Ok(ends[place]),
            (None, None) => {
                Err((key, Fault::new("nothing"), "the name of a node, since the links form a network".to_owned()))
            }
        };
        let ends = [end("from", 0)?, end("to", 1)?];
        if ends[0] == ends[1] {
            let found = Fault::new(format!("{:?}, where the group's packets come from", self.nodes[ends[1]]));
            return Err(("to", found, "another node".to_owned()));
        }
        for (key, path, wanted) in [("path", there, ends), ("back", back, [ends[1], ends[0]])] {
            if let Some(path) = path.filter(|&path| path != wanted) {
                let found = format!("links from {:?} to {:?}", self.nodes[path[0]], self.nodes[path[1]]);
                let allowed = format!("links from {:?} to {:?}", self.nodes[wanted[0]], self.nodes[wanted[1]]);
                return Err((key, Fault::new(found), allowed));
            }
        }
        Ok(ends)
    }

    fn ends_of(&self, path: &[usize]) -> [usize; 2] {
        [self.edges[path[0]].from, self.edges[path[path.len() - 1]].to]
    }

    /// The links that `key` of `group` names for a flow, where it does.
    fn path(&self, group: &Fields, key: &'static str, turn: Turn<'_>) -> Result<Option<Vec<usize>>, Wrong> {
        let mut path: Vec<usize> = Vec::new();
        for text in texts(group, key) {
            let names = || self.edges.iter().filter(|edge| edge.station.is_none()).map(|edge| &*edge.name);
            let next = turn.find(text, &self.by_name).map_err(|exact| unknown(key, &exact, "link", names()))?;
            let edge = &self.edges[next];
            if let Some(&last) = path.last()
                && self.edges[last].to != edge.from
            {
                let before = &self.edges[last];
                let found = format!("{:?}, which begins at {:?}", edge.name, self.nodes[edge.from]);
                let allowed = format!("a link from {:?}, where {:?} ends", self.nodes[before.to], before.name);
                return Err((key, Fault::new(found), allowed));
            }
            let passed = path.iter().map(|&edge| self.edges[edge].from).chain([edge.from]);
            if passed.into_iter().any(|node| node == edge.to) {
                let found = format!("{:?}, which leads back to {:?}", edge.name, self.nodes[edge.to]);
                return Err((key, Fault::new(found), "a path that passes each node once".to_owned()));
            }
            path.push(next);
        }
        Ok((!path.is_empty()).then_some(path))
    }

    /// The edges of the shortest way from one node to another, where there is one.
    fn shortest(&self, searches: &mut Searches, ends: [usize; 2]) -> Option<Vec<usize>> {
        let [from, to] = ends;
        let search = match &searches.last {
            Some((last, search)) if search.serves(*last, ends) => search,
            // Many begin at different nodes and end at one.
            Some((last, _)) if last[1] == to => &searches.last.insert((ends, Search::To(self.distances_to(to)))).1,
            _ => &searches.last.insert((ends, Search::From(self.tree(from)))).1,
        };
        let mut way = Vec::new();
        match search {
            Search::From(tree) => {
                let mut node = to;
                while node != from {
                    way.push(tree[node]?);
                    node = self.edges[tree[node]?].from;
                }
                way.reverse();
            }
            Search::To(distances) => {
                let mut node = from;
                while node != to {
                    let closer = |&&edge: &&usize| distances[self.edges[edge].to] < distances[node];
                    way.push(*self.leaving[node].iter().find(closer)?);
                    node = self.edges[way[way.len() - 1]].to;
                }
            }
        }
        Some(way)
    }

    /// The shortest ways from a node to all others: for each the last edge. Of several ways it finds the one whose first
    /// edges stand first.
    fn tree(&self, from: usize) -> Vec<Option<usize>> {
        let mut tree = vec![None; self.nodes.len()];
        let mut next = VecDeque::from([from]);
        while let Some(node) = next.pop_front() {
            for &edge in &self.leaving[node] {
                let to = self.edges[edge].to;
                if to != from && tree[to].is_none() {
                    tree[to] = Some(edge);
                    next.push_back(to);
                }
            }
        }
        tree
    }

    /// How many edges lead from each node to one.
    fn distances_to(&self, to: usize) -> Vec<usize> {
        let mut coming = vec![Vec::new(); self.nodes.len()];
        self.edges.iter().for_each(|edge| coming[edge.to].push(edge.from));
        let mut distances = vec![usize::MAX; self.nodes.len()];
        distances[to] = 0;
        let mut next = VecDeque::from([to]);
        while let Some(node) = next.pop_front() {
            for &before in &coming[node] {
                if distances[before] == usize::MAX {
                    distances[before] = distances[node] + 1;
                    next.push_back(before);
                }
            }
        }
        distances
    }

    fn no_way(&self, [from, to]: [usize; 2], key: &'static str) -> Wrong {
        let (from, to) = (&*self.nodes[from], &*self.nodes[to]);
        let found = Fault::new(format!("no way over links from {from:?} to {to:?}"));
        (key, found, format!("links that lead from {from:?} to {to:?}"))
    }
}

/// The texts of `key`, one or several.
fn texts<'g>(group: &'g Fields, key: &str) -> impl Iterator<Item = &'g str> {
    let items = match group.item(key) {
        Some(Item::List(items)) => items.as_slice(),
        Some(item) => std::slice::from_ref(item),
        None => &[],
    };
    items.iter().filter_map(|item| match item {
        Item::Text(text) => Some(text.as_str()),
        _ => None,
    })
}
