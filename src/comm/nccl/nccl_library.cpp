// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "core/error.h"

namespace tessera {
namespace {

constexpr int kOldestVersion = NCCL_VERSION(2, 18, 1);

UserError unusable(const std::string& why) {
  return user_error("{}", why).help(
      "install NCCL 2.18 or newer, or put its folder, perhaps PyTorch's nvidia/nccl/lib, into "
      "LD_LIBRARY_PATH");
}

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) throw unusable(fmt::format("NCCL has no {}", name));
}

}  // namespace

const Nccl& Nccl::get() {
  static const Nccl nccl;
  return nccl;
}

Nccl::Nccl() {
  // All connections are made with the group: later, a rank that starts a collective would wait
  // there for its peers.
  setenv("NCCL_RUNTIME_CONNECT", "0", 0);
  // Stays loaded until the process ends.
  void* library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen("/usr/local/cuda/lib64/libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library) throw unusable("libnccl.so.2 is not found: ranks on GPUs of their own need it");
  find(library, "ncclGetVersion", GetVersion);
  find(library, "ncclGetUniqueId", GetUniqueId);
  find(library, "ncclGetErrorString", GetErrorString);
  find(library, "ncclGetLastError", GetLastError);
  find(library, "ncclCommInitRankConfig", CommInitRankConfig);
  find(library, "ncclCommGetAsyncError", CommGetAsyncError);
  find(library, "ncclCommFinalize", CommFinalize);
  find(library, "ncclCommDestroy", CommDestroy);
  find(library, "ncclCommAbort", CommAbort);
  find(library, "ncclGroupStart", GroupStart);
  find(library, "ncclGroupEnd", GroupEnd);
  find(library, "ncclAllReduce", AllReduce);
  find(library, "ncclAllGather", AllGather);
  find(library, "ncclReduceScatter", ReduceScatter);
  find(library, "ncclBroadcast", Broadcast);
  find(library, "ncclReduce", Reduce);
  find(library, "ncclSend", Send);
  find(library, "ncclRecv", Recv);
  int version = 0;
  GetVersion(&version);
  if (version < kOldestVersion)
    throw unusable(fmt::format("NCCL is of version {}, {} is the oldest that is used", version,
                               kOldestVersion));
}

}  // namespace tessera
