// SPDX-License-Identifier: MIT
#include "text/jinja/builtins.h"

#include <array>

#include "text/jinja/arguments.h"
#include "text/jinja/fault.h"
#include "text/jinja/iteration.h"
#include "text/jinja/value_text.h"

namespace lanner::text::jinja {
namespace {

constexpr Int kMaxRange = 100000;  // As Jinja's sandbox.
constexpr size_t kMaxReprBytes = size_t{1} << 20;

Value range(Runtime&, const CallArguments& arguments) {
  const BoundArguments bound("range", arguments, {"start", "stop", "step"}, 1);
  const bool only_stop = !bound.has(1);
  const Int start = only_stop ? 0 : bound.integer(0, 0);
  const Int stop = only_stop ? bound.integer(0, 0) : bound.integer(1, 0);
  const Int step = bound.integer(2, 1);
  if (step == 0) throw Fault(FaultKind::kValue, "range() arg 3 must not be zero");
  constexpr Int kHuge = Int{1} << 100;
  if (start > kHuge || start < -kHuge || stop > kHuge || stop < -kHuge || step > kHuge || step < -kHuge)
    throw Fault(FaultKind::kValue, "range() bounds are too large");
  const Int span = step > 0 ? stop - start : start - stop;
  if (span > 0 && (span - 1) / (step > 0 ? step : -step) + 1 > kMaxRange)
    throw Fault(FaultKind::kValue,
                "Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).");
  return Value::object(std::make_shared<Range>(start, stop, step));
}

Dict make_dict(Runtime& runtime, std::string_view function, const CallArguments& arguments) {
  if (arguments.positional.size() > 1)
    throw Fault(FaultKind::kType, std::string(function) + " expected at most 1 argument, got " +
                                      std::to_string(arguments.positional.size()));
  Dict entries;
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is(Kind::kDict)) {
      runtime.spend(source.as_dict().size());
      entries = source.as_dict();
    } else {
      for (const Value& pair : collect(runtime, source)) {
        const std::vector<Value> parts = collect(runtime, pair);
        if (parts.size() != 2)
          throw Fault(FaultKind::kValue, "dictionary update sequence element has length " +
                                             std::to_string(parts.size()) + "; 2 is required");
        entries.set(parts[0], parts[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.keyword) entries.set(Value::text(name), value);
  return entries;
}

Value dict(Runtime& runtime, const CallArguments& arguments) {
  return Value::dict(make_dict(runtime, "dict", arguments));
}

Value make_namespace(Runtime& runtime, const CallArguments& arguments) {
  auto created = std::make_shared<Namespace>(make_dict(runtime, "namespace", arguments));
  // Namespaces may come to hold themselves.
  runtime.on_finish([weak = std::weak_ptr<Namespace>(created)] {
    if (const auto alive = weak.lock()) alive->clear();
  });
  return Value::object(std::move(created));
}

/// cycler(...): hands out its items in turn.
class Cycler : public Object, public std::enable_shared_from_this<Cycler> {
 public:
  explicit Cycler(std::vector<Value> items) : items_(Value::list(std::move(items))) {}
  std::string type_name() const override { return "Cycler"; }
  std::string description() const override { return "jinja2.utils.Cycler object"; }
  std::uint32_t depth() const override { return items_.extent().depth + 1; }

  Value attribute(std::string_view name) override {
    if (name == "items") return Value::tuple(items_.items());
    if (name == "pos") return Value::integer(static_cast<Int>(position_));
    if (name == "current") return items_.items()[position_];
    if (name == "next") return method("next", [self = shared_from_this()] { return self->advance(); });
    if (name == "reset")
      return method("reset", [self = shared_from_this()] {
        self->position_ = 0;
        return Value::none();
      });
    return Value();
  }

 private:
  template <typename Action>
  Value method(std::string name, Action action) {
    auto body = [action](Runtime&, const CallArguments& arguments) {
      const BoundArguments bound("cycler method", arguments, {}, 0);
      return action();
    };
    return Value::object(std::make_shared<Function>(std::move(name), body, depth() + 1));
  }

  Value advance() {
    Value item = items_.items()[position_];
    position_ = (position_ + 1) % items_.items().size();
    return item;
  }

  Value items_;
  size_t position_ = 0;
};

Value cycler(Runtime&, const CallArguments& arguments) {
  if (arguments.positional.empty()) throw Fault(FaultKind::kType, "at least one item has to be provided");
  return Value::object(std::make_shared<Cycler>(arguments.positional));
}

/// joiner(sep): empty the first time, the separator afterwards.
class Joiner : public Object {
 public:
  explicit Joiner(const Value& separator) : separator_(separator) {}
  std::string type_name() const override { return "Joiner"; }
  std::string description() const override { return "jinja2.utils.Joiner object"; }
  std::uint32_t depth() const override { return separator_.extent().depth + 1; }
  bool callable() const override { return true; }
  Value call(Runtime&, const CallArguments&) override {
    if (std::exchange(used_, true)) return separator_;
    return Value::text("");
  }

 private:
  Value separator_;
  bool used_ = false;
};

Value joiner(Runtime&, const CallArguments& arguments) {
  const BoundArguments bound("joiner", arguments, {"sep"}, 0);
  const Value separator = bound.get(0, Value::text(", "));
  return Value::object(std::make_shared<Joiner>(separator));
}

Value raise_exception(Runtime& runtime, const CallArguments& arguments) {
  const BoundArguments bound("raise_exception", arguments, {"message"}, 1);
  throw Fault(FaultKind::kTemplate, runtime.text(bound[0]));
}

std::string format_time(const std::string& format, std::time_t now) {
  std::tm local{};
  localtime_r(&now, &local);
  if (format.empty()) return {};
  constexpr size_t kMaxFormat = 1024;
  if (format.size() > kMaxFormat) throw Fault(FaultKind::kLimit, "time format is too long");
  std::array<char, kMaxFormat * 32> buffer;
  return std::string(buffer.data(), std::strftime(buffer.data(), buffer.size(), format.c_str(), &local));
}

}  // namespace

std::string Namespace::repr() const {
  // The attributes are copied out first: a namespace that holds itself must not recurse without end.
  std::string out = "<Namespace {";
  for (const auto& [name, value] : attributes_.entries()) {
    if (out.back() != '{') out += ", ";
    const bool nested = value.is(Kind::kObject) && value.as_object()->type_name() == "Namespace";
    out += repr_of(name, kMaxReprBytes) + ": " + (nested ? "<Namespace>" : repr_of(value, kMaxReprBytes));
  }
  return out + "}>";
}

Value Namespace::attribute(std::string_view name) {
  const Value* found = attributes_.find(name);
  return found ? *found : Value();
}

std::vector<std::pair<std::string, Value>> builtin_globals(std::time_t now) {
  const auto strftime_now = [now](Runtime& runtime, const CallArguments& arguments) {
    const BoundArguments bound("strftime_now", arguments, {"format"}, 1);
    return runtime.make_text(format_time(bound.text(0), now));
  };
  std::vector<std::pair<std::string, Value>> globals;
  const auto add = [&](const std::string& name, Function::Body body) {
    globals.emplace_back(name, Value::object(std::make_shared<Function>(name, std::move(body))));
  };
  add("range", range);
  add("dict", dict);
  add("namespace", make_namespace);
  add("cycler", cycler);
  add("joiner", joiner);
  add("raise_exception", raise_exception);
  add("strftime_now", strftime_now);
  return globals;
}

}  // namespace lanner::text::jinja
