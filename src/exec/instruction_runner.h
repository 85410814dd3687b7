// SPDX-License-Identifier: Apache-2.0
// Runs a rank's instructions other than kernels, on every machine: collectives and messages, which
// it starts and later waits for, copies and clears.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "exec/collective_request.h"
#include "program/program.h"

namespace tessera {

// The communicators of one rank: one for each group of the Program, and one for each channel
// between its stages and others.
class RankGroups {
 public:
  // In the program's order, which all ranks share. Null world: there is one rank.
  RankGroups(const Program& program, RankWorld* world);
  RankGroups(const Mesh& mesh, std::span<const Group> groups, RankWorld* world);

  // Null: the rank is alone in the group.
  Communicator* at(GroupId group) const { return groups_.at(static_cast<size_t>(group)).get(); }
  // Null: from this rank to itself.
  Communicator* channel(int index) const { return channels_.at(static_cast<size_t>(index)).get(); }

 private:
  std::vector<std::unique_ptr<Communicator>> groups_, channels_;
};

// How a machine moves and clears its bytes, in order with its kernels.
struct ByteMover {
  std::function<void(std::byte* to, const std::byte* from, int64_t bytes)> copy;
  std::function<void(std::byte* to, int64_t bytes)> clear;
  // Copies between memories that run beside kernels until they are waited for by where they go to;
  // null: they are done at once.
  std::function<void(std::byte* to, const std::byte* from, int64_t bytes)> start_copy = {};
  std::function<void(const std::byte* to)> await_copy = {};
};

class InstructionRunner {
 public:
  InstructionRunner(const RankGroups& groups, ByteMover mover);

  // What the next collective is for, in messages; empty: its name is enough.
  std::string title = {};

  // Returns the buffer whose collective the instruction waits for: the caller must `wait` for it
  // before the next instruction. Null: the instruction is done, or started. `channel` is that of
  // the script call.
  const std::byte* run(const Instruction& instruction, int channel,
                       std::span<const TensorRef> operands, std::span<const TensorRef> results);

  // Does nothing where the collective was done at once, in a group of one.
  void wait(const std::byte* buffer);
  bool may_wait(const std::byte* buffer) const;
  bool empty() const { return started_.empty() && left_.empty(); }

 private:
  struct Started {
    const std::byte* buffer;
    Communicator* group;
    std::array<Ticket, CollectiveRequest::kMost> tickets;
    size_t count;
  };
  // A message of this rank to itself.
  struct Left {
    int channel;
    const std::byte* data;
  };

  void start(const CollectiveInstruction& collective, std::span<const TensorRef> inputs,
             const TensorRef& output);
  void start(std::span<const Collective> requests, Communicator& group, const std::byte* buffer);
  void send(int channel, const TensorRef& buffer);
  void receive(int channel, const TensorRef& buffer);
  // Equal on both sides, or the program is wrong.
  int64_t copied_bytes(const TensorRef& from, const TensorRef& to) const;
  void copy(const TensorRef& from, const TensorRef& to) const;
  void start_copy(const TensorRef& from, const TensorRef& to) const;
  std::string_view title_or(std::string_view name) const { return title.empty() ? name : title; }

  const RankGroups& groups_;
  ByteMover mover_;
  std::vector<Started> started_;
  std::vector<Left> left_;  // in order
};

}  // namespace tessera
