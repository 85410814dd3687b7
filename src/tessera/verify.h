// SPDX-License-Identifier: Apache-2.0
// Whether a plan computes what one rank computes: verify_plan.
#pragma once

#include "verify/verify_plan.h"
