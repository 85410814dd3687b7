// SPDX-License-Identifier: Apache-2.0
// cuDNN, looked for when the program runs: a binary works without it. `Cudnn` is the library with a
// handle, `CudnnDescriptor` one object of its backend interface.
#pragma once

#include <cudnn_graph.h>

#include <string>
#include <utility>

#include "exec/cuda/cuda_error.h"

namespace tessera {

struct Cudnn {
  Cudnn();  // a CudaError where there is none, or one that is too old
  ~Cudnn() { Destroy(handle); }
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  void check(cudnnStatus_t status, const std::string& what) const;

  // The functions in use, under their names without "cudnn".
  decltype(&cudnnGetVersion) GetVersion;
  decltype(&cudnnCreate) Create;
  decltype(&cudnnDestroy) Destroy;
  decltype(&cudnnSetStream) SetStream;
  decltype(&cudnnGetErrorString) GetErrorString;
  decltype(&cudnnGetLastErrorString) GetLastErrorString;
  decltype(&cudnnBackendCreateDescriptor) BackendCreateDescriptor;
  decltype(&cudnnBackendDestroyDescriptor) BackendDestroyDescriptor;
  decltype(&cudnnBackendSetAttribute) BackendSetAttribute;
  decltype(&cudnnBackendGetAttribute) BackendGetAttribute;
  decltype(&cudnnBackendFinalize) BackendFinalize;
  decltype(&cudnnBackendExecute) BackendExecute;
  cudnnHandle_t handle = nullptr;
};

class CudnnDescriptor {
 public:
  CudnnDescriptor(const Cudnn& cudnn, cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor() {
    if (descriptor_) cudnn_->BackendDestroyDescriptor(descriptor_);
  }
  CudnnDescriptor(CudnnDescriptor&& other) noexcept
      : cudnn_(other.cudnn_), descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
           const void* values);
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor_);
  }
  // How many values there are; writes at most `count` of them.
  int64_t read(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
               void* values) const;
  void finalize() { cudnn_->check(cudnn_->BackendFinalize(descriptor_), "finish a descriptor"); }
  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  const Cudnn* cudnn_;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace tessera
