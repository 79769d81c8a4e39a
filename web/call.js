// A call through the simulated queue: its quality over time, and its sound with the delays and losses of its packets.

import { color } from "./charts.js";
import { placeOf, plot } from "./plot.js";
import { quantity, shown } from "./quantity.js";
import { RATE, voice } from "./voice.js";

const LISTEN_S = 15;
const VOICE_S = 8;
const LOUDEST = 0.3; // of what the machine can give
const BESIDE = 0.5; // of that, for what is said
// A frame that is not there is replaced by the one before it, softer each time; then there is silence.
const CONCEALED = [0.6, 0.3, 0.1];
const HEIGHT = 150;
export const MAX_MOS = 4.5;
// ITU-T G.107 Annex B: what people say of a connection with at least this score.
const SAID = [[4.34, "very satisfied"], [4.03, "satisfied"], [3.6, "some dissatisfied"], [3.1, "many dissatisfied"], [2.58, "nearly all dissatisfied"], [0, "not to be recommended"]];

export const saidOf = (mos) => SAID.find(([least]) => mos >= least)[1];

/** The place of the first group that makes a call; -1 where there is none. */
export const callOf = (scenario) => scenario.group.findIndex((group) => group.traffic?.kind === "voip");

/** The first call of a run with packets: times in s at which each packet was spoken and is played, and opinions. */
export function firstCall({ scenario, columns }) {
  const group = callOf(scenario);
  const rows = (prefix) => [...columns[`${prefix}.group`].keys()].filter((row) => columns[`${prefix}.group`][row] === group && columns[`${prefix}.index`][row] === 0);
  const pick = (prefix, name) => rows(prefix).map((row) => columns[`${prefix}.${name}`][row]);
  return {
    group, frameS: quantity(scenario.group[group].traffic.frame),
    spoken: pick("calls", "spoken_s"), arrived: pick("calls", "arrived_s"), played: pick("calls", "played_s"),
    times: pick("opinions", "time_s"), mos: pick("opinions", "mos").map((mos) => (Number.isNaN(mos) ? null : mos)),
  };
}

/** What the ear gets from a time on, as samples: a frame is stretched or shortened as the playout buffer moves. */
export function heard({ spoken, played, frameS }, said, fromS, lengthS) {
  const ear = new Float32Array(Math.round(lengthS * RATE));
  let [delayS, source, missing] = [null, 0, 0];
  for (let row = 0; row < spoken.length; row += 1) {
    if (Number.isNaN(played[row])) missing += 1;
    else [delayS, source, missing] = [played[row] - spoken[row], spoken[row], 0];
    const gain = missing === 0 ? 1 : CONCEALED[missing - 1];
    if (delayS === null || gain === undefined) continue;
    const at = spoken[row] + delayS;
    const follows = spoken[row + 1] - spoken[row] < 1.5 * frameS && !Number.isNaN(played[row + 1]);
    write(ear, at - fromS, (follows ? played[row + 1] : at + frameS) - fromS, said, source, frameS, gain);
  }
  return ear;
}

/** What the mouth says from a time on: only what is sent, since a speaker may pause. */
export function spokenSound({ spoken, frameS }, said, fromS, lengthS) {
  const mouth = new Float32Array(Math.round(lengthS * RATE));
  spoken.forEach((at) => write(mouth, at - fromS, at + frameS - fromS, said, at, frameS, 1));
  return mouth;
}

function write(out, beginS, endS, said, sourceS, frameS, gain) {
  const [begin, end] = [Math.round(beginS * RATE), Math.round(endS * RATE)];
  if (end <= 0 || begin >= out.length || end <= begin) return;
  const [first, step] = [Math.round(sourceS * RATE), (frameS * RATE) / (end - begin)];
  for (let index = Math.max(0, begin); index < Math.min(end, out.length); index += 1) {
    const place = Math.floor(first + (index - begin) * step) % said.length;
    out[index] = gain * said[place < 0 ? place + said.length : place];
  }
}

/** The calls of both sides in the page: a chart and a button each. */
export class Calls {
  /** `load` resolves to both answers with packets; `point` hears of the time that is heard, `from` tells where to begin. */
  constructor({ place, where, load, from, point }) {
    Object.assign(this, { load, from, point, playing: null, calls: null });
    this.both = document.createElement("label");
    this.both.append(Object.assign(document.createElement("input"), { type: "checkbox", checked: true, id: "said-too" }), "What is said in the left ear, what is heard in the right: the time between them is the delay");
    this.views = where.map((side, index) => {
      const box = document.createElement("div");
      const listen = Object.assign(document.createElement("button"), { type: "button", textContent: `Hear the ${side} call`, onclick: () => this.listen(index) });
      const said = Object.assign(document.createElement("p"), { className: "quiet" });
      const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      picture.setAttribute("role", "img");
      picture.setAttribute("height", String(HEIGHT));
      box.append(listen, said, picture);
      return { box, listen, said, picture, label: listen.textContent };
    });
    const row = Object.assign(document.createElement("div"), { className: "two" });
    row.append(...this.views.map((view) => view.box));
    place.append(row, this.both);
    new ResizeObserver(() => this.calls && this.draw()).observe(place);
  }

  /** Stops, and forgets the sounds: the scenario has changed. */
  forget() {
    this.stop();
    this.calls = null;
  }

  /** Shows the quality of both calls. */
  show(answers) {
    this.records = answers.map(({ record, scenario }) => JSON.parse(record).groups[scenario.group[callOf(scenario)].name].voip);
    this.endS = Math.max(...answers.map(({ scenario }) => quantity(scenario.duration)));
    this.calls = answers.map(firstCall);
    this.draw();
  }

  draw() {
    this.views.forEach(({ said, picture, box }, index) => {
      const { times, mos, group } = this.calls[index];
      const { mos: mean, loss, late, mouth_to_ear_ms: ms } = this.records[index];
      const style = getComputedStyle(document.documentElement);
      const lines = [{ values: mos, ink: color(group), dash: [] }];
      const width = box.clientWidth;
      picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
      picture.innerHTML = plot({ width, height: HEIGHT, endS: this.endS, most: MAX_MOS, times, lines, text: style.getPropertyValue("--quiet"), grid: style.getPropertyValue("--line") })
        + `<path class="cursor" d="M0 0V${HEIGHT}" stroke="currentColor" hidden/>`;
      const quality = mean === null ? "Nothing is known of this call" : `MOS ${shown(mean)} of ${MAX_MOS}: ${saidOf(mean)}`;
      said.textContent = `${quality}. ${shown(ms)} ms from mouth to ear; ${shown((loss ?? 0) * 100)} % lost, ${shown((late ?? 0) * 100)} % too late.`;
      picture.setAttribute("aria-label", `Quality of the call over time, in MOS: lowest ${shown(Math.min(...mos.filter((one) => one !== null)))}`);
    });
  }

  /** Puts the cursor at a time; away for null. */
  cursor(timeS) {
    this.views.forEach(({ picture, box }) => {
      const line = picture.lastElementChild;
      line?.toggleAttribute("hidden", timeS === null);
      if (timeS !== null) line?.setAttribute("transform", `translate(${placeOf(timeS, this.endS, box.clientWidth)})`);
    });
  }

  /** Plays a side, or stops it. */
  async listen(index) {
    const was = this.playing?.index;
    this.stop();
    if (was === index) return;
    // Only a click may start sound, so the context begins here.
    const context = new AudioContext();
    const turn = { index, context };
    this.playing = turn;
    this.views[index].listen.textContent = "Stop";
    const answers = await this.load();
    if (answers === null || this.playing !== turn) return;
    const fromS = this.from(this.endS);
    const lengthS = Math.min(LISTEN_S, this.endS - fromS);
    const sound = this.sound(index, fromS, lengthS);
    const buffer = context.createBuffer(2, sound[0].length, RATE);
    sound.forEach((samples, channel) => buffer.copyToChannel(samples, channel));
    const source = new AudioBufferSourceNode(context, { buffer });
    source.connect(context.destination);
    source.onended = () => this.playing === turn && this.stop();
    const began = context.currentTime;
    source.start();
    const frame = () => {
      if (this.playing !== turn) return;
      this.point(fromS + context.currentTime - began);
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  /** Samples of both ears, bounded. */
  sound(index, fromS, lengthS) {
    this.said ??= voice(VOICE_S);
    const ear = heard(this.calls[index], this.said, fromS, lengthS).map((one) => one * LOUDEST);
    if (!this.both.firstChild.checked) return [ear, ear];
    return [spokenSound(this.calls[index], this.said, fromS, lengthS).map((one) => one * LOUDEST * BESIDE), ear];
  }

  stop() {
    if (!this.playing) return;
    const { index, context } = this.playing;
    this.playing = null;
    context.close();
    this.views[index].listen.textContent = this.views[index].label;
  }
}
