//! Whose turn it is: deficit round robin with a list of new queues before that of old ones (RFC 8290 section 4).

use super::{Circle, Links};
use sojourn_core::registry::{Params, Value};

/// The new and the old buckets, and what each may still send.
#[derive(Debug)]
pub(crate) struct Rounds {
    quantum: i64,
    empty_new: EmptyNew,
    new: Circle,
    old: Circle,
    links: Links,
    seats: Vec<Seat>,
}

/// What becomes of a new bucket that is found empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EmptyNew {
    /// It waits behind the old ones.
    Wait,
    /// It does so only where there are old ones.
    WaitUnlessAlone,
}

/// A bucket whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Turn {
    /// The bucket.
    pub(crate) bucket: usize,
    /// Whether it stands among the new ones.
    pub(crate) new: bool,
}

#[derive(Clone, Copy, Debug)]
struct Seat {
    /// Whether the bucket is in one of the circles.
    active: bool,
    /// Bytes that may still be sent in this turn; below zero by at most a packet.
    deficit: i64,
}

impl Rounds {
    /// The rounds that the parameters [`QUANTUM`](super::QUANTUM) and [`EMPTY_NEW`](super::EMPTY_NEW) describe.
    pub(crate) fn new(params: &Params, full_packet: u32) -> Rounds {
        let quantum = match params.get("quantum") {
            Value::Integer(bytes) => bytes as i64,
            _ => i64::from(full_packet),
        };
        let empty_new = if params.choice("empty_new") == "wait" { EmptyNew::Wait } else { EmptyNew::WaitUnlessAlone };
        Rounds::with(quantum, empty_new)
    }

    /// Rounds with turns of `quantum` bytes.
    pub(crate) fn with(quantum: i64, empty_new: EmptyNew) -> Rounds {
        let (new, old) = (Circle::default(), Circle::default());
        Rounds { quantum, empty_new, new, old, links: Links::default(), seats: Vec::new() }
    }

    /// Turns are those of `fresh` from now on.
    pub(crate) fn retune(&mut self, fresh: &Rounds) {
        (self.quantum, self.empty_new) = (fresh.quantum, fresh.empty_new);
    }

    /// How many buckets are new.
    pub(crate) fn new_buckets(&self) -> usize {
        self.new.members()
    }

    /// How many buckets are old.
    pub(crate) fn old_buckets(&self) -> usize {
        self.old.members()
    }

    /// `bucket` has something to send: it joins the new ones unless it is new or old already.
    #[inline]
    pub(crate) fn join(&mut self, bucket: usize) {
        if self.takes_seat(bucket) {
            self.new.join(bucket, &mut self.links);
        }
    }

    /// `bucket` has something to send: it joins the old ones unless it is new or old already.
    #[inline]
    pub(crate) fn join_old(&mut self, bucket: usize) {
        if self.takes_seat(bucket) {
            self.old.join(bucket, &mut self.links);
        }
    }

    /// Gives `bucket` a full quantum, unless it is new or old already.
    #[inline]
    fn takes_seat(&mut self, bucket: usize) -> bool {
        if bucket >= self.seats.len() {
            self.seats.resize(bucket + 1, Seat { active: false, deficit: 0 });
        }
        let seat = &mut self.seats[bucket];
        let joins = !seat.active;
        if joins {
            *seat = Seat { active: true, deficit: self.quantum };
        }
        joins
    }

    /// The bucket whose turn it is. One that has used up its quantum gets another and goes to the end of the old ones.
    #[inline]
    pub(crate) fn turn(&mut self) -> Option<Turn> {
        loop {
            let new = self.new.head();
            let bucket = new.or(self.old.head())?;
            let seat = &mut self.seats[bucket];
            if seat.deficit > 0 {
                return Some(Turn { bucket, new: new.is_some() });
            }
            seat.deficit += self.quantum;
            match new {
                Some(_) => self.grow_old(bucket),
                None => self.old.advance(&self.links),
            }
        }
    }

    /// The bucket whose turn it is has sent so many bytes.
    #[inline]
    pub(crate) fn sent(&mut self, turn: Turn, bytes: u32) {
        self.seats[turn.bucket].deficit -= i64::from(bytes);
    }

    /// The bucket whose turn it is has nothing to send.
    #[inline]
    pub(crate) fn found_empty(&mut self, Turn { bucket, new }: Turn) {
        if new && (self.empty_new == EmptyNew::Wait || self.old.members() > 0) {
            self.grow_old(bucket);
        } else {
            let circle = if new { &mut self.new } else { &mut self.old };
            circle.leave(bucket, &mut self.links);
            self.seats[bucket].active = false;
        }
    }

    /// A new bucket becomes the last of the old ones.
    #[inline]
    fn grow_old(&mut self, bucket: usize) {
        self.new.leave(bucket, &mut self.links);
        self.old.join(bucket, &mut self.links);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(empty_new: EmptyNew) -> Rounds {
        Rounds::with(1000, empty_new)
    }

    /// Lets each bucket in `joined` send packets of these sizes for ever; returns who sends.
    fn serve(rounds: &mut Rounds, sizes: &[u32], times: usize) -> Vec<usize> {
        let mut order = Vec::new();
        for _ in 0..times {
            let turn = rounds.turn().unwrap();
            rounds.sent(turn, sizes[turn.bucket]);
            order.push(turn.bucket);
        }
        order
    }

    #[test]
    fn a_turn_lasts_until_the_quantum_is_used_up() {
        let mut rounds = rounds(EmptyNew::Wait);
        (0..3).for_each(|bucket| rounds.join(bucket));
        // 1000 is used up by one packet of 1000, by three of 400 (then 200 are owed), by one of 1500 (500 are owed).
        assert_eq!(serve(&mut rounds, &[1000, 400, 1500], 5), [0, 1, 1, 1, 2]);
        assert_eq!((rounds.new_buckets(), rounds.old_buckets()), (1, 2));
        // Now all are old: 1000; 800 and so two; 500 and so one; then 1000, 1000, and none for the third, which owes.
        assert_eq!(serve(&mut rounds, &[1000, 400, 1500], 8), [0, 1, 1, 2, 0, 1, 1, 1]);
        assert_eq!(rounds.turn(), Some(Turn { bucket: 0, new: false }));
    }

    #[test]
    fn bytes_are_shared_alike_whatever_their_packets() {
        let sizes = [1500, 40, 576, 1200];
        let mut rounds = rounds(EmptyNew::Wait);
        (0..4).for_each(|bucket| rounds.join(bucket));
        let mut sent = [0i64; 4];
        for _ in 0..20_000 {
            let turn = rounds.turn().unwrap();
            rounds.sent(turn, sizes[turn.bucket]);
            sent[turn.bucket] += i64::from(sizes[turn.bucket]);
            // Shreedhar and Varghese: no more than a quantum and two packets apart, ever.
            let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
            assert!(most - least <= 1000 + 2 * 1500, "{sent:?}");
        }
    }

    #[test]
    fn new_buckets_go_first_and_once() {
        let mut rounds = rounds(EmptyNew::Wait);
        rounds.join(0);
        assert_eq!(serve(&mut rounds, &[600, 600], 3), [0, 0, 0]);
        rounds.join(1);
        rounds.join(0);
        assert_eq!(rounds.turn(), Some(Turn { bucket: 1, new: true }));
        assert_eq!(serve(&mut rounds, &[600, 600], 5), [1, 1, 0, 1, 1]);
    }

    #[test]
    fn a_new_bucket_does_not_stay_new_by_pausing() {
        // Bucket 0 is old, bucket 1 new and empty after its packet: it has to wait for bucket 0.
        for (rule, alone) in [(EmptyNew::Wait, false), (EmptyNew::WaitUnlessAlone, false), (EmptyNew::Wait, true)] {
            let mut rounds = rounds(rule);
            if !alone {
                rounds.join(0);
                let turn = rounds.turn().unwrap();
                rounds.sent(turn, 1000);
                rounds.turn().unwrap();
            }
            rounds.join(1);
            let turn = rounds.turn().unwrap();
            assert_eq!(turn, Turn { bucket: 1, new: true });
            rounds.found_empty(turn);
            rounds.join(1);
            assert_eq!(rounds.new_buckets(), 0, "{rule:?}");
            assert_eq!(rounds.turn().map(|turn| turn.bucket), Some(usize::from(alone)));
        }
        // Linux lets it be new again where there was nobody to wait for.
        let mut rounds = rounds(EmptyNew::WaitUnlessAlone);
        rounds.join(1);
        let turn = rounds.turn().unwrap();
        rounds.sent(turn, 900);
        let turn = rounds.turn().unwrap();
        rounds.found_empty(turn);
        assert_eq!(rounds.turn(), None);
        rounds.join(1);
        assert_eq!(rounds.turn(), Some(Turn { bucket: 1, new: true }));
        assert_eq!(rounds.seats[1].deficit, 1000, "with a fresh quantum");
    }

    #[test]
    fn an_old_bucket_that_is_empty_leaves() {
        let mut rounds = rounds(EmptyNew::Wait);
        rounds.join(0);
        rounds.join(1);
        serve(&mut rounds, &[1000, 1000], 2);
        let turn = rounds.turn().unwrap();
        assert_eq!(turn, Turn { bucket: 0, new: false });
        rounds.found_empty(turn);
        assert_eq!(serve(&mut rounds, &[1000, 1000], 2), [1, 1]);
        rounds.join(0);
        assert_eq!(rounds.turn(), Some(Turn { bucket: 0, new: true }));
    }
}
