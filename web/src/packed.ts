// What a page holds packed: gzip in base 85 (RFC 1924), five letters for four bytes; letters that mean something in HTML have others in their place.

const LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%,()*+-;.=:?@^_`{|}~";

/** The bytes that are packed in a text of the page, as a stream. */
export function stream(packed: string): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new Blob([bytesOf(packed.trim())]).stream().pipeThrough(new DecompressionStream("gzip"));
}

/** The JSON that is packed in it. */
export const unpacked = async <T>(packed: string): Promise<T> => (await new Response(stream(packed)).json()) as T;

// A group of five letters is a number of base 85, and four bytes, the highest first. What the last group lacks counts as its highest letters,
// and as many bytes are left out.
function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const values = new Uint8Array(128).fill(LETTERS.length - 1), groups = Math.ceil(text.length / 5), view = new DataView(new ArrayBuffer(4 * groups));
  for (let value = 0; value < LETTERS.length; value++) values[LETTERS.charCodeAt(value)] = value;
  for (let group = 0; group < groups; group++) {
    let word = 0;
    for (let place = 5 * group; place < 5 * group + 5; place++) word = 85 * word + (values[text.charCodeAt(place)] ?? LETTERS.length - 1);
    view.setUint32(4 * group, word);
  }
  return new Uint8Array(view.buffer, 0, 4 * groups - (5 * groups - text.length));
}
