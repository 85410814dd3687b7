// SPDX-License-Identifier: Apache-2.0
// Questions of a page without a server: workers that run the table of answers as WebAssembly. Replies are those of the server.
// A worker cannot be interrupted, so a question that is cancelled ends its worker; the program is compiled only once.

const MOST_WORKERS = Math.min(Math.max(navigator.hardwareConcurrency || 2, 2), 4);

// The page's policy takes no other script than this one from a string.
const WORKER_FILE = new URL("wasm_worker.js", import.meta.url).href;
const trusted = /** @type {any} */ (window).trustedTypes?.createPolicy("tessera-worker", { createScriptURL: () => WORKER_FILE });

/** @type {Worker[]} */
const idle = [];
/** @type {((worker: Worker) => void)[]} */
const waiting = [];
let started = 0;

async function compile() {
  const fetched = await fetch(new URL("tessera.wasm", import.meta.url));
  if (!fetched.ok) throw new Error(`tessera.wasm: the server answered ${fetched.status}`);
  if (fetched.headers.get("Content-Type") === "application/wasm") return WebAssembly.compileStreaming(fetched);
  return WebAssembly.compile(await fetched.arrayBuffer());
}
const compiled = compile();

async function start_worker() {
  started += 1;
  const worker = new Worker(trusted?.createScriptURL("") ?? WORKER_FILE, { type: "module" });
  worker.postMessage({ module: await compiled });
  give(worker);
}

/** @param {Worker} worker */
function give(worker) {
  const next = waiting.shift();
  if (next) next(worker);
  else idle.push(worker);
}

/** @param {Worker} worker */
function end(worker) {
  worker.terminate();
  started -= 1;
  start_worker();
}

/** @param {AbortSignal} [signal] @returns {Promise<Worker>} */
function free_worker(signal) {
  const worker = idle.pop();
  if (worker) return Promise.resolve(worker);
  if (started < MOST_WORKERS) start_worker();
  return new Promise((resolve, reject) => {
    waiting.push(resolve);
    signal?.addEventListener("abort", () => {
      const at = waiting.indexOf(resolve);
      if (at >= 0) waiting.splice(at, 1);
      reject(signal.reason);
    }, { once: true });
  });
}

/**
 * As `fetch` of the question would answer.
 * @param {string} kind @param {string} fields as JSON @param {AbortSignal} [signal]
 * @returns {Promise<Response>}
 */
export async function ask_worker(kind, fields, signal) {
  signal?.throwIfAborted();
  await compiled;
  const worker = await free_worker(signal);
  if (signal?.aborted) {
    give(worker);
    throw signal.reason;
  }
  return new Promise((resolve, reject) => {
    /** @type {ReadableStreamDefaultController<Uint8Array> | null} */
    let lines = null;
    const stop = () => {
      end(worker);
      reject(signal?.reason);
      lines?.error(signal?.reason);
    };
    const open = () => resolve(new Response(new ReadableStream({
      start: (controller) => { lines = controller; },
      cancel: () => { signal?.removeEventListener("abort", stop); lines = null; end(worker); },
    })));
    signal?.addEventListener("abort", stop, { once: true });
    worker.onmessage = ({ data }) => {
      if (data.part) {
        if (!lines) open();
        lines?.enqueue(data.part);
        return;
      }
      signal?.removeEventListener("abort", stop);
      const failure = data.failure && new TextEncoder().encode(JSON.stringify({ error: { what: "the program failed", where: kind, help: data.failure } }));
      if (failure) end(worker);
      else give(worker);
      if (!lines) return resolve(new Response(failure || data.body, { status: failure ? 500 : data.status }));
      lines.enqueue(failure || data.body);
      lines.close();
    };
    worker.postMessage({ question: `${kind}\n${fields}` });
  });
}
