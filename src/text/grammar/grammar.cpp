// SPDX-License-Identifier: MIT
#include "text/grammar/grammar.h"

#include "text/grammar/machine.h"
#include "text/grammar/program.h"

namespace lanner::text::grammar {

namespace {

std::size_t memory_bytes_of(const Program& program) {
  std::size_t bytes = program.terms.memory_bytes() + program.leaves.size() * sizeof(TermId) +
                      program.rules.size() * sizeof(Program::Rule) +
                      program.nodes.size() * sizeof(Program::Node);
  for (const Program::Node& node : program.nodes) bytes += node.edges.size() * sizeof(Program::Edge);
  return bytes;
}

}  // namespace

Grammar::Grammar(GrammarSource source, std::shared_ptr<const GrammarVocabulary> vocabulary)
    : vocabulary_(std::move(vocabulary)), program_(std::make_shared<Program>(compile(std::move(source)))) {}

Grammar::~Grammar() = default;

std::shared_ptr<Machine> Grammar::fresh_machine() const {
  return std::make_shared<Machine>(program_, vocabulary_);
}

Machine& Grammar::machine() const {
  const std::scoped_lock lock(mutex_);
  if (!machine_) machine_ = fresh_machine();
  return *machine_;
}

std::size_t Grammar::memory_bytes() const {
  const std::scoped_lock lock(mutex_);
  return memory_bytes_of(*program_) + (machine_ ? machine_->memory_bytes() : 0);
}

bool Grammar::accepts(std::string_view text) const {
  Work work(kCompileWork);
  return accepts(text, work);
}

bool Grammar::accepts(std::string_view text, Work& work) const {
  Machine& machine = this->machine();
  return machine.accepts(machine.step_text(machine.start(), text, work));
}

}  // namespace lanner::text::grammar
