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
    : vocabulary_(std::move(vocabulary)),
      program_(std::make_shared<Program>(compile(std::move(source)))),
      machine_(fresh_machine()) {}

Grammar::~Grammar() = default;

std::shared_ptr<Machine> Grammar::fresh_machine() const {
  return std::make_shared<Machine>(program_, vocabulary_);
}

std::size_t Grammar::memory_bytes() const { return memory_bytes_of(*program_) + machine_->memory_bytes(); }

bool Grammar::accepts(std::string_view text) const {
  Work work(kCompileWork);
  return accepts(text, work);
}

bool Grammar::accepts(std::string_view text, Work& work) const {
  return machine_->accepts(machine_->step_text(machine_->start(), text, work));
}

}  // namespace lanner::text::grammar
