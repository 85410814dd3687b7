// SPDX-License-Identifier: Apache-2.0
// Prove: runs `verify` for the plan, says how far it is, and shows its verdict with the figures that the command prints.

import { app } from "./app.js";
import { HAS_SERVER, is_cancelled, newest, sentence_of, stream } from "./ask.js";
import { announce, element, fill } from "./dom.js";

/** @typedef {import("./ask.js").Json} Json */

/**
 * 1.27e-16, as the command line prints it.
 * @param {number} value
 */
function error_text(value) {
  const [digits, power] = Number(value).toExponential(2).split("e");
  return `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}

/** @param {Json} told */
function headline(told) {
  if (told.undecided) return "Undecided: a router was so close to a tie that rounding chose the expert";
  return told.equal ? "Equal: this plan computes what one rank computes" : "Not equal: this plan computes something else than one rank";
}

/** @param {Json} told */
function errors_table(told) {
  const rows = [["loss", told.loss_error, told.loss_allowed, ""],
    ["gradient norm", told.grad_norm_error, told.grad_norm_allowed, ""],
    ["gradients", told.gradient_error, told.gradient_allowed, told.gradient_worst],
    ["parameters", told.parameter_error, told.parameter_allowed, told.parameter_worst],
    ["replicas", told.replica_error, 0, told.replica_worst]];
  if (told.routes > 0) rows.push([`${told.routes} routes to experts`, told.routes_off, 0, ""]);
  return element("table", { class: "figures" },
    element("thead", {}, element("tr", {}, ...["", "error", "allowed", "worst at"].map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows.map(([name, error, allowed, worst]) => element("tr", {}, element("th", { scope: "row" }, name),
      element("td", {}, error_text(error)), element("td", {}, error_text(allowed)), element("td", {}, worst)))));
}

/** @param {HTMLElement} box @param {Json} told */
function show_proof(box, told) {
  fill(box, element("h2", { class: told.equal ? "is_good" : "is_bad" }, headline(told)),
    element("p", { class: "muted", id: "proof_title" }, `${told.title}: ${told.verdict}`), errors_table(told),
    element("p", { class: "muted" }, "The same from a shell: ", element("code", { id: "proof_command" }, told.command)));
  announce(headline(told));
}

/** The proof from a shell; the precision is that of the proof, and a cluster has no part in it. */
function verify_command() {
  const { mesh, "train.precision": _, ...rest } = app.run.set;
  return ["tessera verify --shrink", `--model ${app.run.model}`, mesh && `--mesh ${mesh}`, ...Object.entries(rest).map(([key, value]) => `--set ${key}=${value}`)].filter(Boolean).join(" ");
}

/** @param {HTMLElement} box */
function show_absent(box) {
  fill(box, element("h2", {}, "A proof runs every rank"), element("p", {}, "This page has no machine to run them on. On yours, the same proof is:"),
    element("p", {}, element("code", { id: "proof_command" }, verify_command())));
}

/** Runs `verify` and shows its verdict; closing the dialog ends it. */
export async function prove() {
  const progress = element("p", { class: "muted", role: "status" }, "compiling");
  const box = element("div", {}, element("h2", {}, "Proving\u2026"),
    element("p", { class: "muted" }, "A small model of the same family runs in fp64 on every rank of the mesh, and on one rank."), progress);
  const close = element("button", { class: "plain" }, "Close");
  const dialog = element("dialog", { class: "sheet", id: "proof", "aria-label": "Proof" }, box, element("div", { class: "sheet_end" }, close));
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => { newest("verify"); dialog.remove(); });
  document.body.append(dialog);
  dialog.showModal();
  if (!HAS_SERVER) return show_absent(box);
  try {
    for await (const told of stream("verify", { run: app.run }, newest("verify"))) {
      if (told.done) show_proof(box, told);
      else fill(progress, `step ${told.step} of ${told.steps}, on ${told.ranks === 1 ? "one rank" : `${told.ranks} ranks`}`);
    }
  } catch (error) {
    if (is_cancelled(error)) return;
    const { what, where, help } = sentence_of(error);
    fill(box, element("h2", { class: "is_bad" }, what), where && element("p", {}, element("code", {}, where)), help && element("p", {}, help));
  }
}
