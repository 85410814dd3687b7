// SPDX-License-Identifier: Apache-2.0
// First values of states, made on the GPU: bit for bit those that initialise_states makes on the
// host. Logarithms and cosines differ there in their last bits; the few elements that could round
// otherwise for it are made on the host.
#pragma once

#include "core/dtype.h"
#include "core/random.h"
#include "exec/cuda/device_memory.h"
#include "ir/state.h"

namespace tessera {

class FirstValues {
 public:
  // Relative: well above what two libraries can differ by, with errors of 2 units in the last
  // place.
  static constexpr double kMargin = 0x1.0p-48;

  // `margin`: elements are made on the host where a relative change so small would change them.
  FirstValues(const Init& init, const RandomStream& stream, double margin = kMargin)
      : init_(init), stream_(stream), margin_(margin) {}

  // Random fp64 would all have to come from the host.
  bool can_make(DType dtype) const {
    return init_.kind != Init::Kind::Normal || dtype != DType::Fp64;
  }

  // Elements [first, first + count) of the state, to GPU memory; waits. Returns how many the host
  // made.
  int64_t write(DType dtype, std::byte* to, int64_t first, int64_t count,
                const DeviceStream& stream) const;

 private:
  Init init_;
  RandomStream stream_;
  double margin_;
};

}  // namespace tessera
