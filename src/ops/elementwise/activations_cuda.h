// SPDX-License-Identifier: Apache-2.0
// The activations and their derivatives on a GPU, for float and double: as in activations_cpu.h.
#pragma once

namespace tessera {

__device__ inline double device_sigmoid(double x) { return 1 / (1 + exp(-x)); }
// With the GPU's fast exponential and division, to about 1e-6.
__device__ inline float device_sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }

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

// 0.5 x (1 + tanh(u)), u = sqrt(2 / pi) (x + 0.044715 x^3), which is x sigmoid(2 u).
struct DeviceGeluTanh {
  static constexpr double kCubic = 0.044715;
  static constexpr double kScale = 0.79788456080286535588;

  template <typename A>
  __device__ static A value(A x) {
    return x * device_sigmoid((x * x * A(kCubic) + 1) * x * A(2 * kScale));
  }
  template <typename A>
  __device__ static A slope(A x) {
    const A square = x * x, s = device_sigmoid((square * A(kCubic) + 1) * x * A(2 * kScale));
    const A u_slope = square * A(6 * kCubic * kScale) + A(2 * kScale);
    return s + s * (1 - s) * x * u_slope;
  }
};

// The gradient of an activation at x, given that of its value.
template <typename Activation>
struct DeviceTimesSlope {
  template <typename A>
  __device__ static A apply(A x, A dy) {
    return Activation::slope(x) * dy;
  }
};

}  // namespace tessera
