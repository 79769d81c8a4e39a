// The numbers of both sides: a table, and one sentence chosen by the outcome.

import { saidOf } from "./call.js";
import { shown } from "./quantity.js";

const percent = (value) => (value === null || value === undefined ? null : value * 100);
const CALL_MS = 150; // ITU-T G.114: one-way delay up to which most calls are comfortable
const SAME = 0.1;

const OF_LINK = [
  ["Queue delay, mean, ms", (record) => record.bottleneck.queue_ms.mean, "queue_ms.mean"],
  ["Queue delay, 99th percentile, ms", (record) => record.bottleneck.queue_ms.p99, "queue_ms.p99"],
  ["Utilization, %", (record) => percent(record.bottleneck.utilization), "utilization"],
  ["Dropped, % of packets", (record) => percent(record.bottleneck.drop_rate), "drop_rate"],
  ["Marked, packets", (record) => record.bottleneck.marks, "marks"],
];
const OF_GROUP = [
  ["share, %", (group) => percent(group.share), "share"],
  ["goodput, Mbit/s", (group) => group.goodput_mbps, "goodput_mbps"],
  ["round-trip time, mean, ms", (group) => group.rtt_ms?.mean, "rtt_ms.mean"],
];
// Shown only of groups that have them.
const OF_SOME = [
  ["quality of the call, MOS", (group) => group.voip?.mos, "voip.mos"],
  ["from mouth to ear, mean, ms", (group) => group.voip?.mouth_to_ear_ms, "voip.mouth_to_ear_ms"],
  ["time of a page, median, ms", (group) => group.page_ms?.p50, "page_ms.p50"],
];

const titled = (sides, name) => {
  for (const { scenario } of sides) {
    const title = scenario.group.find((group) => group.name === name)?.title;
    if (title) return title;
  }
  return name;
};

/** Fills the table with the records of both sides. */
export function fillTable(table, sides) {
  const groups = [...new Set(sides.flatMap((side) => side.scenario.group.map((group) => group.name)))];
  const rows = OF_LINK.map(([label, of, key]) => [label, sides.map((side) => of(side.parsed)), `bottleneck.${key}`]);
  for (const name of groups) {
    for (const [label, of, key] of [...OF_GROUP, ...OF_SOME]) {
      const values = sides.map((side) => (side.parsed.groups[name] ? of(side.parsed.groups[name]) : null));
      if (OF_SOME.some((some) => some[2] === key) && values.every((value) => value === undefined || value === null)) continue;
      rows.push([`${titled(sides, name)}: ${label}`, values, `groups.${name}.${key}`]);
    }
  }
  const caption = document.createElement("caption");
  const { duration_s: durationS, seed } = sides[0].parsed;
  caption.textContent = `One run of ${durationS} s with seed ${seed} on each side; ${shown(sides[0].parsed.events + sides[1].parsed.events)} events`;
  const head = document.createElement("thead");
  const titles = head.insertRow();
  for (const text of ["", ...sides.map((side, index) => `${["Left", "Right"][index]}: ${queueOf(side)}`)]) {
    const cell = document.createElement(text ? "th" : "td");
    if (text) cell.scope = "col";
    cell.textContent = text;
    titles.append(cell);
  }
  const body = document.createElement("tbody");
  for (const [label, values, key] of rows) {
    const row = body.insertRow();
    const name = document.createElement("th");
    name.scope = "row";
    name.textContent = label;
    row.append(name);
    for (const value of values) {
      const cell = row.insertCell();
      cell.textContent = shown(value);
      cell.dataset.key = key;
      // The number in full, for whoever copies it and for the tests.
      cell.dataset.value = JSON.stringify(value ?? null);
    }
  }
  table.replaceChildren(caption, head, body);
}

export function queueOf(side) {
  return side.scenario.bottleneck.queue.kind;
}

/** What differs most for people: the delay, and who gets the link. */
export function verdict([left, right]) {
  const delays = [left, right].map((side) => side.parsed.bottleneck.queue_ms.mean);
  if (delays.some((delay) => delay === null || delay === undefined)) return "On one side no packet left the queue.";
  return `${delaySentence(delays, [left, right].map(queueOf))}${callClause([left, right]) || shareClause([left, right])}.`;
}

function delaySentence([one, other], [first, second]) {
  const times = `${shown(one)} ms and ${shown(other)} ms`;
  const both = Math.max(one, other) <= Math.min(one, other) * (1 + SAME) || Math.abs(one - other) < 1;
  if (both) return `Packets wait equally long on both sides, ${times} on average`;
  const [short, long] = one < other ? [[first, one, "left"], [second, other, "right"]] : [[second, other, "right"], [first, one, "left"]];
  const name = ([queue, , place]) => (first === second ? `the ${place} side` : `${queue} (${place})`);
  const call = long[1] > CALL_MS && short[1] <= CALL_MS ? ", too long for a call," : "";
  return `With ${name(long)} a packet waits ${shown(long[1])} ms on average${call} and with ${name(short)} ${shown(short[1])} ms`;
}

/** What the first call is worth on both sides. */
function callClause(sides) {
  const scores = sides.map(({ parsed }) => Object.values(parsed.groups).find((group) => group.voip)?.voip.mos ?? null);
  if (scores.includes(null)) return "";
  const [left, right] = scores.map((mos) => `${shown(mos)} (${saidOf(mos)})`);
  return `; the quality of your call is ${left} on the left and ${right} on the right, of 4.5`;
}

/** The group whose share differs most between the sides. */
function shareClause(sides) {
  const [left, right] = sides;
  const moves = Object.entries(left.parsed.groups)
    .filter(([name]) => right.parsed.groups[name])
    .map(([name, group]) => [name, percent(group.share), percent(right.parsed.groups[name].share)])
    .filter(([, one, other]) => one !== null && other !== null)
    // Of two groups that exchange their shares the smaller one is the news.
    .sort((a, b) => Math.abs(b[2] - b[1]) - Math.abs(a[2] - a[1]) || a[1] - b[1]);
  if (moves.length < 2) return "";
  const tied = moves.filter((move) => Math.abs(Math.abs(move[2] - move[1]) - Math.abs(moves[0][2] - moves[0][1])) < 0.5);
  const [found, one, other] = tied.sort((a, b) => a[1] - b[1])[0];
  const name = titled(sides, found);
  if (Math.abs(one - other) < 5) return `; group ${name} has much the same share on both sides, ${shown(one)} % and ${shown(other)} %`;
  return `; the share of group ${name} is ${shown(one)} % on the left and ${shown(other)} % on the right`;
}
