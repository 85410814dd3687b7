// SPDX-License-Identifier: Apache-2.0
// Where ranks are processes, peers cannot reach a rank's private memory: buffers that do not come
// from the hub are exchanged through blocks of it that are kept. One per rank, for all its threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "comm/communicator.h"
#include "comm/local/local_hub.h"

namespace tessera {

// Of one collective in flight: the blocks that stand for its buffers; -1: the buffer itself.
struct Staged {
  int input = -1, output = -1;
  std::byte* private_output = nullptr;
  int64_t output_bytes = 0;
};

class Staging {
 public:
  explicit Staging(LocalHub& hub) : hub_(hub) {}

  // Puts blocks in the place of private buffers, with what is in them.
  Staged stage(Collective& collective, int members);
  // Copies the output to where it belongs and frees the blocks.
  void give_back(const Staged& staged);

 private:
  struct Block {
    std::byte* data;
    int64_t bytes;
    bool taken;
  };
  int take(int64_t bytes);
  std::byte* data(int block);

  LocalHub& hub_;
  std::mutex mutex_;
  std::vector<Block> blocks_;
};

}  // namespace tessera
