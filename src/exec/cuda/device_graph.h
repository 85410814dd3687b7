// SPDX-License-Identifier: Apache-2.0
// What a stream was given, kept as one graph that is launched at once: a step of thousands of
// kernels then costs the host next to nothing.
#pragma once

#include "exec/cuda/device_memory.h"

namespace tessera {

class DeviceGraph {
 public:
  DeviceGraph() = default;
  ~DeviceGraph() {
    if (ready_) cudaGraphExecDestroy(ready_);
  }
  DeviceGraph(const DeviceGraph&) = delete;
  DeviceGraph& operator=(const DeviceGraph&) = delete;

  bool recorded() const { return ready_ != nullptr; }

  // Records what `enqueue` gives the stream; nothing of it runs.
  template <typename Enqueue>
  void record(const DeviceStream& stream, Enqueue&& enqueue) {
    check_cuda(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal),
               "begin to record a graph");
    cudaGraph_t graph = nullptr;
    try {
      enqueue();
    } catch (...) {
      cudaStreamEndCapture(stream.get(), &graph);
      if (graph) cudaGraphDestroy(graph);
      throw;
    }
    check_cuda(cudaStreamEndCapture(stream.get(), &graph), "record a graph");
    const cudaError_t status = cudaGraphInstantiate(&ready_, graph, 0);
    cudaGraphDestroy(graph);
    check_cuda(status, "make a graph ready");
  }
  void launch(const DeviceStream& stream) const {
    check_cuda(cudaGraphLaunch(ready_, stream.get()), "launch a graph");
  }

 private:
  cudaGraphExec_t ready_ = nullptr;
};

}  // namespace tessera
