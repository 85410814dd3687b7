// SPDX-License-Identifier: Apache-2.0
// What the newest checkpoint of a run writes, token by token, with the seconds that each takes: answers in a conversation, or a
// text that it continues. Stop ends it before the next token.

import { cancel, is_cancelled, newest, said_of, stream } from "./ask.js";
import { announce, element, fill } from "./dom.js";
import { seconds_text, significant, whole } from "./format.js";
import { field } from "./setup_panel.js";

/** @param {string} id @param {string} value */
const input = (id, value) => element("input", { type: "text", id: `text_${id}`, value, autocomplete: "off" });

const how = element("select", { id: "text_how" }, element("option", { value: "chat" }, "talk"), element("option", { value: "generate" }, "continue"));
const prompt = input("prompt", "Once upon a time");
const temperature = input("temperature", "0.8");
const top_k = input("top_k", "0");
const tokens = input("tokens", "200");
const go = element("button", { class: "main", id: "text_go" }, "Write");
const stop = element("button", { class: "plain", id: "text_stop", type: "button", disabled: true }, "Stop");
const anew = element("button", { class: "plain", id: "text_new", type: "button" }, "New");
const written = element("p", { class: "written", id: "written", tabindex: 0, "aria-label": "Written text" });
const pace = element("p", { class: "muted small", id: "text_pace", role: "status" });

let run = "";
/** @type {{role: string, content: string}[]} */
let messages = [];

/** What has come so far, for tests. */
export const text_state = { tokens: 0, writing: false };

function begin_anew() {
  cancel("generate");
  messages = [];
  fill(written);
  fill(pace);
}

/**
 * The run whose checkpoint writes; text of another one ends.
 * @param {string} id
 */
export function set_writer(id) {
  if (id === run) return;
  run = id;
  begin_anew();
}

async function write() {
  const kind = how.value;
  const talks = kind === "chat";
  if (!talks) begin_anew();
  const asked = [...messages, { role: "user", content: prompt.value }];
  const text = document.createTextNode("");
  written.append(element("b", {}, prompt.value, talks && "\n"), text, talks ? "\n\n" : "");
  fill(pace, "loading the checkpoint\u2026");
  text_state.tokens = 0;
  text_state.writing = true;
  stop.disabled = false;
  let seconds = 0;
  let step = 0;
  const told_pace = () => fill(pace, `step ${whole(step)}: ${whole(text_state.tokens)} tokens, ${seconds_text(seconds / Math.max(1, text_state.tokens))} a token, ${significant(text_state.tokens / Math.max(seconds, 1e-9))} tokens/s`);
  const signal = newest("generate");
  try {
    const fields = { run, [talks ? "messages" : "prompt"]: talks ? asked : prompt.value, temperature: Number(temperature.value), top_k: Number(top_k.value), tokens: Number(tokens.value), seed: Math.floor(Math.random() * 1e9) };
    for await (const part of stream(kind, fields, signal)) {
      if (part.step) step = part.step;
      if (part.text) text.data += part.text;
      if (part.seconds !== undefined) {
        text_state.tokens += 1;
        seconds += part.seconds;
        told_pace();
      }
      if (part.left_out) pace.append(`; its first ${part.left_out} messages no longer fit its window`);
      written.scrollTop = written.scrollHeight;
    }
    if (talks) prompt.value = "";
    announce(`${text_state.tokens} tokens are written`);
  } catch (error) {
    if (!written.contains(text)) return; // another run, or a new conversation
    if (is_cancelled(error)) pace.append(", stopped");
    else fill(pace, element("span", { class: "is_bad" }, said_of(error)));
  } finally {
    if (talks && text.data && written.contains(text)) messages = [...asked, { role: "assistant", content: text.data.trim() }];
    if (!text.data) (text.previousSibling)?.remove();
    text_state.writing = false;
    stop.disabled = true;
  }
}

/** The panel, in a box that opens. */
export function build_text() {
  const form = element("form", { class: "text_form" }, element("div", { class: "text_prompt" }, field("Question or text", prompt)), field("How", how, "an answer in a conversation, or the text continued"), field("Temperature", temperature, "0: always the most likely token"),
    field("Top k", top_k, "sample from the k most likely tokens; 0: from all"), field("Tokens", tokens, "at most"), go, stop, anew);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (prompt.value && !text_state.writing) write();
  });
  stop.addEventListener("click", () => cancel("generate"));
  anew.addEventListener("click", begin_anew);
  return element("section", { class: "run_text", "aria-labelledby": "text_title", hidden: true }, element("header", {}, element("h2", { id: "text_title" }, "Talk"), element("span", { class: "hint" }, "with the newest checkpoint")), form, written, pace);
}
