// SPDX-License-Identifier: Apache-2.0
// The number of labels, by which losses are divided, on every stage of a pipeline that reads it.
#pragma once

#include "ir/module.h"
#include "mesh/plan.h"

namespace tessera {

inline constexpr const char* kLabelCount = "label_count";

// Do layers read it, such as those with routers, that may be on another stage than the head?
bool layers_read_label_count(const Module& module);

// The head no longer counts the labels: a block that all ranks have does. Nothing has to be sent
// from stage to stage.
void count_labels_on_every_stage(Module& module, const Plan& plan);

}  // namespace tessera
