#include "raw_host.hpp"

#include <thrt/graph/tensor_ops.hpp>

#include <algorithm>
#include <cstring>

namespace thrt::conformance {
namespace {

constexpr unsigned char kPoison = 0xA5;

template <std::size_t N>
bool is_terminated(const char (&text)[N]) {
  return std::memchr(text, 0, N) != nullptr;
}

}  // namespace

std::string status_text(thrt_status status) {
  static constexpr const char* kNames[] = {
      "OK",          "INVALID_ARGUMENT", "INVALID_PROGRAM", "UNSUPPORTED", "OUT_OF_MEMORY", "OVER_BUDGET",
      "UNAVAILABLE", "INCOMPATIBLE",     "DEVICE_LOST",     "TIMEOUT",     "INVALID_STATE", "NON_FINITE",
      "INTERNAL"};
  return status < std::size(kNames) ? kNames[status] : fmt::format("{}, which is no status", status);
}

Answer::Answer() {
  std::memset(&error_, kPoison, sizeof error_);
}

void Answer::require_ok(thrt_status status, const char* what) const {
  if (status != THRT_OK) {
    require(is_terminated(error_.message), "{}: {}, with a message that does not end", what, status_text(status));
    if (status == THRT_UNSUPPORTED && error_.message[0] != '\0') throw Declined(error_.message);
    throw Failure(fmt::format("{}: {} ({}), expected OK", what, status_text(status), error_.message));
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(&error_);
  require(std::all_of(bytes, bytes + sizeof error_, [](unsigned char byte) { return byte == kPoison; }),
          "{}: OK, and wrote into the error", what);
}

void Answer::require_refused(thrt_status status, const std::vector<thrt_status>& allowed, const char* what) const {
  std::string expected;
  for (const thrt_status one : allowed) expected += (expected.empty() ? "" : " or ") + status_text(one);
  if (std::find(allowed.begin(), allowed.end(), status) == allowed.end()) {
    throw Failure(fmt::format(
        "{}: {}, expected {}{}", what, status_text(status), expected,
        status != THRT_OK && is_terminated(error_.message) ? fmt::format(" (it says: {})", error_.message) : ""));
  }
  require(error_.code == status, "{}: {}, and the error's code is {}", what, status_text(status), error_.code);
  require(is_terminated(error_.message) && is_terminated(error_.native_api),
          "{}: a string of the error does not end within its array", what);
  require(error_.message[0] != '\0', "{}: {} without a message", what, status_text(status));
  require(std::strchr(error_.message, '\n') == nullptr, "{}: the message '{}' has a newline", what, error_.message);
}

RawContext::RawContext(const thrt_backend_api& api, thrt_plugin* plugin, std::uint32_t device, std::uint64_t budget,
                       std::uint32_t threads)
    : api_(api) {
  const thrt_context_options options{sizeof options, device, budget, threads, THRT_PRECISION_F32};
  Answer answer;
  answer.require_ok(api_.context_create(plugin, &options, &handle_, answer.slot()), "context_create");
  require(handle_ != nullptr, "context_create: OK with a null context");
}

RawContext::~RawContext() {
  if (handle_ != nullptr) api_.context_destroy(handle_);
}

thrt_stats RawContext::stats() const {
  thrt_stats stats{};
  stats.struct_size = sizeof stats;
  Answer answer;
  answer.require_ok(api_.context_stats(handle_, &stats, answer.slot()), "context_stats");
  return stats;
}

thrt_buffer* RawContext::buffer(std::uint64_t bytes, std::uint32_t memory_kind) const {
  const thrt_buffer_options options{sizeof options, memory_kind, bytes, 0};
  thrt_buffer* made = nullptr;
  Answer answer;
  answer.require_ok(api_.buffer_create(handle_, &options, &made, answer.slot()), "buffer_create");
  require(made != nullptr, "buffer_create: OK with a null buffer");
  return made;
}

thrt_ticket RawContext::upload(thrt_buffer* buffer, std::uint64_t offset, std::span<const std::byte> source) const {
  thrt_ticket ticket = 0;
  Answer answer;
  answer.require_ok(api_.upload(handle_, buffer, offset, source.data(), source.size(), &ticket, answer.slot()),
                    "upload");
  return ticket;
}

thrt_ticket RawContext::download(thrt_buffer* buffer, std::uint64_t offset, std::span<std::byte> destination) const {
  thrt_ticket ticket = 0;
  Answer answer;
  answer.require_ok(
      api_.download(handle_, buffer, offset, destination.data(), destination.size(), &ticket, answer.slot()),
      "download");
  return ticket;
}

void RawContext::wait(thrt_ticket ticket) const {
  Answer answer;
  answer.require_ok(api_.wait(handle_, ticket, UINT64_MAX, answer.slot()), "wait");
}

thrt_executable* RawContext::compile(const thrt_program& program, std::uint32_t flags,
                                     thrt_executable_info* info) const {
  const thrt_compile_options options{sizeof options, flags};
  thrt_executable* made = nullptr;
  Answer answer;
  answer.require_ok(api_.compile(handle_, &program, &options, &made, info, answer.slot()), "compile");
  require(made != nullptr, "compile: OK with a null executable");
  return made;
}

thrt_binding* RawContext::bind(thrt_executable* executable, std::span<const thrt_slot_buffer> slots) const {
  thrt_binding* made = nullptr;
  Answer answer;
  answer.require_ok(
      api_.bind(handle_, executable, slots.data(), static_cast<std::uint32_t>(slots.size()), &made, answer.slot()),
      "bind");
  require(made != nullptr, "bind: OK with a null binding");
  return made;
}

thrt_ticket RawContext::enqueue(thrt_binding* binding, std::uint32_t repeat) const {
  thrt_ticket ticket = 0;
  Answer answer;
  answer.require_ok(api_.enqueue(handle_, binding, repeat, &ticket, answer.slot()), "enqueue");
  return ticket;
}

RawBinding RawContext::prepare(const Program& program, std::uint32_t flags) const {
  RawBinding bound;
  bound.executable = compile(*program.abi(), flags);
  std::vector<thrt_slot_buffer> slots;
  for (const Program::Slot& slot : program.slots()) {
    bound.buffers.push_back(buffer(slot.type.bytes()));
    slots.push_back({bound.buffers.back(), 0});
  }
  bound.binding = bind(bound.executable, slots);
  return bound;
}

void RawContext::destroy(const RawBinding& bound) const {
  api_.binding_destroy(handle_, bound.binding);
  api_.executable_destroy(handle_, bound.executable);
  for (thrt_buffer* one : bound.buffers) api_.buffer_destroy(handle_, one);
}

void RawContext::write(thrt_buffer* buffer, std::span<const float> values) const {
  wait(upload(buffer, 0, std::as_bytes(values)));
}

std::vector<float> RawContext::read(thrt_buffer* buffer, std::size_t count) const {
  std::vector<float> values(count, -12345.0f);
  wait(download(buffer, 0, std::as_writable_bytes(std::span(values))));
  return values;
}

thrt_status RawContext::refused_buffer(std::uint64_t bytes, const std::vector<thrt_status>& allowed,
                                       const char* what) const {
  const thrt_buffer_options options{sizeof options, THRT_MEMORY_DEVICE, bytes, 0};
  thrt_buffer* made = poison<thrt_buffer>();
  Answer answer;
  const thrt_status status = api_.buffer_create(handle_, &options, &made, answer.slot());
  answer.require_refused(status, allowed, what);
  require(made == nullptr, "{}: failed and did not set the buffer to null", what);
  return status;
}

void RawContext::refused_bind(thrt_executable* executable, const thrt_slot_buffer* slots, std::uint32_t count,
                              const std::vector<thrt_status>& allowed, const char* what) const {
  thrt_binding* made = poison<thrt_binding>();
  Answer answer;
  answer.require_refused(api_.bind(handle_, executable, slots, count, &made, answer.slot()), allowed, what);
  require(made == nullptr, "{}: failed and did not set the binding to null", what);
}

Program line_program(std::int64_t n) {
  Graph graph("line");
  const Tensor x = graph.input("x", {DType::kF32, {n}});
  graph.output("y", x * 2.0 + 1.0);
  return lower(graph);
}

void require_works(const RawContext& context) {
  constexpr std::size_t kCount = 33;
  const RawBinding bound = context.prepare(line_program(kCount));
  std::vector<float> x(kCount);
  for (std::size_t i = 0; i < kCount; ++i) x[i] = static_cast<float>(i);
  context.write(bound.buffers[0], x);
  context.wait(context.enqueue(bound.binding));
  const std::vector<float> y = context.read(bound.buffers[1], kCount);
  context.destroy(bound);
  for (std::size_t i = 0; i < kCount; ++i) {
    require(y[i] == 2.0f * x[i] + 1.0f, "2 x + 1 at x = {} gives {}", x[i], y[i]);
  }
}

Case contract_case(const std::string& name, std::function<void(const Bench&)> body, Level level) {
  return {"contract/" + name, "contract", std::nullopt, level, [body = std::move(body)](const Bench& bench) {
            try {
              body(bench);
            } catch (const Declined& declined) {
              return Outcome{Outcome::Kind::kUnsupported, declined.what()};
            }
            return Outcome{};
          }};
}

}  // namespace thrt::conformance
