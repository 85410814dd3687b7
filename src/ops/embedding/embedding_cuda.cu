// SPDX-License-Identifier: Apache-2.0
// One copy per index; zeros where another shard has the row.
#include <cub/device/device_radix_sort.cuh>

#include <bit>

#include "exec/cuda/elements.h"
#include "ir/op_def.h"
#include "ops/embedding/table_index_cuda.h"

namespace tessera {
namespace {

constexpr int kPieces = 4;  // of kThreads accesses that a block has under way

template <int N, typename T>
__global__ void __launch_bounds__(kThreads)
    embedding_kernel(DeviceTableIndex index, const T* table, T* y, unsigned count, unsigned packs) {
  const unsigned first = blockIdx.x * kPieces * kThreads + threadIdx.x;
  Elements<T, N> copied[kPieces];
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    const unsigned at = first + p * kThreads;
    if (at >= count) continue;
    const unsigned i = at / packs;
    const int64_t row = index.row(i);
    if (row >= 0) {
      copied[p] = load_elements<N>(table + (row * packs + at % packs) * N);
    } else {
      const T missing = index.outside(i) ? not_a_number<T>() : T{};
      for (int j = 0; j < N; ++j) copied[p].values[j] = missing;
    }
  }
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    const unsigned at = first + p * kThreads;
    if (at < count) store_elements(y + static_cast<int64_t>(at) * N, copied[p]);
  }
}

template <int N, typename T>
void run_embedding(const CudaCall& call) {
  const TensorRef table = call.operand(0), index = call.operand(1);
  const int64_t rows = table.type->dims.front().size, cols = table.type->num_elements() / rows;
  const int64_t count = index.type->num_elements() * (cols / N);
  TESSERA_CHECK(count < (int64_t{1} << 32) - kPieces * kThreads, "{} accesses", count);
  launch(call, {.blocks = blocks_for(count, kPieces * kThreads), .threads = kThreads},
         embedding_kernel<N, T>, DeviceTableIndex(index, call.operand(2), rows),
         static_cast<const T*>(table.as<T>()), call.result(0).as<T>(), static_cast<unsigned>(count),
         static_cast<unsigned>(cols / N));
}

}  // namespace

void embedding_cuda(const CudaCall& call) {
  const TensorType& table = *call.operand(0).type;
  dispatch_float(table.dtype, [&]<typename T>() {
    if (table.num_elements() / table.dims.front().size % kElements<T> == 0)
      run_embedding<kElements<T>, T>(call);
    else
      run_embedding<1, T>(call);
  });
}

// Indices are sorted together with their positions. A block adds the rows of dy for a chunk of
// them: runs of one index that end in the chunk go into the table, those that cross its boundary
// into partial sums, which are then added in order.
namespace {

constexpr int kChunk = 64, kAhead = 8;  // sorted indices of a block, and rows under way in a thread

int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

void sort(void* scratch, size_t& scratch_bytes, const uint32_t* rows, uint32_t* sorted_rows,
          const int32_t* places, int32_t* sorted_places, int64_t count, int64_t table_rows,
          cudaStream_t stream) {
  const int bits = std::bit_width(static_cast<uint64_t>(table_rows));
  check_cuda(
      cub::DeviceRadixSort::SortPairs(scratch, scratch_bytes, rows, sorted_rows, places,
                                      sorted_places, static_cast<int>(count), 0, bits, stream),
      "sort indices");
}

// The workspace: rows and places, unsorted and sorted, the sort's own scratch, partial sums.
struct Layout {
  int64_t chunks, array, partials, bytes;
  size_t scratch_bytes = 0;

  Layout(int64_t count, int64_t rows, int64_t cols, int64_t sum_bytes)
      : chunks((count + kChunk - 1) / kChunk), array(aligned(4 * count)) {
    sort(nullptr, scratch_bytes, nullptr, nullptr, nullptr, nullptr, count, rows, nullptr);
    partials = 4 * array + aligned(static_cast<int64_t>(scratch_bytes));
    bytes = partials + 2 * chunks * cols * sum_bytes;
  }
};

// A row outside the table, or of another shard, comes last and is skipped.
__global__ void rows_kernel(DeviceTableIndex index, int64_t count, uint32_t* rows,
                            int32_t* places) {
  const int64_t i = first_index();
  if (i >= count) return;
  const int64_t row = index.row(i);
  rows[i] = static_cast<uint32_t>(row < 0 ? index.rows : row);
  places[i] = static_cast<int32_t>(i);
}

template <typename T, typename Y>
struct Sums {
  const uint32_t* rows;   // sorted
  const int32_t* places;  // of dy, in the same order
  const T* dy;
  Y* table;
  Accumulator<Y>* partials;  // per chunk: of the run that comes into it, of the one that leaves it
  int64_t count, cols;
  uint32_t table_rows;
};

template <int N, typename Y>
__device__ void add_to_table(Y* at, const Accumulator<Y>* sums) {
  Elements<Y, N> values = load_elements<N>(at);
  for (int j = 0; j < N; ++j) values.values[j] = narrow<Y>(widen(values.values[j]) + sums[j]);
  store_elements(at, values);
}

template <int N, typename T, typename Y>
__global__ void add_runs_kernel(Sums<T, Y> s) {
  using A = Accumulator<Y>;
  const int64_t c = (static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * N;
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * kChunk;
  const int64_t end = min(s.count, begin + kChunk);
  if (c >= s.cols) return;
  bool comes_in = begin > 0 && s.rows[begin - 1] == s.rows[begin];
  A sums[N] = {};
  for (int64_t first = begin; first < end; first += kAhead) {
    Elements<T, N> ahead[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k)
      if (first + k < end) ahead[k] = load_elements<N>(s.dy + s.places[first + k] * s.cols + c);
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const int64_t i = first + k;
      if (i >= end || s.rows[i] >= s.table_rows) continue;
      for (int j = 0; j < N; ++j) sums[j] += static_cast<A>(widen(ahead[k].values[j]));
      const bool goes_on = i + 1 < s.count && s.rows[i + 1] == s.rows[i];
      if (goes_on && i + 1 < end) continue;
      if (comes_in || goes_on) {
        A* partial = s.partials + (2 * blockIdx.x + (comes_in ? 0 : 1)) * s.cols + c;
        for (int j = 0; j < N; ++j) partial[j] = sums[j];
      } else {
        add_to_table<N>(s.table + s.rows[i] * s.cols + c, sums);
      }
      comes_in = false;
      for (int j = 0; j < N; ++j) sums[j] = 0;
    }
  }
}

// The block of the chunk in which a run begins adds the run's partial sums of this and later
// chunks.
template <int N, typename T, typename Y>
__global__ void add_partials_kernel(Sums<T, Y> s) {
  using A = Accumulator<Y>;
  const int64_t c = (static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * N;
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * kChunk, next = begin + kChunk;
  if (c >= s.cols || next >= s.count) return;
  const uint32_t row = s.rows[next];
  const bool leaves = s.rows[next - 1] == row && row < s.table_rows;
  const bool comes_in = begin > 0 && s.rows[begin] == row && s.rows[begin - 1] == row;
  if (!leaves || comes_in) return;
  A sums[N];
  for (int j = 0; j < N; ++j) sums[j] = s.partials[(2 * blockIdx.x + 1) * s.cols + c + j];
  for (int64_t at = next, chunk = blockIdx.x + 1; at < s.count && s.rows[at] == row;
       at += kChunk, ++chunk) {
    for (int j = 0; j < N; ++j) sums[j] += s.partials[2 * chunk * s.cols + c + j];
    if (s.rows[min(at + kChunk, s.count) - 1] != row) break;
  }
  add_to_table<N>(s.table + row * s.cols + c, sums);
}

template <int N, typename T, typename Y>
void add_rows(const CudaCall& call, const Sums<T, Y>& sums, const Layout& layout) {
  const Grid grid = row_piece_grid(layout.chunks, sums.cols, N);
  launch(call, grid, add_runs_kernel<N, T, Y>, sums);
  launch(call, grid, add_partials_kernel<N, T, Y>, sums);
}

}  // namespace

void embedding_grad_cuda(const CudaCall& call) {
  const TensorRef index = call.operand(0), dy = call.operand(1), table = call.result(0);
  const int64_t rows = table.type->dims.front().size, cols = table.type->num_elements() / rows;
  const int64_t count = index.type->num_elements();
  Layout layout(count, rows, cols, size_bytes(accumulator_of(table.type->dtype)));
  std::byte* workspace = call.workspace.data();
  auto *row_of = reinterpret_cast<uint32_t*>(workspace),
       *sorted = reinterpret_cast<uint32_t*>(workspace + layout.array);
  auto *places = reinterpret_cast<int32_t*>(workspace + 2 * layout.array),
       *sorted_places = reinterpret_cast<int32_t*>(workspace + 3 * layout.array);
  launch(call, {.blocks = blocks_for(count, kThreads), .threads = kThreads}, rows_kernel,
         DeviceTableIndex(index, call.operand(2), rows), count, row_of, places);
  sort(workspace + 4 * layout.array, layout.scratch_bytes, row_of, sorted, places, sorted_places,
       count, rows, call.stream);
  if (!call.accumulates(0))
    check_cuda(
        cudaMemsetAsync(table.data, 0, static_cast<size_t>(table.type->bytes()), call.stream),
        "clear a table");
  dispatch_float(dy.type->dtype, [&]<typename T>() {
    dispatch_float(table.type->dtype, [&]<typename Y>() {
      const Sums<T, Y> sums{
          .rows = sorted,
          .places = sorted_places,
          .dy = dy.as<T>(),
          .table = table.as<Y>(),
          .partials = reinterpret_cast<Accumulator<Y>*>(workspace + layout.partials),
          .count = count,
          .cols = cols,
          .table_rows = static_cast<uint32_t>(rows)};
      if (cols % kElements<T, Y> == 0)
        add_rows<kElements<T, Y>>(call, sums, layout);
      else
        add_rows<1>(call, sums, layout);
    });
  });
}

int64_t embedding_grad_cuda_workspace_bytes(const OpCall& call, CausalAttention&) {
  const TensorType& table = call.result(0);
  const int64_t rows = table.dims.front().size;
  return Layout(call.operand(0).num_elements(), rows, table.num_elements() / rows,
                size_bytes(accumulator_of(table.dtype)))
      .bytes;
}

}  // namespace tessera
