// SPDX-License-Identifier: Apache-2.0
// How far the GPU has come with a group's collectives: it writes a number to the host's memory
// before and after each. So a group that hangs can say in what, also in steps that are graphs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace tessera {

class NcclProgress {
 public:
  NcclProgress();
  ~NcclProgress();
  NcclProgress(const NcclProgress&) = delete;
  NcclProgress& operator=(const NcclProgress&) = delete;

  // Returns its number.
  int32_t begin(cudaStream_t stream, std::string title);
  void end(cudaStream_t stream);

  // Changes whenever a collective begins or ends; at once, whatever the GPU does.
  int64_t state() const;
  int32_t unfinished_number() const;  // of what has begun and not ended; 0: nothing
  std::string unfinished() const;     // its title; empty: nothing. From any thread

 private:
  void write(cudaStream_t stream, size_t word) const;

  mutable std::mutex mutex_;           // of the titles
  std::vector<std::string> titles_;    // by number; the oldest are forgotten
  int32_t number_ = 0;                 // of the newest
  int32_t* numbers_ = nullptr;         // 0, 1, 2 and so on, in the GPU's memory
  volatile int32_t* words_ = nullptr;  // begun, ended; pinned
};

}  // namespace tessera
