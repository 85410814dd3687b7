// SPDX-License-Identifier: Apache-2.0
#include "program/instruction.h"

#include "core/error.h"

namespace tessera {
namespace {

std::span<const int> one(const int& buffer) { return {&buffer, 1}; }

struct Reads {
  std::span<const int> operator()(const KernelInstruction& k) const { return k.operands; }
  std::span<const int> operator()(const CollectiveInstruction& c) const {
    return c.with_ends.empty() ? one(c.input) : c.with_ends;
  }
  std::span<const int> operator()(const SendInstruction& s) const { return one(s.buffer); }
  std::span<const int> operator()(const ReceiveInstruction&) const { return {}; }
  std::span<const int> operator()(const WaitInstruction& w) const { return w.held; }
  std::span<const int> operator()(const auto& other) const { return one(other.input); }
};

struct Writes {
  std::span<const int> operator()(const KernelInstruction& k) const { return k.results; }
  std::span<const int> operator()(const SendInstruction&) const { return {}; }
  std::span<const int> operator()(const ReceiveInstruction& r) const { return one(r.buffer); }
  std::span<const int> operator()(const auto& other) const { return one(other.output); }
};

struct Name {
  std::string_view operator()(const KernelInstruction& k) const { return name(k.op); }
  std::string_view operator()(const CollectiveInstruction& c) const { return name(c.op); }
  std::string_view operator()(const SendInstruction&) const { return "send"; }
  std::string_view operator()(const ReceiveInstruction&) const { return "recv"; }
  std::string_view operator()(const WaitInstruction&) const { return "wait"; }
  std::string_view operator()(const CopyInstruction&) const { return "copy"; }
  std::string_view operator()(const ClearInstruction&) const { return "clear_gaps"; }
};

}  // namespace

std::span<const int> reads(const Instruction& instruction) {
  return std::visit(Reads{}, instruction.what);
}

std::span<const int> writes(const Instruction& instruction) {
  return std::visit(Writes{}, instruction.what);
}

std::string_view name(const Instruction& instruction) {
  return std::visit(Name{}, instruction.what);
}

bool communicates(const Instruction& instruction) {
  return instruction.as<CollectiveInstruction>() || instruction.as<SendInstruction>() ||
         instruction.as<ReceiveInstruction>();
}

bool is_started(const Instruction& instruction) {
  if (const auto* copy = instruction.as<CopyInstruction>()) return copy->async;
  const auto* collective = instruction.as<CollectiveInstruction>();
  return collective ? collective->async : communicates(instruction);
}

int awaited_buffer(const Instruction& instruction) {
  if (const auto* wait = instruction.as<WaitInstruction>()) return wait->held.front();
  TESSERA_CHECK(communicates(instruction) || is_started(instruction), "{} starts nothing",
                name(instruction));
  const std::span<const int> written = writes(instruction);
  return written.empty() ? reads(instruction).front() : written.front();
}

}  // namespace tessera
