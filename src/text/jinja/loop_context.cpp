// SPDX-License-Identifier: MIT
#include "text/jinja/loop_context.h"

#include "text/jinja/arguments.h"
#include "text/jinja/fault.h"
#include "text/jinja/iteration.h"

namespace lanner::text::jinja {
namespace {

/// Elements that were read ahead to count them.
class BufferedIterator : public Iterator {
 public:
  explicit BufferedIterator(std::vector<Value> items) : items_(std::move(items)) {}
  bool next(Value& out) override {
    if (at_ == items_.size()) return false;
    out = items_[at_++];
    return true;
  }

 private:
  std::vector<Value> items_;
  size_t at_ = 0;
};

}  // namespace

LoopContext::LoopContext(Runtime& runtime, const Value& iterable, std::unique_ptr<Iterator> iterator,
                         std::optional<size_t> length, int depth0, Recurse recurse)
    : runtime_(runtime),
      iterator_(std::move(iterator)),
      length_(length),
      depth0_(depth0),
      recurse_(std::move(recurse)),
      depth_of_values_(iterable.extent().depth + 1) {}

bool LoopContext::next(Value& out) {
  const Value following = peek();
  peeked_ = false;
  after_ = Value();
  if (following.is_missing()) return false;
  ++index0_;
  before_ = std::exchange(current_, following);
  out = current_;
  return true;
}

void LoopContext::release() {
  iterator_ = std::make_unique<BufferedIterator>(std::vector<Value>{});
  peeked_ = true;
  after_ = current_ = before_ = last_changed_ = Value();
  recurse_ = nullptr;
}

const Value& LoopContext::peek() {
  if (!std::exchange(peeked_, true))
    if (Value item; iterator_->next(item)) after_ = std::move(item);
  return after_;
}

size_t LoopContext::total() {
  if (length_) return *length_;
  std::vector<Value> rest;
  for (Value item; iterator_->next(item);) {
    runtime_.spend(2);
    rest.push_back(std::move(item));
  }
  length_ = rest.size() + static_cast<size_t>(index0_ + 1) + (after_.is_missing() ? 0 : 1);
  iterator_ = std::make_unique<BufferedIterator>(std::move(rest));
  return *length_;
}

std::string LoopContext::repr() const {
  return "<LoopContext " + std::to_string(index0_ + 1) + "/" + (length_ ? std::to_string(*length_) : "?") +
         ">";
}

Value LoopContext::position_attribute(std::string_view name) {
  if (name == "index0") return Value::integer(index0_);
  if (name == "index") return Value::integer(index0_ + 1);
  if (name == "first") return Value::boolean(index0_ == 0);
  if (name == "last") return Value::boolean(peek().is_missing());
  if (name == "length") return Value::integer(static_cast<Int>(total()));
  if (name == "revindex") return Value::integer(static_cast<Int>(total()) - index0_);
  if (name == "revindex0") return Value::integer(static_cast<Int>(total()) - index0_ - 1);
  if (name == "depth") return Value::integer(depth0_ + 1);
  if (name == "depth0") return Value::integer(depth0_);
  return Value();
}

Value LoopContext::attribute(std::string_view name) {
  if (name == "previtem") return index0_ == 0 ? Value::undefined("there is no previous item") : before_;
  if (name == "nextitem") return peek().is_missing() ? Value::undefined("there is no next item") : peek();
  if (name == "cycle" || name == "changed") return method(name);
  return position_attribute(name);
}

Value LoopContext::method(std::string_view name) {
  auto body = [self = shared_from_this(), cycles = name == "cycle"](Runtime&,
                                                                    const CallArguments& arguments) {
    if (!cycles) return self->changed(arguments);
    if (arguments.positional.empty()) throw Fault(FaultKind::kType, "no items for cycling given");
    return arguments.positional[static_cast<size_t>(self->index0_) % arguments.positional.size()];
  };
  return Value::object(std::make_shared<Function>(std::string(name), body, depth() + 1));
}

Value LoopContext::changed(const CallArguments& arguments) {
  const Value now = Value::tuple(arguments.positional);
  if (!last_changed_.is_missing() && runtime_.equal(last_changed_, now)) return Value::boolean(false);
  last_changed_ = now;
  return Value::boolean(true);
}

Value LoopContext::call(Runtime&, const CallArguments& arguments) {
  if (!recurse_)
    throw Fault(FaultKind::kType, "The loop must have the 'recursive' marker to be called recursively.");
  const BoundArguments bound("loop", arguments, {"iterable"}, 1);
  return recurse_(bound[0], depth0_ + 1);
}

}  // namespace lanner::text::jinja
