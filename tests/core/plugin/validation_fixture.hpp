// A validation layer around the null plugin's functions, and a program to give it.
#pragma once

#include <cstring>
#include <memory>
#include <thrt/plugin/validation.hpp>

#include "plain_plugin.h"
#include "plugin_folder.hpp"

namespace thrt {

PLAIN_API();

inline constexpr thrt_status kOk = THRT_OK;
inline constexpr thrt_status kInvalidArgument = THRT_INVALID_ARGUMENT;
inline constexpr thrt_status kInvalidState = THRT_INVALID_STATE;
inline constexpr thrt_status kInternal = THRT_INTERNAL;

// y = x + x over four floats, as data: the plugins here only count its ops.
struct TinyProgram {
  thrt_value values[2] = {{THRT_DTYPE_F32, 1, {4}, 0}, {THRT_DTYPE_F32, 1, {4}, 0}};
  uint32_t operands[2] = {0, 0};
  thrt_op ops[1] = {{THRT_OP_ADD, 1, 0, 2, 1, 1, 0, 0, THRT_NONE, THRT_NONE, 0, 0}};
  thrt_slot slots[2] = {{1, 0, THRT_NONE, 0}, {3, THRT_NONE, 1, 0}};
  thrt_program program{};

  TinyProgram() {
    program.struct_size = sizeof program;
    program.opset = THRT_OPSET;
    program.values = values;
    program.ops = ops;
    program.slots = slots;
    program.operands = operands;
    program.strings = "\0x\0y";
    program.string_bytes = 5;
    program.value_count = 2;
    program.op_count = 1;
    program.slot_count = 2;
    program.operand_count = 2;
  }
};

// A layer around the null plugin's functions, of which a test replaces some in inner_ before it opens the layer.
class Validation : public testing::Test {
 protected:
  void TearDown() override {
    if (layer_ == nullptr) return;
    if (context_ != nullptr) api().context_destroy(context_);
    api().plugin_close(layer_->plugin());
  }

  void open() {
    thrt_plugin* plugin = nullptr;
    ASSERT_EQ(plain_plugin_open(nullptr, &plugin, nullptr), kOk);
    layer_ = std::make_unique<ValidationLayer>(inner_, plugin, nullptr, describe_);
  }
  void open_context() {
    open();
    ASSERT_EQ(create_context(&context_), kOk) << error_.message;
  }
  thrt_status create_context(thrt_context** context) {
    thrt_context_options options{};
    options.struct_size = sizeof options;
    return api().context_create(layer_->plugin(), &options, context, &error_);
  }
  thrt_status create_buffer(uint64_t bytes, thrt_buffer** buffer) {
    const thrt_buffer_options options{sizeof options, 0, bytes, 0};
    return api().buffer_create(context_, &options, buffer, &error_);
  }
  thrt_status compile(thrt_executable** executable, thrt_executable_info* info = nullptr) {
    const thrt_compile_options options{sizeof options, 0};
    return api().compile(context_, &tiny_.program, &options, executable, info, &error_);
  }
  thrt_status stats(thrt_stats* stats) {
    *stats = {};
    stats->struct_size = sizeof *stats;
    return api().context_stats(context_, stats, &error_);
  }

  // What the last failed call said, without the prefix that all host mistakes or all plugin mistakes have.
  std::string host_rule() const { return after("validation: the host broke a rule: "); }
  std::string plugin_rule() const { return after("validation: the plugin broke a rule: "); }
  std::string after(const std::string& prefix) const {
    const std::string message = error_.message;
    return message.rfind(prefix, 0) == 0 ? message.substr(prefix.size()) : "another message: " + message;
  }

  const thrt_backend_api& api() const { return layer_->api(); }

  thrt_backend_api inner_ = plain_api;
  const thrt_describe_api* describe_ = nullptr;
  std::unique_ptr<ValidationLayer> layer_;
  thrt_context* context_ = nullptr;
  thrt_error error_{};
  TinyProgram tiny_;
};

// Everything in one: buffers, executable, binding.
class ValidationWithBinding : public Validation {
 protected:
  void SetUp() override {
    open_context();
    ASSERT_EQ(create_buffer(16, &x_), kOk);
    ASSERT_EQ(create_buffer(16, &y_), kOk);
    ASSERT_EQ(compile(&executable_), kOk);
    const thrt_slot_buffer slots[2] = {{x_, 0}, {y_, 0}};
    ASSERT_EQ(api().bind(context_, executable_, slots, 2, &binding_, &error_), kOk);
  }
  thrt_status bind(std::vector<thrt_slot_buffer> slots) {
    thrt_binding* binding = nullptr;
    return api().bind(context_, executable_, slots.data(), static_cast<uint32_t>(slots.size()), &binding, &error_);
  }
  void destroy_all() {
    api().binding_destroy(context_, binding_);
    api().executable_destroy(context_, executable_);
    api().buffer_destroy(context_, x_);
    api().buffer_destroy(context_, y_);
  }

  thrt_buffer* x_ = nullptr;
  thrt_buffer* y_ = nullptr;
  thrt_executable* executable_ = nullptr;
  thrt_binding* binding_ = nullptr;
};

}  // namespace thrt
