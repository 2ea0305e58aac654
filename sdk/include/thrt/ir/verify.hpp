// Refuses a malformed program, whatever its arrays hold: indices, counts, types, shapes, attributes, order, aliases.
// After verify() every index may be used without looking. It reads nothing outside the arrays, whose lengths it has to
// believe.
//
// Beyond abi.h's text, so that hostile programs end soon, here and in whatever walks through them later: at most 16
// sub-programs deep, 2^22 ops, 2^60 bytes of values and 2^26 entries of all arrays in all, a sub-program counted as often as
// it is used.
#pragma once

#include <thrt/abi.h>
#include <thrt/ir/ops.hpp>
#include <thrt/ir/opset.hpp>
#include <thrt/ir/rules.hpp>
#include <thrt/ir/type.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace thrt::ir {

inline constexpr int kMostProgramDepth = 16;
inline constexpr std::uint32_t kMostProgramOps = 1u << 22;
inline constexpr std::uint64_t kMostProgramBytes = std::uint64_t{1} << 60;
inline constexpr std::uint64_t kMostProgramEntries = std::uint64_t{1} << 26;

// What verify() throws. `op` in abi.h's numbering, `value` of the (sub-)program that it is in; THRT_NONE where none is to
// blame.
class ProgramError : public RuleError {
 public:
  enum class Kind : std::uint8_t {
    kMalformed,
    kNewer,  // another op set, or a field that is not known here: a newer reader may take it
  };
  ProgramError(Kind kind, const std::string& message, std::uint32_t op, std::uint32_t value)
      : RuleError(message), kind_(kind), op_(op), value_(value) {}

  Kind kind() const { return kind_; }
  std::uint32_t op() const { return op_; }
  std::uint32_t value() const { return value_; }

 private:
  Kind kind_;
  std::uint32_t op_;
  std::uint32_t value_;
};

namespace detail {

class Verifier {
 public:
  void run(const thrt_program& program) { Level(*this, program, 0).run(); }

 private:
  // Of what was seen so far, sub-programs included.
  struct Total {
    std::uint64_t ops = 0;
    std::uint64_t bytes = 0;    // of values
    std::uint64_t entries = 0;  // of arrays; 64 bytes of a constant and 16 of a string are one more
  };
  // A sub-program that was found right.
  struct Body {
    Total total;
    int height = 0;  // 0: without sub-programs
    std::vector<Type> inputs;
    std::vector<Type> outputs;
  };

  Total total_;
  std::unordered_map<const thrt_program*, Body> bodies_;

  // One program or sub-program.
  class Level {
   public:
    Level(Verifier& whole, const thrt_program& program, int depth) : whole_(whole), p_(program), depth_(depth) {}

    void run() {
      check_header();
      check_arrays();
      check_strings();
      check_values();
      check_groups();
      check_slots();
      for (std::uint32_t i = 0; i < p_.op_count; ++i) check_op(i);
      check_all_defined();
      check_all_used();
    }

    int height() const { return height_; }

    // The types that a repeat must match; of a level that ran.
    std::vector<Type> slot_types(bool written_only) const {
      std::vector<Type> types;
      for (std::uint32_t s = 0; s < p_.slot_count; ++s) {
        const bool written = p_.slots[s].output_value != THRT_NONE;
        if (!written_only || written) {
          types.push_back(types_[written ? p_.slots[s].output_value : p_.slots[s].input_value]);
        }
      }
      return types;
    }

   private:
    [[noreturn]] void fail(const std::string& message, std::uint32_t value = THRT_NONE) const {
      throw ProgramError(ProgramError::Kind::kMalformed, where_ + message, op_, value);
    }
    void require(bool condition, const char* message, std::uint32_t value = THRT_NONE) const {
      if (!condition) fail(message, value);
    }
    static bool in_range(std::uint64_t first, std::uint64_t count, std::uint64_t size) {
      return first <= size && count <= size - first;
    }

    [[noreturn]] void fail_as_newer(const std::string& message) const {
      throw ProgramError(ProgramError::Kind::kNewer, where_ + message, op_, THRT_NONE);
    }

    void count(std::uint64_t ops, std::uint64_t bytes, std::uint64_t entries) const {
      Total& total = whole_.total_;
      total.ops += ops;
      total.bytes += bytes;
      total.entries += entries;
      require(total.ops <= kMostProgramOps, "the program has too many ops");
      require(total.bytes <= kMostProgramBytes, "the program's values are larger than any machine");
      require(total.entries <= kMostProgramEntries, "the program has too many entries");
    }
    std::uint64_t string_entries(std::uint32_t offset) const { return std::strlen(p_.strings + offset) / 16; }

    void check_header() {
      constexpr std::uint32_t kMostStructBytes = 1u << 16;  // no struct of this ABI comes near
      constexpr std::uint32_t kSizeV1 = 144;                // a later field is read only where struct_size covers it
      static_assert(sizeof(thrt_program) >= kSizeV1);
      const std::uint32_t size = p_.struct_size;
      require(size >= kSizeV1 && size <= kMostStructBytes, "the program's struct_size is wrong");
      const auto* bytes = reinterpret_cast<const unsigned char*>(&p_);
      for (std::size_t at = sizeof(thrt_program); at < size; ++at) {
        if (bytes[at] == 0) continue;
        fail_as_newer("thrt_program sets a field at byte " + std::to_string(at) + " that ABI " +
                      std::to_string(THRT_ABI_MAJOR) + "." + std::to_string(THRT_ABI_MINOR) +
                      " does not know; upgrade the backend, or whatever reads it");
      }
      if (p_.opset < kOldestOpset || p_.opset > THRT_OPSET) {
        fail_as_newer("the program is written in op set " + std::to_string(p_.opset) + "; understood are " +
                      std::to_string(kOldestOpset) + " to " + std::to_string(THRT_OPSET) +
                      (p_.opset > THRT_OPSET ? "; upgrade the backend, or whatever reads it" : ""));
      }
    }

    template <typename Element>
    void check_array(const Element* array, std::uint64_t count, const char* name,
                     std::size_t alignment = alignof(Element)) {
      if (count == 0) return;
      if (array == nullptr) fail(std::string("the program's ") + name + " are null but counted");
      if (reinterpret_cast<std::uintptr_t>(array) % alignment != 0) {
        fail(std::string("the program's ") + name + " are not aligned");
      }
    }

    void check_arrays() {
      check_array(p_.values, p_.value_count, "values");
      check_array(p_.ops, p_.op_count, "ops");
      check_array(p_.slots, p_.slot_count, "slots");
      check_array(p_.operands, p_.operand_count, "operands");
      check_array(p_.attributes, p_.attribute_count, "attributes");
      check_array(p_.constants, p_.constant_bytes, "constants", 64);
      check_array(p_.strings, p_.string_bytes, "strings");
      check_array(p_.groups, p_.group_count, "groups");
      check_array(p_.subprograms, p_.subprogram_count, "sub-programs");
      for (std::uint32_t i = 0; i < p_.subprogram_count; ++i) {
        require(p_.subprograms[i] != nullptr, "a sub-program is null");
        require(reinterpret_cast<std::uintptr_t>(p_.subprograms[i]) % alignof(thrt_program) == 0,
                "a sub-program is not aligned");
      }
      used_subprograms_.assign(p_.subprogram_count, false);
    }

    // With a NUL first and last, every offset inside is a terminated string.
    void check_strings() {
      require(p_.string_bytes >= 1 && p_.strings[0] == '\0', "the program's strings do not start with the empty one");
      require(p_.strings[p_.string_bytes - 1] == '\0', "the program's strings do not end with a NUL");
      require(p_.name < p_.string_bytes, "the program's name is out of range");
    }

    void check_values() {
      types_.reserve(p_.value_count);
      for (std::uint32_t v = 0; v < p_.value_count; ++v) {
        try {
          types_.push_back(type_of(p_.values[v]));
        } catch (const RuleError& error) {
          fail("value " + std::to_string(v) + ": " + error.what(), v);
        }
        count(0, types_.back().bytes() + 64, 1);
      }
      defined_.assign(p_.value_count, false);
    }

    void check_groups() {
      for (std::uint32_t g = 0; g < p_.group_count; ++g) {
        require(p_.groups[g].name < p_.string_bytes, "a group's name is out of range");
        count(0, 0, 1 + string_entries(p_.groups[g].name));
        require(p_.groups[g].parent == THRT_NONE || p_.groups[g].parent < p_.group_count,
                "a group's parent is out of range");
      }
      // Every chain of parents ends: mark what was seen on the way to a known end.
      enum : std::uint8_t { kUnknown, kOnTheWay, kEnds };
      std::vector<std::uint8_t> state(p_.group_count, kUnknown);
      for (std::uint32_t g = 0; g < p_.group_count; ++g) {
        std::uint32_t at = g;
        for (; at != THRT_NONE && state[at] == kUnknown; at = p_.groups[at].parent) state[at] = kOnTheWay;
        require(at == THRT_NONE || state[at] == kEnds, "a group is its own ancestor");
        for (at = g; at != THRT_NONE && state[at] == kOnTheWay; at = p_.groups[at].parent) state[at] = kEnds;
      }
    }

    void define(std::uint32_t value) {
      if (defined_[value]) fail("value " + std::to_string(value) + " is defined twice", value);
      defined_[value] = true;
    }

    void check_slots() {
      std::unordered_map<std::string_view, std::uint32_t> names;
      for (std::uint32_t s = 0; s < p_.slot_count; ++s) {
        const thrt_slot& slot = p_.slots[s];
        const std::string which = "slot " + std::to_string(s) + ": ";
        if (slot.name >= p_.string_bytes) fail(which + "its name is out of range");
        if (slot.reserved != 0) fail(which + "a reserved field is not zero");
        count(0, 0, 1 + string_entries(slot.name));
        const auto [other, is_new] = names.emplace(p_.strings + slot.name, s);
        if (!is_new) fail(which + "it has the name of slot " + std::to_string(other->second));
        const std::uint32_t in = slot.input_value, out = slot.output_value;
        if (in == THRT_NONE && out == THRT_NONE) fail(which + "it is neither read nor written");
        for (const std::uint32_t value : {in, out}) {
          if (value != THRT_NONE && value >= p_.value_count) {
            fail(which + "value " + std::to_string(value) + " is out of range");
          }
        }
        if (in != THRT_NONE && out != THRT_NONE && !(types_[in] == types_[out])) {
          fail(which + "its state goes in as " + types_[in].str() + " and out as " + types_[out].str(), out);
        }
        if (in != THRT_NONE) define(in);
      }
    }

    void check_op(std::uint32_t index) {
      const thrt_op& op = p_.ops[index];
      op_ = static_cast<std::uint32_t>(whole_.total_.ops);
      where_ = "op " + std::to_string(op_) + ": ";
      count(1, 0, 1);
      const OpInfo* info = find_op(op.kind);
      if (info == nullptr) fail("kind " + std::to_string(op.kind) + " is no op of the op set");
      where_ = "op " + std::to_string(op_) + " (" + std::string(info->name) + "): ";
      require(op_since(info->kind) <= p_.opset, "it is of a later op set than the program");
      check_op_fields(op, *info);
      for (std::uint32_t i = 0; i < op.operand_count; ++i) {
        const std::uint32_t value = p_.operands[op.first_operand + i];
        if (value >= p_.value_count) fail("operand " + std::to_string(i) + " is out of range", value);
        if (!defined_[value]) fail("operand " + std::to_string(i) + " is used before it is defined", value);
      }
      check_types(op, *info);
      for (std::uint32_t i = 0; i < op.result_count; ++i) define(op.first_result + i);
      op_ = THRT_NONE;
      where_.clear();
    }

    void check_op_fields(const thrt_op& op, const OpInfo& info) {
      if (op.version != info.version) {
        fail("version " + std::to_string(op.version) + " is not known; understood is " + std::to_string(info.version));
      }
      require(in_range(op.first_operand, op.operand_count, p_.operand_count), "its operands are out of range");
      require(in_range(op.first_result, op.result_count, p_.value_count), "its results are out of range");
      require(in_range(op.first_attribute, op.attribute_count, p_.attribute_count), "its attributes are out of range");
      require(op.group == THRT_NONE || op.group < p_.group_count, "its group is out of range");
      require(op.location < p_.string_bytes, "its location is out of range");
      count(0, 0, std::uint64_t{op.operand_count} + op.attribute_count + string_entries(op.location));
      require(op.reserved == 0, "a reserved field is not zero");
      require(op.operand_count >= info.min_operands && op.operand_count <= info.max_operands,
              "it has the wrong number of operands");
      require(op.result_count >= 1 && (info.results == kAnyCount || op.result_count == info.results),
              "it has the wrong number of results");
      if (info.rule == Rule::kRepeat) {
        require(op.subprogram < p_.subprogram_count, "its sub-program is out of range");
        used_subprograms_[op.subprogram] = true;
      } else {
        require(op.subprogram == THRT_NONE, "only repeat has a sub-program");
      }
    }

    void check_types(const thrt_op& op, const OpInfo& info) {
      std::vector<Type> operands;
      operands.reserve(op.operand_count);
      for (std::uint32_t i = 0; i < op.operand_count; ++i) {
        operands.push_back(types_[p_.operands[op.first_operand + i]]);
      }
      OpSignature signature{info.kind, operands, attributes_of(op), &types_[op.first_result]};
      if (info.rule == Rule::kRepeat) {
        require(op.attribute_count == 2, "it has the wrong number of attributes");
        const thrt_program& program = *p_.subprograms[op.subprogram];
        const Body& body = verified(program);
        require_body_layout(program, op.operand_count, p_.attributes[op.first_attribute + 1]);
        signature.body_inputs = body.inputs;
        signature.body_outputs = body.outputs;
      }
      if (info.rule == Rule::kConstant) check_constant(op);
      compare_results(op, signature);
    }

    // Looked through once, counted at every use.
    const Body& verified(const thrt_program& program) {
      require(depth_ + 1 < kMostProgramDepth, "sub-programs are nested too deep");
      const auto known = whole_.bodies_.find(&program);
      if (known != whole_.bodies_.end()) {
        const Body& body = known->second;
        require(depth_ + 1 + body.height < kMostProgramDepth, "sub-programs are nested too deep");
        count(body.total.ops, body.total.bytes, body.total.entries);
        height_ = std::max(height_, body.height + 1);
        return body;
      }
      const Total before = whole_.total_;
      Level level(whole_, program, depth_ + 1);
      level.run();
      const Total& after = whole_.total_;
      const Total total{after.ops - before.ops, after.bytes - before.bytes, after.entries - before.entries};
      height_ = std::max(height_, level.height() + 1);
      return whole_.bodies_
          .emplace(&program, Body{total, level.height(), level.slot_types(false), level.slot_types(true)})
          .first->second;
    }

    std::span<const std::int64_t> attributes_of(const thrt_op& op) const {
      if (op.attribute_count == 0) return {};
      return {p_.attributes + op.first_attribute, op.attribute_count};
    }

    void check_constant(const thrt_op& op) const {
      require(op.attribute_count == 1, "it has the wrong number of attributes");
      const std::int64_t offset = p_.attributes[op.first_attribute];
      require(offset >= 0 && offset % 64 == 0, "its offset is not a multiple of 64");
      require(in_range(static_cast<std::uint64_t>(offset), types_[op.first_result].bytes(), p_.constant_bytes),
              "its bytes are outside the program's constants");
      count(0, 0, types_[op.first_result].bytes() / 64);
    }

    // Slot 0 is the iteration, then `carried` states, then what stays: all are read, the states alone written.
    void require_body_layout(const thrt_program& body, std::uint32_t operand_count, std::int64_t carried) const {
      require(body.slot_count == std::uint64_t{operand_count} + 1, "its sub-program's slots do not match its operands");
      for (std::uint32_t s = 0; s < body.slot_count; ++s) {
        require(body.slots[s].input_value != THRT_NONE, "a slot of its sub-program is not read");
        require((body.slots[s].output_value != THRT_NONE) == (s >= 1 && s <= carried),
                "its sub-program writes other slots than the carried ones");
      }
    }

    void compare_results(const thrt_op& op, const OpSignature& signature) const {
      std::vector<Type> inferred;
      try {
        inferred = infer(signature);
      } catch (const RuleError& error) {
        throw ProgramError(ProgramError::Kind::kMalformed, "op " + std::to_string(op_) + ": " + error.what(), op_,
                           THRT_NONE);
      }
      require(inferred.size() == op.result_count, "it has the wrong number of results");
      for (std::uint32_t i = 0; i < op.result_count; ++i) {
        const Type& declared = types_[op.first_result + i];
        if (!(declared == inferred[i])) {
          fail("its result is declared as " + declared.str() + " but is " + inferred[i].str(), op.first_result + i);
        }
      }
    }

    void check_all_defined() const {
      for (std::uint32_t v = 0; v < p_.value_count; ++v) {
        if (!defined_[v]) fail("value " + std::to_string(v) + " is never defined", v);
      }
    }

    void check_all_used() const {
      for (std::uint32_t i = 0; i < p_.subprogram_count; ++i) {
        require(used_subprograms_[i], "a sub-program belongs to no op");
      }
    }

    Verifier& whole_;
    const thrt_program& p_;
    int depth_;
    std::vector<Type> types_;
    std::vector<bool> defined_;
    std::vector<bool> used_subprograms_;
    int height_ = 0;
    std::uint32_t op_ = THRT_NONE;  // the op that is looked at
    std::string where_;             // "op 3 (matmul): "
  };
};

}  // namespace detail

// Throws ProgramError.
inline void verify(const thrt_program& program) {
  detail::Verifier().run(program);
}

}  // namespace thrt::ir
