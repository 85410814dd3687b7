// SPDX-License-Identifier: Apache-2.0
// verify_blocks: what one block returns the next takes, and ties name a parameter that exists and
// has an owner.
#include <algorithm>
#include <set>

#include "ir/verifier.h"

namespace tessera {
namespace {

const Value* stream_in(const Graph& graph) {
  for (const GraphInput& input : graph.inputs())
    if (input.kind == InputKind::Stream) return &graph.value(input.value);
  return nullptr;
}

const Value* stream_out(const Graph& graph) {
  const GraphOutput* output = graph.find_output(OutputKind::Stream);
  return output ? &graph.value(output->value) : nullptr;
}

// What one block returns, the next one takes.
void verify_chain(const Module& module) {
  std::set<std::string> names;
  for (size_t i = 0; i < module.blocks.size(); ++i) {
    const Block& block = module.blocks[i];
    if (!names.insert(block.name).second) throw user_error("two blocks are called {}", block.name);
    const Value* given = i == 0 ? nullptr : stream_out(module.class_of(module.blocks[i - 1]).graph);
    const Value* taken = stream_in(module.class_of(block).graph);
    if (taken && !given)
      throw user_error("block {} takes the stream %{}, but no block before it returns one",
                       block.name, taken->name);
    if (given && !taken)
      throw user_error("block {} returns the stream %{}, but block {} does not take it",
                       module.blocks[i - 1].name, given->name, block.name);
    if (taken && taken->type != given->type)
      throw user_error("block {} takes {}, but block {} returns {}", block.name,
                       to_string(taken->type), module.blocks[i - 1].name, to_string(given->type));
  }
}

void verify_tie(const Module& module, const Block& block, const std::string& parameter,
                const std::string& state) {
  const size_t dot = state.rfind('.');
  const int owner = dot == std::string::npos ? kNone : module.find_block(state.substr(0, dot));
  const Graph& graph = module.class_of(block).graph;
  const GraphInput* here = graph.find_input(InputKind::State, parameter);
  if (!here)
    throw user_error("block {} ties {}, which its class does not have", block.name, parameter);
  if (owner == kNone)
    throw user_error("block {} ties {} to {}: there is no such block", block.name, parameter,
                     state);
  const Graph& other = module.class_of(module.blocks[static_cast<size_t>(owner)]).graph;
  const GraphInput* there = other.find_input(InputKind::State, state.substr(dot + 1));
  if (!there)
    throw user_error("block {} ties {} to {}: there is no such parameter", block.name, parameter,
                     state);
  if (there->state->tied)
    throw user_error("block {} ties {} to {}, which is tied itself", block.name, parameter, state);
  if (graph.value(here->value).type != other.value(there->value).type)
    throw user_error("block {} ties {} ({}) to {} ({}): the types differ", block.name, parameter,
                     to_string(graph.value(here->value).type), state,
                     to_string(other.value(there->value).type));
}

// A class is compiled once, so all its blocks tie the same parameters.
void verify_ties_are_shared(const Module& module, const Block& block) {
  const Graph& graph = module.class_of(block).graph;
  for (const GraphInput& input : graph.inputs()) {
    if (!input.state) continue;
    const std::string& parameter = graph.value(input.value).name;
    const bool tied = std::any_of(block.ties.begin(), block.ties.end(),
                                  [&](const auto& tie) { return tie.first == parameter; });
    if (tied != (input.state->tied || input.state->replica))
      throw user_error("block {} {} {}, but its class says otherwise", block.name,
                       tied ? "ties" : "does not tie", parameter)
          .help("give blocks that tie another parameter a class of their own");
  }
}

}  // namespace

void verify_blocks(const Module& module) {
  verify_chain(module);
  for (const Block& block : module.blocks) {
    for (const auto& [parameter, state] : block.ties) verify_tie(module, block, parameter, state);
    verify_ties_are_shared(module, block);
  }
}

}  // namespace tessera
