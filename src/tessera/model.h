// SPDX-License-Identifier: Apache-2.0
// How a model is written: blocks of maths on one device over tensors with named dims
// (ModuleBuilder), and the ops that it calls (matmul, rms_norm, attention, output_loss).
#pragma once

#include "ops/calls.h"
