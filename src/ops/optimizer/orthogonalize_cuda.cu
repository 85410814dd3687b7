// SPDX-License-Identifier: Apache-2.0
// By cuBLASLt's products, in the dtype of the flat buffer; matrices of one shape at once as long as
// they are small. Which matrices a rank owns is known in GPU memory alone. So ranks go through each
// run of like shapes together, as many times as any of them owns one, and kernels find out which
// matrices are theirs.
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

// This rank's matrices number `round` and following of those, as many as are worked on at once,
// each `step` elements after the one before.
struct Turn {
  const int32_t* index;  // null: one rank owns all
  int64_t ranks, first, round, at_once, step;

  __device__ int64_t number(int64_t i) const {
    const int64_t own = index ? *index : 0;
    return first + ((own - first) % ranks + ranks) % ranks + (round + i) * ranks;
  }
};

// Where a matrix of the turn begins; negative: it is not among this parameter's.
__device__ inline int64_t begin_of(const MatrixView& view, int64_t first_of_view, const Turn& turn,
                                   int64_t matrix) {
  const int64_t i = turn.number(matrix) - first_of_view;
  return i < 0 || i >= view.stack.size() ? -1 : view.begin + view.stack.place(i);
}

template <typename T>
__global__ void load_kernel(MatrixView view, int64_t first, Turn turn, int64_t n, int64_t count,
                            const T* from, T* x) {
  for (int64_t matrix = 0; matrix < turn.at_once; ++matrix) {
    const int64_t begin = begin_of(view, first, turn, matrix);
    if (begin < 0) continue;
    for (int64_t i = first_index(); i < count; i += index_stride())
      x[matrix * turn.step + i] =
          from[begin + view.outer().place(i / n) + view.inner().place(i % n)];
  }
}

template <typename T>
__global__ void store_kernel(MatrixView view, int64_t first, Turn turn, int64_t n, int64_t count,
                             double scale, const T* x, T* to) {
  for (int64_t matrix = 0; matrix < turn.at_once; ++matrix) {
    const int64_t begin = begin_of(view, first, turn, matrix);
    if (begin < 0) continue;
    for (int64_t i = first_index(); i < count; i += index_stride())
      to[begin + view.outer().place(i / n) + view.inner().place(i % n)] =
          narrow<T>(widen(x[matrix * turn.step + i]) * static_cast<Accumulator<T>>(scale));
  }
}

// A block for each row of each matrix.
template <typename T>
__global__ void row_squares_kernel(const T* x, int64_t m, int64_t n, int64_t step,
                                   double* squares) {
  const T* row = x + blockIdx.x / m * step + blockIdx.x % m * n;
  double sum = 0;
  for (int64_t j = threadIdx.x; j < n; j += blockDim.x) {
    const double value = widen(row[j]);
    sum += value * value;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) squares[blockIdx.x] = sum;
}

// The first of a matrix's sums becomes one over its norm; a block for each matrix.
__global__ void inverse_norm_kernel(double* squares, int64_t rows) {
  double* own = squares + blockIdx.x * rows;
  const double sum = sum_of_doubles(own, rows);
  if (threadIdx.x == 0) own[0] = 1 / (sqrt(sum) + NewtonSchulz::kEpsilon);
}

template <typename T>
__global__ void normalise_kernel(T* x, int64_t m, int64_t step, int64_t count,
                                 const double* norms) {
  for (int64_t i = first_index(); i < count; i += index_stride())
    x[i] = narrow<T>(widen(x[i]) * static_cast<Accumulator<T>>(norms[i / step * m]));
}

template <typename T>
class DeviceOrthogonalizer {
 public:
  DeviceOrthogonalizer(const CudaCall& call, const LikeMatrices& matrices)
      : call_(call),
        matrices_(matrices),
        sizes_(matrices.sizes),
        ranks_(call.attributes.integer("ranks")),
        rounds_((matrices.end - matrices.first + ranks_ - 1) / ranks_),
        at_once_(matrices_at_once(sizes_, rounds_)) {
    const NewtonSchulzBuffers buffers(sizes_, sizeof(T));
    x_step_ = buffers.x / int64_t{sizeof(T)};
    square_step_ = buffers.square / int64_t{sizeof(T)};
    std::byte* at = call.workspace.data();
    x_ = reinterpret_cast<T*>(at);
    next_ = reinterpret_cast<T*>(at += at_once_ * buffers.x);
    square_ = reinterpret_cast<T*>(at += at_once_ * buffers.x);
    polynomial_ = reinterpret_cast<T*>(at += at_once_ * buffers.square);
    norms_ = reinterpret_cast<double*>(at += at_once_ * buffers.square);
  }

  void run() {
    const TensorRef index = call_.operand(1);
    for (int64_t round = 0; round < rounds_; round += at_once_) {
      const Turn turn{.index = index ? index.as<int32_t>() : nullptr,
                      .ranks = ranks_,
                      .first = matrices_.first,
                      .round = round,
                      .at_once = at_once_,
                      .step = x_step_};
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
    launch(call_, {.blocks = static_cast<unsigned>(at_once_ * sizes_.m), .threads = kThreads},
           row_squares_kernel<T>, static_cast<const T*>(x_), sizes_.m, sizes_.n, x_step_, norms_);
    launch(call_, {.blocks = static_cast<unsigned>(at_once_), .threads = 1024}, inverse_norm_kernel,
           norms_, sizes_.m);
    launch(call_, grid_for(at_once_ * x_step_), normalise_kernel<T>, x_, sizes_.m, x_step_,
           at_once_ * x_step_, static_cast<const double*>(norms_));
  }

  void iterate() {
    const int64_t m = sizes_.m, n = sizes_.n;
    multiply({.m = m,
              .n = m,
              .k = n,
              .a = {x_, n},
              .b = {x_, n, true},
              .c = square_,
              .c_stride = m,
              .a_step = x_step_,
              .b_step = x_step_,
              .c_step = square_step_});
    multiply({.m = m,
              .n = m,
              .k = m,
              .a = {square_, m},
              .b = {square_, m},
              .c = polynomial_,
              .c_stride = m,
              .addend = square_,
              .times = NewtonSchulz::kC,
              .addend_times = NewtonSchulz::kB,
              .a_step = square_step_,
              .b_step = square_step_,
              .c_step = square_step_});
    multiply({.m = m,
              .n = n,
              .k = m,
              .a = {polynomial_, m},
              .b = {x_, n},
              .c = next_,
              .c_stride = n,
              .addend = x_,
              .addend_times = NewtonSchulz::kA,
              .a_step = square_step_,
              .b_step = x_step_,
              .c_step = x_step_});
    std::swap(x_, next_);
  }

  void multiply(DeviceProduct product) {
    product.dtype = product.result_dtype = dtype_of<T>();
    product.batch = at_once_;
    call_.products.enqueue(product, call_.stream);
  }

  const CudaCall& call_;
  const LikeMatrices& matrices_;
  NewtonSchulz sizes_;
  int64_t ranks_, rounds_, at_once_;
  int64_t x_step_, square_step_;  // elements from a matrix to the next
  T *x_, *next_, *square_, *polynomial_;
  double* norms_;
};

}  // namespace

void orthogonalize_cuda(const CudaCall& call) {
  const TensorRef y = call.result(0);
  check_cuda(cudaMemsetAsync(y.data, 0, static_cast<size_t>(y.type->bytes()), call.stream),
             "clear what others own");
  dispatch_float(y.type->dtype, [&]<typename T>() {
    for_each_like_run(
        call.attributes.word("matrices"), [&](std::string_view views, int64_t first, int64_t end) {
          const NewtonSchulz sizes(parse_matrix_view(views.substr(0, views.find('+'))));
          DeviceOrthogonalizer<T>(call, {sizes, views, first, end}).run();
        });
  });
}

}  // namespace tessera
