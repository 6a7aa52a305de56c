// SPDX-License-Identifier: MIT
#include "text/grammar/grammar.h"

#include "text/grammar/machine.h"
#include "text/grammar/program.h"

namespace lanner::text::grammar {

namespace {

constexpr std::size_t kMaxRemembered = std::size_t{256} << 20;  // Bytes.

}  // namespace

Grammar::Grammar(GrammarSource source, std::shared_ptr<const GrammarVocabulary> vocabulary)
    : vocabulary_(std::move(vocabulary)),
      program_(std::make_shared<Program>(compile(std::move(source)))),
      machine_(std::make_shared<Machine>(program_, vocabulary_)) {}

Grammar::~Grammar() = default;

std::shared_ptr<Machine> Grammar::machine() const {
  const std::lock_guard lock(mutex_);
  if (machine_->memory_bytes() > kMaxRemembered) machine_ = std::make_shared<Machine>(program_, vocabulary_);
  return machine_;
}

bool Grammar::accepts(std::string_view text) const {
  const std::shared_ptr<Machine> machine = this->machine();
  return machine->accepts(machine->step_text(machine->start(), text));
}

}  // namespace lanner::text::grammar
