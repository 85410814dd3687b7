// SPDX-License-Identifier: Apache-2.0
#include "exec/instruction_runner.h"

#include <algorithm>

#include "core/error.h"
#include "ir/op_list.h"

namespace tessera {

InstructionRunner::InstructionRunner(const RankGroups& groups, ByteMover mover)
    : groups_(groups), mover_(std::move(mover)) {
  started_.reserve(256);
  left_.reserve(256);
}

const std::byte* InstructionRunner::run(const Instruction& instruction, int channel,
                                        std::span<const TensorRef> operands,
                                        std::span<const TensorRef> results) {
  if (const auto* collective = instruction.as<CollectiveInstruction>()) {
    start(*collective, operands, results[0]);
    return collective->async ? nullptr : results[0].data;
  }
  if (instruction.as<WaitInstruction>()) {
    copy(operands[0], results[0]);  // in a program both are the same memory
    if (mover_.await_copy) mover_.await_copy(operands[0].data);
    return operands[0].data;
  }
  if (instruction.as<SendInstruction>()) {
    send(channel, operands[0]);
  } else if (instruction.as<ReceiveInstruction>()) {
    receive(channel, results[0]);
  } else if (const auto* moved = instruction.as<CopyInstruction>()) {
    moved->async ? start_copy(operands[0], results[0]) : copy(operands[0], results[0]);
  } else if (const auto* clear = instruction.as<ClearInstruction>()) {
    copy(operands[0], results[0]);
    const int64_t element = size_bytes(results[0].type->dtype);
    for (const ElementRange& range : clear->ranges)
      mover_.clear(results[0].data + range.begin * element, (range.end - range.begin) * element);
  } else {
    check_failed("no kernel", __FILE__, __LINE__, std::string(name(instruction)));
  }
  return nullptr;
}

int64_t InstructionRunner::copied_bytes(const TensorRef& from, const TensorRef& to) const {
  TESSERA_CHECK(from.type->bytes() == to.type->bytes(), "{} would copy {} to {}",
                title_or("an instruction"), to_string(*from.type), to_string(*to.type));
  return to.type->bytes();
}

void InstructionRunner::copy(const TensorRef& from, const TensorRef& to) const {
  const int64_t bytes = copied_bytes(from, to);
  if (from.data != to.data) mover_.copy(to.data, from.data, bytes);
}

void InstructionRunner::start_copy(const TensorRef& from, const TensorRef& to) const {
  if (!mover_.start_copy) return copy(from, to);
  mover_.start_copy(to.data, from.data, copied_bytes(from, to));
}

void InstructionRunner::start(const CollectiveInstruction& collective,
                              std::span<const TensorRef> inputs, const TensorRef& output) {
  Communicator* group = groups_.at(collective.group);
  if (!group) return copy(inputs[0], output);
  const CollectiveRequest request(collective, group->rank(), group->size(), inputs, output,
                                  title_or(name(collective.op)));
  start(request.all(), *group, output.data);
}

void InstructionRunner::start(std::span<const Collective> requests, Communicator& group,
                              const std::byte* buffer) {
  Started started{.buffer = buffer, .group = &group, .tickets = {}, .count = requests.size()};
  group.start_together(requests, {started.tickets.data(), started.count});
  started_.push_back(started);
}

// To this rank itself nothing travels: where the message lies is noted.
void InstructionRunner::send(int channel, const TensorRef& buffer) {
  Communicator* peers = groups_.channel(channel);
  if (!peers) return left_.push_back({channel, buffer.data});
  const Collective request = send_request(buffer, 1 - peers->rank(), title_or("send"));
  start({&request, 1}, *peers, buffer.data);
}

void InstructionRunner::receive(int channel, const TensorRef& buffer) {
  if (Communicator* peers = groups_.channel(channel)) {
    const Collective request = receive_request(buffer, 1 - peers->rank(), title_or("recv"));
    return start({&request, 1}, *peers, buffer.data);
  }
  const auto found = std::ranges::find(left_, channel, &Left::channel);
  TESSERA_CHECK(found != left_.end(), "nothing was sent on channel {}", channel);
  copy({buffer.type, const_cast<std::byte*>(found->data)}, buffer);
  left_.erase(found);
}

void InstructionRunner::wait(const std::byte* buffer) {
  const auto found = std::ranges::find(started_, buffer, &Started::buffer);
  if (found == started_.end()) return;
  const Started started = *found;
  started_.erase(found);
  for (size_t t = 0; t < started.count; ++t) started.group->wait(started.tickets[t]);
}

bool InstructionRunner::may_wait(const std::byte* buffer) const {
  const auto found = std::ranges::find(started_, buffer, &Started::buffer);
  return found == started_.end() ||
         std::all_of(found->tickets.begin(), found->tickets.begin() + found->count,
                     [&](Ticket ticket) { return found->group->may_wait(ticket); });
}

RankGroups::RankGroups(const Program& program, RankWorld* world)
    : RankGroups(program.mesh, program.groups, world) {
  for (const StageChannel& channel : program.channels) {
    TESSERA_CHECK(world, "channel {} outside a pipeline", channel.name);
    const std::vector<int> line = program.mesh.group(world->rank(), {program.pipeline_axis});
    const auto end = [&](int place) { return line[static_cast<size_t>(place)]; };
    channels_.push_back(channel.from == channel.to
                            ? nullptr
                            : world->group({end(channel.from), end(channel.to)}, channel.name));
  }
}

RankGroups::RankGroups(const Mesh& mesh, std::span<const Group> groups, RankWorld* world) {
  for (const Group& group : groups) {
    TESSERA_CHECK(world || group.size == 1, "group {} outside a mesh", group.name);
    groups_.push_back(group.size == 1
                          ? nullptr
                          : world->group(members_of(group, mesh, world->rank()), group.name));
  }
}

}  // namespace tessera
