// SPDX-License-Identifier: Apache-2.0
// The link between a GPU and its host: how long it takes to pin memory there, on the GPU's NUMA
// node, and how fast copies are each way and both together. One JSON object on standard output.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "exec/cuda/device_memory.h"
#include "exec/cuda/near_gpu.h"
#include "exec/device.h"
#include "system/this_machine.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kPiece = int64_t{1} << 30;  // of one copy
constexpr int kPieces = 16;                   // of one measurement

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Link {
 public:
  explicit Link(const PinnedMemory& host) : host_(host) { rate(true, true); }

  // Bytes a second, together.
  double rate(bool to_device, bool to_host) {
    const auto begin = Clock::now();
    for (int i = 0; i < kPieces; ++i) {
      if (to_device) copy(device_in_.data(), place(2 * i), cudaMemcpyHostToDevice, in_);
      if (to_host) copy(place(2 * i + 1), device_out_.data(), cudaMemcpyDeviceToHost, out_);
    }
    in_.wait();
    out_.wait();
    return (to_device + to_host) * static_cast<double>(kPieces * kPiece) / seconds_since(begin);
  }

 private:
  std::byte* place(int piece) const {
    return host_.data() + piece * kPiece % (host_.bytes() / kPiece * kPiece);
  }

  static void copy(void* to, const void* from, cudaMemcpyKind kind, const DeviceStream& stream) {
    check_cuda(cudaMemcpyAsync(to, from, kPiece, kind, stream.get()), "copy");
  }

  const PinnedMemory& host_;
  DeviceMemory device_in_{kPiece}, device_out_{kPiece};
  DeviceStream in_, out_;
};

}  // namespace
}  // namespace tessera

// Pins as many gigabytes as the argument says, 96 without one.
int main(int argc, char** argv) {
  using namespace tessera;
  if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) {
    fmt::print(stderr, "error: {}\n", why);
    return 1;
  }
  const int64_t bytes = std::max<int64_t>(
      argc > 1 ? std::stoll(argv[1]) * 1'000'000'000 : 96'000'000'000, 2 * kPiece);
  const int64_t available = available_memory_bytes();
  try {
    const NearGpu near_gpu;
    const auto begin = Clock::now();
    const PinnedMemory host(bytes);
    const double pinned = seconds_since(begin);
    Link link(host);
    const double in = link.rate(true, false), out = link.rate(false, true),
                 both = link.rate(true, true);
    fmt::print(
        "{{\"available_bytes\": {}, \"pinned_bytes\": {}, \"pin_seconds\": {:.2f}, \"to_device\": "
        "{:.4g}, "
        "\"to_host\": {:.4g}, \"both_ways\": {:.4g}}}\n",
        available, bytes, pinned, in, out, both);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
