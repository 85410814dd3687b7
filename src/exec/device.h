// SPDX-License-Identifier: Apache-2.0
// The devices that run programs, as a table: a row for each DeviceKind, with what it is, what runs
// on it, and what is measured of it. A build without CUDA has no row for it. All that other folders
// see of exec/cpu and exec/cuda is here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "core/device_kind.h"
#include "core/error.h"
#include "core/precision.h"
#include "exec/local_mesh.h"
#include "exec/rank_executor.h"
#include "ir/op_def.h"
#include "program/program.h"

namespace tessera {

// The seconds of each kernel of a script, run on its own on a device, and the work that its op
// counts. Calls with the same op, attributes, types and accumulation are timed once.
struct KernelTime {
  OpKind op;
  Attributes attributes;
  std::vector<TensorType> operands, results;
  int calls = 0;       // in one run of the script
  Cost cost;           // of one call; a result that is added into counts twice
  double seconds = 0;  // of one call; 0: its operands do not fit the GPU's memory
};

// What a product of two matrices is, for those who measure them.
// C[m, n] = A[m, k] B[k, n], row after row; a transposed operand lies in memory as its transpose.
struct MatmulShape {
  int64_t m = 0, n = 0, k = 0;
  bool a_transposed = false, b_transposed = false;

  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  bool operator==(const MatmulShape&) const = default;
};

struct DeviceFacts {
  std::string name;
  double memory_bytes = 0;
  bool has_fp8 = false;  // it multiplies 8-bit floats
};

// A product that a device is asked to time.
struct DeviceMatmul {
  MatmulShape shape;
  DType dtype = DType::Bf16;
  bool fp8 = false;  // e4m3 times e4m3 into bf16, both in rows of k whatever the shape says
};

// A device on the bus, and the devices that it is linked to directly, by address.
struct DevicePlace {
  std::string name;
  std::string address;  // "0000:1b:00.0"
  std::set<std::string> nvlinked = {};
};

// A step takes more of the device's memory than is free; nothing was allocated.
class DeviceMemoryError : public UserError {
 public:
  DeviceMemoryError(int64_t needed, int64_t free, int64_t all);
  int64_t free_bytes() const { return free_bytes_; }

 private:
  int64_t free_bytes_;
};

// This rank's device among those of all ranks of a job, for collectives outside of programs.
class DeviceLinks {
 public:
  virtual ~DeviceLinks() = default;
  virtual Communicator& everyone() = 0;
  virtual std::byte* allocate(int64_t bytes) = 0;  // the device's memory, freed with this
  virtual void await() const = 0;                  // until all that was started is done
};

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string why_missing() const = 0;  // on this machine; empty: it is not missing
  virtual DeviceFacts facts() const = 0;
  virtual std::vector<DevicePlace> places() const { return {}; }
  virtual int64_t bytes_in_use() const { return 0; }  // of its own memory, by any process
  // Drawn since some moment, by any process; none: the device does not say.
  virtual std::optional<double> joules() const { return std::nullopt; }

  // All ranks of the programs, by place along the pipeline, in this process. A DeviceMemoryError
  // where its memory is too small.
  virtual std::unique_ptr<Executor> make_executor(std::vector<Program> programs,
                                                  ExecutorOptions options) const = 0;
  // The same for a mesh of any size, one rank too.
  virtual std::unique_ptr<LocalMesh> make_mesh(std::vector<Program> programs,
                                               ExecutorOptions options) const = 0;
  // This process's rank of a job; `world` carries the messages between hosts.
  virtual std::unique_ptr<RankExecutor> make_rank(Program program, RankWorld& world,
                                                  ExecutorOptions options) const = 0;
  // In a job: chooses this rank's device of the machine. `machines`, by rank, says which ranks
  // share a machine. Must be the first call to the device.
  virtual void take_for_rank(int /*rank*/, std::span<const int> /*machines*/) const {}
  // The memory of the device that the ranks of these programs need.
  virtual int64_t bytes_of(std::span<const Program> programs) const = 0;

  // Flops per second of large matmuls: the peak that MFU is measured against when none is given.
  virtual double matmul_rate(Precision precision, int threads) const = 0;
  // A warning for a run in a dtype that the device is slow in; empty: there is none.
  virtual std::string slow_dtype_warning(DType /*dtype*/) const { return ""; }

  // The rest works on GPUs only; other devices throw a UserError.
  // The seconds of each product by its fastest algorithm: the best of several rounds. Weight
  // gradients of bf16 (a transposed) are fp32.
  virtual std::vector<double> matmul_seconds(std::span<const DeviceMatmul> matmuls) const;
  // Times every kernel of a script on its own. Operands are made up and far apart, so that a call
  // finds nothing in the cache; batches are plain causal. `wanted` picks ops. Each kernel first
  // runs for `warm_seconds`: a power limit takes tenths of a second to show.
  virtual std::vector<KernelTime> time_kernels(const Program& program, std::string_view script,
                                               const std::function<bool(OpKind)>& wanted,
                                               double warm_seconds = 0) const;
  // In a job, after take_for_rank. The world must outlive it.
  virtual std::unique_ptr<DeviceLinks> make_links(RankWorld& world) const;
  // Bytes per second, read and written, of a large copy within its memory.
  virtual double copy_rate() const;
};

// The row of the table; null: this build does not have it.
const Device* find_device(DeviceKind kind);
// Why programs cannot run on it here; empty where they can.
std::string why_missing(DeviceKind kind);
// A UserError where programs cannot run on it.
const Device& require_device(DeviceKind kind);

// The rows.
const Device* cpu_device();
const Device* cuda_device();

}  // namespace tessera
