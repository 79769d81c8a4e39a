//! Queues in queues: what classes get in the ready scenarios that are about them.

use crate::common::{close, outcome, run};
use sojourn_scenario::{Base, Scenario, ready};
use sojourn_sim::{LinkRecord, PacketEvent, Wanted};

fn scenario(name: &str, overrides: &[&str]) -> Scenario {
    let text = ready().iter().find(|ready| ready.name == name).expect("a ready scenario").text;
    let overrides: Vec<_> = overrides.iter().map(|&text| text.to_owned()).chain(["duration=20s".to_owned()]).collect();
    Scenario::parse(text, None, &Base::Nowhere, &overrides).unwrap_or_else(|problems| panic!("{problems}")).scenario
}

/// Longest wait in the queue of each group's packets, in ms.
fn longest_waits(scenario: &Scenario) -> Vec<f64> {
    let log = outcome(scenario, &Wanted { packets: true, ..Wanted::default() }).packets.expect("packets were wanted");
    let mut flows = Vec::new();
    for (index, group) in scenario.groups.iter().enumerate() {
        flows.extend(std::iter::repeat_n(index, group.flows as usize));
    }
    let mut longest = vec![0.0; scenario.groups.len()];
    for row in log.rows.iter().filter(|row| row.event == PacketEvent::Departure) {
        let longest: &mut f64 = &mut longest[flows[row.packet.flow as usize]];
        *longest = longest.max(row.sojourn.as_secs_f64() * 1000.0);
    }
    longest
}

#[test]
fn voice_waits_for_the_packet_on_the_wire_and_for_other_voice() {
    let waits = longest_waits(&scenario("four-classes", &[]));
    // 1500 B take 1.2 ms, four other voice packets 0.16 ms each.
    assert!(waits[0] <= 1.2 + 4.0 * 0.16 + 0.01, "{waits:?}");
    let waits = longest_waits(&scenario("four-classes", &["bottleneck.queue=droptail"]));
    assert!(waits[0] > 20.0, "{waits:?}");
}

/// What voice and control leave is shared 4 to 5 where video and downloads always want more, and 1 to 5 with less weight.
#[test]
fn weights_divide_what_strict_priority_leaves() {
    const OTHERS: &str = "bottleneck.queue.class.others.queue.class";
    let deep = format!("{OTHERS}.best-effort.queue=droptail");
    let lighter = format!("{OTHERS}.video.weight=1");
    let video = |more: &[&str]| {
        let overrides = [&["group.video.traffic.rate=20Mbit/s", deep.as_str()], more].concat();
        run(&scenario("four-classes", &overrides)).groups["video"].goodput_mbps * 1500.0 / 1472.0
    };
    let left = 10.0 - 5.0 * 0.08 - 0.05;
    close(video(&[]), left * 4.0 / 9.0, 0.01);
    close(video(&[&lighter]), left / 6.0, 0.01);
}

#[test]
fn early_marks_keep_the_queue_short_and_the_link_full_if_they_are_answered_gently() {
    let bottleneck = |overrides: &[&str]| run(&scenario("early-marking", overrides)).bottleneck;
    let (early, late) = (bottleneck(&[]), bottleneck(&["bottleneck.queue.threshold=1s"]));
    let halving = bottleneck(&["group.tcp.control=newreno"]);
    let wait = |link: &LinkRecord| link.queue_ms.mean.expect("packets have waited");
    assert!(wait(&early) < 2.0 && wait(&late) > 5.0, "{} {}", wait(&early), wait(&late));
    // Linux halves over a round trip (proportional rate reduction) and so keeps more of the link than at once: 0.74.
    assert!(early.utilization > Some(0.99) && late.utilization > Some(0.99) && halving.utilization < Some(0.8));
    assert!(early.marks > 0 && late.marks > 0, "the discipline inside marks as well");
}

#[test]
fn the_record_has_the_outermost_classes() {
    let record = run(&scenario("four-classes", &[]));
    let names: Vec<_> = record.bottleneck.classes.keys().map(String::as_str).collect();
    assert_eq!(names, ["others", "voice"]);
}
