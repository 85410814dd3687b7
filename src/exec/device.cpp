// SPDX-License-Identifier: Apache-2.0
#include "exec/device.h"

#include <array>

namespace tessera {
namespace {

// By kind.
constexpr std::array<const Device* (*)(), kDeviceNames.size()> kDevices{cpu_device, cuda_device};

constexpr const char* kNotBuilt = "this build has no CUDA support";

UserError measured_on_gpus_alone(const char* what) {
  return user_error("{} are measured on a GPU alone", what).help("use --device cuda");
}

}  // namespace

const Device* find_device(DeviceKind kind) { return kDevices[static_cast<size_t>(kind)](); }

std::string why_missing(DeviceKind kind) {
  const Device* device = find_device(kind);
  return device ? device->why_missing() : kNotBuilt;
}

const Device& require_device(DeviceKind kind) {
  const Device* device = find_device(kind);
  if (!device) throw UserError(kNotBuilt).help("build it with `make cuda`, or use --device cpu");
  if (const std::string why = device->why_missing(); !why.empty())
    throw UserError(why).help("use --device cpu");
  return *device;
}

std::vector<double> Device::matmul_seconds(std::span<const DeviceMatmul> /*matmuls*/) const {
  throw measured_on_gpus_alone("single products");
}

std::vector<KernelTime> Device::time_kernels(const Program& /*program*/,
                                             std::string_view /*script*/,
                                             const std::function<bool(OpKind)>& /*wanted*/,
                                             double /*warm_seconds*/) const {
  throw measured_on_gpus_alone("single kernels");
}

std::unique_ptr<DeviceLinks> Device::make_links(RankWorld& /*world*/) const {
  throw measured_on_gpus_alone("links between devices");
}

double Device::copy_rate() const { throw measured_on_gpus_alone("copies"); }

DeviceMemoryError::DeviceMemoryError(int64_t needed, int64_t free, int64_t all)
    : UserError(
          fmt::format("the step needs {:.2f} GB of GPU memory, but {:.2f} GB of {:.2f} GB are free",
                      static_cast<double>(needed) / 1e9, static_cast<double>(free) / 1e9,
                      static_cast<double>(all) / 1e9)),
      free_bytes_(free) {}

}  // namespace tessera
