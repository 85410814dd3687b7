// SPDX-License-Identifier: Apache-2.0
// A pipeline's step as a picture: a row per stage, a box per forward, input gradient, weight gradient or backward with the number
// of its microbatch, and the moment of the player. From the compiled scripts, where each of them costs one unit.

import { fill, svg } from "./dom.js";
import { action_letter } from "./lesson_walk.js";

/** @typedef {import("./ask.js").Json} Json */

const ROW = 26;
const LEFT = 64;
const COLOURS = /** @type {Record<string, string>} */ ({ F: "sky", B: "green", I: "orange", W: "purple" });

/**
 * Runs of calls that are one action.
 * @param {Json} program
 */
export function actions_of(program) {
  /** @type {{letter: string, microbatch: number, stage: number, begin: number, end: number}[]} */
  const actions = [];
  for (const call of program.calls) {
    const letter = action_letter(call);
    if (!letter) continue;
    const { stage } = program.blocks[call.block];
    const last = actions.at(-1);
    if (last && last.letter === letter && last.microbatch === call.microbatch && last.stage === stage) last.end = call.end;
    else actions.push({ letter, microbatch: call.microbatch, stage, begin: call.begin, end: call.end });
  }
  return actions;
}

/** @param {Json} lesson @param {number} width */
export function draw_schedule(lesson, width) {
  const end = Math.max(...lesson.programs.flatMap((/** @type {Json} */ program) => program.calls.map((/** @type {Json} */ call) => call.end)));
  const scale = (width - LEFT - 8) / end;
  const height = lesson.programs.length * ROW + 4;
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "lesson_schedule", role: "img",
    "aria-label": `Forwards and backwards of ${lesson.programs.length} stages over time` });
  lesson.programs.forEach((/** @type {Json} */ program, /** @type {number} */ row) => {
    const top = row * ROW + 2;
    picture.append(svg("text", { x: 0, y: top + 16 }, `pp ${row}`), svg("rect", { x: LEFT, y: top, width: end * scale, height: ROW - 4, class: "idle" }));
    for (const { letter, microbatch, begin, end: until, stage } of actions_of(program)) {
      const x = LEFT + begin * scale;
      const wide = (until - begin) * scale;
      picture.append(svg("rect", { x, y: top, width: Math.max(1, wide - 1), height: ROW - 4, class: `fill_${COLOURS[letter]} ${stage >= lesson.programs.length ? "is_second" : ""}` }));
      if (wide >= 14) picture.append(svg("text", { x: x + wide / 2 - 0.5, y: top + 15, class: "number" }, wide >= 24 ? `${letter}${microbatch}` : String(microbatch)));
    }
  });
  const cursor = svg("line", { x1: LEFT, x2: LEFT, y1: 0, y2: height, class: "cursor" });
  picture.append(cursor);
  /** @param {number} time */
  const move = (time) => { const x = LEFT + time * scale; cursor.setAttribute("x1", String(x)); cursor.setAttribute("x2", String(x)); };
  return { picture, move };
}

/** @param {HTMLElement} root @param {Json} lesson @returns {(time: number) => void} */
export function show_schedule(root, lesson) {
  fill(root);
  root.hidden = lesson.programs.length === 1;
  if (root.hidden) return () => {};
  const { picture, move } = draw_schedule(lesson, Math.max(480, root.clientWidth || 900));
  root.append(picture);
  return move;
}
