// SPDX-License-Identifier: MIT
#include "cli/info_text.h"

#include <fmt/format.h>

#include "io/message_text.h"

namespace lanner::cli {
namespace {

// Special tokens of large vocabularies are many and mostly placeholders.
constexpr std::size_t kTokensShown = 12;

std::string line(std::string_view label, std::string_view value) {
  return fmt::format("{:<15} {}\n", label, value);
}

std::size_t count_of(const io::Json& object, const char* key) { return object.at(key).get<std::size_t>(); }

std::string text_of(const io::Json& object, const char* key) { return object.at(key).get<std::string>(); }

std::string size_of(const io::Json& object, const char* key) {
  return io::readable_size(object.at(key).get<std::uint64_t>());
}

std::string joined(const io::Json& texts) {
  std::string all;
  for (const io::Json& text : texts)
    all += (all.empty() ? "" : ", ") + io::printable(text.get<std::string>());
  return all;
}

std::string layers_text(const io::Json& layers) {
  std::string text = fmt::format("{}:", count_of(layers, "count"));
  const char* separator = " ";
  const auto add = [&](const char* key, const std::string& name) {
    if (const std::size_t count = count_of(layers, key); count > 0) {
      text += fmt::format("{}{} {}", separator, count, name);
      separator = ", ";
    }
  };
  add("full_attention", "full attention");
  add("sliding_attention", fmt::format("sliding attention (window {})", count_of(layers, "sliding_window")));
  add("delta_net", "gated delta net");
  add("full_attention_sharing_kv", "full sharing keys and values");
  add("sliding_attention_sharing_kv", "sliding sharing keys and values");
  return text;
}

std::string cache_text(const io::Json& cache) {
  std::string text = fmt::format("{} per token", size_of(cache, "bytes_per_token"));
  if (count_of(cache, "sliding_bytes_full") > 0)
    text += fmt::format(", {} for full sliding windows", size_of(cache, "sliding_bytes_full"));
  if (count_of(cache, "state_bytes") > 0)
    text += fmt::format(", {} of delta net state", size_of(cache, "state_bytes"));
  return text + " (" + text_of(cache, "element") + ")";
}

std::string weights_text(const io::Json& groups) {
  std::string text = "\nweights                format                  tensors  parameters        size\n";
  for (const io::Json& group : groups)
    text += fmt::format("  {:<20} {:<22} {:>8} {:>11} {:>11}\n", text_of(group, "group"),
                        text_of(group, "format"), count_of(group, "tensors"),
                        readable_count(count_of(group, "parameters")), size_of(group, "bytes"));
  return text;
}

std::string tokens_text(const io::Json& tokens) {
  std::string text;
  std::size_t shown = 0;
  for (const io::Json& token : tokens) {
    if (shown++ == kTokensShown) return text + fmt::format(" and {} more", tokens.size() - kTokensShown);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", token.at("id").get<int>(),
                        io::printable(text_of(token, "text")));
  }
  return text.empty() ? "none" : text;
}

std::string template_text(const io::Json& chat_template) {
  if (chat_template.is_null()) return "none; use run --raw";
  std::string text = "yes";
  text += chat_template.at("system").get<bool>() ? ", with system prompt" : ", without system prompt";
  text += chat_template.at("tools").get<bool>() ? ", with tools" : ", without tools";
  if (!chat_template.at("thinking_switch").get<bool>()) return text + ", no thinking switch";
  return text + (chat_template.at("thinks_by_default").get<bool>() ? ", thinks unless --no-think"
                                                                   : ", thinks with --think");
}

std::string sampling_text(const io::Json& sampling) {
  return fmt::format("temperature {:.4g}, top-k {}, top-p {:.4g}, min-p {:.4g}, repeat penalty {:.4g}",
                     sampling.at("temperature").get<double>(), count_of(sampling, "top_k"),
                     sampling.at("top_p").get<double>(), sampling.at("min_p").get<double>(),
                     sampling.at("repetition_penalty").get<double>());
}

std::string text_part(const io::Json& text) {
  if (text.is_null())
    return line("tokenizer", "none (no tokenizer.json): the model can not read or write text");
  return line("tokenizer", fmt::format("{} tokens", count_of(text, "tokens"))) +
         line("chat template", template_text(text.at("chat_template"))) +
         line("stop tokens", tokens_text(text.at("stop_tokens"))) +
         line("special tokens", tokens_text(text.at("special_tokens"))) +
         line("sampling", sampling_text(text.at("sampling")));
}

}  // namespace

std::string readable_count(std::size_t count) {
  const auto value = static_cast<double>(count);
  if (value >= 1e9) return fmt::format("{:.2f} B", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.2f} M", value / 1e6);
  if (value >= 1e3) return fmt::format("{:.1f} k", value / 1e3);
  return fmt::format("{}", count);
}

std::string info_text(const io::Json& facts) {
  std::string text = line("folder", io::printable(text_of(facts, "folder")));
  text += line("family", fmt::format("{} ({})", text_of(facts, "family"), text_of(facts, "model_type")));
  text += line("parameters",
               fmt::format("{}, {} read by the text model", readable_count(count_of(facts, "parameters")),
                           size_of(facts, "text_model_bytes")));
  text += line("files", fmt::format("{} with {}", facts.at("files").size(), size_of(facts, "file_bytes")));
  text += line("sizes", fmt::format("hidden {}, vocabulary {}, {} head", count_of(facts, "hidden_size"),
                                    count_of(facts, "vocabulary"),
                                    facts.at("tied_head").get<bool>() ? "tied" : "untied"));
  text += line("layers", layers_text(facts.at("layers")));
  if (count_of(facts, "experts") > 0)
    text += line("experts", fmt::format("{} of {} per token", count_of(facts, "experts_per_token"),
                                        count_of(facts, "experts")));
  text += line("context", fmt::format("{} tokens", count_of(facts, "context")));
  text += line("cache", cache_text(facts.at("cache")));
  text += text_part(facts.at("text"));
  text += line("kernels", fmt::format("{} (this CPU runs {})", text_of(facts, "kernels"),
                                      joined(facts.at("instruction_sets"))));
  for (const io::Json& gpu : facts.at("gpus"))
    text += line("gpu", fmt::format("{}: {}, compute capability {}, {} of {} free", text_of(gpu, "device"),
                                    text_of(gpu, "name"), text_of(gpu, "compute_capability"),
                                    size_of(gpu, "free_bytes"), size_of(gpu, "memory_bytes")));
  if (!facts.at("not_run").empty())
    text += line("not run", joined(facts.at("not_run")) + ": this build runs the text part");
  if (!facts.at("side_files").empty()) text += line("not opened", joined(facts.at("side_files")));
  return text + weights_text(facts.at("weights"));
}

}  // namespace lanner::cli
