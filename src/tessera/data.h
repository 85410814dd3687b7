// SPDX-License-Identifier: Apache-2.0
// Where samples come from: SampleSource fills rows of a model's inputs. Token shards, rows in
// memory, and the sampler of windows of tokens.
#pragma once

#include "data/bin_source.h"
#include "data/row_samples.h"
#include "data/token_sampler.h"
#include "data/token_shard.h"
#include "data/training_data.h"
