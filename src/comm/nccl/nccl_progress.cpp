// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_progress.h"

#include <numeric>

#include "comm/nccl/nccl_failure.h"

namespace tessera {
namespace {

constexpr size_t kMostTitles = 1 << 14;
enum Word : size_t { kBegun, kEnded, kNumWords };

}  // namespace

NcclProgress::NcclProgress() : titles_(kMostTitles) {
  void* words = nullptr;
  check_runtime(cudaMallocHost(&words, kNumWords * sizeof(int32_t)), "allocate pinned memory");
  words_ = static_cast<volatile int32_t*>(words);
  words_[kBegun] = 0;
  words_[kEnded] = 0;
  std::vector<int32_t> numbers(kMostTitles);
  std::iota(numbers.begin(), numbers.end(), 0);
  const size_t bytes = numbers.size() * sizeof(int32_t);
  void* data = nullptr;
  check_runtime(cudaMalloc(&data, bytes), "allocate GPU memory");
  numbers_ = static_cast<int32_t*>(data);
  check_runtime(cudaMemcpy(data, numbers.data(), bytes, cudaMemcpyHostToDevice), "copy numbers");
}

NcclProgress::~NcclProgress() {
  cudaFree(numbers_);
  cudaFreeHost(const_cast<int32_t*>(words_));
}

void NcclProgress::write(cudaStream_t stream, size_t word) const {
  check_runtime(cudaMemcpyAsync(const_cast<int32_t*>(words_) + word, numbers_ + number_,
                                sizeof(int32_t), cudaMemcpyDeviceToHost, stream),
                "note progress");
}

int32_t NcclProgress::begin(cudaStream_t stream, std::string title) {
  number_ = number_ + 1 < static_cast<int32_t>(kMostTitles) ? number_ + 1 : 1;
  {
    const std::lock_guard lock(mutex_);
    titles_[static_cast<size_t>(number_)] = std::move(title);
  }
  write(stream, kBegun);
  return number_;
}

void NcclProgress::end(cudaStream_t stream) { write(stream, kEnded); }

int64_t NcclProgress::state() const {
  return static_cast<int64_t>(words_[kBegun]) << 32 | words_[kEnded];
}

int32_t NcclProgress::unfinished_number() const {
  const int32_t begun = words_[kBegun];
  return begun == words_[kEnded] ? 0 : begun;
}

std::string NcclProgress::unfinished() const {
  const std::lock_guard lock(mutex_);
  return titles_[static_cast<size_t>(unfinished_number())];
}

}  // namespace tessera
