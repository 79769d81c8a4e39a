"""What each step on the engine's speed gave when it was made: for contributors; `make bench` does not renew it."""

from benchmarks.common import paragraph, table

# Step, instructions of a packet with its acknowledgement, what else was seen.
STEPS = (
    (
        "Before: three events for a packet and its acknowledgement, a ring for each delay line",
        "1,925",
        "10,000 flows with own RTTs: 2.15 s and 396 MB",
    ),
    (
        (
            "Links lag: a link is served when a packet arrives at it, when somebody looks, or before its first "
            "packet reaches the end of a line. Data is received when its acknowledgement reaches the sender, where "
            "nothing can delay that. One event is left."
        ),
        "1,672",
        "no measurable gain at 10 flows with one RTT (2,000,000 packets: 0.26 s before, 0.25 s after)",
    ),
    (
        "One store for the packets on all lines, and one line instead of two for each RTT",
        "1,672",
        "10,000 flows with own RTTs: 1.83 s and 133 MB; with one RTT slower, 1.38 s after 1.23 s",
    ),
    (
        "Places of that store are used in turn, so that packets of one line follow each other in memory",
        "1,672",
        "10,000 flows with own RTTs: 1.57 s; with one RTT: 1.03 s",
    ),
    (
        "An answer is read where it was written, not moved (a processor waits there)",
        "1,672",
        "measured with the step above",
    ),
    (
        (
            "The sender's repairs as in Linux: loss detection by time, probes, undo, conservation. This scenario "
            "uses none of them."
        ),
        "2,012",
        "what a flow does not use cost 15 %: 1,748 before",
    ),
    (
        (
            "What only loss detection by time wants to know is kept with the scoreboard, behind one branch. A "
            "segment to which nothing has happened since it was sent is acknowledged in a few instructions."
        ),
        "1,818",
        "what an acknowledgement changed fits into 24 bytes",
    ),
    (
        (
            "Rare ways of the sender are functions of their own, so that the usual way keeps to registers. Packets "
            "are handed on by reference, and made where they are sent."
        ),
        "1,752",
        "what the repairs cost flows without them is gone",
    ),
    (
        "What came since: hosts, changes during a run, noise, media",
        "1,768",
        "0.9 % more",
    ),
    (
        (
            "An acknowledgement of the next segment, while nothing is under suspicion, is dealt with without asking"
            " what else it may say. DropTail works where the packet is, without a call. Serving a link, and handing"
            " on what it has sent, is one function."
        ),
        "1,480",
        "most for the acknowledgement, whose function has 193 instructions after 392",
    ),
    (
        (
            "A sender at ease asks only its window whether a segment goes. A receiver that misses nothing answers "
            "at once. After an acknowledgement only the sender's deadline is looked at."
        ),
        "1,445",
        "less than expected: the compiler made functions of what had been one piece",
    ),
    (
        "Sending is one piece of code again",
        "1,354",
        "controls save no registers for each other: 27 instructions for NewReno's acknowledgement after 46",
    ),
    (
        "What came with it: bursts of a host, receive offload, changes of controls",
        "1,380",
        "each is a branch that a flow without it pays",
    ),
    (
        (
            "A segment in the scoreboard is one word of time and marks, after two. What a flow had when measuring "
            "began, its request, and applications that are not bulk transfers are boxed. Rows of flows in the "
            "record share names and what is the same in all."
        ),
        "1,383",
        (
            "1,391 before, with what had come since. An idle flow: 1,630 B after 2,105 B; 10,000 flows: 93 MB after"
            " 116 MB, with own RTTs 103 MB after 135 MB"
        ),
    ),
    (
        (
            "What SACK blocks and an undo remember is boxed once there is any. HyStart, and controls of more than a"
            " few numbers, are boxed. The flows of a group share the constants of the timer."
        ),
        "1,386",
        (
            "an idle flow: 1,337 B; 10,000 flows: 90 MB, with own RTTs 100 MB. A packet of 10,000 flows misses the "
            "first cache 19 times, after 21, but a second one of 1 MB 11.6 times, after 11.8 (cachegrind, before "
            "the first loss)"
        ),
    ),
    (
        "A plain delay line has 64 bytes, after 112",
        "-",
        "48 B for each RTT",
    ),
    (
        "What came with it: counted marks (AccECN), one-way delays, rewritten code points",
        "1,421",
        "each is a branch that a flow without it pays; an idle flow: 1,400 B with Python's part",
    ),
    (
        (
            "What only repairs need lies on the heap: what a reduction would be undone to, what was received out of"
            " order, the window of a proportional reduction. What all flows of a group have in common lies in one "
            "place. Numbers of segments that may be missing take four bytes. Sojourn times of a flow begin with its"
            " first packet. A link is looked up once for each packet that it sends, and whether a receiver "
            "acknowledges each segment at once is one question, not four."
        ),
        "1,396",
        (
            "an idle flow: 990 B with Python's part; a flow has 864 B, after 1,280 (1,020 and 896 B since receivers"
            " may steer). 10,000 flows: 143 ns after 149, with own RTTs 182 ns after 232 (least of two runs each, "
            "30 s, on a busy machine)"
        ),
    ),
    (
        "The period of LEDBAT's base delay is compared with its end, not divided for with each acknowledgement",
        "-",
        "LEDBAT++ has 1.18 times NewReno's instructions after 1.20, libutp 1.25 after 1.26; two divisions less",
    ),
    (
        (
            "What few links have (classes, rows of packets, policers, shapers, grants, framing, noise, random loss)"
            " lies in one box, which a link looks for once. A link's meter counts what waits from what comes and "
            "goes, and asks no discipline. A packet that has been sent goes from the wire to its line in one piece."
            " Disciplines are jumped to, and save no registers for each other."
        ),
        "1,306",
        "RED 1,866 after 2,009, FQ-CoDel 2,098 after 2,203",
    ),
    (
        "Queues are rings in which a packet lies at the place of its number, not from wherever the ring begins",
        "1,293",
        "RED 1,808, with the integers below its average cut by conversion and not by a function of the C library",
    ),
    (
        (
            "CoDel looks at the packet at the head, and takes it once it is known what becomes of it: it was copied"
            " four times. CAKE looks a queue up once for each packet"
        ),
        "-",
        "CoDel 1,764 after 1,786, FQ-CoDel 2,038 after 2,094, CAKE 2,573 after 2,882 with the next step",
    ),
    (
        (
            "Sender and receiver: one number says whether an acknowledgement is the usual one, the window is asked "
            "before all else, the acknowledgement is written in one piece, records of segments lie in such a ring, "
            "too. Where losses are about, mere duplicates take a short way, a segment goes on the short way in a "
            "repair as well, and a receiver stays on it across gaps"
        ),
        "1,219",
        (
            "RED 1,629, CoDel 1,577, FQ-CoDel 1,856; under RED the model of a branch predictor in callgrind misses "
            "5.7 times a packet after 8.3"
        ),
    ),
    (
        (
            "Flows with rate samples and pacing take the short ways, too, and BBR keeps the window that it aims at "
            "with the numbers from which it follows. LEDBAT and its variants round by conversion and keep GAIN with"
            " its base delay. Nimbus looks at its spectrum last"
        ),
        "1,228",
        (
            "BBR 2,382 after 3,038, LEDBAT 1,539 after 1,724, LEDBAT++ 1,466 after 1,677, libutp 1,573 after 1,784,"
            " Nimbus 3,210 after 5,126"
        ),
    ),
    (
        (
            "What few flows ever have (a request, what had happened when measuring began, a receiver that steers) "
            "leaves the flow, which has 864 B after 896. A ring grows where it lies: its entries are copied behind "
            "themselves"
        ),
        "1,228",
        "10,000 flows with own RTTs, 6 s, where growth is the peak: 73.5 MB after 83.6; no gain in a long run",
    ),
    (
        (
            "Campaigns: the plan loads no Matplotlib, rows are made without those of flows, parts are compressed by"
            " Snappy, long batches run first, a cluster gets all batches in one message and its workers run without"
            " Dask's profiler"
        ),
        "-",
        "0.6 s of processor time before the first run are 0.15 s, rows and parts of 3,840 runs 0.6 s after 1.2 s",
    ),
    (
        (
            "Campaigns on a cluster: the worker encodes its parts as Parquet, and the client only writes bytes. "
            "Dask looks at memory and processors less often. The C library keeps large pieces of memory between "
            "runs"
        ),
        "-",
        (
            "all but the simulation of 3,840 runs takes 0.9 s of processor time after 1.2 s. On a busy machine the "
            "cluster needs 3 to 5 % more of it than threads, after 6 to 8 %. Client and scheduler take 13 s for "
            "2,304 batches, after 30 s"
        ),
    ),
    (
        (
            "What a sender finds when it is asked for one more segment is known when a segment has just gone, and "
            "the retransmission timeout is reckoned when something that it follows from changes"
        ),
        "1,201",
        "one of two calls for each acknowledgement less",
    ),
    (
        (
            "A packet is copied once into a plain queue and once out of it, and a link that is caught up with is "
            "served without a call"
        ),
        "1,174",
        "the step on links' queues below has the same for all disciplines",
    ),
    (
        (
            "An acknowledgement that says no more than its number and its times goes from the receiver to the "
            "sender as three numbers, not as a header. The sender is at ease then: it need not be asked what else "
            "may be in the way"
        ),
        "1,119",
        "with the next step 1,060",
    ),
    (
        "What a receiver has behind gaps is a deque: the filling of a gap moved all that lay behind it",
        "-",
        (
            "1,000 flows with own RTTs: 1,403 instructions for a packet after 1,607. After a slow start a flow may "
            "have hundreds of gaps"
        ),
    ),
    (
        (
            "A link's meter keeps sums of the instants at which packets come and go, not of products of times. The "
            "exit of a line is what the event loop asks for first, and the agenda's nodes have four children "
            "instead of two"
        ),
        "1,049",
        "1,000 flows with own RTTs: 1,354 after 1,403",
    ),
    (
        (
            "Timers: each of the first owners has a seat in a tree of four ways, from which its timer is taken at "
            "once, and a heap has those that lost their seats. Links and lines compete without a slot for timers. A"
            " timer for which only the sender waited looks at all other deadlines once"
        ),
        "1,222",
        (
            "BBR 2,320 instructions after 2,382, with the next step, but 200 ns after 215 where NewReno takes 88 "
            "(least of many runs on a busy machine); BBRv3 218 ns after 238, PROTEUS-S 175 ns after 192, SCReAM 174"
            " ns after 185. Scout 192 to 201 ns after 182: it sets the most timers that lose their seats"
        ),
    ),
    (
        (
            "What is remembered of a segment for its rate is written where it is to lie, for it was moved while a "
            "processor still wrote it. BBR rounds by adding 2^52, and passes over roundings and divisions that can "
            "change nothing"
        ),
        "1,222",
        "measured with the step above; the last of it gave BBR 1 ns",
    ),
    (
        (
            "Nimbus looks for the mark of a round trip ago where it found the last one, and for magnitudes only of "
            "the largest"
        ),
        "-",
        "Nimbus 2,786 instructions after 3,145, 238 ns after 256",
    ),
    (
        "libutp keeps its window in packets, too",
        "-",
        "two divisions less; 1,559 instructions after 1,572, 109 ns after 115",
    ),
    (
        (
            "Packets get the time of their arrival, and marks, where they lie in a queue, and the head is judged "
            "there: a packet was changed where it came from and then copied in one piece, and taken out, marked and"
            " copied again. CoDel's loop leaves the next packet at the head; so do PI2, COBALT, FQ-CoDel and CAKE"
        ),
        "-",
        (
            "about as many instructions, but waits less: on a processor where DropTail takes 83 ns CoDel takes 125 "
            "after 133, PI2 135 after 143, COBALT 135 after 149; RED and FQ-CoDel as before, PIE 147 after 139 "
            "until the next step"
        ),
    ),
    (
        (
            "A link's queue takes a packet from where it lies, and puts it where it goes: it was copied before it "
            "was offered, and once more after it had been taken out"
        ),
        "1,225",
        (
            "RED 122 ns after 131, CoDel 120 after 125, PIE 137 after 147, PI2 128 after 135, FQ-CoDel 123 after "
            "130. Both steps: RED 1,632 instructions after 1,635, CoDel 1,563 after 1,583, PIE 1,689 after 1,710, "
            "PI2 1,618 after 1,655, FQ-CoDel 1,840 after 1,862"
        ),
    ),
    (
        (
            "CAKE: turns of a tin that alone waits pass at once, the list that the next flow comes from is chosen, "
            "not branched to, and the packet goes from its queue to the link"
        ),
        "-",
        "CAKE 2,483 instructions after 2,571, and 220 ns after 242; with the steps above",
    ),
    (
        "All steps above together",
        "1,056",
        (
            "RED 1,504 after 1,635, CoDel 1,439 after 1,583, PIE 1,559 after 1,710, CAKE 2,391 after 2,571, BBR "
            "2,182 after 2,382, LEDBAT 1,389 after 1,538. In time, on one AMD processor in alternation, least of 15: "
            "DropTail 75 ns after 85, RED 121 after 134, CoDel 123 after 139, PIE 140 after 145, PI2 134 after 151, "
            "FQ-CoDel 126 after 138, CAKE 231 after 248, CUBIC 99 after 102, BBR 195 after 215, LEDBAT 94 after "
            "103, libutp 105 after 117, scout 180 after 190"
        ),
    ),
    (
        (
            "A round trip is one look at its flow: data is received, acknowledged and counted in one place. DropTail "
            "reads a packet where it lies. A sender knows whether it is ever paced, and which control it has is one "
            "byte"
        ),
        "980",
        "RED 1,485 after 1,521, counted anew; 10 flows take 3 to 7 % less time on a busy machine",
    ),
    (
        "Where there is no SACK, what arrives across a gap is answered plainly, too",
        "989",
        (
            "RED 1,451 after 1,485, and 3 ns less; CoDel 1,398 instructions, and 3 ns less. DropTail takes no less "
            "time; 4 of its instructions are of a step that was taken back later"
        ),
    ),
    (
        (
            "What a link measures of the queues inside is kept with its other instruments, not with what few links "
            "have. CAKE divides only where one turn is not enough"
        ),
        "990",
        "CAKE 2,213 instructions after 2,383, and 210 ns after 227",
    ),
    (
        (
            "Packets of a line lie in rows of sixteen places. Each place was found by a list, so that each packet of "
            "many lines missed the cache for its own place, for the next packet's and for the next free one. The row "
            "beside is taken where it is free, else the one that was given up last"
        ),
        "991",
        (
            "100,000 flows with own RTTs: 254 ns after 427 (one run each). 10,000: 168 after 190, with equal RTTs as "
            "before, 10 flows at most 1 ns more. Misses of a cache of 1 MB: 6.4 for a packet of 10,000 flows after 9.1"
        ),
    ),
    (
        "These steps together",
        "987",
        (
            "RED 1,456 after 1,521, CoDel 1,390 after 1,457, PIE 1,527 after 1,594, FQ-CoDel 1,671 after 1,737, CAKE "
            "2,157 after 2,391, BBR 2,143 after 2,182, LEDBAT 1,308 after 1,389, LEDBAT++ 1,232 after 1,310, libutp "
            "1,333 after 1,414"
        ),
    ),
    (
        "Looked at and left: one event's work as one function with the loop that asks for the next",
        "977",
        "10 instructions fewer, but 1 to 2 ns more",
    ),
    (
        "Looked at and left: what is on the wire lies where it stays until it has crossed its line",
        "1,040",
        "a copy less, but its place is looked up more often: 1,024 with the copy",
    ),
    (
        (
            "Looked at and left: a load in one piece of two numbers that were just written one by one, where a profile "
            "by time showed the most waiting (6 %); functions and blocks at round addresses; a panic that ends the "
            "process; the line that all flows have behind a link kept with the link"
        ),
        "-",
        "no less time: what is waited for there is hidden behind other work",
    ),
    (
        (
            "Looked at and left, for many flows: what is used with each packet first in a flow, what is not last; "
            "rings of segments that shrink after a repair"
        ),
        "-",
        "0.5 % fewer misses; 2 MB less of 147, and FQ-CoDel 40 instructions more",
    ),
    (
        "Looked at and left: instructions of a processor of 2015 (`x86-64-v3`) for the whole engine",
        "1,282",
        "1.8 % (1,306 without), no less time",
    ),
    (
        (
            "Looked at and left, for many flows: free places on lines taken last in, first out; exits kept with the"
            " packet ahead; sojourn times told to flows 256 at once; links of places apart from packets; an agenda "
            "that stops early; the next event's flow touched ahead of time"
        ),
        "-",
        (
            "within noise over 60 s, or equal RTTs 7 to 14 % slower (the first), or own RTTs 4 to 6 % slower (the "
            "last). With all memory in huge pages 10,000 flows with own RTTs take 9 % less time"
        ),
    ),
    (
        "Looked at and left: a heap of timers with four children for each",
        "-",
        "BBR 73 instructions more",
    ),
    (
        "Looked at and left: the compiler led by a profile of the same scenario",
        "-",
        "7 % fewer instructions and 7 % less time; each build would take three times as long",
    ),
    (
        (
            "Looked at and left, for campaigns: Parquet without dictionaries or statistics, rows without Python's "
            "search for garbage"
        ),
        "-",
        "at most 0.03 s of the 10 s of processor time that 3,840 runs take",
    ),
    (
        "Looked at and left: the tree of timers with two ways",
        "-",
        (
            "BBR 68 instructions more than with the heap and no less time: the compiler makes branches of the "
            "choices between two timers"
        ),
    ),
    (
        "Looked at and left: BBR's timers",
        "-",
        (
            "1.2 events of a timer for each packet: heap, dispatch and what that sends are a third of its time. "
            "Timers that go off too early are events of the record, so they cannot go without changing it: 0.2 for "
            "each packet find the window full, and wait for a retransmission until the next acknowledgement sets an"
            " earlier timer"
        ),
    ),
    (
        (
            "Looked at and left, where queues drop: a receiver that lengthens what it has behind a gap without "
            "asking whether there is one"
        ),
        "-",
        (
            "RED: the general way of the receiver is taken 0.16 times a packet after 0.41, 0.3 guesses of "
            "callgrind's branch predictor fewer, no less time"
        ),
    ),
    (
        (
            "Looked at and left, where queues drop: the clock of PIE and PI2 run when their link is looked at, not "
            "by the agenda"
        ),
        "-",
        (
            "0.2 events fewer in the heap for each packet, but at the same instant timers come in the order in "
            "which they were set, which such a link would not know"
        ),
    ),
    (
        "Looked at and left, for many flows: the flow of the next event fetched into the cache ahead of time",
        "-",
        "no gain at 1,000 and 10,000 flows, and it needs an unsafe block",
    ),
)


def section() -> list[str]:
    """Return the paragraphs and the table of the page."""
    return [
        paragraph("""Instructions were counted with callgrind over 200,000 packets of ten NewReno flows on 4 Mbit/s.
            From 1,752 on they are what 300 s cost more than 60 s, divided by the packets. Times are the shortest
            user times of several runs of `examples/run`, 15 simulated seconds for 10,000 flows, on a machine that was
            busy with other work: differences of a tenth mean nothing. Results are the same bytes after every step;
            `tests/simulations/fusing.rs` compares the engine with one that has an event for everything. Bytes of
            an idle flow are those of `examples/run` with 60,000 flows."""),
        table(["Step", "Instructions>", "What it gave"], [list(step) for step in STEPS]),
        paragraph("""Fewer events gave less than expected, because the agenda was never the expensive part. Of the
            instructions that are left, sender, control and receiver take about 500, the link with its queue and meters
            340, the line and the agenda 150. No single step is the expensive one."""),
    ]
