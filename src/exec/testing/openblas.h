// SPDX-License-Identifier: Apache-2.0
// For tests that measure OpenBLAS, which need not be installed.
#pragma once

#include <gtest/gtest.h>

#include "core/error.h"
#include "exec/cpu/openblas_rate.h"

#define SKIP_WITHOUT_OPENBLAS()                                \
  try {                                                        \
    Openblas();                                                \
  } catch (const UserError& error) {                           \
    GTEST_SKIP() << error.message() << ": " << error.advice(); \
  }                                                            \
  static_assert(true)
