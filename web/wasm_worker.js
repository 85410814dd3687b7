// SPDX-License-Identifier: Apache-2.0
// The worker of a page without a server: runs compiler, simulator and planner as WebAssembly, one question at a time.
// In: the compiled module once, then questions. Out: parts of a stream, then the reply with its status.

// @ts-ignore: made by `make studio-wasm`
import start_tessera from "./tessera.js";

/** @type {Promise<any> | null} */
let program = null;

/** @param {any} message @param {Transferable[]} [handed] */
const post = (message, handed = []) => /** @type {any} */ (self).postMessage(message, handed);

/** @param {WebAssembly.Module} module */
function start(module) {
  return start_tessera({
    instantiateWasm: (/** @type {any} */ imports, /** @type {(instance: WebAssembly.Instance) => void} */ use) => {
      WebAssembly.instantiate(module, imports).then(use);
      return {};
    },
    tell: (/** @type {Uint8Array} */ part) => {
      if (part.length > 0) post({ part }, [part.buffer]);
      return true;
    },
  });
}

/** @param {string} text the kind, a new line, its fields */
async function answer(text) {
  const tessera = await program;
  const bytes = new TextEncoder().encode(text);
  const room = tessera._make_room(bytes.length);
  tessera.HEAPU8.set(bytes, room);
  const status = tessera._answer_question();
  const begin = tessera._reply_text();
  const body = tessera.HEAPU8.slice(begin, begin + tessera._reply_bytes());
  post({ status, body }, [body.buffer]);
}

self.addEventListener("message", ({ data }) => {
  if (data.module) program = start(data.module);
  else answer(data.question).catch((error) => post({ failure: String(error) }));
});
