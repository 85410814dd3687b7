// SPDX-License-Identifier: Apache-2.0
// Every finished tile of the product gets its bias and activation from the core that made it. Each
// step is rounded to the dtype as if it were an op of its own.
#include "ops/elementwise/activations_cpu.h"
#include "ops/matmul/epilogue_activation.h"
#include "ops/matmul/product_cpu.h"

namespace tessera {
namespace {

struct Identity {
  template <typename V>
  TESSERA_INLINE static V value(const V& x) {
    return x;
  }
};

// pre += bias; y = activation(pre). `pre` may be `y` itself.
template <typename Activation, typename T>
TESSERA_SIMD void finish_row(T* pre, const T* bias, T* y, int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    if (bias) pre[i] = store<T>(load(pre[i]) + load(bias[i]));
    y[i] = store<T>(Activation::value(load(pre[i])));
  }
}

template <typename Activation, typename T>
class Epilogue final : public TileDone {
 public:
  Epilogue(T* pre, const T* bias, T* y, int64_t columns)
      : pre_(pre), bias_(bias), y_(y), columns_(columns) {}

  void operator()(const Tile& tile) const override {
    for (int64_t row = tile.first_row; row < tile.last_row; ++row) {
      const int64_t at = row * columns_ + tile.first_column;
      finish_row<Activation>(pre_ + at, bias_ ? bias_ + tile.first_column : nullptr, y_ + at,
                             tile.last_column - tile.first_column);
    }
  }

 private:
  T* pre_;
  const T* bias_;
  T* y_;
  int64_t columns_;
};

template <typename Activation, typename T>
void multiply(const CpuCall& call) {
  const TensorRef y = call.result(0), pre = call.result(1) ? call.result(1) : y;
  const T* bias = call.operand(2) ? call.operand(2).as<T>() : nullptr;
  Gemm<T, T, T> g = product_of<T, T>(call, pre);
  const Epilogue<Activation, T> epilogue(g.c, bias, y.as<T>(), g.n);
  g.tile_done = &epilogue;
  gemm(g, call.threads, call.workspace);
}

}  // namespace

void matmul_epilogue_cpu(const CpuCall& call) {
  const auto activation = find_activation(call.attributes.word("activation"));
  TESSERA_CHECK(activation.has_value());
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    switch (*activation) {
      case EpilogueActivation::None:
        return multiply<Identity, T>(call);
      case EpilogueActivation::Relu:
        return multiply<Relu, T>(call);
      case EpilogueActivation::Gelu:
        return multiply<GeluExact, T>(call);
      case EpilogueActivation::GeluTanh:
        return multiply<GeluTanh, T>(call);
    }
  });
}

}  // namespace tessera
