// SPDX-License-Identifier: Apache-2.0
// Config: what a run is asked to do. load_config reads TOML and `key=value` overrides;
// docs/config.md lists the keys.
#pragma once

#include "config/config.h"
