// SPDX-License-Identifier: MIT
#include "quantize/bit_rules.h"

#include <doctest/doctest.h>

#include "io/temporary_folder.h"

namespace lanner::quantize {
namespace {

constexpr QuantFormat kFour = {QuantMode::kAffine, 4, 64};
constexpr std::string_view kDown = "language_model.model.layers.3.mlp.down_proj";

BitRules rules(std::initializer_list<std::string_view> overrides, QuantFormat global = kFour) {
  std::vector<BitOverride> parsed;
  for (const std::string_view text : overrides) parsed.push_back(parse_bit_override(text));
  return {global, std::move(parsed)};
}

TEST_CASE("bit rules: a plain module takes the global format and needs no entry") {
  const ModuleFormat choice = rules({}).format_of(kDown, 256);
  CHECK(choice.format == kFour);
  CHECK_FALSE(choice.listed);
}

TEST_CASE("bit rules: routers and gates are 8-bit group 64 unless an override says otherwise") {
  for (const std::string_view gate :
       {"language_model.model.layers.0.router.proj", "language_model.model.layers.0.mlp.gate",
        "language_model.model.layers.0.mlp.shared_expert_gate"}) {
    const ModuleFormat choice = rules({}).format_of(gate, 256);
    CHECK(choice.format == QuantFormat{QuantMode::kAffine, 8, 64});
    CHECK(choice.listed);
    CHECK(rules({"gate=6", "router=6"}).format_of(gate, 256).format ==
          QuantFormat{QuantMode::kAffine, 6, 64});
  }
  CHECK(rules({}).format_of("language_model.model.layers.0.mlp.gate_proj", 256).format == kFour);
}

TEST_CASE("bit rules: the first override that matches counts") {
  BitRules chosen = rules({R"(layers\.3\..*down_proj=6:32)", "down_proj=8", "v_proj=none"});
  CHECK(chosen.format_of(kDown, 256).format == QuantFormat{QuantMode::kAffine, 6, 32});
  CHECK(chosen.format_of("language_model.model.layers.4.mlp.down_proj", 256).format ==
        QuantFormat{QuantMode::kAffine, 8, 64});
  CHECK(chosen.unused_overrides() == std::vector<std::string>{"v_proj=none"});
  const ModuleFormat dense = chosen.format_of("language_model.model.layers.4.self_attn.v_proj", 256);
  CHECK_FALSE(dense.format);
  CHECK(dense.listed);
  CHECK(chosen.unused_overrides().empty());
}

TEST_CASE("bit rules: columns that the group does not divide take a smaller group or none") {
  CHECK(rules({}, {QuantMode::kAffine, 4, 128}).format_of(kDown, 704).format ==
        QuantFormat{QuantMode::kAffine, 4, 64});
  CHECK(rules({}).format_of(kDown, 96).format == QuantFormat{QuantMode::kAffine, 4, 32});
  const ModuleFormat dense = rules({}).format_of(kDown, 72);
  CHECK_FALSE(dense.format);
  CHECK(dense.listed);
  CHECK_FALSE(rules({}, {QuantMode::kMxfp4, 4, 32}).format_of(kDown, 48).format);
}

TEST_CASE("bit rules: per_layer_model_projection stays dense unless asked for") {
  constexpr std::string_view kModule = "language_model.model.per_layer_model_projection";
  CHECK_FALSE(rules({}).format_of(kModule, 256).format);
  CHECK(rules({"per_layer_model=8"}).format_of(kModule, 256).format ==
        QuantFormat{QuantMode::kAffine, 8, 64});
}

TEST_CASE("bit rules: bad overrides and formats are refused with what is expected") {
  for (const std::string_view bad : {"down_proj", "=4", "down_proj=7", "down_proj=four", "down_proj=4:48",
                                     "down_proj=4:", "down_proj=", "(=4", "down_proj=4x"}) {
    CAPTURE(bad);
    const std::string message = io::error_of(ErrorKind::kInvalidArgument, [&] { parse_bit_override(bad); });
    CHECK(message.find("expected REGEX=BITS") != std::string::npos);
  }
  io::error_of(ErrorKind::kInvalidArgument, [] { rules({}, {QuantMode::kAffine, 7, 64}); });
  io::error_of(ErrorKind::kInvalidArgument, [] { rules({}, {QuantMode::kNvfp4, 4, 32}); });
}

}  // namespace
}  // namespace lanner::quantize
