// SPDX-License-Identifier: Apache-2.0
// NCCL, looked for when a job of several GPUs needs it: a binary works without it.
#pragma once

#include <nccl.h>

namespace tessera {

struct Nccl {
  static const Nccl& get();  // a UserError where there is none, or one that is too old

  // The functions in use, under their names without "nccl".
  decltype(&ncclGetVersion) GetVersion;
  decltype(&ncclGetUniqueId) GetUniqueId;
  decltype(&ncclGetErrorString) GetErrorString;
  decltype(&ncclGetLastError) GetLastError;
  decltype(&ncclCommInitRankConfig) CommInitRankConfig;
  decltype(&ncclCommGetAsyncError) CommGetAsyncError;
  decltype(&ncclCommFinalize) CommFinalize;
  decltype(&ncclCommDestroy) CommDestroy;
  decltype(&ncclCommAbort) CommAbort;
  decltype(&ncclGroupStart) GroupStart;
  decltype(&ncclGroupEnd) GroupEnd;
  decltype(&ncclAllReduce) AllReduce;
  decltype(&ncclAllGather) AllGather;
  decltype(&ncclReduceScatter) ReduceScatter;
  decltype(&ncclBroadcast) Broadcast;
  decltype(&ncclReduce) Reduce;
  decltype(&ncclSend) Send;
  decltype(&ncclRecv) Recv;

 private:
  Nccl();
};

}  // namespace tessera
