// SPDX-License-Identifier: Apache-2.0
// What benchmarks of products share: operands that take the usual time, and seconds of a call.
#pragma once

#include <algorithm>
#include <chrono>

#include "core/dtype.h"
#include "exec/cpu/arena.h"
#include "system/seconds_since.h"

namespace tessera {

// Ordinary numbers: zeros and denormals might not take the usual time.
template <typename T>
T* filled(const Arena& arena, int64_t count) {
  T* values = reinterpret_cast<T*>(arena.data());
  for (int64_t i = 0; i < count; ++i)
    values[i] = store<T>(static_cast<float>(i % 97) / 97.0f - 0.5f);
  return values;
}

// Of one call, the mean of as many as fill `budget_seconds`.
template <typename Call>
double seconds_per_call(double budget_seconds, Call&& call) {
  const auto timed = [&](int64_t calls) {
    const auto begin = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < calls; ++i) call();
    return seconds_since(begin);
  };
  const double first = timed(1);
  if (first >= budget_seconds) return first;
  const auto calls = static_cast<int64_t>(budget_seconds / std::max(first, 1e-7)) + 1;
  return timed(calls) / static_cast<double>(calls);
}

}  // namespace tessera
