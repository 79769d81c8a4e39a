// Speech without words, made here so that no recording is needed: syllables of a buzzing voice in five vowels.

export const RATE = 8000; // samples per second, as a telephone has
const SYLLABLE_S = 0.22;
const PAUSE_EVERY = 7; // syllables to a breath
// Formants of five vowels in Hz (Peterson and Barney 1952, men, rounded).
const VOWELS = [[730, 1090, 2440], [270, 2290, 3010], [530, 1840, 2480], [570, 840, 2410], [300, 870, 2240]];
const WIDTHS = [90, 110, 170];
const HIGHEST = 3400;

/** Samples of so many seconds, between -1 and 1; always the same. */
export function voice(lengthS) {
  const samples = new Float32Array(Math.round(lengthS * RATE));
  let seed = 1;
  const random = () => {
    seed = (seed * 16807) % 2147483647;
    return seed / 2147483647;
  };
  for (let syllable = 0; syllable * SYLLABLE_S < lengthS; syllable += 1) {
    const vowel = VOWELS[Math.floor(random() * VOWELS.length)];
    const breath = syllable % PAUSE_EVERY;
    const strength = 0.7 + 0.3 * random();
    if (breath < PAUSE_EVERY - 1) speak(samples, syllable * SYLLABLE_S, vowel, 135 - 6 * breath, strength, random);
  }
  const most = samples.reduce((largest, one) => Math.max(largest, Math.abs(one)), 0) || 1;
  return samples.map((one) => one / most);
}

function speak(samples, fromS, formants, pitchHz, strength, random) {
  const begin = Math.round(fromS * RATE);
  const length = Math.min(Math.round(SYLLABLE_S * 0.92 * RATE), samples.length - begin);
  const partials = [];
  for (let pitch = pitchHz; pitch < HIGHEST; pitch += pitchHz) {
    const gain = formants.reduce((sum, formant, index) => sum + 1 / (1 + ((pitch - formant) / WIDTHS[index]) ** 2) / (1 + index), 0);
    partials.push([(2 * Math.PI * pitch) / RATE, gain]);
  }
  for (let index = 0; index < length; index += 1) {
    const part = index / length;
    // The voice falls a little within each syllable.
    const glide = index * (1 - 0.03 * part);
    let sum = part < 0.12 ? 1.5 * (random() - 0.5) : 0;
    for (const [step, gain] of partials) sum += gain * Math.sin(step * glide);
    samples[begin + index] = strength * Math.sin(Math.PI * part) ** 0.6 * sum;
  }
}
