// SPDX-License-Identifier: MIT
#ifdef LANNER_OWN_MAIN
#define DOCTEST_CONFIG_IMPLEMENT
#else
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#endif
#include <doctest/doctest.h>
