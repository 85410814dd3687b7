// SPDX-License-Identifier: Apache-2.0
// One step in one's own loop, below the Trainer: compile a model, make an executor, write batches,
// run, read states.
#pragma once

#include "config/compile_step.h"
#include "core/random.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/train_step.h"
