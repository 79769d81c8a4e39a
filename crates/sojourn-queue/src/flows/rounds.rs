//! Whose turn it is: deficit round robin with a list of new queues before that of old ones (RFC 8290 section 4).

use sojourn_core::registry::{Params, Value};

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// The new and the old buckets, and what each may still send.
#[derive(Debug)]
pub(crate) struct Rounds {
    quantum: i64,
    empty_new: EmptyNew,
    new: List,
    old: List,
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
    pub(crate) bucket: u32,
    /// Whether it stands among the new ones.
    pub(crate) new: bool,
}

#[derive(Clone, Copy, Debug)]
struct Seat {
    next: u32,
    active: bool,
    /// Bytes that may still be sent in this turn; below zero by at most a packet.
    deficit: i64,
}

/// A chain of buckets, which only grows at its tail and shrinks at its head.
#[derive(Debug)]
struct List {
    head: u32,
    tail: u32,
    len: u32,
}

impl List {
    const EMPTY: List = List { head: NONE, tail: NONE, len: 0 };

    #[inline]
    fn push(&mut self, bucket: u32, seats: &mut [Seat]) {
        seats[bucket as usize].next = NONE;
        if self.len == 0 {
            self.head = bucket;
        } else {
            seats[self.tail as usize].next = bucket;
        }
        self.tail = bucket;
        self.len += 1;
    }

    #[inline]
    fn pop(&mut self, seats: &[Seat]) {
        self.head = seats[self.head as usize].next;
        self.len -= 1;
    }
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
        Rounds { quantum, empty_new, new: List::EMPTY, old: List::EMPTY, seats: Vec::new() }
    }

    /// Buckets in the list of new ones.
    pub(crate) fn new_buckets(&self) -> u32 {
        self.new.len
    }

    /// Buckets in the list of old ones.
    pub(crate) fn old_buckets(&self) -> u32 {
        self.old.len
    }

    /// `bucket` has something to send: it joins the new ones unless it is in a list.
    #[inline]
    pub(crate) fn join(&mut self, bucket: u32) {
        if self.takes_seat(bucket) {
            self.new.push(bucket, &mut self.seats);
        }
    }

    /// `bucket` has something to send: it joins the old ones unless it is in a list.
    #[inline]
    pub(crate) fn join_old(&mut self, bucket: u32) {
        if self.takes_seat(bucket) {
            self.old.push(bucket, &mut self.seats);
        }
    }

    /// Gives `bucket` a full quantum, unless it is in a list already.
    #[inline]
    fn takes_seat(&mut self, bucket: u32) -> bool {
        if bucket as usize >= self.seats.len() {
            self.seats.resize(bucket as usize + 1, Seat { next: NONE, active: false, deficit: 0 });
        }
        let seat = &mut self.seats[bucket as usize];
        let joins = !seat.active;
        if joins {
            seat.active = true;
            seat.deficit = self.quantum;
        }
        joins
    }

    /// The bucket whose turn it is. One that has used up its quantum gets another and goes to the end of the old ones.
    #[inline]
    pub(crate) fn turn(&mut self) -> Option<Turn> {
        loop {
            let new = self.new.len > 0;
            let list = if new { &mut self.new } else { &mut self.old };
            if list.len == 0 {
                return None;
            }
            let bucket = list.head;
            if self.seats[bucket as usize].deficit > 0 {
                return Some(Turn { bucket, new });
            }
            self.seats[bucket as usize].deficit += self.quantum;
            list.pop(&self.seats);
            self.old.push(bucket, &mut self.seats);
        }
    }

    /// The bucket whose turn it is has sent so many bytes.
    #[inline]
    pub(crate) fn sent(&mut self, turn: Turn, bytes: u32) {
        self.seats[turn.bucket as usize].deficit -= i64::from(bytes);
    }

    /// The bucket whose turn it is has nothing to send.
    #[inline]
    pub(crate) fn found_empty(&mut self, turn: Turn) {
        let list = if turn.new { &mut self.new } else { &mut self.old };
        debug_assert_eq!(list.head, turn.bucket);
        list.pop(&self.seats);
        let waits = turn.new && (self.empty_new == EmptyNew::Wait || self.old.len > 0);
        if waits {
            self.old.push(turn.bucket, &mut self.seats);
        } else {
            self.seats[turn.bucket as usize].active = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(empty_new: EmptyNew) -> Rounds {
        Rounds::with(1000, empty_new)
    }

    /// Lets each bucket in `joined` send packets of these sizes for ever; returns who sends.
    fn serve(rounds: &mut Rounds, sizes: &[u32], times: usize) -> Vec<u32> {
        let mut order = Vec::new();
        for _ in 0..times {
            let turn = rounds.turn().unwrap();
            rounds.sent(turn, sizes[turn.bucket as usize]);
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
            rounds.sent(turn, sizes[turn.bucket as usize]);
            sent[turn.bucket as usize] += i64::from(sizes[turn.bucket as usize]);
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
            assert_eq!(rounds.turn().map(|turn| turn.bucket), Some(u32::from(alone)));
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
