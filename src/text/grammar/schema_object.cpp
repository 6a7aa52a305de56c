// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "io/message_text.h"
#include "text/gemma4_output_arguments.h"
#include "text/grammar/regex.h"
#include "text/grammar/schema_compiler.h"

namespace lanner::text::grammar {

namespace {

/// Rules that an object with counted, partly optional properties may need.
constexpr std::size_t kMaxMemberRules = 100'000;

}  // namespace

/// Writes one object: declared properties in order, then those of patterns, then additional ones.
class ObjectCompiler {
 public:
  ObjectCompiler(SchemaCompiler& compiler, const SchemaFacts& facts, int depth)
      : compiler_(compiler),
        document_(compiler.document_),
        source_(compiler.source_),
        text_(compiler.text_),
        facts_(facts),
        depth_(depth) {}

  std::vector<SchemaCompiler::Property> properties() {
    collect_names();
    const std::set<std::string_view> required_names(facts_.required.begin(), facts_.required.end());
    std::vector<SchemaCompiler::Property> result;
    for (const std::string& name : names_) {
      const bool required = required_names.contains(name);
      std::optional<Conjunction> schemas = name_allowed(name) ? schemas_of(name) : std::nullopt;
      if (required || schemas) result.push_back({name, std::move(schemas), required});
    }
    return result;
  }

  std::optional<Conjunction> additional() {
    Conjunction schemas;
    if (facts_.closed || !add_additional(schemas, nullptr)) return std::nullopt;
    return schemas;
  }

  ExprId write() {
    add_declared();
    add_extra();
    max_ = facts_.max_properties;
    min_ = facts_.min_properties;
    if (members_.empty() && !extra_) max_ = 0;
    const bool may_be_empty =
        min_ == 0 && std::ranges::none_of(members_, [](const Member& member) { return member.required; });
    std::vector<ExprId> ways;
    if (may_be_empty) ways.push_back(text_.enclosed("{", std::nullopt, "}", depth_));
    if (max_ > 0) ways.push_back(text_.enclosed("{", reference({.index = 0}), "}", depth_));
    while (!open_.empty()) define_next();
    return source_.choice(std::move(ways));
  }

 private:
  struct Member {
    ExprId text = 0;  ///< Key, colon and value.
    bool required = false;
  };

  void collect_names() {
    std::set<std::string> known;
    const auto add = [&](const std::string& name) {
      if (known.insert(name).second) names_.push_back(name);
    };
    for (const OrderedJson* object : facts_.objects)
      if (const OrderedJson* properties = document_.find_object(*object, "properties"))
        for (auto it = properties->begin(); it != properties->end(); ++it) {
          document_.work().take(kPartWork + it.key().size());
          add(it.key());
          declared_[object].emplace(it.key(), &it.value());
        }
    document_.work().take(kPartWork * facts_.required.size());
    for (const std::string& name : facts_.required) add(name);
  }

  bool pattern_matches(const OrderedJson& object, const std::string& expression, const std::string& name) {
    std::shared_ptr<const Grammar>& grammar = patterns_[expression];
    if (grammar == nullptr) {
      GrammarSource source(source_.work());
      const ExprId root =
          parse_search_regex(source, expression, document_.place(object, "patternProperties"), write_plain);
      grammar = text_grammar(std::move(source), root);
    }
    return grammar != nullptr && grammar->accepts(name, document_.work());
  }

  /// What all schemas ask of the property; nothing when one forbids it.
  std::optional<Conjunction> schemas_of(const std::string& name) {
    Conjunction result;
    const auto add = [&](const OrderedJson& schema) {
      if (std::ranges::find(result, &schema) == result.end()) result.push_back(&schema);
    };
    bool declared_anywhere = false;
    for (const OrderedJson* object : facts_.objects) {
      document_.work().take(kPartWork + object->size() + result.size());
      bool declared = false;
      const auto& known = declared_[object];
      if (const auto it = known.find(name); it != known.end()) {
        add(*it->second);
        declared = true;
      }
      if (const OrderedJson* patterns = document_.find_object(*object, "patternProperties"))
        for (auto it = patterns->begin(); it != patterns->end(); ++it) {
          document_.work().take(kPartWork + it.key().size() + result.size());
          if (pattern_matches(*object, it.key(), name)) {
            add(it.value());
            declared = true;
          }
        }
      declared_anywhere = declared_anywhere || declared;
      if (declared) continue;
      if (const OrderedJson* additional = document_.find(*object, "additionalProperties")) add(*additional);
    }
    if (facts_.closed && !declared_anywhere) return std::nullopt;
    if (std::ranges::any_of(result, [](const OrderedJson* schema) { return *schema == false; }))
      return std::nullopt;
    return result;
  }

  bool name_allowed(const std::string& name) {
    if (facts_.property_names.empty()) return true;
    if (!names_tried_) {
      names_tried_ = true;
      GrammarSource source(source_.work());
      SchemaCompiler compiler(document_, source, {.whitespace = JsonWhitespace::kCompact});
      const ExprId root = compiler.string_body(facts_.property_names);
      allowed_names_ = text_grammar(std::move(source), root);
    }
    return allowed_names_ != nullptr && allowed_names_->accepts(printed_string(name), document_.work());
  }

  void add_declared() {
    for (const SchemaCompiler::Property& property : properties()) {
      document_.work().take(property.name.size());
      if (text_.spelling().quote_marker && !Gemma4Arguments::carries_key(property.name))
        document_.fail(
            facts_.objects.empty() ? document_.root() : *facts_.objects.front(), "properties",
            fmt::format("the name {} cannot be written in this model's calls", io::in_quotes(property.name)),
            ErrorKind::kUnsupported);
      const ExprId value =
          property.schemas ? compiler_.value(*property.schemas, depth_ + 1) : source_.nothing();
      members_.push_back(
          {source_.sequence({text_.key(property.name), text_.colon(depth_), value}), property.required});
      if (property.required) all_required_before_ = members_.size();
    }
  }

  struct PatternUse {
    const OrderedJson* object;
    const std::string* expression;
    const OrderedJson* schema;
  };

  /// Any number of properties that no "properties" declares.
  void add_extra() {
    std::vector<PatternUse> patterns;
    for (const OrderedJson* object : facts_.objects)
      if (const OrderedJson* properties = document_.find_object(*object, "patternProperties"))
        for (auto it = properties->begin(); it != properties->end(); ++it)
          patterns.push_back({object, &it.key(), &it.value()});
    std::vector<ExprId> ways;
    for (const PatternUse& use : patterns) {
      Conjunction schemas{use.schema};
      if (!add_additional(schemas, use.object)) continue;
      add_extra_way(ways, &use, patterns, schemas);
    }
    Conjunction schemas;
    if (!facts_.closed && add_additional(schemas, nullptr)) add_extra_way(ways, nullptr, patterns, schemas);
    if (ways.empty()) return;
    extra_ = source_.add_and_reference("additional property", source_.choice(std::move(ways)));
  }

  /// Adds what the objects but `except` ask of additional properties; false when one forbids them.
  bool add_additional(Conjunction& schemas, const OrderedJson* except) {
    for (const OrderedJson* object : facts_.objects) {
      document_.work().take(object->size() + schemas.size());
      const OrderedJson* additional =
          object == except ? nullptr : document_.find(*object, "additionalProperties");
      if (additional == nullptr && object != except && object->contains("properties") &&
          document_.options().open_objects == OpenObjects::kForbidden)
        return false;
      if (additional == nullptr || *additional == true) continue;
      if (*additional == false) return false;
      if (std::ranges::find(schemas, additional) == schemas.end()) schemas.push_back(additional);
    }
    return std::ranges::none_of(schemas, [](const OrderedJson* schema) { return *schema == false; });
  }

  /// Keys of one pattern (or of none), which match no other pattern and no declared name.
  void add_extra_way(std::vector<ExprId>& ways, const PatternUse* own,
                     const std::vector<PatternUse>& patterns, const Conjunction& schemas) {
    std::vector<ExprId> rules;
    if (own != nullptr)
      rules.push_back(compiler_.pattern(*own->object, "patternProperties", *own->expression));
    if (!facts_.property_names.empty()) rules.push_back(compiler_.string_body(facts_.property_names));
    if (rules.empty() || text_.spelling().quote_marker) rules.push_back(text_.any_key_body());
    std::vector<std::string> printed;
    for (const std::string& name : names_) {
      document_.work().take(kPartWork + name.size());
      printed.push_back(text_.printed(name));
    }
    if (!printed.empty()) rules.push_back(source_.complement(source_.literals(std::move(printed))));
    for (const PatternUse& other : patterns)
      if (own == nullptr || (&other != own && *other.expression != *own->expression))
        rules.push_back(
            source_.complement(compiler_.pattern(*other.object, "patternProperties", *other.expression)));
    const bool plain = own == nullptr && rules.size() == 1 && facts_.property_names.empty();
    const ExprId key = plain ? text_.any_key()
                             : source_.add_and_reference("key", text_.key_of(source_.both(std::move(rules))));
    ways.push_back(source_.sequence({key, text_.colon(depth_), compiler_.value(schemas, depth_ + 1)}));
  }

  /// A place in an object: `count` members are written, those from `index` on may come. After a member,
  /// either the object ends or a comma and one more member come; else the member comes at once.
  struct Place {
    std::size_t index = 0;
    std::uint32_t count = 0;
    bool after_member = false;
    friend auto operator<=>(const Place&, const Place&) = default;
  };

  /// The rule for what comes at a place. Counts beyond what bounds ask are alike.
  ExprId reference(Place place) {
    place.count = std::min(place.count, max_ != kUnbounded ? max_ : min_);
    const auto [known, added] = rules_.try_emplace(place);
    if (added) {
      if (rules_.size() > kMaxMemberRules)
        throw GrammarLimit(fmt::format("{}: too many ways to count its properties",
                                       document_.place(*facts_.objects.front())));
      known->second = source_.add_rule("members");
      open_.push_back(place);
    }
    return source_.rule(known->second);
  }

  void define_next() {
    const Place place = open_.back();
    open_.pop_back();
    source_.define(rules_.at(place), place.after_member ? after_member(place) : member(place));
  }

  ExprId member(const Place& at) {
    if (at.index == members_.size()) return extra(at.count);
    const Member& member = members_[at.index];
    std::vector<ExprId> ways{source_.sequence(
        {member.text, reference({.index = at.index + 1, .count = at.count + 1, .after_member = true})})};
    if (!member.required) ways.push_back(reference({.index = at.index + 1, .count = at.count}));
    return source_.choice(std::move(ways));
  }

  ExprId after_member(const Place& at) {
    std::vector<ExprId> ways;
    if (at.index >= all_required_before_ && at.count >= min_) ways.push_back(source_.empty());
    const bool more = at.index < members_.size() || extra_;
    if (more && (max_ == kUnbounded || at.count < max_))
      ways.push_back(
          source_.sequence({text_.comma(depth_), reference({.index = at.index, .count = at.count})}));
    return source_.choice(std::move(ways));
  }

  /// One additional property and more.
  ExprId extra(std::uint32_t count) {
    if (!extra_) return source_.nothing();
    const std::uint32_t min = min_ > count + 1 ? min_ - count - 1 : 0;
    const std::uint32_t max = max_ == kUnbounded ? kUnbounded : max_ - count - 1;
    return source_.sequence(
        {*extra_, source_.repeat(source_.sequence({text_.comma(depth_), *extra_}), min, max)});
  }

  SchemaCompiler& compiler_;
  const SchemaDocument& document_;
  GrammarSource& source_;
  JsonText& text_;
  const SchemaFacts& facts_;
  int depth_;
  std::vector<std::string> names_;
  std::map<const OrderedJson*, std::map<std::string_view, const OrderedJson*>> declared_;  ///< By object.
  std::vector<Member> members_;
  std::optional<ExprId> extra_;
  std::uint32_t min_ = 0, max_ = kUnbounded;
  std::map<std::string, std::shared_ptr<const Grammar>> patterns_;
  bool names_tried_ = false;
  std::shared_ptr<const Grammar> allowed_names_;
  std::size_t all_required_before_ = 0;  ///< No member from there on is required.
  std::map<Place, RuleId> rules_;
  std::vector<Place> open_;  ///< Rules without a definition.
};

std::vector<SchemaCompiler::Property> SchemaCompiler::properties(const SchemaFacts& facts) {
  return ObjectCompiler(*this, facts, 0).properties();
}

std::optional<Conjunction> SchemaCompiler::additional(const SchemaFacts& facts) {
  return ObjectCompiler(*this, facts, 0).additional();
}

ExprId SchemaCompiler::object(const SchemaFacts& facts, int depth) {
  if (facts.objects.empty() && facts.required.empty() && facts.property_names.empty() && !facts.closed &&
      facts.min_properties == 0 && facts.max_properties == kUnbounded)
    return text_.any_object(depth);
  return ObjectCompiler(*this, facts, depth).write();
}

}  // namespace lanner::text::grammar
