// The whole experiment in the address: JSON, deflated, as base64url behind #.

// Two scenario files of the largest size, with every second character escaped.
const LARGEST_MIB = 3;
// Deflate expands by a factor of at most 1032, so each piece of the packed bytes becomes at most 1 MB.
const PIECE = 1000;

/** What comes out of a stream; a RangeError where they are too many, and then no further piece is unpacked. */
async function through(bytes, stream) {
  let at = 0;
  const pieces = new ReadableStream({
    pull: (into) => (at < bytes.length ? into.enqueue(bytes.subarray(at, at += PIECE)) : into.close()),
  }, { highWaterMark: 0 });
  const reader = pieces.pipeThrough(stream).getReader();
  const parts = [];
  let size = 0;
  for (let read; !(read = await reader.read()).done; parts.push(read.value)) {
    size += read.value.length;
    if (size > LARGEST_MIB << 20) throw new RangeError(`it unpacks to more than ${LARGEST_MIB} MiB`);
  }
  return new Blob(parts);
}

/** The text behind # for a value. */
export async function packed(value) {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(value)), new CompressionStream("deflate-raw"));
  let text = "";
  for (const byte of new Uint8Array(await bytes.arrayBuffer())) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The value of a text behind #; throws where there is none, with the reason. */
export async function unpacked(text) {
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = await through(Uint8Array.from(binary, (letter) => letter.charCodeAt(0)), new DecompressionStream("deflate-raw"));
    return JSON.parse(await bytes.text());
  } catch (error) {
    throw error instanceof RangeError ? error : new Error("it was cut off or damaged");
  }
}
