// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/openblas_rate.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>

#include "core/error.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kLibrary = "libopenblas.so.0";
// Of cblas.h.
constexpr int kRowMajor = 101, kNoTrans = 111, kTrans = 112;

class RaisedThreads {
 public:
  RaisedThreads(const Openblas& openblas, int threads) : openblas_(openblas) {
    openblas_.set_num_threads(threads);
  }
  ~RaisedThreads() { openblas_.set_num_threads(1); }
  RaisedThreads(const RaisedThreads&) = delete;
  RaisedThreads& operator=(const RaisedThreads&) = delete;

 private:
  const Openblas& openblas_;
};

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) throw user_error("{} has no {}", kLibrary, name).help("install OpenBLAS 0.3");
}

// Rows [row, row + rows) and columns [column, column + columns) of C.
struct Piece {
  int64_t row = 0, rows = 0, column = 0, columns = 0;
};

void multiply(const Openblas& openblas, const MatmulShape& shape, const Piece& piece,
              const float* a, const float* b, float* c) {
  const auto size = [](int64_t n) { return static_cast<int>(n); };
  const int64_t a_stride = shape.a_transposed ? shape.m : shape.k;
  const int64_t b_stride = shape.b_transposed ? shape.k : shape.n;
  openblas.sgemm(kRowMajor, shape.a_transposed ? kTrans : kNoTrans,
                 shape.b_transposed ? kTrans : kNoTrans, size(piece.rows), size(piece.columns),
                 size(shape.k), 1.0f, a + piece.row * (shape.a_transposed ? 1 : a_stride),
                 size(a_stride), b + piece.column * (shape.b_transposed ? b_stride : 1),
                 size(b_stride), 0.0f, c + piece.row * shape.n + piece.column, size(shape.n));
}

Piece whole(const MatmulShape& shape) { return {0, shape.m, 0, shape.n}; }

// The longer side of C is split, in multiples of a vector, so that the least is packed twice.
Piece part(const MatmulShape& shape, int64_t index, int64_t parts) {
  constexpr int64_t kAlign = 16;
  const bool rows = shape.m >= shape.n;
  const int64_t length = rows ? shape.m : shape.n;
  const auto border = [&](int64_t i) {
    return i == parts ? length
                      : std::min(length, (length * i / parts + kAlign / 2) / kAlign * kAlign);
  };
  const int64_t begin = border(index), extent = border(index + 1) - begin;
  return rows ? Piece{begin, extent, 0, shape.n} : Piece{0, shape.m, begin, extent};
}

// In whole cache lines. A matrix small enough to be one of many gets a place per thread.
int64_t padded(int64_t elements) { return (elements + 15) / 16 * 16; }
int64_t elements_for(int64_t elements, int threads) {
  constexpr int64_t kSmall = 1 << 24;
  return padded(elements) * (elements <= kSmall ? threads : 1);
}

// The first call tells how many fill the budget; it counts too when it fills it alone.
template <typename Call>
double mean_seconds(double budget_seconds, Call&& call) {
  const auto timed = [&](int64_t calls) {
    const auto begin = Clock::now();
    for (int64_t i = 0; i < calls; ++i) call();
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const double first = timed(1);
  if (first >= budget_seconds) return first;
  const auto calls = static_cast<int64_t>(budget_seconds / std::max(first, 1e-7)) + 1;
  return timed(calls) / static_cast<double>(calls);
}

}  // namespace

Openblas::Openblas() {
  // Stays loaded until the process ends.
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw user_error("OpenBLAS, which our matrix product is measured against, is not found: {}",
                     dlerror())
        .help("install it: apt-get install libopenblas0-pthread");
  find(library, "openblas_set_num_threads", set_num_threads);
  find(library, "openblas_get_num_threads", get_num_threads);
  find(library, "cblas_sgemm", sgemm);
}

OpenblasTimer::OpenblasTimer(std::span<const MatmulShape> shapes, int threads) : threads_(threads) {
  int64_t a = 0, b = 0, c = 0;
  for (const MatmulShape& shape : shapes) {
    a = std::max(a, elements_for(shape.m * shape.k, threads));
    b = std::max(b, elements_for(shape.k * shape.n, threads));
    c = std::max(c, elements_for(shape.m * shape.n, threads));
  }
  b_offset_ = a;
  c_offset_ = a + b;
  operands_ = Arena((a + b + c) * static_cast<int64_t>(sizeof(float)));
  // Any ordinary numbers do; zeros and denormals might not take the usual time.
  constexpr int64_t kGrain = 1 << 20;
  threads_.run_ranges(a + b + c, kGrain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) *matrix(i) = static_cast<float>(i % 97) / 97.0f - 0.5f;
  });
  openblas_.set_num_threads(1);
}

double OpenblasTimer::threaded_seconds(const MatmulShape& shape, double budget_seconds) {
  const RaisedThreads raised(openblas_, threads_.threads());
  return mean_seconds(budget_seconds, [&] {
    multiply(openblas_, shape, whole(shape), matrix(0), matrix(b_offset_), matrix(c_offset_));
  });
}

double OpenblasTimer::split_seconds(const MatmulShape& shape, double budget_seconds) {
  const int parts = threads_.threads();
  return mean_seconds(budget_seconds, [&] {
    threads_.run(parts, [&](int64_t index, int) {
      const Piece piece = part(shape, index, parts);
      if (piece.rows > 0 && piece.columns > 0)
        multiply(openblas_, shape, piece, matrix(0), matrix(b_offset_), matrix(c_offset_));
    });
  });
}

double OpenblasTimer::concurrent_seconds(const MatmulShape& shape, double budget_seconds) {
  const int64_t workers = threads_.threads();
  // Enough for each thread that starting them does not count.
  constexpr double kFlopsEach = 1e8;
  const auto each = static_cast<int64_t>(kFlopsEach / shape.flops()) + 1;
  const double seconds = mean_seconds(budget_seconds, [&] {
    threads_.run(workers, [&](int64_t worker, int) {
      const float* a = matrix(worker * padded(shape.m * shape.k));
      const float* b = matrix(b_offset_ + worker * padded(shape.k * shape.n));
      float* c = matrix(c_offset_ + worker * padded(shape.m * shape.n));
      for (int64_t i = 0; i < each; ++i) multiply(openblas_, shape, whole(shape), a, b, c);
    });
  });
  return seconds / static_cast<double>(each * workers);
}

void OpenblasTimer::settle() {
  // They were seen to spin for 90 ms, 2^28 ticks, at 2.8 GHz.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
}

}  // namespace tessera
