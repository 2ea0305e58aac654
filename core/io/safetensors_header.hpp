// The JSON header of a safetensors file, checked against the size of the data that follows it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "thrt/io/safetensors.hpp"

namespace thrt::io {

struct HeaderEntry {
  std::string name;
  TensorDType dtype = TensorDType::kF32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  // offsets into the data, in bytes
  std::uint64_t end = 0;
};

struct Header {
  std::vector<HeaderEntry> entries;  // in the order of the file
  std::map<std::string, std::string> metadata;
};

// Throws thrt::Error, which calls the file `source`, unless the entries are well-formed and tile exactly `data_bytes`.
Header parse_header(std::string_view json, std::uint64_t data_bytes, std::string_view source);

// The JSON text, padded with spaces to a multiple of 8 bytes. Names and metadata must be UTF-8.
std::string format_header(const Header& header);

// Bytes of a tensor; false when they do not fit 63 bits or a size is negative.
bool byte_count(TensorDType dtype, const std::vector<std::int64_t>& shape, std::uint64_t* bytes);

// Throws the thrt::Error of a file that breaks the format: `problem` is a sentence, `next` what to try.
[[noreturn]] void bad_file(std::string_view source, std::string problem, std::string next);

}  // namespace thrt::io
