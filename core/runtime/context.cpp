#include <thrt/runtime/context.hpp>

#include <thrt/error.hpp>

#include <fmt/format.h>

#include <algorithm>
namespace thrt {
namespace {

// Turns a failed call into an Error: what was tried, the backend's message, the op it blames.
class Failure {
 public:
  // Not all 512 bytes: each launch makes two of these.
  Failure() {
    error_.op_index = error_.value_index = THRT_NONE;
    error_.code = error_.reserved = 0;
    error_.native_code = 0;
    error_.message[0] = error_.native_api[0] = '\0';
  }

  thrt_error* get() { return &error_; }

  // `task()` says what was tried; it is asked only when that failed, so that a launch formats nothing.
  template <typename Task>
  void check(thrt_status status, const std::string& backend, Task&& task, const Program* program = nullptr) {
    if (status != THRT_OK) raise(status, backend, task(), program);
  }

 private:
  [[noreturn]] void raise(thrt_status status, const std::string& backend, const std::string& task,
                          const Program* program) {
    error_.message[sizeof(error_.message) - 1] = '\0';
    error_.native_api[sizeof(error_.native_api) - 1] = '\0';
    std::string why = error_.message[0] != '\0' ? error_.message : "the backend gave no reason";
    if (error_.native_api[0] != '\0') {
      why += fmt::format(" ({} returned {})", static_cast<const char*>(error_.native_api), error_.native_code);
    }
    if (program != nullptr && error_.op_index != THRT_NONE) {
      why += fmt::format(" [{}]", program->describe_op(error_.op_index));
    }
    const bool bad_start = status != THRT_DEVICE_LOST && status != THRT_NON_FINITE && status != THRT_INTERNAL;
    throw Error(fmt::format("backend '{}': {} failed", backend, task), why, advice(status),
                bad_start ? ErrorKind::kStart : ErrorKind::kRun);
  }

  static std::string advice(thrt_status status) {
    switch (status) {
      case THRT_OVER_BUDGET:
        return "raise --memory-budget, or lower the batch size or the number of environments";
      case THRT_OUT_OF_MEMORY:
        return "free memory on the device, or lower the batch size or the number of environments";
      case THRT_UNSUPPORTED:
        return "choose another backend (thrust backends lists them) or precision";
      case THRT_UNAVAILABLE:
        return "thrust backends says what each backend lacks";
      case THRT_INTERNAL:
      case THRT_INVALID_ARGUMENT:
      case THRT_INVALID_PROGRAM:
        return "this is a bug in the backend or in thrust: please report it with this message";
      default:
        return {};
    }
  }

  thrt_error error_;
};

}  // namespace

struct Context::Impl {
  explicit Impl(std::shared_ptr<LoadedPlugin> loaded) : plugin(std::move(loaded)), id(plugin->manifest().id) {}
  ~Impl() {
    if (context != nullptr) api().context_destroy(context);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const thrt_backend_api& api() const { return plugin->api(); }

  template <typename Task>
  void wait(Ticket ticket, Task&& task, const Program* program = nullptr) const {
    Failure failure;
    failure.check(api().wait(context, ticket, UINT64_MAX, failure.get()), id, task, program);
  }

  std::shared_ptr<LoadedPlugin> plugin;
  std::string id;
  std::uint32_t device_index = 0;
  thrt_context* context = nullptr;
};

struct Buffer::Impl {
  explicit Impl(std::shared_ptr<Context::Impl> owner) : context(std::move(owner)) {}
  ~Impl() {
    if (buffer != nullptr) context->api().buffer_destroy(context->context, buffer);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::shared_ptr<Context::Impl> context;
  std::uint64_t bytes = 0;
  thrt_buffer* buffer = nullptr;
};

struct Executable::Impl {
  Impl(std::shared_ptr<Context::Impl> owner, Program compiled)
      : context(std::move(owner)), program(std::move(compiled)) {}
  ~Impl() {
    if (executable != nullptr) context->api().executable_destroy(context->context, executable);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::string running() const { return fmt::format("running program '{}'", program.name()); }

  std::shared_ptr<Context::Impl> context;
  Program program;
  thrt_executable* executable = nullptr;
  thrt_executable_info info{};
};

struct Binding::Impl {
  explicit Impl(std::shared_ptr<Executable::Impl> owner) : executable(std::move(owner)) {}
  ~Impl() {
    if (binding != nullptr) executable->context->api().binding_destroy(executable->context->context, binding);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::shared_ptr<Executable::Impl> executable;
  std::vector<std::shared_ptr<Buffer::Impl>> buffers;
  thrt_binding* binding = nullptr;
};

Context::Context(std::shared_ptr<LoadedPlugin> plugin, const ContextOptions& options)
    : impl_(std::make_shared<Impl>(std::move(plugin))) {
  const thrt_context_options raw = {sizeof(raw), options.device_index, options.memory_budget, options.threads,
                                    options.precision};
  impl_->device_index = options.device_index;
  Failure failure;
  failure.check(impl_->api().context_create(impl_->plugin->handle(), &raw, &impl_->context, failure.get()), impl_->id,
                [&] { return fmt::format("opening device {}", options.device_index); });
}

const std::string& Context::backend_id() const {
  return impl_->id;
}

thrt_device_info Context::device_info() const {
  thrt_device_info info{};
  info.struct_size = sizeof(info);
  Failure failure;
  failure.check(impl_->api().device_info(impl_->plugin->handle(), impl_->device_index, &info, failure.get()), impl_->id,
                [] { return std::string("reading the device's description"); });
  return info;
}

thrt_stats Context::stats() const {
  thrt_stats stats{};
  stats.struct_size = sizeof(stats);
  Failure failure;
  failure.check(impl_->api().context_stats(impl_->context, &stats, failure.get()), impl_->id,
                [] { return std::string("reading statistics"); });
  return stats;
}

void Context::wait(Ticket ticket) const {
  impl_->wait(ticket, [] { return std::string("waiting for the device"); });
}

namespace {

// A reason may begin with its op's name ("conv2d: dilation 3 exceeds 2"); after "op 3 conv2d" it need not.
std::string_view without_op_name(std::string_view reason, std::string_view described_op) {
  const std::size_t colon = reason.find(": ");
  if (colon == std::string_view::npos) return reason;
  const std::string name = " " + std::string(reason.substr(0, colon));
  return described_op.find(name) == std::string_view::npos ? reason : reason.substr(colon + 2);
}

}  // namespace

std::vector<std::string> Context::refusals(const Program& program) const {
  std::vector<thrt_verdict> verdicts(64);
  std::uint32_t count = 0;
  Failure failure;
  failure.check(
      impl_->api().check(impl_->context, program.abi(), verdicts.data(), static_cast<std::uint32_t>(verdicts.size()),
                         &count, failure.get()),
      impl_->id, [&] { return fmt::format("checking program '{}'", program.name()); }, &program);
  std::vector<std::string> lines;
  for (std::uint32_t i = 0; i < count && i < verdicts.size(); ++i) {
    const std::string op = program.describe_op(verdicts[i].op_index);
    lines.push_back(fmt::format("{}: {}", op, without_op_name(static_cast<const char*>(verdicts[i].reason), op)));
  }
  if (count > verdicts.size()) lines.push_back(fmt::format("and {} more", count - verdicts.size()));
  return lines;
}

Buffer::Buffer(const Context& context, std::uint64_t bytes, std::uint32_t memory_kind)
    : impl_(std::make_shared<Impl>(context.impl_)) {
  const thrt_buffer_options options = {sizeof(options), memory_kind, bytes, 0};
  impl_->bytes = bytes;
  Failure failure;
  failure.check(impl_->context->api().buffer_create(impl_->context->context, &options, &impl_->buffer, failure.get()),
                impl_->context->id, [&] { return fmt::format("allocating {} bytes", bytes); });
}

std::uint64_t Buffer::bytes() const {
  return impl_->bytes;
}

Ticket Buffer::upload(std::span<const std::byte> source, std::uint64_t offset) {
  Ticket ticket = 0;
  Failure failure;
  failure.check(impl_->context->api().upload(impl_->context->context, impl_->buffer, offset, source.data(),
                                             source.size(), &ticket, failure.get()),
                impl_->context->id, [&] { return fmt::format("uploading {} bytes", source.size()); });
  return ticket;
}

Ticket Buffer::download(std::span<std::byte> destination, std::uint64_t offset) const {
  Ticket ticket = 0;
  Failure failure;
  failure.check(impl_->context->api().download(impl_->context->context, impl_->buffer, offset, destination.data(),
                                               destination.size(), &ticket, failure.get()),
                impl_->context->id, [&] { return fmt::format("downloading {} bytes", destination.size()); });
  return ticket;
}

void Buffer::write(std::span<const std::byte> source) {
  impl_->context->wait(upload(source), [] { return std::string("waiting for an upload"); });
}

void Buffer::read(std::span<std::byte> destination) const {
  impl_->context->wait(download(destination), [] { return std::string("waiting for a download"); });
}

Executable::Executable(const Context& context, Program program, std::uint32_t flags)
    : impl_(std::make_shared<Impl>(context.impl_, std::move(program))) {
  const std::vector<std::string> refusals = context.refusals(impl_->program);
  if (!refusals.empty()) {
    throw Error(fmt::format("backend '{}' cannot run program '{}'", context.backend_id(), impl_->program.name()),
                fmt::format("{}", fmt::join(refusals, "; ")), "choose another backend: thrust backends lists them");
  }
  const thrt_compile_options options = {sizeof(options), flags};
  impl_->info.struct_size = sizeof(impl_->info);
  Failure failure;
  failure.check(
      impl_->context->api().compile(impl_->context->context, impl_->program.abi(), &options, &impl_->executable,
                                    &impl_->info, failure.get()),
      context.backend_id(), [&] { return fmt::format("compiling program '{}'", impl_->program.name()); },
      &impl_->program);
}

const Program& Executable::program() const {
  return impl_->program;
}
const thrt_executable_info& Executable::info() const {
  return impl_->info;
}

std::string Executable::summary() const {
  const thrt_executable_info& info = impl_->info;
  return fmt::format("{}: backend={}:{} ops={}/{} steps={} launches={} workspace={:.1f} KiB compile={:.1f} ms ({})",
                     impl_->program.name(), impl_->context->id, impl_->context->device_index, info.ops_on_device,
                     info.ops, info.steps, info.launches, static_cast<double>(info.workspace_bytes) / 1024.0,
                     static_cast<double>(info.compile_ns) * 1e-6, static_cast<const char*>(info.kind));
}

std::optional<std::string> Executable::describe() const {
  const thrt_describe_api* table = impl_->context->plugin->describe_api();
  if (table == nullptr) return std::nullopt;
  const auto fill = [&](char* text, std::uint64_t capacity) -> std::optional<std::uint64_t> {
    std::uint64_t needed = 0;
    Failure failure;
    const thrt_status status =
        table->describe(impl_->context->context, impl_->executable, text, capacity, &needed, failure.get());
    if (status == THRT_UNSUPPORTED) return std::nullopt;
    failure.check(status, impl_->context->id,
                  [&] { return fmt::format("describing program '{}'", impl_->program.name()); });
    return needed;
  };
  const std::optional<std::uint64_t> needed = fill(nullptr, 0);
  if (!needed) return std::nullopt;
  std::string text(static_cast<std::size_t>(*needed), '\0');
  if (fill(text.data(), *needed) != needed) {
    throw Error(
        fmt::format("backend '{}' describes program '{}' in two ways", impl_->context->id, impl_->program.name()),
        "the text's length changed between two calls", "report this to the plugin's vendor");
  }
  text.resize(std::min(text.size(), text.find('\0')));
  return text;
}

std::optional<thrt_program_counters> Executable::counters() const {
  const thrt_describe_api* table = impl_->context->plugin->describe_api();
  if (table == nullptr) return std::nullopt;
  thrt_program_counters counters{};
  counters.struct_size = sizeof(counters);
  Failure failure;
  const thrt_status status = table->counters(impl_->context->context, impl_->executable, &counters, failure.get());
  if (status == THRT_UNSUPPORTED) return std::nullopt;
  failure.check(status, impl_->context->id,
                [&] { return fmt::format("counting what program '{}' does", impl_->program.name()); });
  return counters;
}

Binding::Binding(const Executable& executable, std::span<const Buffer> slots)
    : impl_(std::make_shared<Impl>(executable.impl_)) {
  std::vector<thrt_slot_buffer> raw;
  for (const Buffer& slot : slots) {
    impl_->buffers.push_back(slot.impl_);
    raw.push_back({slot.impl_->buffer, 0});
  }
  const Executable::Impl& owner = *impl_->executable;
  Failure failure;
  failure.check(
      owner.context->api().bind(owner.context->context, owner.executable, raw.data(),
                                static_cast<std::uint32_t>(raw.size()), &impl_->binding, failure.get()),
      owner.context->id, [&] { return fmt::format("binding program '{}'", owner.program.name()); }, &owner.program);
}

Ticket Binding::enqueue(std::uint32_t repeat) {
  Ticket ticket = 0;
  const Executable::Impl& owner = *impl_->executable;
  Failure failure;
  failure.check(
      owner.context->api().enqueue(owner.context->context, impl_->binding, repeat, &ticket, failure.get()),
      owner.context->id, [&] { return owner.running(); }, &owner.program);
  return ticket;
}

void Binding::run(std::uint32_t repeat) {
  const Executable::Impl& owner = *impl_->executable;
  owner.context->wait(
      enqueue(repeat), [&] { return owner.running(); }, &owner.program);
}

}  // namespace thrt
