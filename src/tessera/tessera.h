// SPDX-License-Identifier: Apache-2.0
// All of the public headers; docs/library.md lists them. Everything is in namespace tessera.
#pragma once

#include "tessera/checkpoint.h"
#include "tessera/config.h"
#include "tessera/data.h"
#include "tessera/error.h"
#include "tessera/model.h"
#include "tessera/simulate.h"
#include "tessera/step.h"
#include "tessera/train.h"
#include "tessera/verify.h"
