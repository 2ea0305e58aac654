// A small host: loads a backend plugin through its two symbols and runs programs on it.
#pragma once

#include "../../sdk/program_builder.hpp"

#include <thrt/abi.h>

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace thrt::testing {

using Bytes = std::vector<std::uint8_t>;

template <class T>
Bytes bytes_of(const std::vector<T>& elements) {
  Bytes bytes(elements.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> elements_of(const Bytes& bytes) {
  std::vector<T> elements(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

// The program builder in the shape these tests like.
class Builder : public ProgramBuilder {
 public:
  using ProgramBuilder::ProgramBuilder;

  // An output of an input slot's name makes it state.
  void output(const std::string& name, std::uint32_t value) {
    for (std::uint32_t i = 0; i < slots.size(); ++i) {
      if (name == strings.data() + slots[i].name) {
        state_output(i, value);
        return;
      }
    }
    ProgramBuilder::output(name, value);
  }

  template <class T>
  std::uint32_t constant(const Type& type, const std::vector<T>& elements) {
    return ProgramBuilder::constant(type, elements.data());
  }

  // The first result; the others follow it.
  std::uint32_t repeat(std::int64_t trips, const std::vector<std::uint32_t>& carried,
                       const std::vector<std::uint32_t>& invariant, std::shared_ptr<Builder> body) {
    std::vector<std::uint32_t> list = carried;
    list.insert(list.end(), invariant.begin(), invariant.end());
    return ProgramBuilder::repeat(std::move(body), trips, static_cast<std::int64_t>(carried.size()), list)[0];
  }

  ir::Type type(std::uint32_t value) const { return ir::type_of(values[value]); }
  const thrt_program& built() { return build(); }
};

// What a call of the table answered when it failed.
class HostError : public std::runtime_error {
 public:
  explicit HostError(const thrt_error& raw) : std::runtime_error(raw.message), error(raw) {}
  thrt_error error;
};

class Host {
 public:
  explicit Host(const std::string& path, std::uint32_t threads = 0, std::uint32_t precision = THRT_PRECISION_F32) {
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    const auto entry = reinterpret_cast<thrt_backend_entry_fn>(dlsym(library_, "thrt_backend_entry_v1"));
    check(entry(THRT_ABI_MAJOR, THRT_ABI_MINOR, &api, &error_));
    thrt_plugin_options plugin_options{sizeof(thrt_plugin_options), 0, nullptr};
    check(api->plugin_open(&plugin_options, &plugin, &error_));
    thrt_context_options options{};
    options.struct_size = sizeof options;
    options.threads = threads;
    options.precision = precision;
    check(api->context_create(plugin, &options, &context, &error_));
  }
  ~Host() {
    if (context != nullptr) api->context_destroy(context);
    if (plugin != nullptr) api->plugin_close(plugin);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void check(thrt_status status) const {
    if (status != THRT_OK) throw HostError(error_);
  }

  const thrt_backend_api* api = nullptr;
  thrt_plugin* plugin = nullptr;
  thrt_context* context = nullptr;

  thrt_error* error() { return &error_; }

 private:
  void* library_ = nullptr;
  thrt_error error_{};
};

// A compiled and bound program with a buffer for each slot.
class Loaded {
 public:
  Loaded(Host& host, Builder& builder, std::uint32_t flags = 0) : host_(host) {
    const thrt_program& program = builder.built();
    const thrt_compile_options options{sizeof(thrt_compile_options), flags};
    info.struct_size = sizeof info;
    host.check(host.api->compile(host.context, &program, &options, &executable_, &info, host.error()));
    std::vector<thrt_slot_buffer> slots;
    for (std::uint32_t i = 0; i < program.slot_count; ++i) {
      const thrt_slot& slot = program.slots[i];
      const std::uint32_t value = slot.input_value != THRT_NONE ? slot.input_value : slot.output_value;
      names_.push_back(program.strings + slot.name);
      bytes_.push_back(builder.type(value).bytes());
      const thrt_buffer_options buffer{sizeof(thrt_buffer_options), THRT_MEMORY_DEVICE, bytes_.back(), 0};
      thrt_buffer* made = nullptr;
      host.check(host.api->buffer_create(host.context, &buffer, &made, host.error()));
      buffers_.push_back(made);
      slots.push_back({made, 0});
    }
    host.check(host.api->bind(host.context, executable_, slots.data(), program.slot_count, &binding_, host.error()));
  }
  ~Loaded() {
    if (binding_ != nullptr) host_.api->binding_destroy(host_.context, binding_);
    if (executable_ != nullptr) host_.api->executable_destroy(host_.context, executable_);
    for (thrt_buffer* buffer : buffers_) host_.api->buffer_destroy(host_.context, buffer);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  void set(const std::string& name, const Bytes& data) {
    const std::size_t i = index(name);
    if (data.size() != bytes_[i]) throw std::logic_error("wrong size for " + name);
    thrt_ticket ticket = 0;
    host_.check(host_.api->upload(host_.context, buffers_[i], 0, data.data(), data.size(), &ticket, host_.error()));
    wait(ticket);
  }
  Bytes get(const std::string& name) {
    const std::size_t i = index(name);
    Bytes data(bytes_[i]);
    thrt_ticket ticket = 0;
    host_.check(host_.api->download(host_.context, buffers_[i], 0, data.data(), data.size(), &ticket, host_.error()));
    wait(ticket);
    return data;
  }
  void run(std::uint32_t repeat = 1) {
    thrt_ticket ticket = 0;
    host_.check(host_.api->enqueue(host_.context, binding_, repeat, &ticket, host_.error()));
    wait(ticket);
  }
  // The bare call, for measuring.
  thrt_status enqueue(std::uint32_t repeat, thrt_ticket* ticket) {
    return host_.api->enqueue(host_.context, binding_, repeat, ticket, host_.error());
  }
  void wait(thrt_ticket ticket) { host_.check(host_.api->wait(host_.context, ticket, UINT64_MAX, host_.error())); }

  thrt_executable_info info{};

 private:
  std::size_t index(const std::string& name) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return i;
    }
    throw std::out_of_range("no slot " + name);
  }

  Host& host_;
  thrt_executable* executable_ = nullptr;
  thrt_binding* binding_ = nullptr;
  std::vector<thrt_buffer*> buffers_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> bytes_;
};

// Runs once: inputs by slot name, all written slots back.
inline std::map<std::string, Bytes> run_once(Host& host, Builder& builder, const std::map<std::string, Bytes>& inputs,
                                             std::uint32_t flags = 0) {
  Loaded loaded(host, builder, flags);
  for (const auto& [name, data] : inputs) loaded.set(name, data);
  loaded.run();
  std::map<std::string, Bytes> outputs;
  const thrt_program& program = builder.built();
  for (std::uint32_t i = 0; i < program.slot_count; ++i) {
    if (program.slots[i].output_value == THRT_NONE) continue;
    const std::string name = program.strings + program.slots[i].name;
    outputs[name] = loaded.get(name);
  }
  return outputs;
}

}  // namespace thrt::testing
