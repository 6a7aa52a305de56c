// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace lanner::cli {

/// A decimal number in [low, high]; "nan", "1e400" and "5x" are none.
CLI::Validator number_between(double low, double high);

/// A whole number in [low, high].
CLI::Validator whole_between(std::int64_t low, std::int64_t high);

/// Anything but the empty text, which a script's unset variable gives.
CLI::Validator not_empty();

/// A whole number from 0 to 2^64 - 1.
CLI::Validator any_64_bits();

/// "cpu", "auto", or "cuda:N" with N from 0 to 99.
CLI::Validator device_name();

}  // namespace lanner::cli
