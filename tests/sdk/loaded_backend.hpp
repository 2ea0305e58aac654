// A plugin file used as a host does, through its C table alone.
#pragma once

#include "program_builder.hpp"

#include <thrt/abi.h>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace thrt::testing {

// A value with its bytes.
struct Array {
  Type type;
  std::vector<std::byte> bytes;

  template <typename Element>
  std::vector<Element> as() const {
    std::vector<Element> elements(bytes.size() / sizeof(Element));
    if (!bytes.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
    return elements;
  }
};

template <typename Element>
Array array(DType dtype, const Shape& shape, const std::vector<Element>& elements) {
  Array made{{dtype, shape}, std::vector<std::byte>(elements.size() * sizeof(Element))};
  if (made.bytes.size() != made.type.bytes()) throw std::logic_error("array: elements and shape differ");
  if (!elements.empty()) std::memcpy(made.bytes.data(), elements.data(), made.bytes.size());
  return made;
}
inline Array f32(const Shape& shape, const std::vector<float>& elements) {
  return array(DType::kF32, shape, elements);
}
inline Array f64(const Shape& shape, const std::vector<double>& elements) {
  return array(DType::kF64, shape, elements);
}
inline Array i32(const Shape& shape, const std::vector<std::int32_t>& elements) {
  return array(DType::kI32, shape, elements);
}
inline Array u32(const Shape& shape, const std::vector<std::uint32_t>& elements) {
  return array(DType::kU32, shape, elements);
}
inline Array boolean(const Shape& shape, const std::vector<std::uint8_t>& elements) {
  return array(DType::kBool, shape, elements);
}

inline std::string plugin_file(const std::string& id) {
  return std::string(THRT_BUILD_DIR) + "/lib/thrust/plugins/libthrust_backend_" + id + ".so";
}

class LoadedBackend {
 public:
  explicit LoadedBackend(const std::string& file) : library_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    entry = reinterpret_cast<thrt_backend_entry_fn>(dlsym(library_, "thrt_backend_entry_v1"));
    manifest = static_cast<const thrt_manifest*>(dlsym(library_, "thrt_backend_manifest_v1"));
    if (entry == nullptr || manifest == nullptr) throw std::runtime_error("a symbol is missing");
    if (entry(THRT_ABI_MAJOR, THRT_ABI_MINOR, &api, &error) != THRT_OK) throw std::runtime_error(error.message);
  }
  LoadedBackend(const LoadedBackend&) = delete;
  LoadedBackend& operator=(const LoadedBackend&) = delete;
  ~LoadedBackend() { dlclose(library_); }

  const thrt_manifest* manifest = nullptr;
  thrt_backend_entry_fn entry = nullptr;
  const thrt_backend_api* api = nullptr;
  thrt_error error{};

 private:
  void* library_;
};

// An open context on device 0. Its calls throw std::runtime_error with the backend's message when they fail.
class Session {
 public:
  explicit Session(const thrt_backend_api& api, std::uint64_t budget = 0) : api_(api) {
    thrt_plugin_options plugin_options{sizeof plugin_options, 0, nullptr};
    require(api_.plugin_open(&plugin_options, &plugin_, &error));
    thrt_context_options options{sizeof options, 0, budget, 0, THRT_PRECISION_F32};
    const thrt_status status = api_.context_create(plugin_, &options, &context_, &error);
    if (status != THRT_OK) api_.plugin_close(plugin_);
    require(status);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    api_.context_destroy(context_);
    api_.plugin_close(plugin_);
  }

  const thrt_backend_api& api() const { return api_; }
  thrt_plugin* plugin() const { return plugin_; }
  thrt_context* context() const { return context_; }

  void require(thrt_status status) const {
    if (status != THRT_OK) throw std::runtime_error(std::to_string(status) + ": " + error.message);
  }

  thrt_buffer* buffer(std::uint64_t bytes) {
    thrt_buffer_options options{sizeof options, THRT_MEMORY_DEVICE, bytes, 0};
    thrt_buffer* made = nullptr;
    require(api_.buffer_create(context_, &options, &made, &error));
    return made;
  }
  void upload(thrt_buffer* buffer, const Array& data) {
    thrt_ticket ticket = 0;
    require(api_.upload(context_, buffer, 0, data.bytes.data(), data.bytes.size(), &ticket, &error));
    require(api_.wait(context_, ticket, UINT64_MAX, &error));
  }
  Array download(thrt_buffer* buffer, const Type& type) {
    Array data{type, std::vector<std::byte>(static_cast<std::size_t>(type.bytes()))};
    thrt_ticket ticket = 0;
    require(api_.download(context_, buffer, 0, data.bytes.data(), data.bytes.size(), &ticket, &error));
    require(api_.wait(context_, ticket, UINT64_MAX, &error));
    return data;
  }
  thrt_executable* compile(const thrt_program& program, std::uint32_t flags = 0) {
    thrt_compile_options options{sizeof options, flags};
    thrt_executable* made = nullptr;
    require(api_.compile(context_, &program, &options, &made, nullptr, &error));
    return made;
  }

  // Runs the program `repeat` times on fresh buffers. `inputs` are the slots that are read, by name; the result is what the
  // slots that are written hold afterwards.
  std::map<std::string, Array> run(const thrt_program& program, const std::map<std::string, Array>& inputs,
                                   std::uint32_t flags = 0, std::uint32_t repeat = 1) {
    thrt_executable* executable = compile(program, flags);
    std::vector<thrt_slot_buffer> slots;
    for (std::uint32_t s = 0; s < program.slot_count; ++s) {
      const thrt_slot& slot = program.slots[s];
      const bool read = slot.input_value != THRT_NONE;
      const Type type = ir::type_of(program.values[read ? slot.input_value : slot.output_value]);
      slots.push_back({buffer(type.bytes()), 0});
      if (read) upload(slots.back().buffer, inputs.at(program.strings + slot.name));
    }
    thrt_binding* binding = nullptr;
    require(api_.bind(context_, executable, slots.data(), program.slot_count, &binding, &error));
    thrt_ticket ticket = 0;
    require(api_.enqueue(context_, binding, repeat, &ticket, &error));
    const thrt_status status = api_.wait(context_, ticket, UINT64_MAX, &error);
    std::map<std::string, Array> outputs;
    for (std::uint32_t s = 0; s < program.slot_count && status == THRT_OK; ++s) {
      const thrt_slot& slot = program.slots[s];
      if (slot.output_value == THRT_NONE) continue;
      outputs[program.strings + slot.name] = download(slots[s].buffer, ir::type_of(program.values[slot.output_value]));
    }
    const thrt_error failure = error;
    api_.binding_destroy(context_, binding);
    api_.executable_destroy(context_, executable);
    for (const thrt_slot_buffer& slot : slots) api_.buffer_destroy(context_, slot.buffer);
    error = failure;
    require(status);
    return outputs;
  }

  // One op alone.
  Array op(OpKind kind, const std::vector<Array>& operands, const std::vector<std::int64_t>& attributes = {},
           std::optional<Type> declared = std::nullopt) {
    ProgramBuilder builder;
    std::vector<std::uint32_t> values;
    std::map<std::string, Array> inputs;
    for (const Array& operand : operands) {
      const std::string name = "x" + std::to_string(values.size());
      values.push_back(builder.input(name, operand.type));
      inputs[name] = operand;
    }
    builder.output("y", builder.op(kind, values, attributes, declared));
    return run(builder.build(), inputs).at("y");
  }

  mutable thrt_error error{};

 private:
  thrt_backend_api api_;
  thrt_plugin* plugin_ = nullptr;
  thrt_context* context_ = nullptr;
};

// The reference backend, opened once per test.
class ReferenceTest : public ::testing::Test {
 protected:
  LoadedBackend backend{plugin_file("reference")};
  Session session{*backend.api};
};

}  // namespace thrt::testing
