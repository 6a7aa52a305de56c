// SPDX-License-Identifier: MIT
#include "text/tokenizer_post_processor.h"

#include <fmt/format.h>

#include <string>

#include "core/error.h"
#include "io/fields.h"
#include "io/message_text.h"
#include "text/tokenizer_vocabulary.h"

namespace lanner::text {
namespace {

/// The ids that TemplateProcessing.special_tokens gives for a name.
std::vector<TokenId> template_token(const io::Fields& component, const std::string& name,
                                    const Vocabulary& vocabulary) {
  const io::Fields token = component.required_object("special_tokens").required_object(name);
  std::vector<TokenId> ids;
  for (const std::int64_t id : token.required_ints("ids", {0, kMaxTokenId - 1})) {
    ids.push_back(static_cast<TokenId>(id));
    if (!vocabulary.contains(ids.back())) throw token.unexpected("ids", "ids of tokens in the vocabulary");
  }
  return ids;
}

void wrap(PostProcessor& processor, const io::Fields& component, const Vocabulary& vocabulary) {
  std::vector<TokenId> before, after;
  int texts = 0;
  for (const io::Fields& piece : component.required_objects("single")) {
    if (piece.has("Sequence")) {
      ++texts;
      continue;
    }
    const std::string name = piece.required_object("SpecialToken").required_string("id");
    std::vector<TokenId>& side = texts == 0 ? before : after;
    for (TokenId id : template_token(component, name, vocabulary)) side.push_back(id);
  }
  if (texts != 1) {
    throw Error(ErrorKind::kUnsupported, fmt::format("{}: {} holds the text {} times, expected once",
                                                     component.source(), component.name_of("single"), texts));
  }
  processor.before.insert(processor.before.begin(), before.begin(), before.end());
  processor.after.insert(processor.after.end(), after.begin(), after.end());
}

void add_component(PostProcessor& processor, const io::Fields& component, const Vocabulary& vocabulary) {
  const std::string type = component.required_string("type");
  if (type == "Sequence") {
    for (const io::Fields& part : component.required_objects("processors")) {
      add_component(processor, part, vocabulary);
    }
  } else if (type == "TemplateProcessing") {
    wrap(processor, component, vocabulary);
  } else if (type != "ByteLevel") {
    throw Error(
        ErrorKind::kUnsupported,
        fmt::format("{}: {} is {}, expected Sequence, TemplateProcessing or ByteLevel; lanner has no other "
                    "post-processor",
                    component.source(), component.name_of("type"), io::in_quotes(type)));
  }
}

}  // namespace

PostProcessor PostProcessor::parse(const io::Fields& parent, std::string_view field,
                                   const Vocabulary& vocabulary) {
  PostProcessor processor;
  if (const auto component = parent.find_object(field)) add_component(processor, *component, vocabulary);
  return processor;
}

}  // namespace lanner::text
