// SPDX-License-Identifier: Apache-2.0
// A task packs the keys and values of one head that its rows may see and processes six rows at a
// time: their scores over all visible keys fit into the L1 cache, so the softmax is simple and the
// product with the values is one long matmul.
#define HWY_TARGET_INCLUDE "ops/attention/attention_cpu.cpp"
#include "exec/cpu/each_target.h"
#include "ops/attention/rows_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

template <typename S>
struct Softmax {
  S max, sum;
};

// exp(score - max) in place; 0 everywhere for a row that sees nothing. n is a multiple of a panel.
template <typename S>
Softmax<S> exponentials(S* scores, int64_t n) {
  constexpr int64_t kStep = 4 * kLanes<S>;
  Lanes<S> largest[4];
  for (auto& lanes : largest) lanes = -std::numeric_limits<S>::infinity();
  for (int64_t i = 0; i < n; i += kStep)
    for (int64_t j = 0; j < 4; ++j) {
      const Lanes<S> x = load_lanes(scores + i + j * kLanes<S>);
      largest[j] = select(x > largest[j], x, largest[j]);
    }
  for (int64_t j = 1; j < 4; ++j)
    largest[0] = select(largest[j] > largest[0], largest[j], largest[0]);
  S max = max_lanes<S>(largest[0]);
  if (max == -std::numeric_limits<S>::infinity()) max = 0;
  Lanes<S> sums[4] = {};
  for (int64_t i = 0; i < n; i += kStep)
    for (int64_t j = 0; j < 4; ++j) {
      S* at = scores + i + j * kLanes<S>;
      const Lanes<S> y = fast_exp<Lanes<S>>(load_lanes(at) - max);
      store_lanes(at, y);
      sums[j] += y;
    }
  return {max, sum_lanes<S>((sums[0] + sums[1]) + (sums[2] + sums[3]))};
}

template <typename T>
class Head {
 public:
  using S = Accumulator<T>;
  static constexpr int64_t kPanel = kPanelColumns<S>;

  // Only for rows [first_row, last_row).
  Head(const CpuCall& call, const AttentionSizes& s, int64_t batch, int64_t head, int64_t first_row,
       int64_t last_row, std::byte* scratch)
      : s_(s),
        l_(s, sizeof(S)),
        place_(call, 3, batch, s.seq),
        first_row_(first_row),
        last_row_(last_row),
        q_(call.operand(0).as<T>(), s, s.e, batch, head),
        o_(call.result(0).as<T>(), s, s.value_e, batch, head),
        lse_(call.result(1).as<S>() + (batch * s.seq * s.kv_heads + head) * s.group),
        scale_(static_cast<S>(attention_scale(call.attributes, s.e))),
        spans_(at<PositionSpan>(scratch, l_.spans)),
        keys_(at<S>(scratch, l_.keys)),
        values_(at<S>(scratch, l_.values)),
        query_(at<S>(scratch, l_.query)),
        scores_(at<S>(scratch, l_.scores)),
        out_(at<S>(scratch, l_.out)) {
    fill_spans(place_.keys, s.seq, kPanel, spans_);
    const KeyRange panels =
        seen_panels(queries_of(first_row, last_row - first_row), spans_, 0, l_.panels);
    packed_ = {panels.begin * kPanel, std::min(panels.end * kPanel, s.seq)};
    if (packed_.empty()) return;
    const int64_t count = packed_.end - packed_.begin;
    const int64_t first = (batch * s.seq + packed_.begin) * s.kv_heads + head;
    const T *k = call.operand(1).as<T>() + first * s.e,
            *v = call.operand(2).as<T>() + first * s.value_e;
    const int64_t k_stride = s.kv_heads * s.e, v_stride = s.kv_heads * s.value_e;
    prefetch_keys(k, k_stride, count, s.e);
    prefetch_keys(v, v_stride, count, s.value_e);
    pack_panels(Matrix<T>{k, k_stride, true}, s.e, count, keys_);
    pack_panels(Matrix<T>{v, v_stride, false}, count, s.value_e, values_);
  }

  void run() const {
    for (int64_t row = first_row_; row < last_row_; row += kStripRows)
      run_strip(row, std::min(kStripRows, last_row_ - row));
  }

 private:
  PositionSpan queries_of(int64_t row, int64_t rows) const {
    return place_.queries.span(row / s_.group, (row + rows - 1) / s_.group + 1);
  }

  void run_strip(int64_t row, int64_t rows) const {
    const PositionSpan queries = queries_of(row, rows);
    const KeyRange panels = seen_panels(queries, spans_, 0, l_.panels);
    if (panels.empty()) return see_nothing(row, rows);
    prefetch_rows<Use::Read>(q_, row + rows, std::min(row + 2 * kStripRows, s_.rows()));
    prefetch_rows<Use::Write>(o_, row, row + rows);
    const int64_t first = panels.begin * kPanel, count = (panels.end - panels.begin) * kPanel;
    for (int64_t i = 0; i < rows; ++i)
      copy_scaled(q_.row(row + i), scale_, query_ + i * s_.e, s_.e);
    multiply_strip(Strip<S>{.rows = rows,
                            .columns = count,
                            .k = s_.e,
                            .a = query_,
                            .a_row = s_.e,
                            .a_k = 1,
                            .panels = keys_ + (first - packed_.begin) * s_.e,
                            .packed_k = s_.e,
                            .c = scores_,
                            .c_row = count,
                            .add = false});
    mask(row, rows, queries, panels);
    Softmax<S> softmax[kStripRows];
    for (int64_t i = 0; i < rows; ++i) softmax[i] = exponentials(scores_ + i * count, count);
    const KeyRange keys = trimmed(place_.keys, queries, {first, std::min(first + count, s_.seq)});
    multiply_strip(Strip<S>{.rows = rows,
                            .columns = s_.value_e,
                            .k = keys.end - keys.begin,
                            .a = scores_ + (keys.begin - first),
                            .a_row = count,
                            .a_k = 1,
                            .panels = values_,
                            .packed_k = packed_.end - packed_.begin,
                            .c = out_,
                            .c_row = s_.value_e,
                            .add = false,
                            .first_k = keys.begin - packed_.begin});
    for (int64_t i = 0; i < rows; ++i) {
      const auto [max, sum] = softmax[i];
      store_scaled(out_ + i * s_.value_e, sum > 0 ? 1 / sum : S{0}, o_.row(row + i), s_.value_e);
      lse_of(row + i) = max + std::log(sum);
    }
  }

  void see_nothing(int64_t row, int64_t rows) const {
    for (int64_t r = row; r < row + rows; ++r) {
      std::fill_n(o_.row(r), s_.value_e, T{});
      lse_of(r) = -std::numeric_limits<S>::infinity();
    }
  }

  S& lse_of(int64_t row) const {
    return lse_[row / s_.group * s_.kv_heads * s_.group + row % s_.group];
  }

  void mask(int64_t row, int64_t rows, const PositionSpan& queries, const KeyRange& panels) const {
    const int64_t count = (panels.end - panels.begin) * kPanel;
    for (int64_t p = panels.begin; p < panels.end; ++p) {
      const bool whole = (p + 1) * kPanel <= s_.seq;
      if (whole && sight(queries, spans_[p]) == Sight::Visible) continue;
      for (int64_t i = 0; i < rows; ++i)
        mask_panel(scores_ + i * count + (p - panels.begin) * kPanel, place_, (row + i) / s_.group,
                   p * kPanel, s_.seq);
    }
  }

  AttentionSizes s_;
  AttentionScratch l_;
  Placements place_;
  int64_t first_row_, last_row_;
  KeyRange packed_;
  HeadRows<T> q_, o_;
  S* lse_;
  S scale_;
  PositionSpan* spans_;
  S *keys_, *values_, *query_, *scores_, *out_;
};

// If there are few heads, several tasks share one; this depends only on sizes.
int64_t parts_of_head(const AttentionSizes& s) {
  constexpr int64_t kTasks = 16, kRows = 8 * kStripRows;
  return std::clamp<int64_t>(num_blocks(kTasks, s.batch * s.kv_heads), 1,
                             num_blocks(s.rows(), kRows));
}

template <typename T>
void attend(const CpuCall& call) {
  const AttentionSizes s(*call.operand(0).type, *call.operand(2).type);
  const int64_t worker_bytes = AttentionScratch(s, sizeof(Accumulator<T>)).bytes;
  const int64_t parts = parts_of_head(s);
  const int64_t rows = num_blocks(num_blocks(s.rows(), kStripRows), parts) * kStripRows;
  call.threads.run(s.batch * s.kv_heads * parts, [&](int64_t task, int worker) {
    const int64_t head = task / parts, first_row = task % parts * rows;
    if (first_row >= s.rows()) return;
    Head<T>(call, s, head / s.kv_heads, head % s.kv_heads, first_row,
            std::min(first_row + rows, s.rows()), call.workspace.data() + worker * worker_bytes)
        .run();
  });
}

}  // namespace

void attention_cpu(const CpuCall& call) {
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() { attend<T>(call); });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(attention_cpu)
}  // namespace tessera
#endif
