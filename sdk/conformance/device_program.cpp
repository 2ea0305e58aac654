#include "device_program.hpp"

#include "raw_host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace thrt::conformance {
namespace {

constexpr std::uint64_t kGuardBytes = 64;  // slots start at multiples of 64
constexpr auto kGuard = std::byte{0xA5};
constexpr auto kUnwritten = std::byte{0xFF};  // as a float it is NaN, so an element that is not written shows

}  // namespace

Outcome outcome_of(const std::function<Outcome()>& tried) {
  try {
    return tried();
  } catch (const Refused& refused) {
    return {Outcome::Kind::kUnsupported, refused.what()};
  } catch (const CallFailed& failed) {
    return {Outcome::Kind::kFailed, failed.what()};
  } catch (const Broken& broken) {
    return {Outcome::Kind::kFailed, broken.what()};
  }
}

DeviceContext::DeviceContext(const Bench& bench) : api(bench.plugin->api()) {
  const thrt_context_options options = {sizeof(options), bench.device_index, 0, 0, THRT_PRECISION_F32};
  thrt_device_info info{};
  info.struct_size = sizeof(info);
  require(api.device_info(bench.plugin->handle(), bench.device_index, &info, &error_), "device_info");
  device_kind_ = info.kind;
  require(api.context_create(bench.plugin->handle(), &options, &handle, &error_), "context_create");
}

DeviceContext::~DeviceContext() {
  if (handle != nullptr) api.context_destroy(handle);
}

void DeviceContext::require(thrt_status status, const std::string& call) const {
  if (status == THRT_OK) return;
  error_.message[sizeof(error_.message) - 1] = '\0';
  throw CallFailed(
      fmt::format("{} answered {}: {}", call, status_text(status), static_cast<const char*>(error_.message)), error_);
}

void DeviceContext::wait(thrt_ticket ticket) const {
  require(api.wait(handle, ticket, UINT64_MAX, &error_), "wait");
}

bool DeviceContext::flushes_denormals() const {
  return device_kind_ != THRT_DEVICE_CPU;
}

GuardedBuffer::GuardedBuffer(const DeviceContext& context, std::uint64_t bytes) : context_(context), bytes_(bytes) {
  const thrt_buffer_options options = {sizeof(options), THRT_MEMORY_DEVICE, bytes + 2 * kGuardBytes, 0};
  context.require(context.api.buffer_create(context.handle, &options, &buffer_, context.error()), "buffer_create");
}

GuardedBuffer::~GuardedBuffer() {
  if (buffer_ != nullptr) context_.api.buffer_destroy(context_.handle, buffer_);
}

void GuardedBuffer::write(std::span<const std::byte> content) {
  Bytes all(static_cast<std::size_t>(bytes_ + 2 * kGuardBytes), kGuard);
  std::fill(all.begin() + kGuardBytes, all.end() - kGuardBytes, kUnwritten);
  if (!content.empty()) std::memcpy(all.data() + kGuardBytes, content.data(), content.size());
  thrt_ticket ticket = 0;
  context_.require(context_.api.upload(context_.handle, buffer_, 0, all.data(), all.size(), &ticket, context_.error()),
                   "upload");
  context_.wait(ticket);
}

Bytes GuardedBuffer::read(const std::string& name) const {
  Bytes all(static_cast<std::size_t>(bytes_ + 2 * kGuardBytes));
  thrt_ticket ticket = 0;
  context_.require(
      context_.api.download(context_.handle, buffer_, 0, all.data(), all.size(), &ticket, context_.error()),
      "download");
  context_.wait(ticket);
  const auto first = all.begin() + kGuardBytes, last = all.end() - kGuardBytes;
  const auto is_guard = [](std::byte b) { return b == kGuard; };
  if (!std::all_of(all.begin(), first, is_guard)) {
    throw Broken(fmt::format("slot '{}': bytes before its buffer region were overwritten", name));
  }
  if (const auto changed = std::find_if_not(last, all.end(), is_guard); changed != all.end()) {
    throw Broken(fmt::format("slot '{}': byte {} behind its {} bytes was overwritten", name, changed - last, bytes_));
  }
  return {first, last};
}

thrt_slot_buffer GuardedBuffer::place() const {
  return {buffer_, kGuardBytes};
}

DeviceProgram::DeviceProgram(const DeviceContext& context, Program program, std::uint32_t flags,
                             std::vector<std::shared_ptr<GuardedBuffer>> shared)
    : context_(context),
      program_(std::move(program)),
      buffers_(std::move(shared)),
      executable_(nullptr, {context.handle, context.api.executable_destroy}),
      binding_(nullptr, {context.handle, context.api.binding_destroy}) {
  refuse_what_check_refuses();
  buffers_.resize(program_.slots().size());
  compile(flags);
  std::vector<thrt_slot_buffer> places;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i] == nullptr) {
      buffers_[i] = std::make_shared<GuardedBuffer>(context_, program_.slots()[i].type.bytes());
      buffers_[i]->write({});
    }
    places.push_back(buffers_[i]->place());
  }
  thrt_binding* binding = nullptr;
  context_.require(context_.api.bind(context_.handle, executable_.get(), places.data(),
                                     static_cast<std::uint32_t>(places.size()), &binding, context_.error()),
                   "bind");
  binding_.reset(binding);
}

void DeviceProgram::refuse_what_check_refuses() const {
  thrt_verdict verdict{};
  std::uint32_t count = 0;
  context_.require(context_.api.check(context_.handle, program_.abi(), &verdict, 1, &count, context_.error()), "check");
  if (count == 0) return;
  verdict.reason[sizeof(verdict.reason) - 1] = '\0';
  throw Refused(verdict.reason);
}

void DeviceProgram::compile(std::uint32_t flags) {
  const thrt_compile_options options = {sizeof(options), flags};
  thrt_executable_info info{};
  info.struct_size = sizeof(info);
  thrt_executable* executable = nullptr;
  const thrt_status status =
      context_.api.compile(context_.handle, program_.abi(), &options, &executable, &info, context_.error());
  // An option may be refused here; an op may not, check() had nothing against it.
  if (status == THRT_UNSUPPORTED && flags != 0) throw Refused(context_.error()->message);
  context_.require(status, "compile");
  executable_.reset(executable);
  if (info.ops != program_.op_count() || info.ops_on_device != info.ops) {
    throw Broken(fmt::format("compile says {} of {} ops run on the device, the program has {}", info.ops_on_device,
                             info.ops, program_.op_count()));
  }
}

std::size_t DeviceProgram::slot(std::string_view name) const {
  for (std::size_t i = 0; i < program_.slots().size(); ++i) {
    if (program_.slots()[i].name == name) return i;
  }
  throw std::out_of_range(fmt::format("no slot '{}'", name));
}

thrt_ticket DeviceProgram::enqueue(std::uint32_t count) {
  thrt_ticket ticket = 0;
  context_.require(context_.api.enqueue(context_.handle, binding_.get(), count, &ticket, context_.error()), "enqueue");
  return ticket;
}

}  // namespace thrt::conformance
