// SPDX-License-Identifier: Apache-2.0
// One matrix after another by cuBLASLt's products, in the dtype of the flat buffer. Which matrices
// a rank owns is known in GPU memory alone. So ranks go through each run of like shapes together,
// as many times as any of them owns one, and kernels find out which matrix is theirs.
#include "exec/cuda/matrix_products.h"
#include "ops/fixed_order_sums_cuda.h"
#include "ops/optimizer/newton_schulz.h"

namespace tessera {
namespace {

// Matrices [first, end) of all, of one shape.
struct LikeMatrices {
  NewtonSchulz sizes;
  std::string_view views;  // of the parameters that they are in
  int64_t first, end;
};

// This rank's matrix number `round` of those.
struct Turn {
  const int32_t* index;  // null: one rank owns all
  int64_t ranks, first, round;

  __device__ int64_t number() const {
    const int64_t own = index ? *index : 0;
    return first + ((own - first) % ranks + ranks) % ranks + round * ranks;
  }
};

// Where the turn's matrix begins; negative: it is not among this parameter's.
__device__ inline int64_t begin_of(const MatrixView& view, int64_t first_of_view,
                                   const Turn& turn) {
  const int64_t i = turn.number() - first_of_view;
  return i < 0 || i >= view.stack.size() ? -1 : view.begin + view.stack.place(i);
}

template <typename T>
__global__ void load_kernel(MatrixView view, int64_t first, Turn turn, int64_t n, int64_t count,
                            const T* from, T* x) {
  const int64_t begin = begin_of(view, first, turn);
  if (begin < 0) return;
  for (int64_t i = first_index(); i < count; i += index_stride())
    x[i] = from[begin + view.outer().place(i / n) + view.inner().place(i % n)];
}

template <typename T>
__global__ void store_kernel(MatrixView view, int64_t first, Turn turn, int64_t n, int64_t count,
                             double scale, const T* x, T* to) {
  const int64_t begin = begin_of(view, first, turn);
  if (begin < 0) return;
  for (int64_t i = first_index(); i < count; i += index_stride())
    to[begin + view.outer().place(i / n) + view.inner().place(i % n)] =
        narrow<T>(widen(x[i]) * static_cast<Accumulator<T>>(scale));
}

template <typename T>
__global__ void row_squares_kernel(const T* x, int64_t n, double* squares) {
  double sum = 0;
  for (int64_t j = threadIdx.x; j < n; j += blockDim.x) {
    const double value = widen(x[blockIdx.x * n + j]);
    sum += value * value;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) squares[blockIdx.x] = sum;
}

// The first of the sums becomes one over the norm.
__global__ void inverse_norm_kernel(double* squares, int64_t rows) {
  const double sum = sum_of_doubles(squares, rows);
  if (threadIdx.x == 0) squares[0] = 1 / (sqrt(sum) + NewtonSchulz::kEpsilon);
}

template <typename T>
__global__ void normalise_kernel(T* x, int64_t count, const double* factor) {
  for (int64_t i = first_index(); i < count; i += index_stride())
    x[i] = narrow<T>(widen(x[i]) * static_cast<Accumulator<T>>(*factor));
}

// z = p x + q y
template <typename T>
__global__ void blend_kernel(double p, const T* x, double q, const T* y, int64_t count, T* z) {
  using A = Accumulator<T>;
  for (int64_t i = first_index(); i < count; i += index_stride())
    z[i] =
        narrow<T>(static_cast<A>(p) * widen(x[i]) + (y ? static_cast<A>(q) * widen(y[i]) : A{0}));
}

template <typename T>
class DeviceOrthogonalizer {
 public:
  DeviceOrthogonalizer(const CudaCall& call, const LikeMatrices& matrices)
      : call_(call), matrices_(matrices), sizes_(matrices.sizes) {
    const NewtonSchulzBuffers buffers(sizes_, size_bytes(accumulator_of(dtype_of<T>())));
    std::byte* at = call.workspace.data();
    x_ = reinterpret_cast<T*>(at);
    next_ = reinterpret_cast<T*>(at += buffers.x);
    square_ = reinterpret_cast<T*>(at += buffers.x);
    polynomial_ = reinterpret_cast<T*>(at += buffers.square);
    norms_ = reinterpret_cast<double*>(at += buffers.square);
  }

  void run() {
    const TensorRef index = call_.operand(1);
    const int64_t ranks = call_.attributes.integer("ranks");
    for (int64_t round = 0; round * ranks < matrices_.end - matrices_.first; ++round) {
      const Turn turn{index ? index.as<int32_t>() : nullptr, ranks, matrices_.first, round};
      load(turn);
      normalise();
      for (int step = 0; step < NewtonSchulz::kSteps; ++step) iterate();
      store(turn);
    }
  }

 private:
  int64_t count() const { return sizes_.m * sizes_.n; }

  template <typename F>
  void each_view(F&& f) {
    int64_t first = matrices_.first;
    for_each_view(matrices_.views, [&](const MatrixView& view) {
      f(view, first);
      first += view.stack.size();
    });
  }

  void load(const Turn& turn) {
    each_view([&](const MatrixView& view, int64_t first) {
      launch(call_, grid_for(count()), load_kernel<T>, view, first, turn, sizes_.n, count(),
             static_cast<const T*>(call_.operand(0).template as<T>()), x_);
    });
  }

  void store(const Turn& turn) {
    each_view([&](const MatrixView& view, int64_t first) {
      launch(call_, grid_for(count()), store_kernel<T>, view, first, turn, sizes_.n, count(),
             orthogonal_scale(view, call_.attributes.real("matched_rms")),
             static_cast<const T*>(x_), call_.result(0).template as<T>());
    });
  }

  void normalise() {
    launch(call_, {.blocks = static_cast<unsigned>(sizes_.m), .threads = kThreads},
           row_squares_kernel<T>, static_cast<const T*>(x_), sizes_.n, norms_);
    launch(call_, {.blocks = 1, .threads = 1024}, inverse_norm_kernel, norms_, sizes_.m);
    launch(call_, grid_for(count()), normalise_kernel<T>, x_, count(),
           static_cast<const double*>(norms_));
  }

  void iterate() {
    const int64_t m = sizes_.m, n = sizes_.n;
    multiply(
        {.m = m, .n = m, .k = n, .a = {x_, n}, .b = {x_, n, true}, .c = square_, .c_stride = m});
    multiply({.m = m,
              .n = m,
              .k = m,
              .a = {square_, m},
              .b = {square_, m},
              .c = polynomial_,
              .c_stride = m});
    blend(NewtonSchulz::kB, square_, NewtonSchulz::kC, polynomial_, m * m, polynomial_);
    blend(NewtonSchulz::kA, x_, 0, nullptr, m * n, next_);
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

  void multiply(DeviceProduct product) {
    product.dtype = product.result_dtype = dtype_of<T>();
    call_.products.enqueue(product, call_.stream);
  }

  void blend(double p, const T* x, double q, const T* y, int64_t elements, T* z) {
    launch(call_, grid_for(elements), blend_kernel<T>, p, x, q, y, elements, z);
  }

  const CudaCall& call_;
  const LikeMatrices& matrices_;
  NewtonSchulz sizes_;
  T *x_, *next_, *square_, *polynomial_;
  double* norms_;
};

// f(LikeMatrices) of every run of parameters whose matrices have one shape.
template <typename F>
void each_run(std::string_view views, F&& f) {
  int64_t first = 0;
  while (!views.empty()) {
    const NewtonSchulz sizes(parse_matrix_view(views.substr(0, views.find('+'))));
    int64_t end = first;
    size_t length = 0;
    bool same = true;
    for_each_view(views, [&](const MatrixView& view) {
      const NewtonSchulz own(view);
      same &= own.m == sizes.m && own.n == sizes.n;
      if (!same) return;
      end += view.stack.size();
      length = std::min(views.find('+', length + (length > 0)), views.size());
    });
    f(LikeMatrices{sizes, views.substr(0, length), first, end});
    views.remove_prefix(std::min(length + 1, views.size()));
    first = end;
  }
}

}  // namespace

void orthogonalize_cuda(const CudaCall& call) {
  const TensorRef y = call.result(0);
  check_cuda(cudaMemsetAsync(y.data, 0, static_cast<size_t>(y.type->bytes()), call.stream),
             "clear what others own");
  dispatch_float(y.type->dtype, [&]<typename T>() {
    each_run(call.attributes.word("matrices"),
             [&](const LikeMatrices& matrices) { DeviceOrthogonalizer<T>(call, matrices).run(); });
  });
}

}  // namespace tessera
