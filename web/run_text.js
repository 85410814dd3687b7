// SPDX-License-Identifier: Apache-2.0
// Text that the newest checkpoint of a run writes, token by token, with the seconds that each takes. Stop ends it before
// the next token.

import { cancel, is_cancelled, newest, sentence_of, stream } from "./ask.js";
import { announce, element, fill } from "./dom.js";
import { seconds_text, significant, whole } from "./format.js";
import { field } from "./setup_panel.js";

const prompt = element("input", { type: "text", id: "text_prompt", value: "Once upon a time", maxlength: 1000, autocomplete: "off" });
const temperature = element("input", { type: "text", inputmode: "decimal", id: "text_temperature", value: "0.8" });
const top_k = element("input", { type: "text", inputmode: "numeric", id: "text_top_k", value: "0" });
const tokens = element("input", { type: "text", inputmode: "numeric", id: "text_tokens", value: "200" });
const go = element("button", { class: "main", id: "text_go" }, "Write");
const stop = element("button", { class: "plain", id: "text_stop", type: "button", disabled: true }, "Stop");
const written = element("p", { class: "written", id: "written", tabindex: 0, "aria-label": "Written text" });
const pace = element("p", { class: "muted small", id: "text_pace", role: "status" });

let run = "";

/** What has come so far, for tests. */
export const text_state = { tokens: 0, writing: false };

/**
 * The run whose checkpoint writes; text of another one ends.
 * @param {string} id
 */
export function set_writer(id) {
  if (id === run) return;
  run = id;
  cancel("generate");
  fill(written);
  fill(pace);
}

async function write() {
  const lead = element("b", {}, prompt.value);
  const text = document.createTextNode("");
  fill(written, lead, text);
  fill(pace, "loading the checkpoint\u2026");
  text_state.tokens = 0;
  text_state.writing = true;
  stop.disabled = false;
  let seconds = 0;
  let step = 0;
  const told_pace = () => fill(pace, `step ${whole(step)}: ${whole(text_state.tokens)} tokens, ${seconds_text(seconds / Math.max(1, text_state.tokens))} a token, ${significant(text_state.tokens / Math.max(seconds, 1e-9))} tokens/s`);
  try {
    const asked = { run, prompt: prompt.value, temperature: Number(temperature.value), top_k: Number(top_k.value), tokens: Number(tokens.value), seed: Math.floor(Math.random() * 1e9) };
    for await (const part of stream("generate", asked, newest("generate"))) {
      if (part.step) step = part.step;
      if (part.text) text.data += part.text;
      if (part.seconds !== undefined) {
        text_state.tokens += 1;
        seconds += part.seconds;
        told_pace();
      }
    }
    announce(`${text_state.tokens} tokens are written`);
  } catch (error) {
    if (is_cancelled(error)) return void pace.append(", stopped");
    const { what, help } = sentence_of(error);
    fill(pace, element("span", { class: "is_bad" }, help ? `${what}: ${help}` : what));
  } finally {
    text_state.writing = false;
    stop.disabled = true;
  }
}

/** The panel, in a box that opens. */
export function build_text() {
  const form = element("form", { class: "text_form" }, element("div", { class: "text_prompt" }, field("Prompt", prompt)), field("Temperature", temperature, "0: always the most likely token"),
    field("Top k", top_k, "sample from the k most likely tokens; 0: from all"), field("Tokens", tokens), go, stop);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    write();
  });
  stop.addEventListener("click", () => cancel("generate"));
  return element("section", { class: "run_text", "aria-labelledby": "text_title", hidden: true }, element("header", {}, element("h2", { id: "text_title" }, "Write text"), element("span", { class: "hint" }, "with the newest checkpoint; nothing is cached between tokens")), form, written, pace);
}
