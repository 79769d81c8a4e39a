// The packets in both queues over time: played, slowed down to single packets, or moved through by hand.

import { color } from "./charts.js";

const SPEEDS = [[4, "4 times real time"], [1, "real time"], [0.1, "a tenth"], [0.01, "a hundredth"], [0.001, "a thousandth"]];
const QUEUE_HEIGHT = 90;
const FALL_S = 0.5; // how long a drop is seen, by the clock on the wall
const STEP = 7;
const TICKS = 10_000;
const still = matchMedia("(prefers-reduced-motion: reduce)");
const byId = (id) => document.getElementById(id);

/** The packets of one side, in the order in which they left the queue. */
class Packets {
  constructor({ columns, scenario }) {
    this.left = columns["packets.left_s"];
    this.waited = columns["packets.waited_s"];
    this.group = columns["packets.group"];
    this.dropped = columns["packets.dropped"];
    this.names = scenario.group.map((group) => group.title ?? group.name);
    this.longest = this.waited.reduce((most, one) => Math.max(most, one), 0);
  }

  /** Index of the first packet that leaves after a time. */
  after(timeS) {
    let [low, high] = [0, this.left.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.left[middle] > timeS) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Those that wait at a time, the next to leave first. */
  waiting(timeS) {
    const found = [];
    for (let index = this.after(timeS); index < this.left.length && this.left[index] - timeS <= this.longest; index += 1) {
      if (this.left[index] - this.waited[index] <= timeS && this.waited[index] > 0) found.push(index);
    }
    return found;
  }

  /** Those that were dropped in the time before. */
  falling(timeS, windowS) {
    const found = [];
    for (let index = this.after(timeS) - 1; index >= 0 && timeS - this.left[index] < windowS; index -= 1) {
      if (this.dropped[index]) found.push(index);
    }
    return found;
  }

  /** How many wait, group by group, in words. */
  said(timeS) {
    const counts = this.names.map(() => 0);
    const waiting = this.waiting(timeS);
    for (const index of waiting) counts[this.group[index]] += 1;
    return `${waiting.length} (${this.names.map((name, group) => `${name} ${counts[group]}`).join(", ")})`;
  }
}

export class Player {
  /** `load` resolves to the answers of both sides with packets; `point` shows a time in the charts. */
  constructor({ places, load, point }) {
    // The first screen moves by itself, unless motion is not wanted.
    Object.assign(this, { load, point, sides: null, timeS: 0, speed: 1, playing: false, wanted: !still.matches });
    this.canvases = places.map((place) => {
      const canvas = document.createElement("canvas");
      canvas.className = "queue";
      canvas.setAttribute("role", "img");
      canvas.hidden = true;
      place.append(canvas);
      return canvas;
    });
    SPEEDS.forEach(([speed, label]) => byId("speed-of-play").append(new Option(label, String(speed), speed === 1, speed === 1)));
    byId("speed-of-play").onchange = () => { this.speed = Number(byId("speed-of-play").value); };
    byId("play").onclick = () => {
      this.wanted = !this.playing;
      if (this.wanted) this.play();
      else this.pause();
    };
    byId("next-packet").onclick = () => this.next();
    byId("time").max = String(TICKS);
    byId("time").oninput = () => this.ready().then((ready) => ready && this.show((Number(byId("time").value) / TICKS) * this.endS));
  }

  /** Forgets the packets: the scenario has changed. Where they moved, the last picture stays until they move again. */
  forget() {
    this.pause();
    this.sides = null;
    this.canvases.forEach((canvas) => { canvas.hidden = !this.wanted; });
    if (!this.wanted) byId("time-said").textContent = "";
  }

  /** Goes on after a change. */
  resume() {
    if (this.wanted && !this.playing) this.play();
  }

  /** Whether the packets are there; fetches them where they are not. */
  async ready() {
    if (this.sides) return true;
    byId("time-said").textContent = "The packets are being computed.";
    const answers = await this.load();
    if (answers === null) return false;
    const refused = answers.find((answer) => !answer.columns);
    if (refused) {
      byId("time-said").textContent = `These runs cannot be played: ${refused.failure ?? refused.problems[0].message}.`;
      return false;
    }
    this.sides = answers.map((answer) => new Packets(answer));
    this.endS = Math.max(...answers.map((answer) => JSON.parse(answer.record).duration_s));
    this.canvases.forEach((canvas) => { canvas.hidden = false; });
    return true;
  }

  async play() {
    if (!(await this.ready()) || this.playing) return;
    this.playing = true;
    byId("play").textContent = "Pause";
    // Nobody wants every picture read aloud.
    byId("time-said").setAttribute("aria-live", "off");
    if (this.timeS >= this.endS) this.timeS = 0;
    let before = performance.now();
    const frame = (now) => {
      if (!this.playing) return;
      // Where motion is not wanted, one picture a second stands still.
      const due = !still.matches || now - before >= 1000;
      if (due) {
        this.show(this.timeS + ((now - before) / 1000) * this.speed);
        before = now;
      }
      if (this.timeS >= this.endS) {
        this.wanted = false;
        this.pause();
      } else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  pause() {
    this.playing = false;
    byId("play").textContent = "Play";
    byId("time-said").setAttribute("aria-live", "polite");
    if (this.sides) this.say();
  }

  /** Goes on to the next packet that leaves a queue on either side. */
  async next() {
    if (!(await this.ready())) return;
    this.wanted = false;
    this.pause();
    const times = this.sides.map((side) => side.left[side.after(this.timeS)]).filter((time) => time !== undefined);
    if (times.length) this.show(Math.min(...times));
    this.say();
  }

  /** Shows the packets at the time of something else that plays; stops playing for it. */
  follow(timeS) {
    this.wanted = false;
    if (this.playing) this.pause();
    if (this.sides) this.show(timeS, true);
  }

  /** Shows a time; `passing` where another follows at once. */
  show(timeS, passing = this.playing) {
    this.timeS = Math.min(timeS, this.endS);
    if (document.activeElement !== byId("time")) byId("time").value = String(Math.round((this.timeS / this.endS) * TICKS));
    byId("time").setAttribute("aria-valuetext", `${this.timeS.toFixed(3)} s`);
    this.sides.forEach((side, index) => this.#draw(this.canvases[index], side));
    this.point(this.timeS);
    if (!passing) this.say();
    else byId("time-said").textContent = `${this.timeS.toFixed(this.speed < 0.1 ? 4 : 2)} s`;
  }

  /** Says in words what is seen. */
  say() {
    const [left, right] = this.sides.map((side) => side.said(this.timeS));
    byId("time-said").textContent = `At ${this.timeS.toFixed(4)} s, packets waiting: left ${left}, right ${right}.`;
  }

  #draw(canvas, side) {
    const width = canvas.parentElement.clientWidth;
    const scale = globalThis.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(QUEUE_HEIGHT * scale);
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, QUEUE_HEIGHT);
    const rows = Math.floor(QUEUE_HEIGHT / STEP);
    const columns = Math.floor(width / STEP);
    // The head of the queue is on the right, where packets leave.
    const waiting = side.waiting(this.timeS);
    waiting.slice(0, rows * columns).forEach((packet, place) => {
      pen.fillStyle = color(side.group[packet]);
      pen.fillRect(width - STEP * (1 + Math.floor(place / rows)), STEP * (place % rows), STEP - 1, STEP - 1);
    });
    if (!still.matches) {
      const windowS = FALL_S * this.speed;
      side.falling(this.timeS, windowS).forEach((packet) => {
        const part = (this.timeS - side.left[packet]) / windowS;
        pen.globalAlpha = 1 - part;
        pen.fillStyle = color(side.group[packet]);
        const tail = Math.max(0, width - STEP * (2 + Math.ceil(waiting.length / rows)));
        pen.fillRect(tail - (packet % 5) * STEP, part * QUEUE_HEIGHT, STEP - 1, STEP - 1);
      });
      pen.globalAlpha = 1;
    }
    canvas.setAttribute("aria-label", `Queue at ${this.timeS.toFixed(3)} s; one square is a packet, colored by its group`);
  }
}
