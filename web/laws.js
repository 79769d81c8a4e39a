// The laws of `sojourn try` that take a page less than a second, and their bounds.

export const MIN_ALONE = 0.8;
export const MIN_JAIN = 0.8;
const SEEDS = [1, 2, 3];

const mean = (values) => values.reduce((sum, value) => sum + (value ?? 0), 0) / values.length;
const percent = (value) => `${(value * 100).toFixed(1)} %`;

function lab(packets, seconds, ...groups) {
  const flows = groups.map((group) => `[[group]]\nrtt = "40 ms"\n${group}\n`).join("");
  return `duration = "${seconds} s"\nwarmup = "5 s"\nbottleneck = { rate = "10 Mbit/s", queue = { kind = "droptail", limit = "${packets} packets" } }\n${flows}`;
}

const mine = (flows, more = "") => `name = "mine"\ncontrol = "mine"\nflows = ${flows}\n${more}`;

/** Each law: its name, the scenario and the seeds of its runs, and what the records say. */
export const LAWS = [
  { name: "The same seed gives the same run", text: lab(50, 30, mine(2)), seeds: [1, 1], judge: ([one, other]) => {
    const same = one.events === other.events && JSON.stringify(one.groups) === JSON.stringify(other.groups);
    return [same, same ? "the same record twice" : "two runs of one seed differ"];
  } },
  { name: "A lone flow uses the link", text: lab(34, 60, mine(1)), seeds: SEEDS, judge: (records) => {
    const used = mean(records.map((record) => record.bottleneck.utilization));
    return [used >= MIN_ALONE, `utilization ${percent(used)}, at least ${percent(MIN_ALONE)}`];
  } },
  { name: "Equal flows share", text: lab(50, 60, mine(4, 'start = { uniform = ["0 s", "1 s"] }')), seeds: SEEDS, judge: (records) => {
    const jain = mean(records.map((record) => record.jain_all));
    return [jain >= MIN_JAIN, `Jain's index of 4 flows ${jain.toFixed(3)}, at least ${MIN_JAIN}`];
  } },
  { name: "Beside as many NewReno flows", text: lab(50, 30, mine(2), 'name = "other"\ncontrol = "newreno"\nflows = 2'), seeds: SEEDS, judge: (records) => {
    const share = mean(records.map((record) => record.groups.mine.share));
    return [null, `it has ${percent(share)} of the link`];
  } },
];
