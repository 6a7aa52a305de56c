// SPDX-License-Identifier: MIT
#include "text/detokenizer.h"

#include <utility>

namespace lanner::text {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, DecodeOptions options)
    : tokenizer_(&tokenizer), options_(options), strips_left_(tokenizer.decoder_.leading_strip().count) {}

std::string Detokenizer::push(TokenId id) {
  std::string out;
  push(id, out);
  return out;
}

std::string Detokenizer::finish() {
  std::string out;
  finish(out);
  return out;
}

void Detokenizer::push(TokenId id, std::string& out) {
  if (!tokenizer_->contains(id)) return;
  if (options_.special_tokens == SpecialTokens::kSkip && tokenizer_->is_special(id)) return;
  const TokenDecoder& decoder = tokenizer_->decoder_;
  const std::string_view bytes = decoder.bytes(id);
  switch (decoder.mode()) {
    case TokenDecoder::Mode::kText:
      emit(bytes, out);
      break;
    case TokenDecoder::Mode::kByteLevel:
      if (strips_left_ == 0) {
        stream_.append(bytes, out);
      } else {
        std::string text;
        stream_.append(bytes, text);
        emit(text, out);
      }
      break;
    case TokenDecoder::Mode::kByteFallback:
      if (decoder.is_single_byte(id)) {
        push_byte(bytes[0], out);
      } else {
        end_byte_run(out);
        emit(bytes, out);
      }
      break;
  }
}

void Detokenizer::push_byte(char byte, std::string& out) {
  if (byte_run_broken_) {
    emit(kReplacementCharacter, out);
    return;
  }
  byte_run_.push_back(byte);
  const Utf8Step step = read_utf8(std::string_view(byte_run_).substr(complete_bytes_));
  if (step.status == Utf8Status::kValid) complete_bytes_ += step.length;
  if (step.status != Utf8Status::kInvalid) return;
  for (std::size_t i = 0; i < byte_run_.size(); ++i) emit(kReplacementCharacter, out);
  byte_run_.clear();
  complete_bytes_ = 0;
  byte_run_broken_ = true;
}

void Detokenizer::end_byte_run(std::string& out) {
  if (complete_bytes_ == byte_run_.size()) {
    emit(byte_run_, out);
  } else {
    for (std::size_t i = 0; i < byte_run_.size(); ++i) emit(kReplacementCharacter, out);
  }
  byte_run_.clear();
  complete_bytes_ = 0;
  byte_run_broken_ = false;
}

void Detokenizer::finish(std::string& out) {
  end_byte_run(out);
  std::string text;
  stream_.finish(text);
  emit(text, out);
  strips_left_ = tokenizer_->decoder_.leading_strip().count;
}

/// Passes text on, without what the decoder strips off the start of the whole.
void Detokenizer::emit(std::string_view text, std::string& out) {
  const std::string& content = tokenizer_->decoder_.leading_strip().content;
  while (strips_left_ > 0 && !text.empty()) {
    if (!text.starts_with(content)) {
      strips_left_ = 0;
      break;
    }
    text.remove_prefix(content.size());
    --strips_left_;
  }
  out += text;
}

}  // namespace lanner::text
