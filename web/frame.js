// SPDX-License-Identifier: Apache-2.0
// The frame of every screen: the line that is the whole state, the verdict beside it, what can be done with the plan,
// the screens and their keys.

import { app, on, set_line, show_screen } from "./app.js";
import { announce, by_id, element, fill, save_file } from "./dom.js";
import { bytes_text, percent, seconds_text, whole } from "./format.js";
import { open_palette } from "./palette.js";
import { print_toml, SCREENS } from "./state.js";
import { build_theme_switch } from "./theme.js";

const TITLES = /** @type {Record<string, string>} */ ({ plan: "Plan", map: "Map", time: "Time", run: "Run", learn: "Learn" });

/**
 * 53.0 of 80.0 GB; the first has a unit of its own where it is another one.
 * @param {import("./ask.js").Json} told
 */
function memory_words(told) {
  const [peak, device] = [bytes_text(told.peak_bytes), bytes_text(told.device_memory_bytes)];
  const same = peak.split(" ")[1] === device.split(" ")[1];
  return { peak: same ? peak.split(" ")[0] : peak, device };
}

/** The verdict in a few words, for screen readers and tests. */
export function verdict_text() {
  const told = app.verdict;
  if (app.error) return app.error.what;
  if (!told) return "";
  const fits = told.fits ? "fits" : "does not fit";
  return `${fits}, ${memory_words(told).peak} of ${memory_words(told).device}, ${seconds_text(told.step_seconds)}, MFU ${percent(told.mfu)}`;
}

function show_verdict() {
  const told = app.verdict;
  const output = by_id("verdict");
  document.body.classList.toggle("has_error", app.error !== null);
  if (!told || app.error) return fill(output);
  const fits = told.fits
    ? element("span", { class: "fits" }, "fits")
    : element("span", { class: "fits is_bad" }, "does not fit");
  fill(output,
    element("span", {}, fits, element("b", {}, memory_words(told).peak), ` of ${memory_words(told).device}`),
    element("span", { title: "seconds of one step" }, element("b", {}, seconds_text(told.step_seconds))),
    element("span", { title: "share of the devices' peak that the model's own flops use" }, "MFU ", element("b", {}, percent(told.mfu))));
  announce(verdict_text());
}

/** Goes to the search and starts it, where it does not run yet. */
async function find_plan() {
  show_screen("plan");
  while (!document.querySelector("#search_start")) await new Promise((done) => setTimeout(done, 50));
  const start = by_id("search_start");
  start.scrollIntoView({ block: "center" });
  start.focus({ preventScroll: true });
  if (start.textContent === "Search") start.click();
}

/** @param {import("./ask.js").Json} told */
function memory_note(told) {
  return element("span", { class: "warning" }, element("b", {}, "memory"), ` ${told.memory_reason} `,
    element("button", { class: "plain", id: "find_plan", onclick: find_plan }, "Find a plan that fits"));
}

/**
 * What the compiler warns of; an axis that is wider than a node costs time, not memory.
 * @param {string} text
 */
function warning_note(text) {
  return element("span", { class: "warning" }, text.includes(" spans more than ") && element("b", {}, "speed "), text);
}

/**
 * What the figures leave out or assume: the number of lines, and the lines for whoever opens it.
 * @param {{text: string}[]} unknown
 */
function unknown_note(unknown) {
  return element("details", { id: "unknown" }, element("summary", {}, `${unknown.length} left out or assumed`),
    element("ul", {}, ...unknown.map((each) => element("li", {}, each.text))));
}

function show_note() {
  const note = by_id("note");
  note.classList.toggle("is_error", app.error !== null);
  note.removeAttribute("role");
  if (app.error) {
    note.setAttribute("role", "alert");
    const { what, where, help } = app.error;
    fill(note, element("strong", {}, what), where && element("code", {}, where), help && element("span", {}, help));
  } else if (app.verdict) {
    const { sources, warnings, ranks, cluster, calibrated, error_bar, unknown } = app.verdict;
    const figures = sources ? `${sources.measured} figures measured, ${sources.published} published, ${sources.assumed} assumed` : "";
    fill(note, element("span", {}, `${whole(ranks)} ${ranks === 1 ? "rank" : "ranks"} on ${cluster}`),
      figures && element("span", {}, figures), calibrated === false && element("span", {}, "never calibrated"),
      error_bar && element("span", { id: "error_bar" }, `8 of 10 of ${error_bar.runs} published runs like this were predicted within ${error_bar.percent} %`),
      unknown?.length > 0 && unknown_note(unknown),
      app.verdict.fits === false && memory_note(app.verdict), ...(warnings ?? []).map(warning_note));
  }
}

function show_state() {
  const input = /** @type {HTMLInputElement} */ (by_id("line"));
  if (document.activeElement !== input || input.dataset.typing !== "yes") input.value = app.line;
  input.title = `${app.line}\n\nThe whole plan; edit it here.`;
  const state = /** @type {HTMLElement} */ (input.parentElement);
  state.classList.remove("is_long");
  state.classList.toggle("is_long", input.scrollWidth > input.clientWidth);
  document.title = `${app.line.split(" ")[0]} \u00b7 Tessera Studio`;
}

function build_line() {
  const input = /** @type {HTMLInputElement} */ (by_id("line"));
  let timer = 0;
  input.addEventListener("input", () => {
    input.dataset.typing = "yes";
    clearTimeout(timer);
    timer = window.setTimeout(() => set_line(input.value), 250);
  });
  const take = () => {
    clearTimeout(timer);
    if (input.dataset.typing !== "yes") return;
    input.dataset.typing = "no";
    set_line(input.value);
    if (!app.error) input.value = app.line;
  };
  input.addEventListener("blur", take);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") take();
    if (event.key === "Escape") input.blur();
  });
}

/**
 * Copies and says so on the button for a moment.
 * @param {HTMLButtonElement} button @param {string} text
 */
async function copy(button, text) {
  const label = button.textContent ?? "";
  button.style.minWidth = `${button.offsetWidth}px`;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
    announce("copied");
  } catch {
    button.textContent = "not allowed";
  }
  button.dataset.copied = text;
  setTimeout(() => (button.textContent = label), 1200);
}

/** The command that gives the same figures. */
export function command_text() {
  return app.verdict?.command ?? `tessera simulate --cluster ${app.run.cluster} --model ${app.run.model} ${Object.entries(app.run.set).map(([key, value]) => `--set ${key}=${value}`).join(" ")}`;
}

function build_actions() {
  /** @param {string} label @param {string} title @param {(button: HTMLButtonElement) => void} act @param {string} id */
  const action = (label, title, act, id) => {
    const button = element("button", { id, title, class: "plain" }, label);
    button.addEventListener("click", () => act(button));
    return button;
  };
  by_id("actions").append(
    action("Copy command", "the command that gives the same figures", (button) => copy(button, command_text()), "copy_command"),
    action("Copy link", "a link to this screen of this plan", (button) => copy(button, location.href), "copy_link"),
    action("Save .toml", "the plan as a config file", () => save_file(`${app.run.model || "plan"}.toml`, "application/toml", print_toml(app.run)), "save_toml"),
    action("Prove", "run this mesh in fp64 and compare it with one rank", async () => (await import("./proof.js")).prove(), "prove"),
    build_theme_switch());
  by_id("prove").classList.add("is_accent");
}

/** @param {string[]} screens */
function build_screens(screens) {
  const buttons = SCREENS.filter((name) => screens.includes(name)).map((name) => {
    const key = String(SCREENS.indexOf(name) + 1);
    return element("button", { id: `screen_${name}`, "aria-keyshortcuts": key, title: `key ${key}`, onclick: () => show_screen(name) }, TITLES[name]);
  });
  by_id("screens").append(...buttons);
  const mark = () => {
    document.body.classList.toggle("is_beside_plan", app.screen === "run" || app.screen === "learn");
    for (const name of screens) by_id(`screen_${name}`).setAttribute("aria-current", name === app.screen ? "page" : "false");
  };
  on("screen", mark);
  mark();
}

/** @param {KeyboardEvent} event */
function is_typing(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  return target.isContentEditable || ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName);
}

/** @param {string[]} screens */
export function build_frame(screens) {
  build_screens(screens);
  build_actions();
  build_line();
  on("run", show_state);
  window.addEventListener("resize", show_state);
  on("verdict", show_verdict);
  on("verdict", show_note);
  show_state();
  by_id("skip").addEventListener("click", (event) => {
    event.preventDefault();
    by_id("screen").focus();
  });
  document.addEventListener("keydown", (event) => {
    if (is_typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    const screen = SCREENS[Number(event.key) - 1];
    if (screen && screens.includes(screen)) show_screen(screen);
    if (event.key === "/") {
      event.preventDefault();
      open_palette();
    }
  });
}
