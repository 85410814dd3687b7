// SPDX-License-Identifier: Apache-2.0
// Hopper's product of tiles: a warpgroup multiplies two tiles of bf16 in shared memory and adds to
// fp32 sums in its registers. A tile is made of chunks of 64 vectors by 64 terms, 8 KiB each, as
// the copy engine writes them with 128-byte swizzle. For compute capability 9.0a alone.
#pragma once

#include <cstdint>

namespace tessera {

inline constexpr int kChunk = 64, kChunkBytes = kChunk * kChunk * 2;
inline constexpr int kTerms = 16;  // of one instruction
inline constexpr int kFp8Terms = 32;

// How a chunk lies: each vector's 64 terms together, or each term's 64 vectors.
enum class Lies { TermsTogether, VectorsTogether };

// The descriptor of a tile that begins at `address`: swizzle of 128 bytes; the next eight rows of
// 128 bytes are 1 KiB away, the next chunk 8 KiB, or as far as the tile has rows.
template <int kChunkDistance = kChunkBytes>
__device__ inline uint64_t tile_descriptor(uint32_t address) {
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62;
  constexpr uint64_t kNextRows = uint64_t{1024 >> 4} << 32;
  constexpr uint64_t kNextChunk = uint64_t{kChunkDistance >> 4} << 16;
  return kSwizzle128 | kNextRows | kNextChunk | ((address & 0x3ffff) >> 4);
}
// From one instruction's terms to the next one's, in the unit of descriptors.
template <Lies kLies>
inline constexpr uint64_t kTermsStep = (kLies == Lies::TermsTogether ? kTerms * 2 : kTerms * 128) >>
                                       4;

__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void end_product_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kLeft>
__device__ inline void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}

// Keeps the compiler from moving a use of sums before the wait for them.
template <int kCount>
__device__ inline void pin(float (&sums)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

#define TESSERA_SUMS(d, i)                                                                    \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])

// d += a b of 16 terms, or d = a b: 64 vectors of a by 256 of b. [4 j + i] is of vector
// 16 warp + lane / 4 + 8 (i / 2) and column 8 j + 2 (lane % 4) + i % 2.
template <Lies kA, Lies kB>
__device__ inline void multiply_tiles(float (&d)[128], uint64_t a, uint64_t b, bool add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "
      "%127}, "
      "%128, %129, p, 1, 1, %131, %132;\n}"
      : TESSERA_SUMS(d, 0), TESSERA_SUMS(d, 8), TESSERA_SUMS(d, 16), TESSERA_SUMS(d, 24),
        TESSERA_SUMS(d, 32), TESSERA_SUMS(d, 40), TESSERA_SUMS(d, 48), TESSERA_SUMS(d, 56),
        TESSERA_SUMS(d, 64), TESSERA_SUMS(d, 72), TESSERA_SUMS(d, 80), TESSERA_SUMS(d, 88),
        TESSERA_SUMS(d, 96), TESSERA_SUMS(d, 104), TESSERA_SUMS(d, 112), TESSERA_SUMS(d, 120)
      : "l"(a), "l"(b), "r"(static_cast<int>(add)), "n"(kA == Lies::VectorsTogether),
        "n"(kB == Lies::VectorsTogether));
}

// Lists of operands: registers by number, and as results and sums of the instruction.
#define TESSERA_R16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define TESSERA_R32 \
  TESSERA_R16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define TESSERA_R64                                                                    \
  TESSERA_R32                                                                          \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define TESSERA_R96                                                                    \
  TESSERA_R64                                                                          \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define TESSERA_NEW(d, i)                                                                     \
  "=f"(d[i]), "=f"(d[i + 1]), "=f"(d[i + 2]), "=f"(d[i + 3]), "=f"(d[i + 4]), "=f"(d[i + 5]), \
      "=f"(d[i + 6]), "=f"(d[i + 7])
#define TESSERA_LIST16(list, d) list(d, 0), list(d, 8)
#define TESSERA_LIST32(list, d) TESSERA_LIST16(list, d), list(d, 16), list(d, 24)
#define TESSERA_LIST64(list, d) \
  TESSERA_LIST32(list, d), list(d, 32), list(d, 40), list(d, 48), list(d, 56)
#define TESSERA_LIST96(list, d) \
  TESSERA_LIST64(list, d), list(d, 64), list(d, 72), list(d, 80), list(d, 88)

// The same by other numbers of vectors of b, in four forms: d = a b, whose registers are free until
// then; d += a b; and both with a in registers, as sums of a product are once they are packed in
// pairs. o0 .. o6 are the operands after the registers.
#define TESSERA_PRODUCTS(columns, count, o0, o1, o2, o3, o4, o5, o6)                               \
  template <Lies kA, Lies kB>                                                                      \
  __device__ inline void begin_sums(float(&d)[count], uint64_t a, uint64_t b) {                    \
    asm volatile(                                                                                  \
        "{\n.reg .pred p;\nsetp.ne.b32 p, 0, 0;\n"                                                 \
        "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32.bf16.bf16 {" TESSERA_R##count        \
        "}, " o0 ", " o1 ", p, 1, 1, " o2 ", " o3 ";\n}"                                           \
        : TESSERA_LIST##count(TESSERA_NEW, d)                                                      \
        : "l"(a), "l"(b), "n"(kA == Lies::VectorsTogether), "n"(kB == Lies::VectorsTogether));     \
  }                                                                                                \
  template <Lies kA, Lies kB>                                                                      \
  __device__ inline void add_product(float(&d)[count], uint64_t a, uint64_t b) {                   \
    asm volatile(                                                                                  \
        "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32.bf16.bf16 {" TESSERA_R##count        \
        "}, " o0 ", " o1 ", 1, 1, 1, " o2 ", " o3 ";"                                              \
        : TESSERA_LIST##count(TESSERA_SUMS, d)                                                     \
        : "l"(a), "l"(b), "n"(kA == Lies::VectorsTogether), "n"(kB == Lies::VectorsTogether));     \
  }                                                                                                \
  template <Lies kB>                                                                               \
  __device__ inline void begin_sums(float(&d)[count], const uint32_t* a, uint64_t b) {             \
    asm volatile(                                                                                  \
        "{\n.reg .pred p;\nsetp.ne.b32 p, 0, 0;\n"                                                 \
        "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32.bf16.bf16 {" TESSERA_R##count        \
        "}, {" o0 ", " o1 ", " o2 ", " o3 "}, " o4 ", p, 1, 1, " o5 ";\n}"                         \
        : TESSERA_LIST##count(TESSERA_NEW, d)                                                      \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(kB == Lies::VectorsTogether));   \
  }                                                                                                \
  template <Lies kB>                                                                               \
  __device__ inline void add_product(float(&d)[count], const uint32_t* a, uint64_t b, bool add) {  \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " o5                                            \
                 ", 0;\n"                                                                          \
                 "wgmma.mma_async.sync.aligned.m64n" #columns                                      \
                 "k16.f32.bf16.bf16 {" TESSERA_R##count "}, {" o0 ", " o1 ", " o2 ", " o3 "}, " o4 \
                                                        ", p, 1, 1, " o6 ";\n}"                    \
                 : TESSERA_LIST##count(TESSERA_SUMS, d)                                            \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)), \
                   "n"(kB == Lies::VectorsTogether));                                              \
  }

TESSERA_PRODUCTS(32, 16, "%16", "%17", "%18", "%19", "%20", "%21", "%22")
TESSERA_PRODUCTS(64, 32, "%32", "%33", "%34", "%35", "%36", "%37", "%38")
TESSERA_PRODUCTS(128, 64, "%64", "%65", "%66", "%67", "%68", "%69", "%70")
TESSERA_PRODUCTS(192, 96, "%96", "%97", "%98", "%99", "%100", "%101", "%102")

// Of 8-bit floats, 32 terms: 64 vectors of a by 128 of b, both with their terms together, as the
// copy engine writes rows of 128 bytes. Named by the formats of a and b.
#define TESSERA_FP8_PRODUCTS(of_a, of_b)                                                         \
  __device__ inline void begin_##of_a##_##of_b(float(&d)[64], uint64_t a, uint64_t b) {          \
    asm volatile(                                                                                \
        "{\n.reg .pred p;\nsetp.ne.b32 p, 0, 0;\n"                                               \
        "wgmma.mma_async.sync.aligned.m64n128k32.f32." #of_a "." #of_b " {" TESSERA_R64          \
        "}, %64, %65, p, 1, 1;\n}"                                                               \
        : TESSERA_LIST64(TESSERA_NEW, d)                                                         \
        : "l"(a), "l"(b));                                                                       \
  }                                                                                              \
  __device__ inline void add_##of_a##_##of_b(float(&d)[64], uint64_t a, uint64_t b) {            \
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k32.f32." #of_a "." #of_b " {" TESSERA_R64 \
                 "}, %64, %65, 1, 1, 1;"                                                         \
                 : TESSERA_LIST64(TESSERA_SUMS, d)                                               \
                 : "l"(a), "l"(b));                                                              \
  }
TESSERA_FP8_PRODUCTS(e4m3, e4m3)
TESSERA_FP8_PRODUCTS(e5m2, e4m3)
TESSERA_FP8_PRODUCTS(e4m3, e5m2)

#undef TESSERA_FP8_PRODUCTS
#undef TESSERA_PRODUCTS
#undef TESSERA_LIST96
#undef TESSERA_LIST64
#undef TESSERA_LIST32
#undef TESSERA_LIST16
#undef TESSERA_NEW
#undef TESSERA_R96
#undef TESSERA_R64
#undef TESSERA_R32
#undef TESSERA_R16
#undef TESSERA_SUMS

}  // namespace tessera
