// SPDX-License-Identifier: Apache-2.0
#include "tessera/verify.h"

#include "studio/verify_json.h"

namespace tessera {

VerifyReport verify(const Config& config, const VerifyOptions& options) {
  return verify_plan(spec_to_verify(config, DType::Fp64, /*shrink=*/false), options);
}

}  // namespace tessera
