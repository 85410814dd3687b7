// SPDX-License-Identifier: Apache-2.0
// A lesson's step as moments: where each program stands, what its ranks have sent and hold by then, and which moment is the next
// of some kind. No element of the page is made here.

/** @typedef {import("./ask.js").Json} Json */
/** @typedef {{name: string, size: number, whole?: number, axes?: string[], hops?: number}} LessonDim */
/** @typedef {{name: string, dtype: string, bytes: number, lifetime: string, dims: LessonDim[], pending?: string}} LessonBuffer */
/** @typedef {{op: string, reads: number[], writes: number[], sent?: number, group?: number, axes?: string, started?: boolean, adds?: boolean}} LessonInstruction */
/** @typedef {{routine: string, block: number, microbatch: number, begin: number, end: number, kept: number, channel?: {name: string, from: number, to: number}}} LessonCall */
/** @typedef {{program: number, call: LessonCall, call_index: number, index: number, instruction: LessonInstruction, block: string, class_name: string, buffers: LessonBuffer[]}} Place */

const ACTIONS = /** @type {Record<string, string>} */ ({ forward: "F", backward: "B", recompute: "B", input_grad: "I", weight_grad: "W" });

/**
 * F, B, I or W; empty for what is neither.
 * @param {LessonCall} call
 */
export function action_letter(call) {
  return ACTIONS[call.routine] ?? "";
}

export class LessonWalk {
  /** @param {Json} lesson */
  constructor(lesson) {
    this.lesson = lesson;
    this.moment = 0;
    /** @type {{call: number, index: number}[][]} */
    this.positions = [];
    /** @type {Float64Array[]} */
    this.sent = [];
    for (const program of lesson.programs) this.add_program(program);
  }

  /** @param {Json} program */
  add_program(program) {
    const positions = [];
    const sums = [];
    let sum = 0;
    for (let call = 0; call < program.calls.length; call += 1) {
      const { instructions } = this.routine(program, program.calls[call]);
      const { channel } = program.calls[call];
      const at_home = channel && channel.from === channel.to;  // two stages of one rank
      for (let index = 0; index < instructions.length; index += 1) {
        sum += at_home ? 0 : instructions[index].sent ?? 0;
        positions.push({ call, index });
        sums.push(sum);
      }
    }
    this.positions.push(positions);
    this.sent.push(Float64Array.from(sums));
  }

  /** @param {Json} program @param {LessonCall} call @returns {{instructions: LessonInstruction[], scratch: number[]}} */
  routine(program, call) {
    return program.classes[program.blocks[call.block].class].routines[call.routine];
  }

  get last() {
    return this.lesson.moments.length - 1;
  }

  /**
   * Where a program stands; null before its first instruction.
   * @param {number} program @param {number} [moment] @returns {Place | null}
   */
  place(program, moment = this.moment) {
    const position = this.lesson.moments[moment][program];
    if (position < 0) return null;
    const told = this.lesson.programs[program];
    const { call: call_index, index } = this.positions[program][position];
    const call = told.calls[call_index];
    const block = told.blocks[call.block];
    const in_class = told.classes[block.class];
    return { program, call, call_index, index, instruction: this.routine(told, call).instructions[index], block: block.name,
      class_name: in_class.name, buffers: in_class.buffers };
  }

  /**
   * Whether a program does something new at a moment.
   * @param {number} program @param {number} [moment]
   */
  moves(program, moment = this.moment) {
    return moment === 0 || this.lesson.moments[moment][program] !== this.lesson.moments[moment - 1][program];
  }

  /**
   * Bytes that a rank of a program has sent.
   * @param {number} program @param {number} [moment]
   */
  sent_by(program, moment = this.moment) {
    const position = this.lesson.moments[moment][program];
    return position < 0 ? 0 : this.sent[program][position];
  }

  /**
   * Bytes that a rank of a program has in use.
   * @param {number} program @param {number} [moment]
   */
  memory(program, moment = this.moment) {
    const told = this.lesson.programs[program];
    const place = this.place(program, moment);
    return told.always_bytes + (place ? place.call.kept + this.routine(told, place.call).scratch[place.index] : 0);
  }

  /**
   * The first moment from here that is such; -1: none.
   * @param {number} way @param {(moment: number) => boolean} is_such
   */
  find(way, is_such) {
    for (let moment = this.moment + way; moment >= 0 && moment <= this.last; moment += way) if (is_such(moment)) return moment;
    return -1;
  }

  /** @param {number} way */
  find_collective(way) {
    return this.find(way, (moment) => this.lesson.programs.some((/** @type {Json} */ _, /** @type {number} */ program) =>
      this.moves(program, moment) && this.place(program, moment)?.instruction.group !== undefined));
  }

  /**
   * A forward or a backward begins, of another microbatch or the other way.
   * @param {number} way
   */
  find_microbatch(way) {
    return this.find(way, (moment) => this.lesson.programs.some((/** @type {Json} */ _, /** @type {number} */ program) =>
      this.moves(program, moment) && this.begins_action(program, moment)));
  }

  /** @param {number} program @param {number} moment */
  begins_action(program, moment) {
    const place = this.place(program, moment);
    if (!place || place.index > 0 || !action_letter(place.call)) return false;
    const { calls } = this.lesson.programs[program];
    for (let before = place.call_index - 1; before >= 0; before -= 1) {
      const letter = action_letter(calls[before]);
      if (letter) return letter !== action_letter(place.call) || calls[before].microbatch !== place.call.microbatch;
    }
    return true;
  }

  /**
   * The stops at a moment: two stages may reach theirs at once.
   * @param {number} [moment] @returns {Json[]}
   */
  stops_at(moment = this.moment) {
    return this.lesson.stops.filter((/** @type {Json} */ stop) => stop.moment === moment);
  }

  /**
   * Units of time in which a program had nothing to do.
   * @param {number} program @param {number} [moment]
   */
  idle(program, moment = this.moment) {
    const now = this.lesson.times[moment];
    let worked = 0;
    for (const call of this.lesson.programs[program].calls) if (call.begin < now) worked += Math.min(call.end, now) - call.begin;
    return Math.max(0, now - worked);
  }

  /** @param {number} way */
  find_stop(way) {
    return this.find(way, (moment) => this.stops_at(moment).length > 0);
  }

  /**
   * Ranks that take part in what a rank does: its group, or the rank at the other end of a channel.
   * @param {Json} rank @param {Place} place @returns {number[]}
   */
  peers(rank, place) {
    const { group } = place.instruction;
    if (group === undefined) return [];
    if (group >= 0) return rank.groups[group];
    const { channel } = place.call;
    if (!channel) return [];
    const other = rank.coordinates.pp === channel.from ? channel.to : channel.from;
    return this.lesson.ranks.filter((/** @type {Json} */ one) => Object.entries(one.coordinates).every(([axis, value]) =>
      value === (axis === "pp" ? other : rank.coordinates[axis]))).map((/** @type {Json} */ one) => one.rank);
  }
}

/**
 * The parts of a dim that a rank holds, as shares from 0 to 1. A ring's ranks hold an early and a late part of the sequence.
 * @param {Json} lesson @param {Json} rank @param {LessonDim} dim @returns {[number, number][]}
 */
export function held_parts(lesson, rank, dim) {
  if (!dim.axes || dim.axes.length === 0) return [[0, 1]];
  let index = 0;
  let parts = 1;
  for (const axis of dim.axes) {
    const size = lesson.axes.find((/** @type {Json} */ one) => one.name === axis).size;
    const travelled = axis === "cp" ? dim.hops ?? 0 : 0;
    index = index * size + (rank.coordinates[axis] - travelled + size * travelled) % size;
    parts *= size;
  }
  if (dim.name === "seq" && lesson.zigzag === parts && dim.axes.includes("cp")) {
    return [[index / (2 * parts), (index + 1) / (2 * parts)], [(2 * parts - 1 - index) / (2 * parts), (2 * parts - index) / (2 * parts)]];
  }
  return [[index / parts, (index + 1) / parts]];
}

/**
 * The ranks that are shown: all of up to eight, else rank 0 and its neighbour along each axis.
 * @param {Json} lesson @returns {Json[]}
 */
export function shown_ranks(lesson) {
  if (lesson.ranks.length <= 8) return lesson.ranks;
  return lesson.ranks.filter((/** @type {Json} */ rank) => {
    const off = Object.values(rank.coordinates).filter((value) => value > 0);
    return off.length === 0 || (off.length === 1 && off[0] === 1);
  });
}
