// SPDX-License-Identifier: Apache-2.0
// Memory of the GPU, and memory of the host that the GPU copies from and to without a detour. Both
// are taken before a step runs and given back with their owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "exec/cuda/cuda_error.h"

namespace tessera {

// A DeviceMemoryError where the GPU's free memory is less: asked before any of it is taken.
void require_free_memory(int64_t bytes);

// Zero at first; aligned to 256 bytes. Streams do not wait for the default one, on which this is
// cleared and filled: both return only when the GPU is done.
class DeviceMemory {
 public:
  explicit DeviceMemory(int64_t bytes);
  ~DeviceMemory() { cudaFree(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Gives back what it has before it takes as many bytes, zero again.
  void replace(int64_t bytes);
  void fill(std::span<const std::byte> bytes) const;  // from its begin

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  int64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

// Lines of its own for each buffer.
inline int64_t align_for_gpu(int64_t bytes) { return (bytes + 255) / 256 * 256; }

class PinnedMemory {
 public:
  explicit PinnedMemory(int64_t bytes) { replace(bytes); }
  ~PinnedMemory() { cudaFreeHost(data_); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  int64_t bytes() const { return bytes_; }
  bool holds(const std::byte* address) const {
    return address >= data() && address < data() + bytes_;
  }
  void replace(int64_t bytes);  // what it held is lost

 private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

class DeviceStream {
 public:
  DeviceStream() {
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream");
  }
  ~DeviceStream() { cudaStreamDestroy(stream_); }
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  cudaStream_t get() const { return stream_; }
  void wait() const { check_cuda(cudaStreamSynchronize(stream_), "wait for the stream"); }

 private:
  cudaStream_t stream_ = nullptr;
};

class DeviceEvent {
 public:
  explicit DeviceEvent(unsigned flags = cudaEventDisableTiming) {
    check_cuda(cudaEventCreateWithFlags(&event_, flags), "make an event");
  }
  ~DeviceEvent() { cudaEventDestroy(event_); }
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;

  void record(const DeviceStream& stream) const {
    check_cuda(cudaEventRecord(event_, stream.get()), "record an event");
  }
  // At once where it was never recorded.
  void wait() const { check_cuda(cudaEventSynchronize(event_), "wait for an event"); }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// The GPU's own time between two points of a stream.
class DeviceTimer {
 public:
  void begin(const DeviceStream& stream) const { begin_.record(stream); }
  void end(const DeviceStream& stream) {
    end_.record(stream);
    ended_ = true;
  }
  // Waits for the end; 0 where there was none yet.
  double seconds() const {
    if (!ended_) return 0;
    end_.wait();
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "read a time");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  DeviceEvent begin_{cudaEventDefault}, end_{cudaEventDefault};
  bool ended_ = false;
};

}  // namespace tessera
