// SPDX-License-Identifier: Apache-2.0
// Learn: every kind of parallelism as the true program of a tiny model, stepped forth and back, rank by rank.

import { app, on, set_run, show_part, show_screen } from "./app.js";
import { ask, is_cancelled, newest, said_of, sentence_of } from "./ask.js";
import { announce, element, fill } from "./dom.js";
import { whole } from "./format.js";
import { show_breaks } from "./lesson_break.js";
import { show_collectives } from "./lesson_collectives.js";
import { show_formulas, show_guesses } from "./lesson_figures.js";
import { show_program } from "./lesson_program.js";
import { show_ranks } from "./lesson_ranks.js";
import { show_schedule } from "./lesson_schedule.js";
import { LessonWalk, shown_ranks } from "./lesson_walk.js";

/** @typedef {import("./ask.js").Json} Json */

const FIRST = "data";

/** @type {LessonWalk | null} */
let walk = null;
/** @type {Json[]} */
let list = [];
let program_shown = 0;
let tallest = 0;  // of the ranks so far: what is below them does not jump
let move_cursor = (/** @type {number} */ _time) => {};

const menu = element("ol", { class: "lesson_list" });
const heading = element("div", { class: "lesson_heading" });
const text = element("div", { class: "lesson_text" });
const formulas = element("div", { id: "lesson_formulas" });
const stops = element("ol", { class: "lesson_stops" });
const sentence = element("p", { class: "lesson_sentence", id: "lesson_sentence" });
const slider = element("input", { type: "range", min: 0, value: 0, id: "lesson_moment", "aria-label": "Moment of the step" });
const counter = element("output", { class: "muted small", for: "lesson_moment", id: "lesson_counter" });
const schedule = element("div", { class: "lesson_schedule_frame", hidden: true });
const ranks = element("ul", { class: "rank_columns", id: "rank_columns" });
const program_tabs = element("div", { class: "segments", role: "group", "aria-label": "Program of the stage" });
const program = element("ol", { class: "program_list", id: "lesson_program" });
const body = element("div", { class: "player_body" });
const guesses = element("div", { id: "lesson_guesses" });
const breaks = element("div", { id: "lesson_breaks" });
const collectives = element("section", { id: "lesson_collectives", hidden: true });
const problem = element("p", { class: "is_bad", role: "alert" });

/** The lesson as it is played, for tests. */
export function lesson_walk() {
  return walk;
}

/**
 * What happens at the moment, in a sentence: the stop's own, or one made of the instruction.
 * @param {LessonWalk} at
 */
export function moment_text(at) {
  const here = at.stops_at();
  if (here.length > 0) return here.map((stop) => stop.sentence).join(" ");
  if (at.moment === at.last) return "The step is done.";
  const index = at.lesson.programs.findIndex((/** @type {Json} */ _, /** @type {number} */ one) => at.moves(one));
  const place = at.place(Math.max(0, index));
  if (!place) return "";
  const names = place.instruction.writes.map((buffer) => place.buffers[buffer].name).join(" and ");
  const where = `${place.call.routine} of ${place.block}`;
  return names ? `${where}: ${place.instruction.op} gives ${names}.` : `${where}: ${place.instruction.op}.`;
}

/**
 * Fill, Steady; a stop without a name of its own has that of its routine.
 * @param {Json} stop @returns {string}
 */
function stop_name(stop) {
  return stop.name.charAt(0).toUpperCase() + stop.name.slice(1).replaceAll("_", " ");
}

/** @param {number} moment */
export function go_to(moment) {
  if (!walk || moment < 0 || moment > walk.last) return;
  walk.moment = moment;
  show_moment();
  announce(sentence.textContent ?? "");
}

function show_moment() {
  if (!walk) return;
  slider.value = String(walk.moment);
  const names = walk.stops_at().map((stop) => stop_name(stop)).join(", ");
  fill(sentence, names && element("b", { class: "stop_name" }, names), moment_text(walk));
  sentence.classList.toggle("is_stop", walk.stops_at().length > 0);
  fill(counter, `moment ${whole(walk.moment + 1)} of ${whole(walk.last + 1)}`);
  slider.setAttribute("aria-valuetext", `${walk.moment + 1} of ${walk.last + 1}: ${moment_text(walk)}`);
  for (const button of stops.querySelectorAll("button")) {
    button.setAttribute("aria-current", String(Number(button.dataset.moment) === walk.moment));
  }
  show_ranks(ranks, walk);
  tallest = Math.max(tallest, ranks.offsetHeight);
  ranks.style.minHeight = `${tallest}px`;
  show_program(program, walk, program_shown);
  move_cursor(walk.lesson.times[walk.moment]);
}

/** @param {Json} lesson */
function show_heading(lesson) {
  const open = (/** @type {string} */ screen) => () => { set_run(lesson.run); show_screen(screen); };
  fill(heading, element("div", {}, element("h2", {}, lesson.title), element("p", { class: "muted" }, lesson.summary)),
    element("div", { class: "actions" },
      element("button", { class: "plain", onclick: open("plan"), title: "this run on the Plan screen" }, "Open in Plan"),
      element("button", { class: "plain", onclick: open("time"), title: "this run on the Time screen" }, "Open in Time")));
  fill(text, ...lesson.text.map((/** @type {string} */ paragraph) => element("p", {}, paragraph)),
    element("p", { class: "small muted" }, "The same program as text: ", element("code", {}, lesson.command)));
  fill(stops, ...lesson.stops.map((/** @type {Json} */ stop, /** @type {number} */ index) => element("li", {},
    element("button", { "data-moment": stop.moment, title: `${stop_name(stop)}: ${stop.sentence}`, "aria-label": `Stop ${index + 1}, ${stop_name(stop)}: ${stop.sentence}`, onclick: () => go_to(stop.moment) }, String(index + 1)))));
}

/** @param {Json} lesson */
function show_tabs(lesson) {
  program_shown = 0;
  const choose = (/** @type {number} */ index) => {
    program_shown = index;
    for (const [each, button] of [...program_tabs.children].entries()) button.setAttribute("aria-pressed", String(each === index));
    if (walk) show_program(program, walk, index);
  };
  fill(program_tabs, ...lesson.programs.map((/** @type {Json} */ _, /** @type {number} */ index) => element("button", { onclick: () => choose(index) }, `pp ${index}`)));
  program_tabs.hidden = lesson.programs.length === 1;
  choose(0);
}

/** @param {Json} lesson */
function take_lesson(lesson) {
  walk = new LessonWalk(lesson);
  fill(problem);
  tallest = 0;
  ranks.style.minHeight = "";
  body.classList.toggle("is_beside", shown_ranks(lesson).length <= 2);
  slider.max = String(walk.last);
  show_heading(lesson);
  show_formulas(formulas, lesson);
  show_guesses(guesses, lesson);
  show_breaks(breaks, lesson);
  show_collectives(collectives, lesson);
  move_cursor = show_schedule(schedule, lesson);
  show_tabs(lesson);
  for (const button of menu.querySelectorAll("button")) button.setAttribute("aria-current", button.dataset.lesson === lesson.name ? "page" : "false");
  show_moment();
}

async function load_lesson() {
  const name = app.parts.learn || FIRST;
  if (walk?.lesson.name === name) return;
  try {
    take_lesson(await ask("lesson", { lesson: name }, newest("lesson")));
  } catch (error) {
    if (is_cancelled(error)) return;
    fill(problem, said_of(error));
  }
}

async function load_list() {
  list = (await ask("lessons")).lessons;
  fill(menu, ...list.map((lesson) => element("li", {}, element("button", { "data-lesson": lesson.name, title: lesson.summary, onclick: () => show_part(lesson.name) }, lesson.title))));
}

/** @type {Record<string, (walk: LessonWalk) => number>} */
const KEYS = {
  ArrowRight: (at) => at.moment + 1, ArrowLeft: (at) => at.moment - 1, ArrowDown: (at) => at.find_collective(1), ArrowUp: (at) => at.find_collective(-1),
  PageDown: (at) => at.find_microbatch(1), PageUp: (at) => at.find_microbatch(-1), Home: () => 0, End: (at) => at.last,
};

function build_player() {
  /** @param {string} label @param {string} id @param {string} key @param {(walk: LessonWalk) => number} next @param {string} [look] */
  const step = (label, id, key, next, look = "plain") => element("button", { class: look, id, title: key ? `key ${key}` : label, "aria-keyshortcuts": key || null,
    onclick: () => { if (walk) go_to(next(walk)); } }, label);
  slider.addEventListener("input", () => go_to(Number(slider.value)));
  const player = element("section", { class: "player", "aria-label": "Player" },
    element("div", { class: "player_bar" },
      element("div", { class: "actions", role: "group", "aria-label": "Steps" },
        step("Back", "step_back", "ArrowLeft", KEYS.ArrowLeft), step("Next", "step_next", "ArrowRight", KEYS.ArrowRight, "plain is_accent"),
        step("Next collective", "step_collective", "ArrowDown", KEYS.ArrowDown), step("Next microbatch", "step_microbatch", "PageDown", KEYS.PageDown),
        step("Next stop", "step_stop", "", (at) => at.find_stop(1))),
      slider, counter),
    element("div", { class: "player_stop" }, stops, sentence),
    schedule, body);
  body.append(ranks, element("div", { class: "program_frame" }, element("header", {}, element("h3", {}, "Its program"), program_tabs,
    element("span", { class: "hint" }, "what a rank runs, with a pointer")), program));
  player.addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (target.tagName === "INPUT" || !walk || !(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    go_to(KEYS[event.key](walk));
  });
  return player;
}

/** @type {import("./main.js").Screen} */
export const learn_screen = {
  build(root) {
    root.append(element("nav", { class: "lesson_menu", "aria-label": "Lessons" }, element("h2", {}, "Lessons"), menu),
      element("div", { class: "lesson_main" }, problem, heading, text, collectives,
        element("section", {}, element("header", {}, element("h2", {}, "Predict first"), element("span", { class: "hint" }, "the compiled program answers")), guesses),
        build_player(),
        element("section", {}, element("header", {}, element("h2", {}, "What it costs"), element("span", { class: "hint" }, "the formula beside the compiled program")), formulas),
        element("section", {}, element("header", {}, element("h2", {}, "Break it"), element("span", { class: "hint" }, "one mistake in the program, and who catches it")), breaks)));
    on("screen", () => { if (app.screen === "learn") load_lesson(); });
    load_list().then(load_lesson, (error) => fill(problem, sentence_of(error).what));
  },
};
