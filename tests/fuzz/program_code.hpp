// Programs as short byte strings, for the fuzzer to change: every byte string decodes to a program whose counts are right and
// whose arrays, allocated to the byte, hold anything. Most numbers take one byte. Unlike a program file it can have null and
// misaligned arrays, sub-programs that contain themselves, and fields of a later version.
#pragma once

#include <thrt/abi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace thrt::fuzz {

// One byte below kWide stands for itself; kNegative: -1, which is THRT_NONE; kWide: eight bytes follow.
inline constexpr std::uint8_t kWide = 0xFD;
inline constexpr std::uint8_t kNegative = 0xFE;
inline constexpr std::size_t kMostPrograms = 40;  // deeper than a verifier allows, and wider than is needed

enum Oddity : std::uint8_t {
  kNullArray = 1,        // of the array that the next byte picks
  kMisalignedArray = 2,  // likewise
  kOddHead = 4,          // struct_size and op set follow
};

class ProgramDecoder {
 public:
  explicit ProgramDecoder(std::span<const std::uint8_t> bytes) : bytes_(bytes) {
    const std::size_t count = std::size_t{1} + byte() % kMostPrograms;
    for (std::size_t i = 0; i < count; ++i) heads_.push_back(allocate<std::byte>(kHeadBytes, alignof(thrt_program)));
    for (std::size_t i = 0; i < count; ++i) decode(i);
  }

  const thrt_program& program() const { return *head(0); }

 private:
  static constexpr std::size_t kHeadBytes = sizeof(thrt_program) + 64;

  struct Free {
    std::size_t alignment = 1;
    void operator()(std::byte* bytes) const { ::operator delete (bytes, std::align_val_t{alignment}); }
  };

  thrt_program* head(std::size_t i) const { return reinterpret_cast<thrt_program*>(heads_[i]); }

  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const std::uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }

  template <typename Number>
  Number number() {
    const std::uint8_t first = byte();
    if (first == kNegative) return static_cast<Number>(-1);
    if (first != kWide) return static_cast<Number>(first);
    std::uint64_t wide = 0;
    for (int i = 0; i < 8; ++i) wide |= std::uint64_t{byte()} << (8 * i);
    return static_cast<Number>(wide);
  }

  // Exactly as large as it must be, so that a sanitizer sees the first byte beyond. Never null.
  template <typename Element>
  Element* allocate(std::size_t count, std::size_t alignment) {
    const std::size_t bytes = count * sizeof(Element);
    auto* memory = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{alignment}));
    std::memset(memory, 0, bytes);
    storage_.emplace_back(memory, Free{alignment});
    return reinterpret_cast<Element*>(memory);
  }

  // At most as many as there are bytes left: each element takes at least one.
  std::uint32_t count() {
    const std::size_t wanted = number<std::uint16_t>();
    return static_cast<std::uint32_t>(wanted < bytes_.size() ? wanted : bytes_.size());
  }

  template <typename Element, typename Read>
  const Element* array(std::uint32_t count, Read&& read, std::size_t alignment = alignof(Element)) {
    auto* elements = allocate<Element>(count, alignment < 8 ? 8 : alignment);
    for (std::uint32_t i = 0; i < count; ++i) elements[i] = read();
    return elements;
  }

  thrt_value value() {
    thrt_value v{};
    v.dtype = number<std::uint32_t>();
    v.rank = number<std::uint32_t>();
    for (std::uint32_t d = 0; d < v.rank && d < THRT_MAX_RANK; ++d) v.dims[d] = number<std::int64_t>();
    if (v.rank > THRT_MAX_RANK) {  // then anything
      for (std::int64_t& dim : v.dims) dim = number<std::int64_t>();
      v.rank %= 2 * THRT_MAX_RANK;
      v.reserved = number<std::uint64_t>();
    }
    return v;
  }

  thrt_op op() {
    thrt_op o{};
    for (std::uint32_t* field :
         {&o.kind, &o.version, &o.first_operand, &o.operand_count, &o.first_result, &o.result_count, &o.first_attribute,
          &o.attribute_count, &o.subprogram, &o.group, &o.location, &o.reserved}) {
      *field = number<std::uint32_t>();
    }
    return o;
  }

  void decode(std::size_t index) {
    thrt_program& p = *head(index);
    const std::uint8_t oddities = byte();
    p.struct_size = sizeof(thrt_program);
    p.opset = THRT_OPSET;
    if ((oddities & kOddHead) != 0) {
      p.struct_size = number<std::uint32_t>();
      if (p.struct_size > kHeadBytes) p.struct_size %= kHeadBytes;  // the host has as many bytes as it says
      p.opset = number<std::uint32_t>();
      auto* later = reinterpret_cast<std::byte*>(&p) + sizeof p;
      for (std::size_t i = 0; i < 64; i += 8) later[i] = std::byte{byte()};
    }
    p.name = number<std::uint32_t>();
    p.value_count = count();
    p.values = array<thrt_value>(p.value_count, [&] { return value(); });
    p.op_count = count();
    p.ops = array<thrt_op>(p.op_count, [&] { return op(); });
    p.slot_count = count();
    p.slots = array<thrt_slot>(p.slot_count, [&] {
      const auto name = number<std::uint32_t>(), in = number<std::uint32_t>(), out = number<std::uint32_t>();
      return thrt_slot{name, in, out, number<std::uint32_t>()};
    });
    p.operand_count = count();
    p.operands = array<std::uint32_t>(p.operand_count, [&] { return number<std::uint32_t>(); });
    p.attribute_count = count();
    p.attributes = array<std::int64_t>(p.attribute_count, [&] { return number<std::int64_t>(); });
    p.group_count = count();
    p.groups = array<thrt_group>(p.group_count, [&] {
      const auto name = number<std::uint32_t>();
      return thrt_group{name, number<std::uint32_t>()};
    });
    const std::uint32_t strings = count(), constants = count();
    p.string_bytes = strings;
    p.strings = array<char>(strings, [&] { return static_cast<char>(byte()); });
    p.constant_bytes = constants;
    p.constants = array<std::uint8_t>(
        constants, [&] { return byte(); }, 64);
    p.subprogram_count = count();
    p.subprograms = array<const thrt_program*>(p.subprogram_count, [&]() -> const thrt_program* {
      const auto which = number<std::uint32_t>();
      return which == THRT_NONE ? nullptr : head(which % heads_.size());
    });
    make_odd(p, oddities);
  }

  template <typename Pointer>
  static void spoil(Pointer& pointer, std::uint8_t oddities) {
    if ((oddities & kNullArray) != 0) {
      pointer = nullptr;
    } else {
      pointer = reinterpret_cast<Pointer>(reinterpret_cast<std::uintptr_t>(pointer) + 1);  // an address, never read
    }
  }

  void make_odd(thrt_program& p, std::uint8_t oddities) {
    if ((oddities & (kNullArray | kMisalignedArray)) == 0) return;
    switch (byte() % 9) {
      case 0:
        return spoil(p.values, oddities);
      case 1:
        return spoil(p.ops, oddities);
      case 2:
        return spoil(p.slots, oddities);
      case 3:
        return spoil(p.operands, oddities);
      case 4:
        return spoil(p.attributes, oddities);
      case 5:
        return spoil(p.groups, oddities);
      case 6:
        return spoil(p.constants, oddities);
      case 7:
        return spoil(p.subprograms, oddities);
      default:
        p.strings = (oddities & kNullArray) != 0 ? nullptr : p.strings;
        return;
    }
  }

  std::span<const std::uint8_t> bytes_;
  std::deque<std::unique_ptr<std::byte, Free>> storage_;
  std::vector<std::byte*> heads_;
};

// The inverse, for seeds: a program and its sub-programs, without oddities.
class ProgramEncoder {
 public:
  explicit ProgramEncoder(const thrt_program& program) {
    list(program);
    bytes_.push_back(static_cast<char>(programs_.size() - 1));
    for (std::size_t i = 0; i < programs_.size(); ++i) encode(*programs_[i], subprograms_[i]);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::size_t list(const thrt_program& program) {
    const std::size_t index = programs_.size();
    programs_.push_back(&program);
    subprograms_.emplace_back();
    for (std::uint32_t i = 0; i < program.subprogram_count; ++i) {
      const std::size_t inner = list(*program.subprograms[i]);
      subprograms_[index].push_back(inner);
    }
    return index;
  }

  void number(std::uint64_t value, std::uint64_t none = UINT64_MAX) {
    if (value < kWide) {
      bytes_.push_back(static_cast<char>(value));
    } else if (value == none) {
      bytes_.push_back(static_cast<char>(kNegative));
    } else {
      bytes_.push_back(static_cast<char>(kWide));
      for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i)));
    }
  }
  void number32(std::uint32_t value) { number(value, THRT_NONE); }

  void encode(const thrt_program& p, const std::vector<std::size_t>& subprograms) {
    bytes_.push_back(0);
    number32(p.name);
    number(p.value_count);
    for (std::uint32_t v = 0; v < p.value_count; ++v) {
      number(p.values[v].dtype);
      number(p.values[v].rank);
      for (std::uint32_t d = 0; d < p.values[v].rank; ++d) number(static_cast<std::uint64_t>(p.values[v].dims[d]));
    }
    number(p.op_count);
    for (std::uint32_t i = 0; i < p.op_count; ++i) {
      const thrt_op& o = p.ops[i];
      for (const std::uint32_t field :
           {o.kind, o.version, o.first_operand, o.operand_count, o.first_result, o.result_count, o.first_attribute,
            o.attribute_count, o.subprogram, o.group, o.location, o.reserved}) {
        number32(field);
      }
    }
    number(p.slot_count);
    for (std::uint32_t s = 0; s < p.slot_count; ++s) {
      for (const std::uint32_t field : {p.slots[s].name, p.slots[s].input_value, p.slots[s].output_value, 0u})
        number32(field);
    }
    number(p.operand_count);
    for (std::uint32_t i = 0; i < p.operand_count; ++i) number32(p.operands[i]);
    number(p.attribute_count);
    for (std::uint32_t i = 0; i < p.attribute_count; ++i) number(static_cast<std::uint64_t>(p.attributes[i]));
    number(p.group_count);
    for (std::uint32_t g = 0; g < p.group_count; ++g) {
      number32(p.groups[g].name);
      number32(p.groups[g].parent);
    }
    number(p.string_bytes);
    number(p.constant_bytes);
    bytes_.append(p.strings, p.string_bytes);
    if (p.constant_bytes > 0) bytes_.append(reinterpret_cast<const char*>(p.constants), p.constant_bytes);
    number(subprograms.size());
    for (const std::size_t inner : subprograms) number(inner);
  }

  std::vector<const thrt_program*> programs_;
  std::vector<std::vector<std::size_t>> subprograms_;
  std::string bytes_;
};

}  // namespace thrt::fuzz
