// SPDX-License-Identifier: Apache-2.0
// Config: what a run is asked to do. load_config reads TOML and overrides such as "train.steps=10",
// with a model of the program's own or without; docs/config.md lists the keys. with_mesh and
// parse_mesh put a config on another mesh.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/run_spec.h"
#include "models/own_model.h"

namespace tessera {

// The config of a run whose model is the program's own: file and overrides have everything else.
// Its [model] holds no sizes, but the model's name and a digest of its maths (ops, sizes, names,
// first values), so that no run is continued with another model unseen. A UserError where the file
// is of another one.
Config load_config(OwnModel model, const std::optional<std::filesystem::path>& file = {},
                   const std::vector<std::string>& overrides = {});

}  // namespace tessera
