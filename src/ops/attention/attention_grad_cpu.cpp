// SPDX-License-Identifier: Apache-2.0
// A task has one head. For a block of keys and a block of rows it computes p = exp(scores - lse)
// and ds = p (do v^T - delta), and from them dq, dk and dv. A strip stops at the last key it sees.
#define HWY_TARGET_INCLUDE "ops/attention/attention_grad_cpu.cpp"
#include "exec/cpu/each_target.h"
#include "ops/attention/rows_cpu.h"
#include "ops/fixed_order_sums_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

// scores -> p, dscores = do v^T -> ds; n is a multiple of a panel.
template <typename S>
void backward_row(S* scores, S* dscores, S lse, S delta, int64_t n) {
  for (int64_t i = 0; i < n; i += kLanes<S>) {
    const Lanes<S> p = fast_exp<Lanes<S>>(load_lanes(scores + i) - lse);
    store_lanes(scores + i, p);
    store_lanes(dscores + i, p * (load_lanes(dscores + i) - delta));
  }
}

struct Times {
  template <typename V>
  TESSERA_INLINE V operator()(const V& x, const V& y) const {
    return x * y;
  }
};
template <typename T>
Accumulator<T> dot(const T* x, const T* y, int64_t n) {
  return sum_terms<Accumulator<T>>(n, Times{}, x, y);
}

template <typename T>
class HeadGradient {
 public:
  using S = Accumulator<T>;
  static constexpr int64_t kPanel = kPanelColumns<S>;

  HeadGradient(const CpuCall& call, const AttentionSizes& s, int64_t batch, int64_t head,
               std::byte* scratch)
      : call_(call),
        s_(s),
        l_(s, sizeof(S)),
        scratch_(scratch),
        place_(call, 6, batch, s.seq),
        q_(call.operand(0).as<T>(), s, s.e, batch, head),
        o_(call.operand(3).as<T>(), s, s.value_e, batch, head),
        do_(call.operand(5).as<T>(), s, s.value_e, batch, head),
        dq_(call.result(0).as<T>(), s, s.e, batch, head),
        lse_(call.operand(4).as<S>() + (batch * s.seq * s.kv_heads + head) * s.group),
        first_key_(batch * s.seq * s.kv_heads + head),
        scale_(static_cast<S>(attention_scale(call.attributes, s.e))) {}

  void run() const {
    fill_spans(place_.keys, s_.seq, kPanel, spans());
    const KeyRange seen = seen_panels(queries_of(0, s_.rows()), spans(), 0, l_.panels);
    for (int64_t row = 0; row < s_.rows() && !seen.empty(); ++row) {
      const int64_t ahead = std::min(row + kRowsAhead, s_.rows() - 1);
      prefetch_row<Use::Read>(do_.row(ahead), s_.value_e);
      prefetch_row<Use::Read>(o_.row(ahead), s_.value_e);
      scratch(l_.delta)[row] = dot(do_.row(row), o_.row(row), s_.value_e);
    }
    std::fill_n(scratch(l_.dquery), s_.rows() * s_.e, S{0});
    for (int64_t key = 0; key < s_.seq; key += l_.block_keys) {
      const int64_t count = std::min(l_.block_keys, s_.seq - key);
      if (key < seen.end * kPanel && key + count > seen.begin * kPanel)
        run_keys(key, count);
      else
        clear_keys(key, count);
    }
    for (int64_t row = 0; row < s_.rows(); ++row) {
      prefetch_row<Use::Write>(dq_.row(std::min(row + kRowsAhead, s_.rows() - 1)), s_.e);
      store_scaled(scratch(l_.dquery) + row * s_.e, scale_, dq_.row(row), s_.e);
    }
  }

 private:
  S* scratch(int64_t offset) const { return at<S>(scratch_, offset); }
  PositionSpan* spans() const { return at<PositionSpan>(scratch_, l_.spans); }

  void run_keys(int64_t key, int64_t count) const {
    const int64_t k_stride = s_.kv_heads * s_.e, v_stride = s_.kv_heads * s_.value_e;
    const int64_t first = first_key_ + key * s_.kv_heads, e = s_.e, value_e = s_.value_e;
    const T *k = call_.operand(1).as<T>() + first * e,
            *v = call_.operand(2).as<T>() + first * value_e;
    prefetch_keys(k, k_stride, count, e);
    prefetch_keys(v, v_stride, count, value_e);
    pack_panels(Matrix<T>{k, k_stride, true}, e, count, scratch(l_.keys_transposed));
    pack_panels(Matrix<T>{v, v_stride, true}, value_e, count, scratch(l_.values_transposed));
    pack_panels(Matrix<T>{k, k_stride, false}, count, e, scratch(l_.keys));
    std::fill_n(scratch(l_.dkeys), l_.block_keys * e, S{0});
    std::fill_n(scratch(l_.dvalues), l_.block_keys * value_e, S{0});
    for (int64_t row = 0; row < s_.rows(); row += l_.block_rows)
      run_block(key, count, row, std::min(l_.block_rows, s_.rows() - row));
    T *dk = call_.result(1).as<T>() + first * e, *dv = call_.result(2).as<T>() + first * value_e;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t ahead = std::min(i + kRowsAhead, count - 1);
      prefetch_row<Use::Write>(dk + ahead * k_stride, e);
      prefetch_row<Use::Write>(dv + ahead * v_stride, value_e);
      store_scaled(scratch(l_.dkeys) + i * e, S{1}, dk + i * k_stride, e);
      store_scaled(scratch(l_.dvalues) + i * value_e, S{1}, dv + i * v_stride, value_e);
    }
  }

  void clear_keys(int64_t key, int64_t count) const {
    for (int64_t i = key; i < key + count; ++i) {
      const int64_t at = first_key_ + i * s_.kv_heads;
      std::fill_n(call_.result(1).as<T>() + at * s_.e, s_.e, T{});
      std::fill_n(call_.result(2).as<T>() + at * s_.value_e, s_.value_e, T{});
    }
  }

  PositionSpan queries_of(int64_t row, int64_t rows) const {
    return place_.queries.span(row / s_.group, (row + rows - 1) / s_.group + 1);
  }

  void run_block(int64_t key, int64_t count, int64_t row, int64_t rows) const {
    const int64_t first_panel = key / kPanel, last_panel = first_panel + num_blocks(count, kPanel);
    const KeyRange seen = seen_panels(queries_of(row, rows), spans(), first_panel, last_panel);
    if (seen.empty()) return;
    load_rows(row, rows);
    // The first and last row that see a panel, of the block.
    KeyRange rows_seeing[AttentionGradScratch::kBlockPanels];
    for (int64_t i = 0; i < rows; i += kStripRows) {
      const int64_t strip_rows = std::min(kStripRows, rows - i);
      const PositionSpan queries = queries_of(row + i, strip_rows);
      const KeyRange panels = seen_panels(queries, spans(), first_panel, last_panel);
      clear_unseen(i, strip_rows, {seen.begin - first_panel, seen.end - first_panel},
                   {panels.begin - first_panel, panels.end - first_panel});
      const int64_t ahead = std::min(row + i + l_.block_rows, s_.rows() - kStripRows);
      if (ahead > row + i) {
        prefetch_rows<Use::Read>(q_, ahead, ahead + kStripRows);
        prefetch_rows<Use::Read>(do_, ahead, ahead + kStripRows);
      }
      if (panels.empty()) continue;
      score_strip(key, row, i, strip_rows, queries, panels);
      const KeyRange keys =
          trimmed(place_.keys, queries,
                  {panels.begin * kPanel, std::min(panels.end * kPanel, key + count)});
      add_dquery(key, row, i, strip_rows, keys);
      for (int64_t p = panels.begin - first_panel; p < panels.end - first_panel; ++p) {
        if (rows_seeing[p].empty()) rows_seeing[p].begin = i;
        rows_seeing[p].end = i + strip_rows;
      }
    }
    for (int64_t p = 0; p < last_panel - first_panel; ++p) {
      const KeyRange keys{p * kPanel, std::min((p + 1) * kPanel, count)};
      if (rows_seeing[p].empty()) continue;
      add_to_keys(keys, rows_seeing[p], rows, l_.scores, l_.dout_panels, l_.dvalues, s_.value_e);
      add_to_keys(keys, rows_seeing[p], rows, l_.dscores, l_.query_panels, l_.dkeys, s_.e);
    }
  }

  // q (scaled) and do, once as rows and once as the panels of a right-hand side.
  void load_rows(int64_t row, int64_t rows) const {
    for (int64_t i = 0; i < rows; ++i) {
      copy_scaled(q_.row(row + i), scale_, scratch(l_.query) + i * s_.e, s_.e);
      copy_scaled(do_.row(row + i), S{1}, scratch(l_.dout) + i * s_.value_e, s_.value_e);
    }
    pack_panels(Matrix<S>{scratch(l_.query), s_.e, false}, rows, s_.e, scratch(l_.query_panels));
    pack_panels(Matrix<S>{scratch(l_.dout), s_.value_e, false}, rows, s_.value_e,
                scratch(l_.dout_panels));
  }

  // Panels that some strip of the block sees but this one does not count as zero.
  void clear_unseen(int64_t i, int64_t rows, const KeyRange& block, const KeyRange& own) const {
    for (int64_t p = block.begin; p < block.end; ++p) {
      if (p >= own.begin && p < own.end) continue;
      for (int64_t r = i; r < i + rows; ++r) {
        std::fill_n(scratch(l_.scores) + r * l_.score_stride + p * kPanel, kPanel, S{0});
        std::fill_n(scratch(l_.dscores) + r * l_.score_stride + p * kPanel, kPanel, S{0});
      }
    }
  }

  void score_strip(int64_t key, int64_t row, int64_t i, int64_t rows, const PositionSpan& queries,
                   const KeyRange& panels) const {
    const int64_t first = panels.begin * kPanel - key, count = (panels.end - panels.begin) * kPanel;
    S* scores = scratch(l_.scores) + i * l_.score_stride + first;
    S* dscores = scratch(l_.dscores) + i * l_.score_stride + first;
    Strip<S> strip{.rows = rows,
                   .columns = count,
                   .k = s_.e,
                   .a = scratch(l_.query) + i * s_.e,
                   .a_row = s_.e,
                   .a_k = 1,
                   .panels = scratch(l_.keys_transposed) + first * s_.e,
                   .packed_k = s_.e,
                   .c = scores,
                   .c_row = l_.score_stride,
                   .add = false};
    multiply_strip(strip);
    strip.k = strip.a_row = s_.value_e;
    strip.a = scratch(l_.dout) + i * s_.value_e;
    strip.panels = scratch(l_.values_transposed) + first * s_.value_e;
    strip.packed_k = s_.value_e;
    strip.c = dscores;
    multiply_strip(strip);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t query = (row + i + r) / s_.group, member = (row + i + r) % s_.group;
      for (int64_t p = panels.begin; p < panels.end; ++p)
        if ((p + 1) * kPanel > s_.seq || sight(queries, spans()[p]) != Sight::Visible)
          mask_panel(scores + r * l_.score_stride + (p - panels.begin) * kPanel, place_, query,
                     p * kPanel, s_.seq);
      // Minus infinity: the row saw no key, and p must be 0.
      const S lse = lse_[query * s_.kv_heads * s_.group + member];
      backward_row(scores + r * l_.score_stride, dscores + r * l_.score_stride,
                   lse == -std::numeric_limits<S>::infinity() ? -lse : lse,
                   scratch(l_.delta)[row + i + r], count);
    }
  }

  // dq += ds k.
  void add_dquery(int64_t key, int64_t row, int64_t i, int64_t rows, const KeyRange& keys) const {
    const int64_t first = keys.begin - key, block_count = std::min(l_.block_keys, s_.seq - key);
    multiply_strip(Strip<S>{.rows = rows,
                            .columns = s_.e,
                            .k = keys.end - keys.begin,
                            .a = scratch(l_.dscores) + i * l_.score_stride + first,
                            .a_row = l_.score_stride,
                            .a_k = 1,
                            .panels = scratch(l_.keys),
                            .packed_k = block_count,
                            .c = scratch(l_.dquery) + (row + i) * s_.e,
                            .c_row = s_.e,
                            .add = true,
                            .first_k = first});
  }

  // dv += p^T do, or dk += ds^T q, for keys of one panel and the rows that see it.
  void add_to_keys(const KeyRange& keys, const KeyRange& rows, int64_t block_rows, int64_t left,
                   int64_t right, int64_t to, int64_t e) const {
    for (int64_t key = keys.begin; key < keys.end; key += kStripRows)
      multiply_strip(Strip<S>{.rows = std::min(kStripRows, keys.end - key),
                              .columns = e,
                              .k = rows.end - rows.begin,
                              .a = scratch(left) + rows.begin * l_.score_stride + key,
                              .a_row = 1,
                              .a_k = l_.score_stride,
                              .panels = scratch(right),
                              .packed_k = block_rows,
                              .c = scratch(to) + key * e,
                              .c_row = e,
                              .add = true,
                              .first_k = rows.begin});
  }

  const CpuCall& call_;
  AttentionSizes s_;
  AttentionGradScratch l_;
  std::byte* scratch_;
  Placements place_;
  HeadRows<T> q_, o_, do_, dq_;
  const S* lse_;
  int64_t first_key_;
  S scale_;
};

template <typename T>
void attend_backward(const CpuCall& call) {
  const AttentionSizes s(*call.operand(0).type, *call.operand(2).type);
  const int64_t worker_bytes = AttentionGradScratch(s, sizeof(Accumulator<T>)).bytes;
  call.threads.run(s.batch * s.kv_heads, [&](int64_t head, int worker) {
    HeadGradient<T>(call, s, head / s.kv_heads, head % s.kv_heads,
                    call.workspace.data() + worker * worker_bytes)
        .run();
  });
}

}  // namespace

void attention_grad_cpu(const CpuCall& call) {
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() { attend_backward<T>(call); });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(attention_grad_cpu)
}  // namespace tessera
#endif
