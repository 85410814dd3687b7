// SPDX-License-Identifier: Apache-2.0
// Goto's scheme with one change: a task packs its own block of B into its core's second-level cache
// and streams A past it unpacked. A task owns whole columns where it can, so that B is packed once,
// without a barrier.
#include "exec/cpu/gemm.h"

#include <algorithm>

#include "core/error.h"
#include "exec/cpu/cpu_target.h"
#include "exec/cpu/thin_product.h"

namespace tessera {
namespace {

struct Grid {
  int64_t rows, columns;  // of one tile; the last ones may be smaller
  int64_t row_tiles, column_tiles;
};

struct GridProblem {
  int64_t m, n, k;
  int64_t panel;  // columns
  int64_t max_rows;
  bool packs_a;
};

// Estimated cycles of one tile, per k and in units of one strip-panel step.
double tile_cost(const GridProblem& problem, int64_t strips, int64_t panels) {
  constexpr double kPackPanel = 3.5, kPackStrip = 0.3;
  const double steps = static_cast<double>(strips * panels);
  return steps + kPackPanel * static_cast<double>(panels) +
         (problem.packs_a ? kPackStrip * static_cast<double>(strips) : 0.0);
}

// The grid of tiles that should finish first on `threads` threads. Cores are never equally fast: at
// the end they wait for a part of one tile, which is why smaller ones are taken if they cost no
// more.
Grid choose_grid(const GridProblem& problem, int threads) {
  const int64_t strips = num_blocks(problem.m, kStripRows),
                panels = num_blocks(problem.n, problem.panel);
  const int64_t max_strips = std::max<int64_t>(1, problem.max_rows / kStripRows);
  const int64_t min_rows = num_blocks(strips, max_strips),
                min_columns = num_blocks(panels, panels_per_block(problem.k));
  const double wait = threads > 1 ? 0.03 : 0.0;
  Grid best{};
  double best_cost = 0;
  for (int64_t i = min_rows; i <= std::min(strips, min_rows + 2 * threads - 1); ++i) {
    for (int64_t j = min_columns; j <= std::min(panels, min_columns + 2 * threads - 1); ++j) {
      const int64_t tile_strips = num_blocks(strips, i), tile_panels = num_blocks(panels, j);
      const int64_t row_tiles = num_blocks(strips, tile_strips),
                    column_tiles = num_blocks(panels, tile_panels);
      const double rounds = static_cast<double>(num_blocks(row_tiles * column_tiles, threads));
      const double cost = (rounds + wait) * tile_cost(problem, tile_strips, tile_panels);
      if (best.rows == 0 || cost < best_cost) {
        best_cost = cost;
        best = {tile_strips * kStripRows, tile_panels * problem.panel, row_tiles, column_tiles};
      }
    }
  }
  return best;
}

template <typename A, typename B, typename C>
class TileProduct {
 public:
  using S = Accumulator<C>;
  static constexpr bool kKeepsC = std::is_same_v<C, Bf16>;
  static constexpr bool kHalves = std::is_same_v<A, Bf16> && std::is_same_v<B, Bf16>;
  static bool packs_a(const Gemm<A, B, C>& g) { return g.a.transposed || std::is_same_v<A, Bf16>; }

  TileProduct(const Gemm<A, B, C>& g, const Tile& tile, const GemmScratch& sizes,
              std::byte* scratch)
      : g_(g),
        tile_(tile),
        b_(reinterpret_cast<S*>(scratch)),
        a_(reinterpret_cast<S*>(scratch + sizes.b)),
        c_(reinterpret_cast<S*>(scratch + sizes.b + sizes.a)) {}

  void run() const {
    const int64_t columns = tile_.last_column - tile_.first_column;
    const int64_t depth = block_depth(g_.k);
    for (int64_t first = 0; first == 0 || first < g_.k; first += depth) {
      const int64_t k = std::min(depth, g_.k - first);
      if (!reads_b_in_place()) pack_b(first, k, columns);
      for (int64_t row = tile_.first_row; row < tile_.last_row; row += kRowsAtOnce) {
        const int64_t last_row = std::min(row + kRowsAtOnce, tile_.last_row);
        multiply_rows(row, last_row, first, k);
        if (first + k == g_.k) finish({row, last_row, tile_.first_column, tile_.last_column});
      }
    }
  }

 private:
  void multiply_rows(int64_t row, int64_t last_row, int64_t first, int64_t k) const {
    const bool packed = packs_a(g_);
    if (packed) pack_a(row, last_row, first, k);
    const int64_t steps = pairs_ ? num_blocks(k, 2) : k;
    for (int64_t i = row; i < last_row; i += kStripRows) {
      Strip<S> strip{.rows = std::min(kStripRows, last_row - i),
                     .columns = tile_.last_column - tile_.first_column,
                     .k = steps,
                     .a = a_ + (i - row) * steps,
                     .a_row = 1,
                     .a_k = kStripRows,
                     .panels = b_,
                     .packed_k = steps,
                     .c = c_at(i),
                     .c_row = c_stride(),
                     .add = first > 0 || (!kKeepsC && g_.accumulate)};
      if constexpr (std::is_same_v<B, S>)
        if (reads_b_in_place()) {
          strip.panels = g_.b.at(first, tile_.first_column).data;
          strip.b_row = g_.b.stride;
        }
      if constexpr (std::is_same_v<A, S>)
        if (!packed) {
          strip.a = g_.a.at(i, first).data, strip.a_row = g_.a.stride, strip.a_k = 1;
          if (i + kStripRows < last_row) strip.next_a = strip.a + kStripRows * strip.a_row;
        }
      multiply(strip);
    }
  }

  void pack_b(int64_t first, int64_t k, int64_t columns) const {
    const Matrix<B> b = g_.b.at(first, tile_.first_column);
    if constexpr (kHalves)
      if (pairs_) return pack_pair_panels(b, k, columns, b_);
    pack_panels(b, k, columns, b_);
  }
  void pack_a(int64_t row, int64_t last_row, int64_t first, int64_t k) const {
    const Matrix<A> a = g_.a.at(row, first);
    if constexpr (kHalves)
      if (pairs_) return pack_pair_strips(a, last_row - row, k, a_);
    pack_strips(a, last_row - row, k, a_);
  }
  void multiply(const Strip<S>& strip) const {
    if constexpr (kHalves)
      if (pairs_) return multiply_pair_strip(strip);
    multiply_strip(strip);
  }

  // Few rows do not repay packing. Narrow vectors, and a B that comes from memory, want it sooner:
  // unpacked, a pass takes a line or two from each of many pages.
  bool reads_b_in_place() const {
    if constexpr (!std::is_same_v<B, S>) return false;
    const bool near = cpu_target() >= CpuTarget::Avx512 &&
                      g_.k * g_.n * static_cast<int64_t>(sizeof(S)) <= kNearBytes;
    return !g_.b.transposed &&
           tile_.last_row - tile_.first_row <= (near ? kRowsInPlace : kFewRowsInPlace) &&
           (tile_.last_column - tile_.first_column) % kPanelColumns<S> == 0;
  }

  S* c_at(int64_t row) const {
    if constexpr (kKeepsC)
      return c_ + (row - tile_.first_row) * c_stride();
    else
      return g_.c + row * g_.c_stride + tile_.first_column;
  }
  int64_t c_stride() const {
    return kKeepsC ? tile_.last_column - tile_.first_column : g_.c_stride;
  }

  void finish(const Tile& done) const {
    if constexpr (kKeepsC)
      narrow_rows({.rows = done.last_row - done.first_row,
                   .columns = done.last_column - done.first_column,
                   .from = c_at(done.first_row),
                   .from_row = c_stride(),
                   .to = g_.c + done.first_row * g_.c_stride + done.first_column,
                   .to_row = g_.c_stride,
                   .add = g_.accumulate});
    if (g_.tile_done) (*g_.tile_done)(done);
  }

  const Gemm<A, B, C>& g_;
  Tile tile_;
  bool pairs_ = kHalves && multiplies_pairs();
  S *b_, *a_, *c_;
};

// Columns [first, last) of a product of very few rows.
template <typename A, typename B, typename C>
class ThinProduct {
 public:
  using S = Accumulator<C>;
  static constexpr int64_t kColumns = 512;  // of a task

  // Of one worker: A as S, and the sums of a task, of one block of k and of those before it.
  static int64_t scratch_bytes(const Gemm<A, B, C>& g) {
    return g.m * (g.k + 2 * kColumns) * static_cast<int64_t>(sizeof(S));
  }
  static bool fits(const Gemm<A, B, C>& g, int64_t worker_bytes) {
    constexpr bool kHalves = std::is_same_v<A, Bf16> && std::is_same_v<B, Bf16>;
    // What adds to C, or is multiplied in pairs, is rounded at other places.
    return g.m <= kThinRows && !g.b.transposed && !g.accumulate &&
           !(kHalves && multiplies_pairs()) && scratch_bytes(g) <= worker_bytes;
  }

  // Each block of k has a chain of its own, as in TileProduct.
  static void run(const Gemm<A, B, C>& g, int64_t first, int64_t last, std::byte* scratch) {
    const int64_t columns = last - first, depth = block_depth(g.k);
    S* a = reinterpret_cast<S*>(scratch);
    S *sums = a + g.m * g.k, *block = sums + g.m * columns;
    for (int64_t from = 0; from == 0 || from < g.k; from += depth) {
      const int64_t k = std::min(depth, g.k - from);
      for (int64_t i = 0; i < g.m; ++i)
        for (int64_t p = 0; p < k; ++p) a[i * k + p] = load(*g.a.at(i, from + p).data);
      S* to = from == 0 ? sums : block;
      std::fill_n(to, g.m * columns, S{0});
      add_thin_tile(ThinTile<S, B>{.rows = g.m,
                                   .columns = columns,
                                   .k = k,
                                   .a = a,
                                   .b = g.b.at(from, first).data,
                                   .b_stride = g.b.stride,
                                   .sums = to});
      if (from > 0)
        for (int64_t i = 0; i < g.m * columns; ++i) sums[i] += block[i];
    }
    for (int64_t i = 0; i < g.m; ++i)
      for (int64_t j = 0; j < columns; ++j)
        g.c[i * g.c_stride + first + j] = store<C>(sums[i * columns + j]);
    if (g.tile_done) (*g.tile_done)({0, g.m, first, last});
  }
};

}  // namespace

template <typename A, typename B, typename C>
void gemm(const Gemm<A, B, C>& g, ThreadPool& threads, std::span<std::byte> workspace) {
  using Product = TileProduct<A, B, C>;
  using Thin = ThinProduct<A, B, C>;
  using S = typename Product::S;
  if (g.m == 0 || g.n == 0) return;
  const GemmScratch sizes = gemm_scratch(g.m, g.n, g.k, sizeof(S));
  TESSERA_CHECK(static_cast<int64_t>(workspace.size()) >= threads.threads() * sizes.bytes(),
                "gemm {} x {} x {} has {} bytes of workspace", g.m, g.n, g.k, workspace.size());
  if (Thin::fits(g, sizes.bytes()))
    return threads.run(num_blocks(g.n, Thin::kColumns), [&](int64_t task, int worker) {
      const int64_t first = task * Thin::kColumns;
      Thin::run(g, first, std::min(first + Thin::kColumns, g.n),
                workspace.data() + worker * sizes.bytes());
    });
  const GridProblem problem{.m = g.m,
                            .n = g.n,
                            .k = g.k,
                            .panel = kPanelColumns<S>,
                            .max_rows = Product::kKeepsC ? kScratchRows : g.m,
                            .packs_a = Product::packs_a(g)};
  const Grid grid = choose_grid(problem, threads.threads());
  threads.run(grid.row_tiles * grid.column_tiles, [&](int64_t task, int worker) {
    const int64_t row = task % grid.row_tiles * grid.rows,
                  column = task / grid.row_tiles * grid.columns;
    const Tile tile{row, std::min(row + grid.rows, g.m), column,
                    std::min(column + grid.columns, g.n)};
    Product(g, tile, sizes, workspace.data() + worker * sizes.bytes()).run();
  });
}

namespace {

template <typename A, typename B, typename C>
Gemm<A, B, C> group_product(const GroupedGemm<A, B, C>& p, int64_t group) {
  Gemm<A, B, C> g = p.first;
  const int64_t begin = group == 0 ? 0 : p.ends[group - 1], count = p.ends[group] - begin;
  if (p.ragged == Ragged::Rows) {
    g.m = count;
    g.a = g.a.at(begin, 0);
    g.b.data += group * g.k * g.n;
    g.c += begin * g.c_stride;
  } else {
    g.k = count;
    g.a = g.a.at(0, begin);
    g.b = g.b.at(begin, 0);
    g.c += group * g.m * g.n;
  }
  return g;
}

// Fills `table` and gives the number of tasks.
template <typename A, typename B, typename C>
int64_t cut_groups(const GroupedGemm<A, B, C>& p, int threads, GroupTiles* table) {
  using Product = TileProduct<A, B, C>;
  using S = typename Product::S;
  const int share = static_cast<int>(num_blocks(threads, p.groups));
  int64_t tasks = 0;
  for (int64_t group = 0; group < p.groups; ++group) {
    const Gemm<A, B, C> g = group_product(p, group);
    table[group] = {.first_task = tasks, .rows = g.m, .columns = g.n, .row_tiles = 1};
    if (g.m == 0) continue;
    const GridProblem problem{.m = g.m,
                              .n = g.n,
                              .k = kMaxDepth,
                              .panel = kPanelColumns<S>,
                              .max_rows = Product::kKeepsC ? kScratchRows : g.m,
                              .packs_a = Product::packs_a(g)};
    const Grid grid = choose_grid(problem, share);
    table[group] = {tasks, grid.rows, grid.columns, grid.row_tiles};
    tasks += grid.row_tiles * grid.column_tiles;
  }
  return tasks;
}

// The last group that begins at or before the task; those without tasks begin where the next does.
int64_t group_of(const GroupTiles* table, int64_t groups, int64_t task) {
  return std::upper_bound(table, table + groups, task,
                          [](int64_t t, const GroupTiles& tiles) { return t < tiles.first_task; }) -
         table - 1;
}

// The sum over no rows at all.
template <typename A, typename B, typename C>
void clear_tile(const Gemm<A, B, C>& g, const Tile& tile) {
  if (g.accumulate) return;
  for (int64_t row = tile.first_row; row < tile.last_row; ++row)
    std::fill(g.c + row * g.c_stride + tile.first_column, g.c + row * g.c_stride + tile.last_column,
              C{});
}

}  // namespace

template <typename A, typename B, typename C>
void grouped_gemm(const GroupedGemm<A, B, C>& p, ThreadPool& threads,
                  std::span<std::byte> workspace) {
  using Product = TileProduct<A, B, C>;
  const GemmScratch sizes =
      grouped_gemm_scratch(p.first.m, p.first.n, p.first.k, sizeof(typename Product::S));
  const int64_t table_bytes = group_table_bytes(p.groups);
  TESSERA_CHECK(
      static_cast<int64_t>(workspace.size()) >= table_bytes + threads.threads() * sizes.bytes(),
      "gemm of {} groups has {} bytes of workspace", p.groups, workspace.size());
  GroupTiles* table = reinterpret_cast<GroupTiles*>(workspace.data());
  const int64_t tasks = cut_groups(p, threads.threads(), table);
  threads.run(tasks, [&](int64_t task, int worker) {
    const int64_t group = group_of(table, p.groups, task);
    const GroupTiles& tiles = table[group];
    const Gemm<A, B, C> g = group_product(p, group);
    const int64_t own = task - tiles.first_task, row = own % tiles.row_tiles * tiles.rows,
                  column = own / tiles.row_tiles * tiles.columns;
    const Tile tile{row, std::min(row + tiles.rows, g.m), column,
                    std::min(column + tiles.columns, g.n)};
    if (g.k == 0) return clear_tile(g, tile);
    Product(g, tile, sizes, workspace.data() + table_bytes + worker * sizes.bytes()).run();
  });
}

template void grouped_gemm(const GroupedGemm<double, double, double>&, ThreadPool&,
                           std::span<std::byte>);
template void grouped_gemm(const GroupedGemm<float, float, float>&, ThreadPool&,
                           std::span<std::byte>);
template void grouped_gemm(const GroupedGemm<Bf16, Bf16, float>&, ThreadPool&,
                           std::span<std::byte>);
template void grouped_gemm(const GroupedGemm<Bf16, Bf16, Bf16>&, ThreadPool&, std::span<std::byte>);

template void gemm(const Gemm<double, double, double>&, ThreadPool&, std::span<std::byte>);
template void gemm(const Gemm<float, float, float>&, ThreadPool&, std::span<std::byte>);
template void gemm(const Gemm<float, float, Bf16>&, ThreadPool&, std::span<std::byte>);
template void gemm(const Gemm<float, Bf16, float>&, ThreadPool&, std::span<std::byte>);
template void gemm(const Gemm<float, Bf16, Bf16>&, ThreadPool&, std::span<std::byte>);
template void gemm(const Gemm<Bf16, float, float>&, ThreadPool&, std::span<std::byte>);
template void gemm(const Gemm<Bf16, float, Bf16>&, ThreadPool&, std::span<std::byte>);
template void gemm(const Gemm<Bf16, Bf16, float>&, ThreadPool&, std::span<std::byte>);
template void gemm(const Gemm<Bf16, Bf16, Bf16>&, ThreadPool&, std::span<std::byte>);

}  // namespace tessera
