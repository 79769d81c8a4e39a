//! Networks: which links packets cross, where routes part, and changes of a route.

use crate::common::{close, group, run, scenario, text};
use sojourn_core::Stream;
use sojourn_scenario::{Base, Scenario, random};

/// Two links in series, a second one beside the last, and a way back over one link.
const TWO_WAYS: &str = "duration = \"10 s\"\n\
    bottleneck = { from = \"a\", to = \"b\", rate = \"10 Mbit/s\" }\n\
    reverse = { from = \"c\", to = \"a\", rate = \"10 Mbit/s\" }\n\
    [[hop]]\nname = \"upper\"\nfrom = \"b\"\nto = \"c\"\nrate = \"4 Mbit/s\"\n\
    [[hop]]\nname = \"lower\"\nfrom = \"b\"\nto = \"c\"\nrate = \"2 Mbit/s\"\n";

fn cbr(name: &str, megabits: f64, keys: &str) -> String {
    let traffic = format!("{{ kind = \"cbr\", rate = \"{megabits} Mbit/s\", packet = \"1000 B\" }}");
    format!("[[group]]\nname = \"{name}\"\nrtt = \"20 ms\"\ntraffic = {traffic}\n{keys}\n")
}

/// The network form of a chain gives the same record.
fn is_the_same(scenario: &Scenario) -> bool {
    let Ok(network) = scenario.as_network() else { return false };
    let loaded = Scenario::parse(&network.to_toml(), None, &Base::Nowhere, &[]);
    let Ok(again) = loaded.map(|loaded| loaded.scenario) else { return false };
    assert!(again.bottleneck.from.is_some());
    assert_eq!(text(&run(&again)), text(&run(scenario)), "{}", scenario.to_toml());
    true
}

#[test]
fn a_chain_is_a_network() {
    let short = |mut one: Scenario| {
        one.keys.duration = one.keys.duration.min(sojourn_core::Span::from_secs(3));
        one.keys.warmup = one.keys.warmup.min(one.keys.duration / 2);
        one
    };
    let ready = sojourn_scenario::ready().iter().filter(|ready| !ready.text.contains("[[change]]"));
    let parsed = ready.map(|ready| Scenario::parse(ready.text, None, &Base::Nowhere, &["duration=3 s".to_owned()]));
    let ready = parsed.filter_map(Result::ok).filter(|one| is_the_same(&one.scenario)).count();
    assert!(ready > 5, "{ready} ready scenarios were compared");
    let seeds = 0..300;
    let compared =
        seeds.filter(|&seed| is_the_same(&short(random::scenario(&mut Stream::new(seed, "network"))))).count();
    assert!(compared > 40, "{compared} random chains were compared");
}

#[test]
fn a_chain_with_stations_is_a_network() {
    let ready = sojourn_scenario::ready().iter().filter(|ready| ready.text.contains("station"));
    let short = ["duration=2 s".to_owned(), "warmup=0 s".to_owned()];
    let parsed = ready.filter_map(|ready| Scenario::parse(ready.text, None, &Base::Nowhere, &short).ok());
    let compared = parsed.filter(|one| one.scenario.air().is_some() && is_the_same(&one.scenario)).count();
    assert!(compared > 5, "{compared} were compared");
    let several = "duration = \"2 s\"\nbottleneck = { medium = \"wifi\" }\n\
        station = [{ name = \"near\", rate = \"mcs7\", count = 2 }, { name = \"far\", rate = \"mcs1\" }]\n";
    let flows = |keys: &str| scenario(&format!("{several}{}", cbr("calls", 1.0, keys)));
    assert!(is_the_same(&flows("station = \"near\"\nflows = 5")));
    assert!(is_the_same(&flows("station = \"far\"\ndirection = \"reverse\"")));
    let refused = flows("station = [\"far\", \"near-0\"]\nflows = 2").as_network();
    assert!(refused.is_err_and(|why| why.contains("far, near-0")));
    let wired = "[[hop]]\nname = \"line\"\nat = \"before\"\nrate = \"10 Mbit/s\"\n";
    let one_way = scenario(&format!("{several}{wired}{}", cbr("calls", 1.0, "station = \"far\""))).as_network();
    assert!(one_way.is_err_and(|why| why.contains("one way only")));
}

/// A home whose air is shared: packets of each station cross the medium and the links beyond it, both ways.
#[test]
fn a_medium_leads_to_its_stations() {
    let home = "duration = \"10 s\"\n\
        bottleneck = { medium = \"wifi\", from = \"gateway\" }\n\
        station = [{ name = \"phone\", rate = \"mcs7\", count = 2 }, { name = \"laptop\", rate = \"mcs3\" }]\n\
        [[hop]]\nname = \"up\"\nfrom = \"gateway\"\nto = \"isp\"\nrate = \"10 Mbit/s\"\n\
        [[hop]]\nname = \"down\"\nfrom = \"isp\"\nto = \"gateway\"\nrate = \"20 Mbit/s\"\n\
        [[hop]]\nname = \"cable\"\nfrom = \"laptop\"\nto = \"gateway\"\nrate = \"100 Mbit/s\"\n";
    let groups = [
        cbr("calls", 1.0, "from = \"isp\"\nto = \"phone-*\"\nflows = 3"),
        cbr("backup", 2.0, "from = \"phone-1\"\nto = \"isp\""),
        // Of two ways of the same length it takes the cable, which stands first in the file; what comes takes the air.
        cbr("wired", 3.0, "from = \"laptop\"\nto = \"isp\""),
        cbr("films", 0.5, "from = \"isp\"\nto = \"laptop\""),
    ];
    let record = run(&scenario(&format!("{home}{}", groups.concat())));
    let packets = |megabits: f64| megabits * 1e6 / 8000.0 * 10.0;
    close(record.bottleneck.arrivals as f64, packets(3.5), 80.0);
    close(record.hops["down"].arrivals as f64, packets(3.5), 80.0);
    close(record.hops["up"].arrivals as f64, packets(5.0), 120.0);
    close(record.hops["cable"].arrivals as f64, packets(3.0), 80.0);
    close(record.stations["phone-1"].uplink.arrivals as f64, packets(2.0), 50.0);
    assert_eq!(record.stations["laptop"].uplink.arrivals, 0);
    close(record.stations["phone-0"].goodput_down_mbps, 2.0 * 972.0 / 1000.0, 0.05);
    close(record.stations["phone-1"].goodput_down_mbps, 972.0 / 1000.0, 0.05);
    close(record.stations["phone-1"].goodput_up_mbps, 2.0 * 972.0 / 1000.0, 0.05);
    close(record.stations["laptop"].goodput_down_mbps, 0.5 * 972.0 / 1000.0, 0.05);
    assert!(record.stations["laptop"].goodput_up_mbps == 0.0);
}

/// Datagrams at constant rates: what enters each link is what the routes say.
#[test]
fn packets_cross_the_links_of_their_route() {
    let groups = [
        cbr("first", 1.0, "from = \"a\"\nto = \"c\""),
        cbr("given", 1.5, "path = [\"bottleneck\", \"lower\"]"),
        cbr("short", 2.0, "from = \"a\"\nto = \"b\"\nback = [\"upper\", \"reverse\"]"),
        cbr("upward", 0.5, "from = \"c\"\nto = \"a\""),
    ];
    let record = run(&scenario(&format!("{TWO_WAYS}{}", groups.concat())));
    let packets = |megabits: f64| megabits * 1e6 / 8000.0 * 10.0;
    close(record.bottleneck.arrivals as f64, packets(4.5), 100.0);
    close(record.hops["upper"].arrivals as f64, packets(1.0), 20.0);
    close(record.hops["lower"].arrivals as f64, packets(1.5), 30.0);
    close(record.reverse.as_ref().unwrap().arrivals as f64, packets(0.5), 10.0);
    for (name, megabits) in [("first", 1.0), ("given", 1.5), ("short", 2.0), ("upward", 0.5)] {
        close(group(&record, name).goodput_mbps, megabits * 972.0 / 1000.0, 0.02);
    }
}

/// Acknowledgements take the way back: where the group says another one, and data of others fills it, they wait there.
#[test]
fn acknowledgements_take_the_way_back() {
    let queue = "queue = { kind = \"droptail\", limit = \"20 packets\" }";
    let text = TWO_WAYS.replace("name = \"upper\"", &format!("name = \"upper\"\n{queue}"));
    let tcp = |keys: &str| format!("[[group]]\nname = \"tcp\"\ncontrol = \"newreno\"\nrtt = \"20 ms\"\n{keys}\n");
    let back = "[[hop]]\nname = \"second\"\nfrom = \"c\"\nto = \"a\"\nrate = \"1 Mbit/s\"\n";
    let run = |keys: &str| run(&scenario(&format!("{text}{back}{}", tcp(keys))));
    let [usual, other] = ["", "back = [\"second\"]"].map(|back| run(&format!("from = \"a\"\nto = \"c\"\n{back}")));
    assert!(usual.hops["second"].arrivals == 0 && usual.reverse.unwrap().arrivals > 1000);
    assert!(other.hops["second"].arrivals > 1000 && other.reverse.unwrap().arrivals == 0);
}

/// A flow that several links hold up is told how long its data waits at the bottleneck, or else at the slowest.
#[test]
fn flows_are_told_of_their_main_link() {
    let bulk = |name: &str, from: &str, to: &str| {
        format!(
            "[[group]]\nname = \"{name}\"\ncontrol = \"newreno\"\nrtt = \"20 ms\"\nfrom = \"{from}\"\nto = \"{to}\"\n"
        )
    };
    let back = "[[hop]]\nname = \"back\"\nfrom = \"c\"\nto = \"b\"\nrate = \"10 Mbit/s\"\n";
    let record = run(&scenario(&format!("{TWO_WAYS}{back}{}{}", bulk("whole", "a", "c"), bulk("last", "b", "c"))));
    close(group(&record, "whole").queue_ms.mean.unwrap(), record.bottleneck.queue_ms.mean.unwrap(), 0.01);
    let upper = record.hops["upper"].queue_ms.mean.unwrap();
    assert!(upper > 50.0, "two flows fill it: {upper}");
    close(group(&record, "last").queue_ms.mean.unwrap(), upper, 0.2 * upper);
}

/// The links of one table have names with numbers, values in turn, and the flows of a group go to one after the other.
#[test]
fn homes_are_dealt_out() {
    let text = "duration = \"5 s\"\n\
        bottleneck = { from = \"server\", to = \"core\", rate = \"100 Mbit/s\" }\n\
        [[hop]]\nname = \"down\"\ncount = 3\nfrom = \"core\"\nto = \"home-*\"\nrate = [\"2 Mbit/s\", \"4 Mbit/s\"]\n";
    let calls = cbr("sent", 0.8, "flows = 4\nfrom = \"server\"\nto = \"home-*\"");
    let scenario = scenario(&format!("{text}{calls}"));
    let rates: Vec<_> =
        scenario.hops.iter().map(|hop| (hop.name.as_str(), hop.link.rate.unwrap().to_string())).collect();
    assert_eq!(rates, [("down-0", "2 Mbit/s".into()), ("down-1", "4 Mbit/s".into()), ("down-2", "2 Mbit/s".into())]);
    let record = run(&scenario);
    let arrivals = [0, 1, 2].map(|home| record.hops[&format!("down-{home}")].arrivals);
    close(arrivals[1] as f64, 500.0, 3.0);
    close(arrivals[2] as f64, 500.0, 3.0);
    close(arrivals[0] as f64, 1000.0, 6.0);
}

/// What is under way when a route changes still arrives, and what comes afterwards takes the new one.
#[test]
fn a_route_changes() {
    let change = "[[change]]\nat = \"5 s\"\ngroup = [{ name = \"sent\", path = [\"bottleneck\", \"lower\"] }]\n\
        [[change]]\nat = \"8 s\"\ngroup = [{ name = \"sent\", path = [\"bottleneck\", \"upper\"] }]\n";
    let sent = cbr("sent", 1.0, "from = \"a\"\nto = \"c\"");
    let text = TWO_WAYS.replace("rate = \"4 Mbit/s\"", "rate = \"4 Mbit/s\"\ndelay = \"1 s\"");
    let record = run(&scenario(&format!("{text}{sent}{change}")));
    close(record.hops["upper"].departures as f64, 125.0 * 7.0, 5.0);
    close(record.hops["lower"].departures as f64, 125.0 * 3.0, 5.0);
    assert_eq!(group(&record, "sent").drop_rate, Some(0.0));
    // The last second of what took the long way has not arrived at the end.
    close(group(&record, "sent").goodput_mbps, 0.972 * 9.0 / 10.0, 0.02);
}

/// A route that flaps for the whole run takes no more room for it.
#[test]
fn a_route_flaps() {
    let change = |at: &str, link: &str| {
        let path = format!("group = [{{ name = \"sent\", path = [\"bottleneck\", \"{link}\"] }}]");
        format!("[[change]]\nat = \"{at}\"\nevery = \"26 ms\"\n{path}\n")
    };
    let changes = format!("{}{}", change("1 ms", "lower"), change("14 ms", "upper"));
    let record = run(&scenario(&format!("{TWO_WAYS}{}{changes}", cbr("sent", 1.0, "from = \"a\"\nto = \"c\""))));
    close(group(&record, "sent").goodput_mbps, 0.972, 0.01);
    let [upper, lower] = ["upper", "lower"].map(|link| record.hops[link].departures as f64);
    close(upper, lower, 0.2 * upper);
}

/// A TCP flow goes on over another way, also where its acknowledgements take another one.
#[test]
fn a_connection_outlives_its_route() {
    let tcp = "[[group]]\nname = \"tcp\"\ncontrol = \"newreno\"\nrtt = \"20 ms\"\nfrom = \"a\"\nto = \"c\"\n";
    let back = "[[hop]]\nname = \"second\"\nfrom = \"c\"\nto = \"a\"\nrate = \"1 Mbit/s\"\n";
    let change = "[[change]]\nat = \"5 s\"\ngroup = [{ name = \"tcp\", path = [\"bottleneck\", \"lower\"], back = [\"second\"] }]\n";
    let record = run(&scenario(&format!("{TWO_WAYS}{back}{tcp}{change}")));
    close(group(&record, "tcp").goodput_mbps, (4.0 + 2.0) / 2.0, 0.3);
    assert!(record.hops["second"].arrivals > 300);
    close(record.hops["lower"].utilization.unwrap(), 0.5, 0.05);
}

/// The links of a way that takes a random link at each node, where it reaches `to` without passing a node twice.
fn random_way(links: &[(usize, usize)], from: usize, to: usize, random: &mut Stream) -> Option<Vec<usize>> {
    let (mut at, mut way, mut passed) = (from, Vec::new(), vec![from]);
    while at != to {
        let on: Vec<usize> =
            (0..links.len()).filter(|&link| links[link].0 == at && !passed.contains(&links[link].1)).collect();
        let link = *on.get((random.uniform() * on.len() as f64) as usize)?;
        way.push(link);
        at = links[link].1;
        passed.push(at);
    }
    Some(way)
}

/// A random network with groups of all kinds, some of which change their way while packets are under way.
fn random_network(random: &mut Stream) -> String {
    let below = |random: &mut Stream, end: usize| (random.uniform() * end as f64) as usize;
    let mut links: Vec<(usize, usize)> = (0..5).map(|node| (node, (node + 1) % 5)).collect();
    links.extend((0..below(random, 8)).map(|_| (below(random, 5), below(random, 5))).filter(|(from, to)| from != to));
    let name = |link: usize| if link == 0 { "bottleneck".to_owned() } else { format!("l{link}") };
    let mut text = "duration = \"2 s\"\n".to_owned();
    let mut hops = String::new();
    for (index, (from, to)) in links.iter().enumerate() {
        let queue = ["droptail", "fq_codel", "red", "codel"][below(random, 4)];
        let more = ["", "loss = 0.02\n", "jitter = \"5 ms\"\n", "delay = \"7 ms\"\n"][below(random, 4)];
        let rate = 1 + below(random, 20);
        let keys = format!("from = \"n{from}\"\nto = \"n{to}\"\nrate = \"{rate} Mbit/s\"\nqueue = \"{queue}\"\n{more}");
        if index == 0 {
            text += &format!("[bottleneck]\n{keys}");
        } else {
            hops += &format!("[[hop]]\nname = \"{}\"\n{keys}", name(index));
        }
    }
    text += &hops;
    let mut changes = String::new();
    for group in 0..1 + below(random, 4) {
        let (from, away) = (below(random, 5), 1 + below(random, 4));
        let to = (from + away) % 5;
        let kind = [
            "control = \"cubic\"",
            "control = \"newreno\"\ntransport = \"linux\"\nflows = 2\naccess_rate = \"50 Mbit/s\"\nhost = \"linux\"",
            "traffic = { kind = \"cbr\", rate = \"2 Mbit/s\" }",
            "traffic = \"ping\"",
            "traffic = { kind = \"padding\", rate = \"50 packets/s\", reach = \"bottleneck\" }",
        ][below(random, 5)];
        let direction = ["forward", "reverse"][below(random, 2)];
        text += &format!(
            "[[group]]\nname = \"g{group}\"\nrtt = \"20 ms\"\nfrom = \"n{from}\"\nto = \"n{to}\"\n\
             direction = \"{direction}\"\n{kind}\n"
        );
        for at in 1..1 + below(random, 3) {
            for (key, from, to) in [("path", from, to), ("back", to, from)] {
                let Some(way) = random_way(&links, from, to, random) else { continue };
                let names: Vec<_> = way.iter().map(|&link| format!("\"{}\"", name(link))).collect();
                changes += &format!(
                    "[[change]]\nat = \"0.{at}7 s\"\ngroup = [{{ name = \"g{group}\", {key} = [{}] }}]\n",
                    names.join(", ")
                );
            }
        }
    }
    text + &changes
}

/// Debug runs compare what flows sent with what the network holds, at every look.
#[test]
fn random_networks_lose_nothing_unseen() {
    let mut rerouted = 0;
    for seed in 0..150 {
        let text = random_network(&mut Stream::new(seed, "network"));
        let scenario = scenario(&text);
        rerouted += usize::from(!scenario.changes.is_empty());
        let record = run(&scenario);
        let again = Scenario::parse(&scenario.to_toml(), None, &Base::Nowhere, &[]).expect("what it writes it reads");
        assert_eq!(self::text(&run(&again.scenario)), self::text(&record), "{text}");
    }
    assert!(rerouted > 50, "{rerouted} had changes of a way");
}
