// What one kernel does, before it has a name and a head, and how one or several such parts become a kernel.
//
// Parts share a kernel when none of them needs what another computes: each gets work-groups of its own, so that many small pieces of
// work cost one launch. In a part's body a '@' stands before the names of its arguments (@a0, @y0) and of its group memory (@s0);
// the same name means something else in another part.
//
// A body is written for
//   - one work-item: `i` of the index type is its number, 0 <= i < work_items; or
//   - a work-group (Part::groups > 0): `group` (u32) is its number in the part, `item` (u32) that of the work-item in it,
//     and all work-items of the group come to every barrier.
#pragma once

#include <thrt/emit/dialect.hpp>
#include <thrt/emit/plan.hpp>
#include <thrt/emit/scalar.hpp>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace thrt::emit {

struct Part {
  struct Parameter {
    Argument argument;
    std::string type;  // of an element in memory
    std::string name;  // without the '@'
  };
  struct Shared {
    std::string type;
    std::int64_t elements;
  };

  std::string title;  // for the kernel's name
  std::string body;
  Functions functions;
  std::vector<Parameter> parameters;
  std::vector<Shared> shared;           // @s0, @s1, ...: memory of the work-group
  std::int64_t work_items = 0;          // how many elements it computes; of a part for work-items: how many it has
  std::int64_t groups = 0;              // of a part for work-groups, which have Options::group_size work-items
  std::uint32_t stage = 0;              // within its step
  bool wide = false;                    // the index type is i64
  std::vector<std::uint32_t> roots;     // the values it leaves in memory, for descriptions
  std::vector<std::uint32_t> computed;  // the values whose ops it runs, roots included, for descriptions
};

namespace detail {

// FNV-1a, 64 bits: https://datatracker.ietf.org/doc/html/draft-eastlake-fnv
inline std::string hash_digits(const std::string& text) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  std::string digits;
  for (int i = 0; i < 16; ++i, h >>= 4) digits += "0123456789abcdef"[h & 15];
  return digits;
}

// The arrays of group memory of a kernel. Parts never run in the same group, so they share them.
class SharedArrays {
 public:
  // The names of a part's arrays.
  std::vector<std::string> take(const Part& part) {
    std::map<std::string, std::size_t> used;
    std::vector<std::string> names;
    for (const Part::Shared& array : part.shared) {
      std::vector<std::int64_t>& sizes = sizes_[array.type];
      const std::size_t nth = used[array.type]++;
      if (sizes.size() <= nth) sizes.push_back(0);
      sizes[nth] = std::max(sizes[nth], array.elements);
      names.push_back(name(array.type, nth));
    }
    return names;
  }
  std::string declarations(const Dialect& d, const std::string& indent) const {
    std::string text;
    for (const auto& [type, sizes] : sizes_) {
      for (std::size_t nth = 0; nth < sizes.size(); ++nth)
        text += indent + d.shared + " " + type + " " + name(type, nth) + "[" + std::to_string(sizes[nth]) + "];\n";
    }
    return text;
  }
  std::uint64_t bytes() const {  // all types of registers have four bytes
    std::uint64_t total = 0;
    for (const auto& [type, sizes] : sizes_) {
      for (const std::int64_t size : sizes) total += 4 * static_cast<std::uint64_t>(size);
    }
    return total;
  }

 private:
  static std::string name(std::string type, std::size_t nth) {
    std::replace(type.begin(), type.end(), ' ', '_');
    return "shared_" + type + std::to_string(nth);
  }
  std::map<std::string, std::vector<std::int64_t>> sizes_;  // by type
};

// The body with what stands for each '@name': group memory by its number, arguments by name.
inline std::string with_names(const std::string& body, const std::map<std::string, std::string>& arguments,
                              const std::vector<std::string>& shared) {
  std::string text;
  text.reserve(body.size() + body.size() / 8);
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '@') {
      text += body[i];
      continue;
    }
    std::size_t end = i + 1;
    while (end < body.size() && (std::isalnum(static_cast<unsigned char>(body[end])) != 0 || body[end] == '_')) ++end;
    const std::string name = body.substr(i + 1, end - i - 1);
    text += name[0] == 's' ? shared[std::stoul(name.substr(1))] : arguments.at(name);
    i = end - 1;
  }
  return text;
}

inline std::string indented(const std::string& body, std::size_t spaces) {
  std::string text;
  bool at_start = true;
  for (const char c : body) {
    if (at_start && c != '\n') text.append(spaces, ' ');
    text += c;
    at_start = c == '\n';
  }
  return text;
}

// Puts the parts of a kernel one after the other.
class KernelText {
 public:
  KernelText(const Dialect& dialect, std::uint32_t group_size) : d_(dialect), group_size_(group_size) {}

  void add(const Part& part, bool alone) {
    const std::string prefix = alone ? "" : "p" + std::to_string(parts_++) + "_";
    std::map<std::string, std::string> names;
    for (const Part::Parameter& parameter : part.parameters) names[parameter.name] = argument(parameter, prefix);
    const std::vector<std::string> shared = shared_.take(part);
    const bool together = part.groups > 0;
    const std::int64_t groups = together ? part.groups : (part.work_items + group_size_ - 1) / group_size_;
    const std::string first = std::to_string(groups_) + "u", end = std::to_string(groups_ + groups) + "u";
    const std::string u32 = d_.u32, index = part.wide ? d_.i64 : d_.i32;
    const std::string own = groups_ == 0 ? "all_groups" : "all_groups - " + first;
    std::string text;
    if (together) {
      text = "const " + u32 + " group = " + own + ";\n" + part.body;
    } else if (part.work_items == 1) {
      text = "if (item == 0u) {\n" + indented(part.body, 2) + "}\n";
    } else {
      const std::string flat =
          cast(d_, index, own) + " * " + std::to_string(group_size_) + " + " + cast(d_, index, "item");
      text = "const " + index + " i = " + flat + ";\n";
      const bool exact = groups * group_size_ == part.work_items;
      text +=
          exact ? part.body : "if (i < " + std::to_string(part.work_items) + ") {\n" + indented(part.body, 2) + "}\n";
    }
    // Not where every group is this part's: PoCL 3.1 compiles what follows a barrier behind a condition wrongly.
    const bool all = alone && !d_.blocks;
    body_ += std::string(groups_ == 0 ? "  " : " else ") + (all ? "{\n" : "if (all_groups < " + end + ") {\n") +
             indented(with_names(text, names, shared), 4) + "  }";
    groups_ += groups;
    kernel_.functions.insert(part.functions.begin(), part.functions.end());
    kernel_.work_items += part.work_items;
    kernel_.parts.push_back({part.title, part.roots, part.computed, groups});
    if (kernel_.name.size() + part.title.size() < 48 && kernel_.name.find(part.title) == std::string::npos)
      kernel_.name += (kernel_.name.empty() ? "" : "_") + part.title;
  }

  Kernel finish() {
    kernel_.group_size = group_size_;
    kernel_.groups = groups_;
    kernel_.shared_bytes = shared_.bytes();
    const std::string words = "  const " + d_.u32 + " all_groups = " + d_.group + ", item = " + d_.item + ";\n";
    const std::string local = d_.shared_outside ? "" : shared_.declarations(d_, "  ");
    const std::string rest = "{\n" + bases_ + local + words + body_ + "\n}\n";
    if (d_.blocks) {
      const std::string head =
          "layout(local_size_x = " + std::to_string(group_size_) + ") in;\n" + blocks_ + shared_.declarations(d_, "");
      kernel_.name += "_" + hash_digits(head + rest);
      kernel_.text = "// " + kernel_.name + "\n" + head + d_.kernel + " main() " + rest;
    } else {
      kernel_.name += "_" + hash_digits(call("", parameters_) + rest);
      kernel_.text = (d_.shared_outside ? shared_.declarations(d_, "") : "") + d_.kernel + " " + kernel_.name +
                     call("", parameters_) + " " + rest;
    }
    return std::move(kernel_);
  }

 private:
  // Its name in the kernel. What several parts read is one argument.
  std::string argument(const Part::Parameter& parameter, const std::string& prefix) {
    const Argument& wanted = parameter.argument;
    const std::tuple key(wanted.value, wanted.offset, wanted.bytes, parameter.type);
    if (!wanted.written) {
      const auto known = reads_.find(key);
      if (known != reads_.end()) return known->second;
    }
    const std::string name = prefix + parameter.name, access = wanted.written ? "" : "const ";
    if (!wanted.written) reads_.emplace(key, name);
    const std::string pointer = d_.global + access + parameter.type + "* ";
    if (d_.blocks) {
      const std::string number = std::to_string(kernel_.arguments.size());
      blocks_ += "layout(std430, set = 0, binding = " + number + ") " + (wanted.written ? "" : "readonly ") +
                 "buffer Block" + number + " { " + parameter.type + " " + name + "[]; };\n";
    } else if (d_.offsets) {
      parameters_.push_back(pointer + name + "_base, " + d_.u64 + " " + name + "_at");
      bases_ += "  " + pointer + name + " = " + name + "_base + " + name + "_at;\n";
    } else {
      parameters_.push_back(pointer + name);
    }
    kernel_.arguments.push_back(wanted);
    return name;
  }

  const Dialect& d_;
  std::int64_t group_size_;
  Kernel kernel_;
  SharedArrays shared_;
  std::vector<std::string> parameters_;
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::string>, std::string> reads_;  // names
  std::string blocks_, bases_, body_;
  std::int64_t groups_ = 0;
  std::size_t parts_ = 0;
};

}  // namespace detail

// All parts are of one stage.
inline Kernel assemble(const Dialect& dialect, const std::vector<const Part*>& parts, std::uint32_t group_size) {
  detail::KernelText text(dialect, group_size);
  for (const Part* part : parts) text.add(*part, parts.size() == 1);
  return text.finish();
}

}  // namespace thrt::emit
