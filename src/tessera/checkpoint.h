// SPDX-License-Identifier: Apache-2.0
// Checkpoints, open for reading: facts, and tensors by name whatever the mesh that saved them.
#pragma once

#include "inference/stored_model.h"
