use super::{Network, Search, Searches};
use crate::{Base, Scenario, Which};
use proptest::prelude::*;

fn scenario(links: &[(usize, usize)]) -> String {
    let mut text = "duration = \"1 s\"\nbottleneck = { rate = \"1 Mbit/s\", from = \"n0\", to = \"n1\" }\n".to_owned();
    for (index, (from, to)) in links.iter().enumerate() {
        text += &format!("[[hop]]\nname = \"l{index}\"\nrate = \"1 Mbit/s\"\nfrom = \"n{from}\"\nto = \"n{to}\"\n");
    }
    text + "[[group]]\nname = \"tcp\"\ncontrol = \"newreno\"\nrtt = \"10 ms\"\nfrom = \"n0\"\nto = \"n1\"\n"
}

/// The names of the links of the only group's data, and of its acknowledgements.
fn route(text: &str) -> Result<[Vec<String>; 2], String> {
    let loaded = Scenario::parse(text, None, &Base::Nowhere, &[]).map_err(|problems| problems.to_string())?;
    let scenario = loaded.scenario;
    let name = |&link: &Which| match link {
        Which::Hop(index) => scenario.hops[index].name.clone(),
        other => format!("{other:?}"),
    };
    let route = scenario.groups[0].route(0);
    Ok([&route.there, &route.back].map(|links| links.iter().map(name).collect()))
}

#[test]
fn the_fewest_links_are_taken_and_of_equal_ways_the_first() {
    // From 0 to 5 over 2 and 3 or 2 and 4: two ways of three links, and one of four.
    let links = [(0, 2), (2, 4), (2, 3), (3, 5), (4, 5), (0, 6), (6, 7), (7, 8), (8, 5)];
    let text = scenario(&links).replace("to = \"n1\"\n[", "to = \"n9\"\n[");
    let text = text.replace("from = \"n0\"\nto = \"n1\"", "from = \"n0\"\nto = \"n5\"");
    let [there, back] = route(&text).expect("a network");
    assert_eq!(there, ["l0", "l1", "l4"]);
    assert!(back.is_empty(), "no link leads back to any node: {back:?}");
}

#[test]
fn a_link_that_leads_back_makes_a_way_back_needed() {
    let text = scenario(&[(1, 2)]);
    assert!(route(&text).is_ok());
    let problem = route(&scenario(&[(1, 2), (2, 1)])).expect_err("2 leads back to 1, and none to 0");
    assert!(problem.contains("no way over links from \"n1\" to \"n0\""), "{problem}");
    let [there, back] = route(&scenario(&[(1, 2), (2, 1), (2, 0)])).expect("a network");
    assert_eq!((there, back), (vec!["Bottleneck".to_owned()], vec!["l0".to_owned(), "l2".to_owned()]));
}

proptest! {
    /// The search from where a flow begins finds the same way as the one from where it ends.
    #[test]
    fn both_searches_find_the_same_way(links in prop::collection::vec((0usize..8, 0usize..8), 0..30)) {
        let links: Vec<_> = links.into_iter().filter(|(from, to)| from != to).collect();
        let mut reporter = crate::diagnostic::Reporter::new("test", &[]);
        let root = crate::source::toml(&scenario(&links), &mut reporter);
        let mut checker = crate::check::Checker { reporter: &mut reporter, base: &Base::Nowhere, groups: &[] };
        let fields = checker.section(&crate::format::SCENARIO, &root, "");
        let network = Network::of(&fields);
        let nodes = network.nodes.len();
        for (from, to) in (0..nodes * nodes).map(|pair| (pair / nodes, pair % nodes)).filter(|(from, to)| from != to) {
            let by = |search| network.shortest(&mut Searches { last: Some(([from, to], search)) }, [from, to]);
            let way = by(Search::From(network.tree(from)));
            prop_assert_eq!(&way, &by(Search::To(network.distances_to(to))));
            let mut at = from;
            for edge in way.iter().flatten() {
                prop_assert_eq!(network.edges[*edge].from, at);
                at = network.edges[*edge].to;
            }
            prop_assert!(way.is_none() || at == to);
        }
    }
}
