// Device memory that counts against the budget.
#pragma once

#include "device.hpp"

#include <thrt/sdk/plugin.hpp>

namespace thrt_opencl {

class Memory {
 public:
  Memory(Device& device, std::uint64_t bytes, std::uint32_t memory_kind, const char* what);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();
  cl_mem get() const { return memory_.get(); }

 private:
  Device& device_;
  std::uint64_t bytes_;
  Handle<cl_mem> memory_;
};

class Buffer final : public thrt::sdk::Buffer {
 public:
  Buffer(Device& device, const thrt_buffer_options& options)
      : memory_(device, options.bytes, options.memory_kind, "buffer") {}
  cl_mem get() const { return memory_.get(); }

 private:
  Memory memory_;
};

// Where a value lies. No memory for values without elements.
struct Region {
  cl_mem memory = nullptr;
  std::uint64_t offset = 0;
  friend bool operator==(const Region& a, const Region& b) { return a.memory == b.memory && a.offset == b.offset; }
};

}  // namespace thrt_opencl
