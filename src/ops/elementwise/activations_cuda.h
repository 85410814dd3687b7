// SPDX-License-Identifier: Apache-2.0
// The activations and their slopes on a GPU, for float and double: as in activations_cpu.h.
#pragma once

namespace tessera {

struct DeviceIdentity {
  template <typename A>
  __device__ static A value(A x) {
    return x;
  }
};

struct DeviceRelu {
  template <typename A>
  __device__ static A value(A x) {
    return x > 0 ? x : A{0};
  }
};

// x * Phi(x), Phi the normal distribution.
struct DeviceGeluExact {
  static constexpr double kInvSqrt2 = 0.70710678118654752440;
  static constexpr double kInvSqrt2Pi = 0.39894228040143267794;

  template <typename A>
  __device__ static A value(A x) {
    return (1 + erf(x * A(kInvSqrt2))) * x * A(0.5);
  }
  template <typename A>
  __device__ static A slope(A x) {
    const A distribution = (1 + erf(x * A(kInvSqrt2))) * A(0.5);
    return distribution + exp(x * x * A(-0.5)) * A(kInvSqrt2Pi) * x;
  }
};

// 0.5 x (1 + tanh(u)), u = sqrt(2 / pi) (x + 0.044715 x^3).
struct DeviceGeluTanh {
  static constexpr double kCubic = 0.044715;
  static constexpr double kScale = 0.79788456080286535588;

  template <typename A>
  __device__ static A value(A x) {
    const A u = (x * x * A(kCubic) + 1) * x * A(kScale);
    return (1 + tanh(u)) * x * A(0.5);
  }
  template <typename A>
  __device__ static A slope(A x) {
    const A square = x * x;
    const A t = tanh((square * A(kCubic) + 1) * x * A(kScale));
    const A u_slope = square * A(3 * kCubic * kScale) + A(kScale);
    return (1 + t) * A(0.5) + (1 - t * t) * x * u_slope * A(0.5);
  }
};

template <typename A>
__device__ inline A device_sigmoid(A x) {
  return 1 / (1 + exp(-x));
}

}  // namespace tessera
