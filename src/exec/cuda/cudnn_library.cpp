// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/cudnn_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace tessera {
namespace {

// Its graphs of attention mask with -inf and give right gradients from here on.
constexpr size_t kOldestVersion = 91002;

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) throw CudaError(fmt::format("cuDNN has no {}", name));
}

}  // namespace

Cudnn::Cudnn() {
  // Stays loaded until the process ends.
  void* library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen("/usr/local/cuda/lib64/libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw CudaError(
        "libcudnn.so.9 is not found: put its folder, perhaps PyTorch's nvidia/cudnn/lib, "
        "into LD_LIBRARY_PATH");
  find(library, "cudnnGetVersion", GetVersion);
  find(library, "cudnnCreate", Create);
  find(library, "cudnnDestroy", Destroy);
  find(library, "cudnnSetStream", SetStream);
  find(library, "cudnnGetErrorString", GetErrorString);
  find(library, "cudnnGetLastErrorString", GetLastErrorString);
  find(library, "cudnnBackendCreateDescriptor", BackendCreateDescriptor);
  find(library, "cudnnBackendDestroyDescriptor", BackendDestroyDescriptor);
  find(library, "cudnnBackendSetAttribute", BackendSetAttribute);
  find(library, "cudnnBackendGetAttribute", BackendGetAttribute);
  find(library, "cudnnBackendFinalize", BackendFinalize);
  find(library, "cudnnBackendExecute", BackendExecute);
  if (GetVersion() < kOldestVersion)
    throw CudaError(fmt::format("cuDNN is of version {}, {} is the oldest that is used",
                                GetVersion(), kOldestVersion));
  check(Create(&handle), "start");
}

void Cudnn::check(cudnnStatus_t status, const std::string& what) const {
  if (status == CUDNN_STATUS_SUCCESS) [[likely]]
    return;
  char message[512] = "";
  GetLastErrorString(message, sizeof message);
  throw CudaError(fmt::format("cuDNN, {}: {} {}", what, GetErrorString(status), message));
}

CudnnDescriptor::CudnnDescriptor(const Cudnn& cudnn, cudnnBackendDescriptorType_t type)
    : cudnn_(&cudnn) {
  cudnn.check(cudnn.BackendCreateDescriptor(type, &descriptor_), "make a descriptor");
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                          int64_t count, const void* values) {
  cudnn_->check(cudnn_->BackendSetAttribute(descriptor_, name, type, count, values),
                fmt::format("set attribute {}", static_cast<int>(name)));
}

int64_t CudnnDescriptor::read(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                              int64_t count, void* values) const {
  int64_t found = 0;
  cudnn_->check(cudnn_->BackendGetAttribute(descriptor_, name, type, count, &found, values),
                fmt::format("read attribute {}", static_cast<int>(name)));
  return found;
}

}  // namespace tessera
