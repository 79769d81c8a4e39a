// Five guided lessons: each is two scenarios, two sentences, and a question that a slider answers.

const QUEUE = "bottleneck.queue";
const FAIR = '{kind="fq_codel"}';

/** Lessons by name; `left` and `right` are a ready scenario and changes of it, `slider` is the one that answers. */
export const LESSONS = [
  {
    title: "What a full buffer does",
    left: { name: "motivating-droptail", changes: [] },
    right: { name: "motivating-droptail", changes: [["bottleneck.queue.limit", "50 packets"]] },
    text: [
      "TCP fills whatever buffer it finds, and every packet of a call waits in it too.",
      "Left, 500 packets wait at 10 Mbit/s; right, 50.",
    ],
    slider: "rate",
    question: "Move the rate: at which rate is a full buffer of 500 packets short enough for a call (150 ms)?",
    reached: ([left]) => left.parsed.bottleneck.queue_ms.p99 <= 150,
    answer: "There: the same packets drain faster. A buffer is right for one rate only.",
  },
  {
    title: "What RED costs",
    left: { name: "motivating-droptail", changes: [] },
    right: { name: "motivating-red", changes: [] },
    text: [
      "RED drops packets before the queue is full, so that the queue stays short.",
      "Compare the delay, and then the share of the low-priority group.",
    ],
    slider: "buffer",
    question: "Move the buffer: with how few packets does DropTail, too, take away LEDBAT's low priority (share above 20 %)?",
    reached: ([left]) => (left.parsed.groups.background?.share ?? 0) > 0.2,
    answer: "There: a short queue hides the congestion that LEDBAT looks for, whoever keeps it short.",
  },
  {
    title: "Why LEDBAT loses its place",
    left: { name: "motivating-droptail", changes: [["bottleneck.queue.limit", "100 packets"]] },
    right: { name: "motivating-red", changes: [["bottleneck.queue.limit", "100 packets"]] },
    text: [
      "LEDBAT yields when it measures more than 100 ms of queue delay; below that it behaves like TCP.",
      "A managed queue never gets there, so LEDBAT takes as much as TCP does.",
    ],
    slider: "rate",
    question: "Move the rate down: below which rate does LEDBAT yield on the left (share under 10 %)?",
    reached: ([left]) => (left.parsed.groups.background?.share ?? 1) < 0.1,
    answer: "There: 100 packets now take longer than LEDBAT's target.",
  },
  {
    title: "What fair queueing protects",
    left: { name: "motivating-droptail", changes: [] },
    right: { name: "motivating-droptail", changes: [[QUEUE, FAIR]] },
    text: [
      "Fair queueing gives each flow its own queue and its own turn: a new or thin flow does not wait behind others.",
      "It shares among flows, not among people: who opens more flows gets more.",
    ],
    slider: "flows-background",
    question: "Move the number of LEDBAT flows: when does the low-priority group take more than 60 % on the right?",
    reached: ([, right]) => (right.parsed.groups.background?.share ?? 0) > 0.6,
    answer: "There: each flow has an equal turn, so many low-priority flows crowd out a few others.",
  },
  {
    title: "What a mark of lower effort does",
    left: { name: "motivating-droptail", changes: [[QUEUE, '{kind="cake", preset="besteffort"}']] },
    right: { name: "motivating-droptail", changes: [[QUEUE, '{kind="cake", preset="diffserv4"}'], ["group.background.dscp", '"le"']] },
    text: [
      "A short queue hides congestion from LEDBAT, but a packet can say itself that it may wait: the code point LE.",
      "Right, CAKE gives packets with LE what others leave; left, it treats all flows alike.",
    ],
    slider: "flows-background",
    question: "Move the number of LEDBAT flows up to 20 or more: does its share on the right stay below 20 %?",
    reached: ([, right]) => right.scenario.group.some((group) => group.name === "background" && group.flows >= 20) && right.parsed.groups.background.share < 0.2,
    answer: "It does: the mark, not the number of flows, decides.",
  },
];
