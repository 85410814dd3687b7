// SPDX-License-Identifier: Apache-2.0
// What a stream was given, kept as one graph that is launched at once: a step of thousands of
// kernels then costs the host next to nothing.
#pragma once

#include <map>
#include <string>

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

// Of scripts, by name. The first run is not recorded: cuBLASLt is asked for algorithms and kernels
// are loaded.
class ScriptGraphs {
 public:
  template <typename Enqueue>
  void run(const std::string& script, const DeviceStream& stream, Enqueue&& enqueue) {
    Recorded& recorded = recorded_[script];
    if (recorded.runs++ == 0) return enqueue();
    if (!recorded.graph.recorded()) recorded.graph.record(stream, enqueue);
    recorded.graph.launch(stream);
  }
  void forget() { recorded_.clear(); }

 private:
  struct Recorded {
    int runs = 0;
    DeviceGraph graph;
  };
  std::map<std::string, Recorded> recorded_;
};

}  // namespace tessera
