// SPDX-License-Identifier: Apache-2.0
// Trainer: one config, one run. It writes the run's folder and saves and resumes checkpoints.
#pragma once

#include "train/trainer.h"
