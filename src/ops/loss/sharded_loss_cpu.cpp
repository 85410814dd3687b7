// SPDX-License-Identifier: Apache-2.0
// One logarithm per row: one thread does it.
#define HWY_TARGET_INCLUDE "ops/loss/sharded_loss_cpu.cpp"
#include <cmath>

#include "exec/cpu/cpu_call.h"
#include "exec/cpu/each_target.h"
#include "ops/loss/logits_cpu.h"
#include "ops/loss/sharded_loss.h"
#include "ops/row_ranges.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

// The classes of one shard: `first` to `first + count`; the other rows of its table are padding.
struct LocalClasses {
  int64_t vocabulary, first, count;

  LocalClasses(const CpuCall& call, size_t shard, int64_t rows)
      : vocabulary(call.attributes.integer("vocabulary")),
        first(*call.operand(shard).as<int32_t>() * rows),
        count(std::clamp<int64_t>(vocabulary - first, 0, rows)) {
    TESSERA_CHECK(first >= 0, "shard {}", *call.operand(shard).as<int32_t>());
  }
  // The label's column here, or -1 where another shard has it.
  int64_t column(int32_t label) const {
    TESSERA_CHECK(label < vocabulary, "label {} of a vocabulary of {}", label, vocabulary);
    return label >= first && label < first + count ? label - first : -1;
  }
};

// Sums the losses of rows whose label is not negative, in their order.
template <typename S>
double sum_of_sharded_losses(const S* all_max, const S* stats, const int32_t* labels,
                             int64_t rows) {
  double sum = 0;
  for (int64_t row = 0; row < rows; ++row)
    if (labels[row] >= 0)
      sum += std::log(static_cast<double>(stats[row])) + static_cast<double>(all_max[row]) -
             static_cast<double>(stats[rows + row]);
  return sum;
}

}  // namespace

void sharded_loss_cpu(const CpuCall& call) {
  const int64_t rows = call.operand(0).type->num_elements();
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    using S = Accumulator<T>;
    const double sum = sum_of_sharded_losses(call.operand(0).as<S>(), call.operand(1).as<S>(),
                                             call.operand(2).as<int32_t>(), rows);
    store_mean_loss(call, sum, *call.operand(3).as<double>());
  });
}

// The logits of a chunk are recomputed and overwritten with their gradient, using the softmax
// statistics of all shards.
namespace {

template <typename T>
void run(const CpuCall& call, const OutputLossSizes& s) {
  using S = Accumulator<T>;
  const LocalClasses classes(call, 4, s.vocab);
  const int32_t* labels = call.operand(2).as<int32_t>();
  const double label_count = *call.operand(3).as<double>();
  const S *all_max = call.operand(5).as<S>(), *stats = call.operand(6).as<S>();
  const S scale = static_cast<S>(1 / label_count);
  for_each_chunk_of_logits<T>(call, s, [&](int64_t first, int64_t rows, S* logits) {
    call.threads.run(rows, [&](int64_t i, int) {
      const int64_t row = first + i, column = classes.column(labels[row]);
      const int64_t count = labels[row] < 0 ? 0 : classes.count;
      S* x = logits + i * s.vocab;
      sum_of_exponentials<true>(x, all_max[row], count);
      scale_all(x, scale / stats[row], count);
      if (column >= 0) x[column] -= scale;
      std::fill(x + count, x + s.vocab, S{0});
    });
    logit_gradients_to_results<T>(call, s, first, rows, logits);
  });
  store_mean_loss(call, sum_of_sharded_losses(all_max, stats, labels, s.rows), label_count);
}

}  // namespace

void sharded_loss_grad_cpu(const CpuCall& call) {
  const OutputLossSizes s(*call.operand(0).type, *call.operand(1).type);
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() { run<T>(call, s); });
}

// Rows whose label is ignored need no exponentials: nothing reads their stats.
void output_stats_cpu(const CpuCall& call) {
  const OutputLossSizes s(*call.operand(0).type, *call.operand(1).type);
  const LocalClasses classes(call, 3, s.vocab);
  const int32_t* labels = call.operand(2).as<int32_t>();
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    using S = Accumulator<T>;
    S *max = call.result(0).as<S>(), *sum = call.result(1).as<S>(),
      *chosen = call.result(2).as<S>();
    for_each_chunk_of_logits<T>(call, s, [&](int64_t first, int64_t rows, S* logits) {
      call.threads.run(rows, [&](int64_t i, int) {
        const int64_t row = first + i, column = classes.column(labels[row]);
        S* x = logits + i * s.vocab;
        chosen[row] = column < 0 ? S{0} : x[column];
        max[row] = labels[row] < 0 ? S{0} : largest_of(x, classes.count);
        sum[row] = labels[row] < 0 ? S{0} : sum_of_exponentials<false>(x, max[row], classes.count);
      });
    });
  });
}

// max may be -inf (a shard of padding), all_max is finite: some shard has a class.
void shared_stats_cpu(const CpuCall& call) {
  const int64_t rows = call.operand(0).type->num_elements();
  dispatch_float(call.operand(0).type->dtype, [&]<typename S>() {
    const S *max = call.operand(0).as<S>(), *sum = call.operand(1).as<S>();
    const S *chosen = call.operand(2).as<S>(), *all_max = call.operand(3).as<S>();
    S* stats = call.result(0).as<S>();
    run_rows(call.threads, rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        stats[row] = store<S>(load(sum[row]) * std::exp(load(max[row]) - load(all_max[row])));
        stats[rows + row] = chosen[row];
      }
    });
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(sharded_loss_cpu)
TESSERA_KERNEL(sharded_loss_grad_cpu)
TESSERA_KERNEL(output_stats_cpu)
TESSERA_KERNEL(shared_stats_cpu)
}  // namespace tessera
#endif
