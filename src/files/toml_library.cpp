// SPDX-License-Identifier: Apache-2.0
// toml++'s own library, compiled in where it cannot be linked to.
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
