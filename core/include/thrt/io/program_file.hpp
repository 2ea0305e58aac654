// Programs in files: what a backend would be handed, as bytes. docs/program_file.md has the format.
#pragma once

#include <thrt/abi.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace thrt {
class AlignedBytes;  // of core, private
}

namespace thrt::io {

// A program that came from a file, with its storage. A small value: copies share it.
class StoredProgram {
 public:
  // What is wrong with a file is a thrt::Error that names it and the place; a file from a stranger can do no harm, and what
  // comes out is well-formed (ir/verify.hpp). Takes as much memory as the file is long, and that only after its head was
  // found right.
  static StoredProgram read(const std::filesystem::path& path);
  // The same for the bytes of a file; `source` is what errors call it.
  static StoredProgram parse(std::span<const std::byte> file, std::string_view source);

  // Valid as long as a copy of this object lives.
  const thrt_program* abi() const;

 private:
  struct Data;
  static StoredProgram from_bytes(AlignedBytes file, std::string_view source);
  explicit StoredProgram(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

// Of a well-formed program. Equal arrays give equal bytes.
std::vector<std::byte> program_bytes(const thrt_program& program);
// Writes them atomically (see write_file_atomically).
void write_program(const std::filesystem::path& path, const thrt_program& program);

}  // namespace thrt::io
