// SPDX-License-Identifier: MIT
#include "core/dtype.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "core/shape.h"

using namespace lanner;

TEST_CASE("dtype: every type has its safetensors name and size") {
  struct Case {
    DType dtype;
    const char* name;
    std::size_t size_bytes;
  };
  const Case cases[] = {
      {DType::kF64, "F64", 8},   {DType::kF32, "F32", 4},        {DType::kF16, "F16", 2},
      {DType::kBF16, "BF16", 2}, {DType::kF8E4M3, "F8_E4M3", 1}, {DType::kF8E5M2, "F8_E5M2", 1},
      {DType::kI64, "I64", 8},   {DType::kU64, "U64", 8},        {DType::kI32, "I32", 4},
      {DType::kU32, "U32", 4},   {DType::kI16, "I16", 2},        {DType::kU16, "U16", 2},
      {DType::kI8, "I8", 1},     {DType::kU8, "U8", 1},          {DType::kBool, "BOOL", 1},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CHECK(name(c.dtype) == c.name);
    CHECK(parse_dtype(c.name) == c.dtype);
    CHECK(size_bytes(c.dtype) == c.size_bytes);
  }
  CHECK_FALSE(parse_dtype("f32"));
  CHECK_FALSE(parse_dtype(""));
}

TEST_CASE("shape: extents, counts, text and comparison") {
  const Shape shape{2, 3, 4};
  CHECK(shape.rank() == 3);
  CHECK(shape[1] == 3);
  CHECK(shape.back() == 4);
  CHECK(shape.element_count() == 24);
  CHECK(to_string(shape) == "[2, 3, 4]");
  CHECK(shape == Shape{2, 3, 4});
  CHECK_FALSE(shape == Shape{2, 3});
  CHECK_FALSE(shape == Shape{2, 3, 5});
  CHECK(Shape{}.element_count() == 1);
  CHECK(to_string(Shape{}) == "[]");
  CHECK(Shape{5, 0}.element_count() == 0);
}

TEST_CASE("shape: more than eight axes are refused") {
  CHECK_NOTHROW(Shape({1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK_THROWS_AS(Shape({1, 2, 3, 4, 5, 6, 7, 8, 9}), Error);
}
