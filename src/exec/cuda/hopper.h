// SPDX-License-Identifier: Apache-2.0
// Hopper's barriers in shared memory and its copy engine, by addresses of shared memory. For
// compute capability 9.0a alone.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace tessera {

__device__ inline uint32_t shared_address(const void* data) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(data));
}

__device__ inline void init_barrier(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}
// Makes barriers known to the copy engine.
__device__ inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// What was written to shared memory by stores is seen by the copy engine and by products.
__device__ inline void publish_stores() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// One arrival, and `bytes` that copies will bring.
__device__ inline void arrive_expecting(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
__device__ inline void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ inline bool has_completed(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}
__device__ inline void wait_for_phase(uint32_t barrier, uint32_t parity) {
  while (!has_completed(barrier, parity)) {
  }
}

// Copies the box at (x, y, z, w) of a tensor.
__device__ inline void copy_box(uint32_t to, const CUtensorMap& map, int x, int y, int z, int w,
                                uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, "
      "%4, %5, %6}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}
// Writes the box at (x, y, z, w) of a tensor, without what lies outside. The thread waits for it.
__device__ inline void write_box(const CUtensorMap& map, int x, int y, int z, int w,
                                 uint32_t from) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(
          &map),
      "r"(from), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}
__device__ inline void end_write_group() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ inline void fetch_tensor_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
// A multiple of 16 bytes, from memory.
__device__ inline void copy_bytes(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
      "[%3];" ::"r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}
// A multiple of 16 bytes to memory, in place of what is there or added to it as floats. The thread
// waits for its own.
__device__ inline void write_bytes(void* to, uint32_t from, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
               "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ inline void add_floats(float* to, uint32_t from, uint32_t bytes) {
  asm volatile(
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to),
      "r"(from), "r"(bytes)
      : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ inline void wait_until_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
__device__ inline void wait_until_written() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
// Between what the copy engine does in memory and what other instructions do there.
__device__ inline void order_with_copies() { asm volatile("fence.proxy.async;" ::: "memory"); }
// A multiple of 16 bytes, into the L2 cache.
__device__ inline void fetch_to_cache(const void* from, uint32_t bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

template <int kRegisters>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
// Of `threads` that take part, some may arrive without waiting.
__device__ inline void arrive_at_threads(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ inline void wait_for_threads(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// A number in shared memory, by which threads of a block do things in order.
__device__ inline void wait_for_count(uint32_t at, int count) {
  int found;
  do {
    asm volatile("ld.acquire.cta.shared::cta.s32 %0, [%1];" : "=r"(found) : "r"(at) : "memory");
  } while (found != count);
}
__device__ inline void set_count(uint32_t at, int count) {
  asm volatile("st.release.cta.shared::cta.s32 [%0], %1;" ::"r"(at), "r"(count) : "memory");
}

// A place in a ring of stages.
template <int kCount>
struct StageRing {
  int stage = 0;
  uint32_t parity = 0;

  __device__ void advance() {
    if (++stage == kCount) stage = 0, parity ^= 1;
  }
};

// The place of step number `step` in such a ring.
template <int kCount>
struct RingPlace {
  int stage;
  uint32_t parity;

  __device__ explicit RingPlace(int step)
      : stage(step % kCount), parity(static_cast<uint32_t>(step / kCount) & 1) {}
};

}  // namespace tessera
