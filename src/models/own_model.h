// SPDX-License-Identifier: Apache-2.0
// A model that is a program's own: its maths as a function of the microbatch and the dtype, which
// the compiler asks as often as it needs to. It is a family like any other (Family::Own), whose
// sizes are read from its maths.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ir/module.h"
#include "models/model_config.h"

namespace tessera {

struct OwnModelRequest {
  BatchShape shape;  // of one microbatch over all ranks: the sizes of the dims `batch` and `seq`
  DType compute = DType::Fp32;  // of parameters and activations; for ModuleBuilder
};

struct OwnModel {
  std::string name;        // in run folders, records and errors
  int64_t vocabulary = 0;  // tokens and labels are below it
  int64_t context = 0;     // the longest sequence that it can take; 0: any
  // Maths on one device. Every batch input begins with the dim `batch`, and the last block returns
  // the loss: a mean over label_count, as output_loss and squared_loss give it.
  std::function<Module(const OwnModelRequest&)> build = {};
  ModelConfig sizes = {};  // of its maths: read_sizes, which load_config calls
};

// The model with its sizes, read from its maths for `seq` tokens. They point at it, so it stays
// where it is.
std::shared_ptr<const OwnModel> read_sizes(OwnModel model, int64_t seq);

}  // namespace tessera
