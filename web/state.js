// SPDX-License-Identifier: Apache-2.0
// The state of the page as one line, as a person would type it, and as the run object that questions carry:
//   llama3-8b 512x8192 bf16 llama3-h100 pp=4,fsdp=8,tp=2 zero=3 microbatches=8
// The order of words is free, but for the model, which comes before the cluster. print_line and parse_line are inverse.

/** @typedef {{model: string, cluster: string, set: Record<string, string>}} Run */
/** @typedef {{run: Run, screen: string, token: string}} Fragment */

export const PRECISIONS = ["fp32", "bf16", "pure_bf16", "fp8", "pure_fp8", "fp64"];
export const AXES = ["pp", "dp", "fsdp", "ep", "cp", "tp"];
export const SCREENS = ["plan", "map", "time", "run", "learn"];
export const DEFAULT_LINE = "llama3-8b 512x8192 bf16 llama3-h100 pp=4,fsdp=8,tp=2 microbatches=32";

const SECTIONS = ["data", "train", "checkpoint", "plan", "run", "model", "mesh"];
const TRAIN_NAMES = ["batch", "seq", "microbatches", "precision", "seed", "optimizer"];
const AXIS_WORD = new RegExp(`^(${AXES.join("|")})=[^,]*(,(${AXES.join("|")})=[^,]*)*$`);

/** A line that cannot be read, in the words of an answer's error. */
export class LineError extends Error {
  /** @param {string} what @param {string} where @param {string} help */
  constructor(what, where, help) {
    super(what);
    this.what = what;
    this.where = where;
    this.help = help;
  }
}

/**
 * `zero` is plan.zero, `batch` is train.batch, `model.layers` is itself.
 * @param {string} name
 */
export function long_key(name) {
  if (name === "mesh" || SECTIONS.includes(name.split(".")[0]) && name.includes(".")) return name;
  return (TRAIN_NAMES.includes(name) ? "train." : "plan.") + name;
}

/** @param {string} key */
export function short_key(key) {
  const [section, ...rest] = key.split(".");
  const name = rest.join(".");
  if (section === "plan" && !TRAIN_NAMES.includes(name) && !SECTIONS.includes(rest[0])) return name;
  return section === "train" && TRAIN_NAMES.includes(name) ? name : key;
}

/** @param {Run} run @param {string} word */
function read_word(run, word) {
  const size = /^(\d+)[x\u00d7](\d+)$/.exec(word);
  if (size) {
    run.set["train.batch"] = size[1];
    run.set["train.seq"] = size[2];
  } else if (PRECISIONS.includes(word)) {
    run.set["train.precision"] = word;
  } else if (AXIS_WORD.test(word)) {
    run.set.mesh = run.set.mesh ? `${run.set.mesh},${word}` : word;
  } else if (word.includes("=")) {
    const at = word.indexOf("=");
    const name = word.slice(0, at);
    if (name === "model" || name === "cluster") run[name] = word.slice(at + 1);
    else if (name === "") throw new LineError("a value has no name", word, "write name=value, such as zero=3");
    else run.set[long_key(name)] = word.slice(at + 1);
  } else if (!run.model) {
    run.model = word;
  } else if (!run.cluster) {
    run.cluster = word;
  } else {
    const help = `the line has a model (${run.model}) and a cluster (${run.cluster}); other words are name=value`;
    throw new LineError(`cannot read the word ${word}`, word, help);
  }
}

/** @param {string} line @returns {Run} */
export function parse_line(line) {
  /** @type {Run} */
  const run = { model: "", cluster: "", set: {} };
  const words = line.replace(/(\d)\s*[x\u00d7]\s*(\d)/g, "$1x$2").split(/\s+/).filter((word) => word !== "");
  for (const word of words) read_word(run, word);
  return run;
}

/** @param {Run} run */
export function print_line(run) {
  const { "train.batch": batch, "train.seq": seq, "train.precision": precision, mesh, ...rest } = run.set;
  const words = [run.model];
  if (batch && seq) words.push(`${batch}x${seq}`);
  else if (batch || seq) words.push(batch ? `batch=${batch}` : `seq=${seq}`);
  if (precision) words.push(PRECISIONS.includes(precision) ? precision : `precision=${precision}`);
  if (run.cluster) words.push(run.model ? run.cluster : `cluster=${run.cluster}`);
  if (mesh) words.push(AXIS_WORD.test(mesh) ? mesh : `mesh=${mesh}`);
  for (const [key, value] of Object.entries(rest)) words.push(`${short_key(key)}=${value}`);
  return words.filter((word) => word !== "").join(" ");
}

/**
 * The line in a form that an address may hold: + for a space. `part` is what a screen shows of many, such as a lesson.
 * @param {string} screen @param {string} line @param {string} [part]
 */
export function print_fragment(screen, line, part = "") {
  const text = encodeURIComponent(line).replace(/%20/g, "+").replace(/%3D/g, "=").replace(/%2C/g, ",").replace(/%3A/g, ":");
  return screen === SCREENS[0] ? `#${text}` : `#${screen}${part && `:${part}`}/${text}`;
}

/**
 * What follows # in an address: a token alone, a token and &, then perhaps a screen (with : and a part) and /, then a line.
 * @param {string} hash
 * @returns {{token: string, screen: string, part: string, line: string}}
 */
export function parse_fragment(hash) {
  let rest = hash.replace(/^#/, "");
  const token = /^(?:token=)?([0-9a-f]{32,64})(?:&|$)/.exec(rest);
  if (token) rest = rest.slice(token[0].length);
  const [head, screen = "", part = ""] = new RegExp(`^(${SCREENS.join("|")})(?::([a-z0-9_-]+))?(?:/|$)`).exec(rest) ?? [""];
  rest = rest.slice(head.length);
  let line = "";
  try {
    line = decodeURIComponent(rest.replace(/\+/g, " ")).trim();
  } catch {
    line = "";  // a damaged address opens the default line
  }
  return { token: token ? token[1] : "", screen, part, line };
}

/** @param {string} value */
function toml_value(value) {
  return /^(true|false|-?\d+(\.\d+)?(e[+-]?\d+)?)$/.test(value) ? value : JSON.stringify(value);
}

/**
 * The run as a config file.
 * @param {Run} run
 */
export function print_toml(run) {
  /** @type {Record<string, string[]>} */
  const sections = { model: [`preset = ${JSON.stringify(run.model)}`], mesh: [] };
  for (const word of (run.set.mesh ?? "").split(",").filter(Boolean)) sections.mesh.push(word.replace("=", " = "));
  for (const [key, value] of Object.entries(run.set)) {
    if (key === "mesh") continue;
    const [section, ...rest] = key.split(".");
    (sections[section] ??= []).push(`${rest.join(".")} = ${key === "plan.zero" ? JSON.stringify(value) : toml_value(value)}`);
  }
  const parts = Object.entries(sections).filter(([, lines]) => lines.length > 0);
  return parts.map(([name, lines]) => `[${name}]\n${lines.join("\n")}\n`).join("\n");
}
