//! Advice that several disciplines give on values that are legal and yet unwise: what will happen, and what is usual.
//!
//! What only one of them can say stands in its own file.

#[cfg(test)]
mod tests;

use crate::LinkProperties;
use alloc::format;
use alloc::vec::Vec;
use sojourn_core::registry::{Advice, Params, Value};
use sojourn_core::{Amount, Span};

/// TCP's retransmission timeout where the first packet was lost (RFC 6298 section 5.7).
const TIMEOUT: Span = Span::from_secs(3);
/// The round-trip time that buffers are usually made for.
const USUAL_RTT: Span = Span::from_millis(100);

/// What a full-size packet takes on the wire.
pub(crate) fn packet_time(link: &LinkProperties) -> Span {
    link.rate.transmission(u64::from(link.packet_bytes))
}

/// What `amount` takes on the wire.
fn time_of(amount: Amount, link: &LinkProperties) -> Span {
    link.rate.transmission(amount.bytes(link.rate, f64::from(link.packet_bytes)) as u64)
}

/// What is to be said of queues for flows with a controller in each; `of_control` is of the kind of controller.
pub(crate) fn controlled_flows(params: &Params, link: &LinkProperties, of_control: Option<Advice>) -> Vec<Advice> {
    [
        short_target(params, link),
        of_control,
        limit_below_target(params, link),
        small_quantum(params, link),
        few_buckets(params, "flows"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A target that a packet's own transmission exceeds.
pub(crate) fn short_target(params: &Params, link: &LinkProperties) -> Option<Advice> {
    let packet = packet_time(link);
    (params.read::<Span>("target") < packet).then(|| {
        let text = format!(
            "a full-size packet alone takes {packet} at this rate: whoever waits for one is above target, and flows are \
             slowed down that hardly queue; usual on slow links is at least the time of one packet"
        );
        Advice::new("target", text)
    })
}

/// A target that is no small part of the interval.
pub(crate) fn long_target(params: &Params) -> Option<Advice> {
    let interval = params.read::<Span>("interval");
    (params.read::<Span>("target") * 2 > interval).then(|| {
        let text = format!(
            "more than half of interval ({interval}): the standing queue costs about as much delay as the round trip that \
             interval stands for, for little more throughput; usual are 5 to 10 % of it"
        );
        Advice::new("target", text)
    })
}

/// A buffer that overflows before the delay can reach the target.
pub(crate) fn limit_below_target(params: &Params, link: &LinkProperties) -> Option<Advice> {
    let (limit, target) = (time_of(params.read::<Amount>("limit"), link), params.read::<Span>("target"));
    (limit < target).then(|| {
        let text = format!(
            "the buffer is full after {limit} at this rate, before the delay reaches target ({target}): it overflows, and \
             the controller never acts; usual is room for many times target"
        );
        Advice::new("limit", text)
    })
}

/// A controller that looks away for longer than it allows packets to wait.
pub(crate) fn slow_updates(params: &Params) -> Option<Advice> {
    let target = params.read::<Span>("target");
    (params.read::<Span>("update") > target * 2).then(|| {
        let text = format!(
            "more than twice target ({target}): queues come and go unseen between two updates; usual is an update about once \
             in target"
        );
        Advice::new("update", text)
    })
}

/// Turns that are shorter than a packet.
pub(crate) fn small_quantum(params: &Params, link: &LinkProperties) -> Option<Advice> {
    let Value::Integer(quantum) = params.get("quantum") else { return None };
    let full = u64::from(link.packet_bytes);
    (quantum < full).then(|| {
        let rounds = full.div_ceil(quantum);
        let text = format!(
            "a full-size packet ({full} B) uses up {rounds} turns, so flows of small packets go first and each packet costs \
             more rounds; usual is one full-size packet"
        );
        Advice::new("quantum", text)
    })
}

/// So few buckets that already ten flows are likely to share one. `name` is the parameter that counts them.
pub(crate) fn few_buckets(params: &Params, name: &'static str) -> Option<Advice> {
    const FLOWS: u32 = 10;
    let buckets = params.read::<u64>(name) as f64;
    let apart: f64 = (0..FLOWS).map(|flow| (1.0 - f64::from(flow) / buckets).max(0.0)).product();
    (apart < 0.5 && !params.read::<bool>("perfect")).then(|| {
        let percent = ((1.0 - apart) * 100.0) as u32;
        let text = format!(
            "of {FLOWS} flows at least two share a bucket, and half a share each, in {percent} % of all runs, and for the whole \
             run; usual are 1024, or perfect = true to study fairness without collisions"
        );
        Advice::new(name, text)
    })
}

/// A buffer without a controller that is so large that packets are given up in it. Small ones are for the study to judge.
pub(crate) fn plain_buffer(params: &Params, link: &LinkProperties) -> Option<Advice> {
    let time = time_of(params.read::<Amount>("limit"), link);
    (time > TIMEOUT).then(|| {
        let text = format!(
            "{time} at this rate: packets are taken for lost and sent again while they still wait (a first timeout is 1 s, \
             then {TIMEOUT}); the rule of thumb is one round-trip time, {USUAL_RTT} where it is not known"
        );
        Advice::new("limit", text)
    })
}
