// SPDX-License-Identifier: Apache-2.0
// Questions to the table of answers: JSON, columns or a stream of lines. The newest question of a channel wins:
// asking again cancels the one before. Errors are sentences: what, where, help.

/** @typedef {{what: string, where: string, help: string}} Sentence */
/** @typedef {Record<string, any>} Json */
/** @typedef {Float32Array | Float64Array | Uint32Array | Uint16Array | Uint8Array} Column */
/** @typedef {{head: Json, columns: Record<string, Column>, bytes: number}} Table */

const TOKEN = "tessera.token";

/** An answer that says why there is none. */
export class AskError extends Error {
  /** @param {Sentence} sentence @param {number} status */
  constructor(sentence, status) {
    super(sentence.what);
    this.sentence = sentence;
    this.status = status;
  }
}

/** A page that `make studio-wasm` made has no server: workers answer, all but what needs files or kernels. */
export const HAS_SERVER = !document.querySelector('meta[name="tessera-answers"][content="wasm"]');
const workers = HAS_SERVER ? null : import("./wasm_transport.js");

/**
 * Moves the token out of the address, so that copied links hold none.
 * @param {string} token
 */
export function keep_token(token) {
  if (token) sessionStorage.setItem(TOKEN, token);
}

/** @type {Map<string, AbortController>} */
const channels = new Map();

/**
 * A signal that the next question of the same channel aborts.
 * @param {string} channel
 */
export function newest(channel) {
  channels.get(channel)?.abort();
  const controller = new AbortController();
  channels.set(channel, controller);
  return controller.signal;
}

/**
 * Nobody waits for the answer of this channel any more.
 * @param {string} channel
 */
export function cancel(channel) {
  channels.get(channel)?.abort();
}

/** @param {unknown} error */
export function is_cancelled(error) {
  return error instanceof DOMException && error.name === "AbortError";
}

/**
 * What to show of anything that was thrown.
 * @param {any} error @returns {Sentence}
 */
export function sentence_of(error) {
  if (error instanceof AskError) return error.sentence;
  if (error?.what) return { what: error.what, where: error.where ?? "", help: error.help ?? "" };
  return { what: String(error?.message ?? error), where: "", help: "" };
}

/** @param {unknown} error the same on one line */
export function said_of(error) {
  const { what, help } = sentence_of(error);
  return help ? `${what}: ${help}` : what;
}

/**
 * A line without a model or a cluster has the defaults of the command line.
 * @param {string} key @param {unknown} value
 */
const leave_out_empty = (key, value) => ((key === "model" || key === "cluster") && value === "" ? undefined : value);

/** @param {string} kind @param {Json} fields @param {AbortSignal} [signal] @returns {Promise<Response>} */
async function post(kind, fields, signal) {
  const body = JSON.stringify(fields, leave_out_empty);
  if (workers) return (await workers).ask_worker(kind, body, signal);
  return fetch(`/ask/${kind}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Tessera-Token": sessionStorage.getItem(TOKEN) ?? "" },
    body,
    signal,
  });
}

/** @param {string} kind @param {Json} fields @param {AbortSignal} [signal] @returns {Promise<Response>} */
async function send(kind, fields, signal) {
  let response;
  try {
    response = await post(kind, fields, signal);
  } catch (error) {
    if (is_cancelled(error)) throw error;
    if (workers) throw new AskError({ what: "the program did not load", where: "tessera.wasm", help: String(error) }, 0);
    const help = "start `tessera studio` again and open the address that it prints";
    throw new AskError({ what: "the server does not answer", where: "", help }, 0);
  }
  if (response.ok) return response;
  const reply = await response.json().catch(() => ({}));
  const help = response.status === 403 || response.status === 401 ? "open the address that `tessera studio` printed" : "";
  throw new AskError(reply.error ?? { what: `the server answered ${response.status}`, where: kind, help }, response.status);
}

/** @param {string} kind @param {Json} [fields] @param {AbortSignal} [signal] @returns {Promise<Json>} */
export async function ask(kind, fields = {}, signal) {
  const reply = await (await send(kind, fields, signal)).json();
  if (reply && reply.error && reply.error.what) throw new AskError(reply.error, 200);
  return reply;
}

/** @type {Record<string, (buffer: ArrayBuffer, at: number, count: number) => Column>} */
const COLUMN_TYPES = {
  f32: (buffer, at, count) => new Float32Array(buffer, at, count),
  f64: (buffer, at, count) => new Float64Array(buffer, at, count),
  u32: (buffer, at, count) => new Uint32Array(buffer, at, count),
  u16: (buffer, at, count) => new Uint16Array(buffer, at, count),
  u8: (buffer, at, count) => new Uint8Array(buffer, at, count),
};
const COLUMN_BYTES = /** @type {Record<string, number>} */ ({ f32: 4, f64: 8, u32: 4, u16: 2, u8: 1 });

/**
 * A binary answer: the length of a JSON head, the head, the columns that it lists with their offsets.
 * A column that does not start at a multiple of its type's size is copied.
 * @param {ArrayBuffer} buffer
 * @returns {Table}
 */
export function decode_columns(buffer) {
  if (buffer.byteLength < 4) throw new Error("the columns are truncated");
  const head_bytes = new DataView(buffer).getUint32(0, true);
  if (4 + head_bytes > buffer.byteLength) throw new Error("the head of the columns is truncated");
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, head_bytes)));
  /** @type {Record<string, Column>} */
  const columns = {};
  const start = 4 + head_bytes;
  for (const { name, type, count, offset } of head.columns) {
    const size = COLUMN_BYTES[type];
    const at = start + offset;
    if (!size) throw new Error(`column ${name} has the unknown type ${type}`);
    if (at + size * count > buffer.byteLength) throw new Error(`column ${name} is truncated`);
    columns[name] = at % size === 0 ? COLUMN_TYPES[type](buffer, at, count)
      : COLUMN_TYPES[type](buffer.slice(at, at + size * count), 0, count);
  }
  return { head, columns, bytes: buffer.byteLength };
}

/** @param {string} kind @param {Json} fields @param {AbortSignal} [signal] @returns {Promise<Table>} */
export async function ask_columns(kind, fields, signal) {
  const response = await send(kind, fields, signal);
  if (!(response.headers.get("Content-Type") ?? "").includes("json")) return decode_columns(await response.arrayBuffer());
  const head = await response.json();  // its columns have no numbers
  return { head, columns: Object.fromEntries(head.columns.map((/** @type {Json} */ column) => [column.name, new Float32Array(0)])), bytes: 0 };
}

/**
 * One object per line, the last with `done`. Leaving the loop closes the connection, which cancels the work.
 * @param {string} kind @param {Json} fields @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Json>}
 */
export async function* stream(kind, fields, signal) {
  const response = await send(kind, fields, signal);
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      rest += value ?? "";
      const lines = rest.split("\n");
      rest = done ? "" : lines.pop() ?? "";
      for (const line of lines) {
        if (line.trim() === "") continue;
        const told = JSON.parse(line);
        if (told.error && told.error.what) throw new AskError(told.error, 200);
        yield told;
      }
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
