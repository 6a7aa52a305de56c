// SPDX-License-Identifier: MIT
#include "core/dtype.h"

#include <array>

namespace lanner {
namespace {

struct DTypeFacts {
  DType dtype;
  std::string_view name;
  std::size_t size_bytes;
};

constexpr std::array kFacts = {
    DTypeFacts{DType::kF64, "F64", 8},        DTypeFacts{DType::kF32, "F32", 4},
    DTypeFacts{DType::kF16, "F16", 2},        DTypeFacts{DType::kBF16, "BF16", 2},
    DTypeFacts{DType::kF8E4M3, "F8_E4M3", 1}, DTypeFacts{DType::kF8E5M2, "F8_E5M2", 1},
    DTypeFacts{DType::kI64, "I64", 8},        DTypeFacts{DType::kU64, "U64", 8},
    DTypeFacts{DType::kI32, "I32", 4},        DTypeFacts{DType::kU32, "U32", 4},
    DTypeFacts{DType::kI16, "I16", 2},        DTypeFacts{DType::kU16, "U16", 2},
    DTypeFacts{DType::kI8, "I8", 1},          DTypeFacts{DType::kU8, "U8", 1},
    DTypeFacts{DType::kBool, "BOOL", 1},
};

}  // namespace

std::size_t size_bytes(DType dtype) { return kFacts[static_cast<std::size_t>(dtype)].size_bytes; }

std::string_view name(DType dtype) { return kFacts[static_cast<std::size_t>(dtype)].name; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (const DTypeFacts& facts : kFacts)
    if (facts.name == text) return facts.dtype;
  return std::nullopt;
}

}  // namespace lanner
