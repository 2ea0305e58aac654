#include "io/safetensors_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "thrt/error.hpp"
#include "thrt/utf8.hpp"

namespace thrt::io {
namespace {

using nlohmann::json;

constexpr const char* kWriteAgain = "write the file again with a safetensors library; this one breaks the format";
constexpr const char* kDamaged = "the file is damaged or was not fully copied: fetch it again";
// Far above any real tensor; keeps a hostile header from making a long list of sizes.
constexpr std::size_t kMaxRank = 64;

// A name of a stranger's file as an error may print it: escaped, and not pages of it.
std::string shown(const std::string& name) {
  constexpr std::size_t kMost = 80;
  std::string text = json(name).dump(-1, ' ', true);
  if (text.size() > kMost) text = text.substr(0, kMost) + "...\"";
  return text;
}

std::optional<TensorDType> dtype_named(std::string_view name) {
  for (const TensorDType dtype : kAllTensorDTypes) {
    if (name == name_of(dtype)) return dtype;
  }
  return std::nullopt;
}

std::string all_dtype_names() {
  std::string names;
  for (const TensorDType dtype : kAllTensorDTypes) names += (names.empty() ? "" : ", ") + std::string(name_of(dtype));
  return names;
}

// Receives the header token by token, so that a hostile header (deeply nested, say) never grows in memory beyond what
// the format allows. Each token either moves the state on or ends in bad_file.
class HeaderReader : public nlohmann::json_sax<json> {
 public:
  explicit HeaderReader(std::string_view source) : source_(source) {}

  Header take() { return std::move(header_); }

  bool start_object(std::size_t /*elements*/) override {
    switch (where_) {
      case Where::kOutside:
        return go(Where::kTop);
      case Where::kTop:
        return go(key_ == "__metadata__" ? Where::kMetadata : Where::kTensor);
      default:
        unexpected("an object");
    }
  }

  bool end_object() override {
    if (where_ == Where::kTensor) finish_tensor();
    return go(where_ == Where::kTop ? Where::kOutside : Where::kTop);
  }

  bool key(std::string& text) override {
    if (where_ == Where::kTop) {
      key_ = text;
      if (!names_.insert(text).second) bad_file(source_, fmt::format("{} is in it twice", shown(key_)), kWriteAgain);
      entry_ = HeaderEntry{};
      entry_.name = text;
      seen_.clear();
      offsets_.clear();
    } else {
      field_ = text;
      if (where_ == Where::kTensor && text != "dtype" && text != "shape" && text != "data_offsets") {
        bad_tensor(fmt::format("has a field {} that the format does not have", shown(text)), kWriteAgain);
      }
      const bool is_new = where_ == Where::kTensor ? seen_.insert(text).second : header_.metadata.count(text) == 0;
      if (!is_new) bad_file(source_, fmt::format("{} of {} is in it twice", shown(text), shown(key_)), kWriteAgain);
    }
    return true;
  }

  bool string(std::string& text) override {
    if (where_ == Where::kMetadata) {
      header_.metadata[field_] = text;
      return true;
    }
    if (where_ != Where::kTensor || field_ != "dtype") unexpected("a string");
    const std::optional<TensorDType> dtype = dtype_named(text);
    if (!dtype) {
      bad_tensor(fmt::format("has dtype {}, which is not known here", shown(text)),
                 fmt::format("convert it to one of {}", all_dtype_names()));
    }
    entry_.dtype = *dtype;
    return true;
  }

  bool start_array(std::size_t /*elements*/) override {
    if (where_ != Where::kTensor || field_ == "dtype") unexpected("a list");
    return go(field_ == "shape" ? Where::kShape : Where::kOffsets);
  }

  bool end_array() override { return go(Where::kTensor); }

  bool number_unsigned(json::number_unsigned_t value) override {
    if (where_ == Where::kShape) {
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        bad_tensor(fmt::format("has a size {} that does not fit 63 bits", value), kWriteAgain);
      }
      if (entry_.shape.size() == kMaxRank) {
        bad_tensor(fmt::format("has more than {} dimensions", kMaxRank), kWriteAgain);
      }
      entry_.shape.push_back(static_cast<std::int64_t>(value));
    } else if (where_ == Where::kOffsets) {
      if (offsets_.size() == 2) bad_tensor("has more than two data_offsets", kWriteAgain);
      offsets_.push_back(value);
    } else {
      unexpected("a number");
    }
    return true;
  }

  bool number_integer(json::number_integer_t value) override {  // the parser comes here for negative numbers only
    if (where_ != Where::kShape && where_ != Where::kOffsets) unexpected("a number");
    bad_tensor(fmt::format("has a negative number {} in its {}", value, field_), kWriteAgain);
  }
  bool number_float(json::number_float_t /*value*/, const std::string& text) override {
    if (where_ != Where::kShape && where_ != Where::kOffsets) unexpected("a number");
    bad_tensor(fmt::format("has {}, which is no 64-bit integer, in its {}", shown(text), field_), kWriteAgain);
  }
  bool null() override { unexpected("null"); }
  bool boolean(bool value) override { unexpected(value ? "true" : "false"); }
  bool binary(json::binary_t& /*value*/) override { unexpected("binary data"); }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error ..." -> the part after the place
    const std::string_view words = error.what();
    const std::size_t colon = words.find(": ");
    bad_file(source_,
             fmt::format("its header is not JSON, at byte {}: {}", position,
                         colon == std::string_view::npos ? words : words.substr(colon + 2)),
             kDamaged);
  }

 private:
  enum class Where { kOutside, kTop, kMetadata, kTensor, kShape, kOffsets };

  bool go(Where next) {
    where_ = next;
    return true;
  }

  void finish_tensor() {
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      if (seen_.count(field) == 0) bad_tensor(fmt::format("has no {}", field), kWriteAgain);
    }
    if (offsets_.size() != 2) {
      bad_tensor(fmt::format("has {} data_offsets instead of two", offsets_.size()), kWriteAgain);
    }
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    header_.entries.push_back(std::move(entry_));
  }

  [[noreturn]] void bad_tensor(const std::string& problem, std::string next) const {
    bad_file(source_, fmt::format("tensor {} {}", shown(key_), problem), std::move(next));
  }

  [[noreturn]] void unexpected(const char* found) const {
    switch (where_) {
      case Where::kOutside:
        bad_file(source_, fmt::format("its header is {} instead of an object", found), kWriteAgain);
      case Where::kTop:
        bad_file(source_, fmt::format("{} is {} instead of an object", shown(key_), found), kWriteAgain);
      case Where::kMetadata:
        bad_file(source_, fmt::format("{} of __metadata__ is {} instead of a string", shown(field_), found),
                 kWriteAgain);
      default:
        bad_tensor(fmt::format("has {} where its {} should be", found, field_), kWriteAgain);
    }
  }

  std::string source_;
  Header header_;
  Where where_ = Where::kOutside;
  std::string key_;    // of the top object
  std::string field_;  // of the object inside
  HeaderEntry entry_;
  std::vector<std::uint64_t> offsets_;
  std::set<std::string> names_;  // keys of the top object so far
  std::set<std::string> seen_;   // fields of the tensor so far
};

// Each tensor as long as its shape says, all of them side by side from the first byte of the data to the last.
void check_offsets(const Header& header, std::uint64_t data_bytes, std::string_view source) {
  std::vector<const HeaderEntry*> order;
  for (const HeaderEntry& entry : header.entries) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const HeaderEntry* a, const HeaderEntry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::uint64_t at = 0;
  for (const HeaderEntry* entry : order) {
    const std::string name = shown(entry->name);
    const auto bad = [&](const std::string& problem, const char* next) {
      bad_file(source, fmt::format("tensor {} {}", name, problem), next);
    };
    if (entry->begin > entry->end) {
      bad(fmt::format("ends at byte {} before it begins at {}", entry->end, entry->begin), kWriteAgain);
    }
    std::uint64_t needed = 0;
    if (!byte_count(entry->dtype, entry->shape, &needed)) {
      bad(fmt::format("of shape [{}] has more bytes than 63 bits count", fmt::join(entry->shape, ", ")), kWriteAgain);
    }
    if (entry->end - entry->begin != needed) {
      bad(fmt::format("has {} bytes, but {} of shape [{}] needs {}", entry->end - entry->begin, name_of(entry->dtype),
                      fmt::join(entry->shape, ", "), needed),
          kWriteAgain);
    }
    if (entry->end > data_bytes) {
      bad(fmt::format("lies at bytes {} to {}, but the file has {} bytes of data", entry->begin, entry->end,
                      data_bytes),
          kDamaged);
    }
    if (entry->begin < at) bad(fmt::format("overlaps the one before it, which ends at byte {}", at), kWriteAgain);
    if (entry->begin > at) {
      bad(fmt::format("begins at byte {}, {} bytes after the one before it", entry->begin, entry->begin - at),
          kWriteAgain);
    }
    at = entry->end;
  }
  if (at != data_bytes) {
    bad_file(source, fmt::format("{} bytes follow the last tensor", data_bytes - at),
             "cut them off, or fetch the file again");
  }
}

}  // namespace

void bad_file(std::string_view source, std::string problem, std::string next) {
  throw Error(fmt::format("'{}' is not a usable safetensors file", source), std::move(problem), std::move(next));
}

bool byte_count(TensorDType dtype, const std::vector<std::int64_t>& shape, std::uint64_t* bytes) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t product = size_of(dtype);
  for (const std::int64_t size : shape) {
    if (size < 0) return false;
    const auto factor = static_cast<std::uint64_t>(size);
    if (factor != 0 && product > kMost / factor) return false;  // in the order given, as the format's own reader does
    product *= factor;
  }
  *bytes = product;
  return true;
}

Header parse_header(std::string_view text, std::uint64_t data_bytes, std::string_view source) {
  if (text.empty() || text.front() != '{') {
    bad_file(source, "its header does not begin with '{'", "is it a safetensors file? Name one that is");
  }
  if (!is_utf8(text)) bad_file(source, "its header is not UTF-8", kDamaged);
  HeaderReader reader(source);
  json::sax_parse(text.begin(), text.end(), &reader);
  Header header = reader.take();
  check_offsets(header, data_bytes, source);
  return header;
}

std::string format_header(const Header& header) {
  nlohmann::ordered_json root = nlohmann::ordered_json::object();
  if (!header.metadata.empty()) root["__metadata__"] = header.metadata;
  for (const HeaderEntry& entry : header.entries) {
    root[entry.name] = {
        {"dtype", name_of(entry.dtype)}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = root.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace thrt::io
