// A program, compiled and bound to the buffers that its slots name.
#pragma once

#include <thrt/graph/program.hpp>
#include <thrt/runtime/buffer_set.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace thrt::rl {

// Throws Error when the device refuses anything of these programs; all of it is listed, so that the author of a backend
// need not come back for each.
void require_supported(const Context& context, std::span<const Program> programs);

class BoundProgram {
 public:
  // Makes the buffers that are not there yet; new state starts at its initial value for `seed`.
  BoundProgram(BufferSet& buffers, const Program& program, std::uint64_t seed);

  void run() { binding_.run(); }
  const Executable& executable() const { return executable_; }

 private:
  Executable executable_;
  Binding binding_;
};

template <typename T>
void upload(BufferSet& buffers, std::string_view name, std::span<const T> values) {
  buffers.at(name).write(values);
}

// Fills `values`, whose size says how much there is.
template <typename T>
void download(BufferSet& buffers, std::string_view name, std::vector<T>& values) {
  buffers.at(name).read(std::as_writable_bytes(std::span<T>(values)));
}

}  // namespace thrt::rl
