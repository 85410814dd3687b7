// SPDX-License-Identifier: Apache-2.0
// UserError: what was asked for is impossible; its report() says what, where and what to do.
#pragma once

#include "core/error.h"
