// SPDX-License-Identifier: Apache-2.0
// One matrix after another, each over all threads; in the accumulator's dtype.
#define HWY_TARGET_INCLUDE "ops/optimizer/orthogonalize_cpu.cpp"
#include "exec/cpu/each_target.h"
#include "exec/cpu/gemm.h"
#include "ops/fixed_order_sums_cpu.h"
#include "ops/optimizer/newton_schulz.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

struct OrthogonalSquare {
  template <typename V>
  TESSERA_INLINE V operator()(const V& x) const {
    return x * x;
  }
};

// T: of the flat buffer; A: of the iteration.
template <typename T, typename A>
class Orthogonalizer {
 public:
  Orthogonalizer(const CpuCall& call, const MatrixView& view, int64_t begin)
      : call_(call), sizes_(view), begin_(begin), outer_(view.outer()), inner_(view.inner()) {
    const NewtonSchulzBuffers buffers(sizes_, sizeof(A));
    std::byte* at = call.workspace.data();
    const auto take = [&](int64_t bytes) { return std::exchange(at, at + bytes); };
    x_ = reinterpret_cast<A*>(take(buffers.x));
    next_ = reinterpret_cast<A*>(take(buffers.x));
    square_ = reinterpret_cast<A*>(take(buffers.square));
    polynomial_ = reinterpret_cast<A*>(take(buffers.square));
    norms_ = reinterpret_cast<double*>(take(buffers.norms));
    products_ = call.workspace.subspan(static_cast<size_t>(at - call.workspace.data()));
  }

  void run(double scale) {
    load_normalised(call_.operand(0).template as<T>());
    for (int step = 0; step < NewtonSchulz::kSteps; ++step) iterate();
    store_scaled(call_.result(0).template as<T>(), static_cast<A>(scale));
  }

 private:
  template <typename Row>
  void each_row(int64_t cols, Row&& row) {
    run_rows(call_.threads, sizes_.m, cols, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) row(i);
    });
  }

  void load_normalised(const T* from) {
    const int64_t n = sizes_.n;
    each_row(n, [&](int64_t i) {
      const T* row = from + begin_ + outer_.place(i);
      for (int64_t j = 0; j < n; ++j) x_[i * n + j] = load(row[inner_.place(j)]);
      norms_[i] = sum_terms<double>(n, OrthogonalSquare{}, x_ + i * n);
    });
    double squares = 0;
    for (int64_t i = 0; i < sizes_.m; ++i) squares += norms_[i];
    const A factor = static_cast<A>(1 / (std::sqrt(squares) + NewtonSchulz::kEpsilon));
    each_row(n, [&](int64_t i) {
      for (int64_t j = 0; j < n; ++j) x_[i * n + j] *= factor;
    });
  }

  void iterate() {
    const int64_t m = sizes_.m, n = sizes_.n;
    constexpr A a{NewtonSchulz::kA}, b{NewtonSchulz::kB}, c{NewtonSchulz::kC};
    multiply(
        {.m = m, .n = m, .k = n, .a = {x_, n}, .b = {x_, n, true}, .c = square_, .c_stride = m});
    multiply({.m = m,
              .n = m,
              .k = m,
              .a = {square_, m},
              .b = {square_, m},
              .c = polynomial_,
              .c_stride = m});
    each_row(m, [&](int64_t i) {
      A* row = polynomial_ + i * m;
      for (int64_t j = 0; j < m; ++j) row[j] = b * square_[i * m + j] + c * row[j];
    });
    each_row(n, [&](int64_t i) {
      for (int64_t j = 0; j < n; ++j) next_[i * n + j] = a * x_[i * n + j];
    });
    multiply({.m = m,
              .n = n,
              .k = m,
              .a = {polynomial_, m},
              .b = {x_, n},
              .c = next_,
              .c_stride = n,
              .accumulate = true});
    std::swap(x_, next_);
  }

  void multiply(const Gemm<A, A, A>& product) { gemm(product, call_.threads, products_); }

  void store_scaled(T* to, A scale) {
    const int64_t n = sizes_.n;
    each_row(n, [&](int64_t i) {
      T* row = to + begin_ + outer_.place(i);
      for (int64_t j = 0; j < n; ++j) row[inner_.place(j)] = store<T>(x_[i * n + j] * scale);
    });
  }

  const CpuCall& call_;
  NewtonSchulz sizes_;
  int64_t begin_;
  StridedFactors outer_, inner_;
  A *x_, *next_, *square_, *polynomial_;
  double* norms_;
  std::span<std::byte> products_;
};

}  // namespace

void orthogonalize_cpu(const CpuCall& call) {
  const TensorRef index = call.operand(1), y = call.result(0);
  std::fill_n(y.data, y.type->bytes(), std::byte{0});
  dispatch_float(y.type->dtype, [&]<typename T>() {
    for_each_owned_matrix(call.attributes.word("matrices"), call.attributes.integer("ranks"),
                          index ? *index.as<int32_t>() : 0,
                          [&](const MatrixView& view, int64_t begin) {
                            Orthogonalizer<T, Accumulator<T>>(call, view, begin)
                                .run(orthogonal_scale(view, call.attributes.real("matched_rms")));
                          });
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(orthogonalize_cpu)
}  // namespace tessera
#endif
