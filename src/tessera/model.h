// SPDX-License-Identifier: Apache-2.0
// How a model is written: ModuleBuilder makes it of blocks, maths on one device over tensors with
// named dims, by the ops in ops/calls.h (matmul, rms_norm, attention, output_loss). As an OwnModel
// it goes where a model of a family goes.
#pragma once

#include "models/own_model.h"
#include "ops/calls.h"
