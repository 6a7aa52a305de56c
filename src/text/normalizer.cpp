// SPDX-License-Identifier: MIT
#include "text/normalizer.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/error.h"
#include "io/fields.h"
#include "io/message_text.h"
#include "text/unicode.h"

namespace lanner::text {
namespace {

struct CodePointRange {
  char32_t first, last;
};

/// Characters that NFC never changes and that never combine with what stands before them: common scripts
/// only, as everything else takes the slow way and gives the same text. Ascending.
constexpr std::array kNfcInert = std::to_array<CodePointRange>({
    {0x0, 0x2FF},
    {0x388, 0x482},
    {0x48A, 0x52F},
    {0x1E00, 0x1EFF},
    {0x2010, 0x2027},
    {0x2030, 0x205E},
    {0x20A0, 0x20CF},
    {0x2190, 0x2328},
    {0x2500, 0x27FF},
    {0x3000, 0x3029},
    {0x3031, 0x3096},
    {0x30A0, 0x30FF},
    {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF},
    {0xAC00, 0xD7A3},
    {0xFF01, 0xFFEF},
    {0x1F000, 0x1FAFF},
    {0x20000, 0x2A6DF},
});

bool is_nfc_inert(char32_t c) {
  if (c <= kNfcInert[0].last) return true;
  const auto range = std::lower_bound(kNfcInert.begin(), kNfcInert.end(), c,
                                      [](const CodePointRange& r, char32_t value) { return r.last < value; });
  return range != kNfcInert.end() && c >= range->first;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

int combining_class(utf8proc_int32_t code_point) {
  return static_cast<int>(utf8proc_get_property(code_point)->combining_class);
}

/// Sorts each run of combining marks by combining class. utf8proc's own sort is quadratic in the run's
/// length.
void order_marks(std::vector<utf8proc_int32_t>& characters) {
  const auto is_starter = [](utf8proc_int32_t c) { return combining_class(c) == 0; };
  for (auto run = characters.begin(); run != characters.end();) {
    run = std::find_if_not(run, characters.end(), is_starter);
    const auto end = std::find_if(run, characters.end(), is_starter);
    std::stable_sort(run, end, [](utf8proc_int32_t a, utf8proc_int32_t b) {
      return combining_class(a) < combining_class(b);
    });
    run = end;
  }
}

void decompose(utf8proc_int32_t code_point, utf8proc_option_t options, std::vector<utf8proc_int32_t>& out) {
  std::array<utf8proc_int32_t, 32> buffer;  // the longest decomposition has 18 characters
  int boundary = 0;
  const utf8proc_ssize_t count = utf8proc_decompose_char(
      code_point, buffer.data(), static_cast<utf8proc_ssize_t>(buffer.size()), options, &boundary);
  if (count < 0 || count > static_cast<utf8proc_ssize_t>(buffer.size())) {
    out.push_back(code_point);
    return;
  }
  out.insert(out.end(), buffer.begin(), buffer.begin() + count);
}

/// Normalizes without any shortcut and appends to `out`.
void append_normalized(std::string_view text, UnicodeForm form, std::string& out) {
  const bool compatibility = form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd;
  const bool compose = form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc;
  const int options = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (compatibility ? UTF8PROC_COMPAT : 0);
  std::vector<utf8proc_int32_t> characters;
  characters.reserve(text.size());
  for (std::size_t position = 0; position < text.size();) {
    decompose(static_cast<utf8proc_int32_t>(next_code_point(text, position)),
              static_cast<utf8proc_option_t>(options), characters);
  }
  order_marks(characters);
  auto count = static_cast<utf8proc_ssize_t>(characters.size());
  if (compose) {
    count = utf8proc_normalize_utf32(characters.data(), count,
                                     static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  }
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    append_utf8(out, static_cast<char32_t>(characters[static_cast<std::size_t>(i)]));
  }
}

std::size_t last_character_begin(std::string_view text, std::size_t end) {
  do {
    --end;
  } while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return end;
}

/// NFC of text in which most characters are inert: only the runs between them, each with the one inert
/// character before it (which may take a mark), go the slow way. Returns nothing when every character is
/// inert.
std::optional<std::string> nfc_by_runs(std::string_view text) {
  std::string out;
  std::size_t done = 0, position = 0;
  while (position < text.size()) {
    const std::size_t begin = position;
    if (is_nfc_inert(next_code_point(text, position))) continue;
    const std::size_t run_begin = begin > done ? last_character_begin(text, begin) : begin;
    std::size_t run_end = position;
    while (position < text.size()) {
      if (is_nfc_inert(next_code_point(text, position))) break;
      run_end = position;
    }
    out += text.substr(done, run_begin - done);
    append_normalized(text.substr(run_begin, run_end - run_begin), UnicodeForm::kNfc, out);
    done = position = run_end;
  }
  if (done == 0) return std::nullopt;
  out += text.substr(done);
  return out;
}

}  // namespace

std::string normalize_unicode(std::string_view text, UnicodeForm form) {
  if (is_ascii(text)) return std::string(text);
  if (form == UnicodeForm::kNfc) return nfc_by_runs(text).value_or(std::string(text));
  std::string out;
  append_normalized(text, form, out);
  return out;
}

Normalizer Normalizer::parse(const io::Fields& parent, std::string_view field) {
  Normalizer normalizer;
  if (const auto component = parent.find_object(field)) normalizer.add_component(*component);
  return normalizer;
}

void Normalizer::add_component(const io::Fields& component) {
  const std::string type = component.required_string("type");
  if (type == "Sequence") {
    for (const io::Fields& part : component.required_objects("normalizers")) add_component(part);
  } else if (type == "Replace") {
    steps_.emplace_back(Replace{TextPattern::parse(component), component.required_string("content")});
  } else if (type == "Prepend") {
    steps_.emplace_back(Prepend{component.required_string("prepend")});
  } else if (type == "Strip") {
    steps_.emplace_back(Strip{component.required_bool("strip_left"), component.required_bool("strip_right")});
  } else if (type == "Lowercase") {
    steps_.emplace_back(Lowercase{});
  } else if (type == "NFC") {
    steps_.emplace_back(UnicodeForm::kNfc);
  } else if (type == "NFD") {
    steps_.emplace_back(UnicodeForm::kNfd);
  } else if (type == "NFKC") {
    steps_.emplace_back(UnicodeForm::kNfkc);
  } else if (type == "NFKD") {
    steps_.emplace_back(UnicodeForm::kNfkd);
  } else {
    throw Error(
        ErrorKind::kUnsupported,
        fmt::format("{}: {} is {}, expected one of Sequence, Replace, Prepend, Strip, Lowercase, NFC, NFD, "
                    "NFKC, NFKD; lanner has no other normalizer",
                    component.source(), component.name_of("type"), io::in_quotes(type)));
  }
}

std::string_view Normalizer::apply(std::string_view text, std::string& storage) const {
  for (const Step& step : steps_) {
    std::string result;
    const std::string_view normalized =
        std::visit([&](const auto& known) { return apply_step(known, text, result); }, step);
    if (normalized.data() == result.data()) {
      storage = std::move(result);
      text = storage;
    } else {
      text = normalized;
    }
  }
  return text;
}

std::string_view Normalizer::apply_step(const Replace& step, std::string_view text, std::string& storage) {
  TextPattern::Search search(step.pattern, text);
  std::size_t done = 0;
  std::optional<TextPattern::Match> match = search.next();
  if (!match) return text;
  storage.reserve(text.size() + text.size() / 2);
  for (; match; match = search.next()) {
    storage += text.substr(done, match->begin - done);
    storage += step.content;
    done = match->end;
  }
  storage += text.substr(done);
  return storage;
}

std::string_view Normalizer::apply_step(const Prepend& step, std::string_view text, std::string& storage) {
  if (text.empty()) return text;
  storage = step.text;
  storage += text;
  return storage;
}

std::string_view Normalizer::apply_step(const Strip& step, std::string_view text, std::string&) {
  while (step.left && !text.empty()) {
    std::size_t next = 0;
    if (!is_white_space(next_code_point(text, next))) break;
    text.remove_prefix(next);
  }
  while (step.right && !text.empty()) {
    const std::size_t last = last_character_begin(text, text.size());
    std::size_t position = last;
    if (!is_white_space(next_code_point(text, position))) break;
    text = text.substr(0, last);
  }
  return text;
}

std::string_view Normalizer::apply_step(const Lowercase&, std::string_view text, std::string& storage) {
  for (std::size_t position = 0; position < text.size();) {
    const char32_t c = next_code_point(text, position);
    if (c == 0x130) {  // the one letter whose small form is two characters
      storage += "i\u0307";
    } else {
      append_utf8(storage, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
    }
  }
  return storage;
}

std::string_view Normalizer::apply_step(const UnicodeForm& form, std::string_view text,
                                        std::string& storage) {
  if (is_ascii(text)) return text;
  if (form == UnicodeForm::kNfc) {
    std::optional<std::string> changed = nfc_by_runs(text);
    if (!changed) return text;
    storage = std::move(*changed);
  } else {
    storage = normalize_unicode(text, form);
  }
  return storage;
}

}  // namespace lanner::text
