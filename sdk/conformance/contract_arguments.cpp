// Calls that break the contract in one argument: each is refused with the status abi.h has for it, and the context works
// afterwards.
#include "raw_host.hpp"

#include <thrt/graph/tensor_ops.hpp>

#include <array>

namespace thrt::conformance {
namespace {

const std::vector<thrt_status> kArgument = {THRT_INVALID_ARGUMENT};
// "an object [...] is of another context" is INVALID_STATE; that the caller broke the contract is true as well.
const std::vector<thrt_status> kForeign = {THRT_INVALID_STATE, THRT_INVALID_ARGUMENT};
// A value of an enumeration that only a later version may know.
const std::vector<thrt_status> kUnknownValue = {THRT_INVALID_ARGUMENT, THRT_UNSUPPORTED, THRT_INCOMPATIBLE};

constexpr std::int64_t kCount =
    33;  // elements of the line program's slots: 132 bytes, so 192 to the next multiple of 64

// -------------------------------------------------------------------------------------------------------------- contexts

void require_no_context(const RawHost& host, const thrt_context_options* options,
                        const std::vector<thrt_status>& allowed, const char* what) {
  thrt_context* context = poison<thrt_context>();
  Answer answer;
  answer.require_refused(host.api().context_create(host.plugin(), options, &context, answer.slot()), allowed, what);
  require(context == nullptr, "{}: failed and did not set the context to null", what);
}

void device_index_out_of_range(const Bench& bench) {
  const RawHost host(bench);
  for (const std::uint32_t index : {host.device_count(), 1000u, UINT32_MAX}) {
    thrt_device_info info{};
    info.struct_size = sizeof info;
    Answer answer;
    answer.require_refused(host.api().device_info(host.plugin(), index, &info, answer.slot()), kArgument,
                           "device_info");
    require(info.name[0] == '\0' && info.struct_size == sizeof info, "device_info: failed and wrote into the info");
    const thrt_context_options options{sizeof options, index, 0, 0, THRT_PRECISION_F32};
    require_no_context(host, &options, kArgument, "context_create");
  }
}

void unsupported_precision(const Bench& bench) {
  const RawHost host(bench);
  for (std::uint32_t precision = THRT_PRECISION_F32; precision <= THRT_PRECISION_F16; ++precision) {
    if ((host.info().precisions & (1u << precision)) != 0) continue;
    const thrt_context_options options{sizeof options, host.device(), 0, 0, precision};
    require_no_context(host, &options, {THRT_UNSUPPORTED}, "context_create with a precision the device lacks");
  }
  const thrt_context_options unknown{sizeof unknown, host.device(), 0, 0, 31};
  require_no_context(host, &unknown, kUnknownValue, "context_create with an unknown precision");
  require_works(host.context());
}

void unavailable_device(const Bench& bench) {
  const RawHost host(bench);
  for (std::uint32_t index = 0; index < host.device_count(); ++index) {
    thrt_device_info info{};
    info.struct_size = sizeof info;
    Answer answer;
    answer.require_ok(host.api().device_info(host.plugin(), index, &info, answer.slot()), "device_info");
    if (info.available == 1) continue;
    const thrt_context_options options{sizeof options, index, 0, 0, THRT_PRECISION_F32};
    require_no_context(host, &options, {THRT_UNAVAILABLE}, "context_create on an unavailable device");
  }
}

// --------------------------------------------------------------------------------------------------------------- buffers

void refuse_buffer(const RawContext& context, const thrt_buffer_options* options,
                   const std::vector<thrt_status>& allowed, const char* what) {
  thrt_buffer* made = poison<thrt_buffer>();
  Answer answer;
  answer.require_refused(context.api().buffer_create(context.handle(), options, &made, answer.slot()), allowed, what);
  require(made == nullptr, "{}: failed and did not set the buffer to null", what);
}

void buffer_options(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  for (const std::uint64_t alignment : {std::uint64_t{3}, std::uint64_t{65}, UINT64_MAX}) {
    const thrt_buffer_options odd{sizeof odd, THRT_MEMORY_DEVICE, 64, alignment};
    refuse_buffer(context, &odd, kArgument, "buffer_create with an alignment that is no power of two");
  }
  const thrt_buffer_options unknown{sizeof unknown, 77, 64, 0};
  refuse_buffer(context, &unknown, kUnknownValue, "buffer_create with an unknown memory kind");
  for (const std::uint64_t alignment : {1, 16, 256, 4096}) {
    const thrt_buffer_options good{sizeof good, THRT_MEMORY_DEVICE, 100, alignment};
    thrt_buffer* made = nullptr;
    Answer answer;
    answer.require_ok(context.api().buffer_create(context.handle(), &good, &made, answer.slot()), "buffer_create");
    context.api().buffer_destroy(context.handle(), made);
  }
  require_works(context);
}

void copy_out_of_range(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  thrt_buffer* buffer = context.buffer(256);
  std::array<std::byte, 512> memory{};
  constexpr thrt_ticket kBefore = 0x5A5A;
  struct Range {
    std::uint64_t offset, bytes;
  };
  for (const Range range :
       {Range{0, 257}, Range{256, 1}, Range{257, 0}, Range{UINT64_MAX, 2}, Range{1, UINT64_MAX}, Range{128, 256}}) {
    thrt_ticket ticket = kBefore;
    Answer up, down;
    up.require_refused(
        context.api().upload(context.handle(), buffer, range.offset, memory.data(), range.bytes, &ticket, up.slot()),
        kArgument, "upload past the end of the buffer");
    down.require_refused(context.api().download(context.handle(), buffer, range.offset, memory.data(), range.bytes,
                                                &ticket, down.slot()),
                         kArgument, "download past the end of the buffer");
    require(ticket == kBefore, "a refused copy changes the ticket");
  }
  const thrt_stats stats = context.stats();
  require(stats.bytes_uploaded == 0 && stats.bytes_downloaded == 0, "refused copies are counted: {} and {} bytes",
          stats.bytes_uploaded, stats.bytes_downloaded);
  context.wait(context.upload(buffer, 192, std::span(memory).first(64)));  // up to the end
  context.api().buffer_destroy(context.handle(), buffer);
  require_works(context);
}

// ------------------------------------------------------------------------------------------------------------------ bind

// The line program with two buffers of 512 bytes, and bind() tried with other slots than it needs.
class BindTrial {
 public:
  explicit BindTrial(const RawContext& context)
      : context_(context),
        program_(line_program(kCount)),
        executable_(context.compile(*program_.abi())),
        in_(context.buffer(512)),
        out_(context.buffer(512)) {}
  BindTrial(const BindTrial&) = delete;
  BindTrial& operator=(const BindTrial&) = delete;
  ~BindTrial() {
    context_.api().executable_destroy(context_.handle(), executable_);
    for (thrt_buffer* one : {in_, out_}) context_.api().buffer_destroy(context_.handle(), one);
  }

  thrt_executable* executable() const { return executable_; }
  thrt_slot_buffer in(std::uint64_t offset = 0) const { return {in_, offset}; }
  thrt_slot_buffer out(std::uint64_t offset = 0) const { return {out_, offset}; }

  void refuse(std::vector<thrt_slot_buffer> slots, const char* what,
              const std::vector<thrt_status>& allowed = kArgument) const {
    context_.refused_bind(executable_, slots.data(), static_cast<std::uint32_t>(slots.size()), allowed, what);
  }
  void accept(std::vector<thrt_slot_buffer> slots) const {
    context_.api().binding_destroy(context_.handle(), context_.bind(executable_, slots));
  }

 private:
  const RawContext& context_;
  Program program_;
  thrt_executable* executable_;
  thrt_buffer* in_;
  thrt_buffer* out_;
};

void bind_case(const Bench& bench, const std::function<void(const RawContext&, const BindTrial&)>& body) {
  const RawHost host(bench);
  const RawContext context = host.context();
  {
    const BindTrial trial(context);
    body(context, trial);
    trial.accept({trial.in(64), trial.out(320)});
  }
  const thrt_stats stats = context.stats();
  require(stats.bindings == 0 && stats.executables == 0 && stats.buffers == 0,
          "refused calls leave {} bindings, {} executables, {} buffers", stats.bindings, stats.executables,
          stats.buffers);
  require_works(context);
}

void bind_slot_count(const Bench& bench) {
  bind_case(bench, [](const RawContext& context, const BindTrial& trial) {
    trial.refuse({trial.in()}, "bind with one slot of two");
    trial.refuse({trial.in(), trial.out(), trial.in(256)}, "bind with three slots of two");
    context.refused_bind(trial.executable(), nullptr, 0, kArgument, "bind without slots");
  });
}

void bind_buffer_too_small(const Bench& bench) {
  bind_case(bench, [](const RawContext& context, const BindTrial& trial) {
    thrt_buffer* small = context.buffer(128);  // the slot needs 132
    trial.refuse({{small, 0}, trial.out()}, "bind with an input buffer too small");
    trial.refuse({trial.in(), {small, 0}}, "bind with an output buffer too small");
    trial.refuse({trial.in(384), trial.out()}, "bind with an offset that leaves too little");
    trial.refuse({trial.in(std::uint64_t{1} << 40), trial.out()}, "bind with an offset beyond the buffer");
    trial.refuse({trial.in(UINT64_MAX - 63), trial.out()}, "bind with an offset that overflows");
    context.api().buffer_destroy(context.handle(), small);
  });
}

void bind_offset_not_aligned(const Bench& bench) {
  bind_case(bench, [](const RawContext&, const BindTrial& trial) {
    trial.refuse({trial.in(4), trial.out()}, "bind with offset 4");
    trial.refuse({trial.in(), trial.out(63)}, "bind with offset 63");
  });
}

void bind_overlap(const Bench& bench) {
  bind_case(bench, [](const RawContext&, const BindTrial& trial) {
    trial.refuse({trial.in(), trial.in()}, "bind with input and output in one place");
    trial.refuse({trial.in(), trial.in(128)}, "bind with the output's start in the input's end");
    trial.refuse({trial.in(128), trial.in()}, "bind with the output's end in the input's start");
    trial.accept({trial.in(), trial.in(192)});
  });
}

void objects_of_another_context(const Bench& bench) {
  const RawHost host(bench);
  const RawContext ours = host.context();
  const RawContext theirs = host.context();
  const RawBinding bound = theirs.prepare(line_program(kCount));
  {
    const BindTrial trial(ours);
    trial.refuse({{bound.buffers[0], 0}, trial.out()}, "bind with an input buffer of another context", kForeign);
    trial.refuse({trial.in(), {bound.buffers[1], 0}}, "bind with an output buffer of another context", kForeign);
    const thrt_slot_buffer slots[] = {trial.in(), trial.out()};
    ours.refused_bind(bound.executable, slots, 2, kForeign, "bind of another context's executable");
  }
  std::array<std::byte, 64> memory{};
  thrt_ticket ticket = 0;
  Answer up, down, run;
  up.require_refused(
      ours.api().upload(ours.handle(), bound.buffers[0], 0, memory.data(), memory.size(), &ticket, up.slot()), kForeign,
      "upload to another context's buffer");
  down.require_refused(
      ours.api().download(ours.handle(), bound.buffers[0], 0, memory.data(), memory.size(), &ticket, down.slot()),
      kForeign, "download from another context's buffer");
  run.require_refused(ours.api().enqueue(ours.handle(), bound.binding, 1, &ticket, run.slot()), kForeign,
                      "enqueue of another context's binding");
  theirs.destroy(bound);
  require_works(ours);
  require_works(theirs);
}

// --------------------------------------------------------------------------------------------------------- null pointers

void null_pointers_of_context_create(const Bench& bench) {
  const RawHost host(bench);
  require_no_context(host, nullptr, kArgument, "context_create without options");
  const thrt_context_options options{sizeof options, host.device(), 0, 0, THRT_PRECISION_F32};
  Answer answer;
  answer.require_refused(host.api().context_create(host.plugin(), &options, nullptr, answer.slot()), kArgument,
                         "context_create without a place for the context");
}

void null_pointers_of_buffers(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const thrt_backend_api& api = context.api();
  refuse_buffer(context, nullptr, kArgument, "buffer_create without options");
  const thrt_buffer_options options{sizeof options, THRT_MEMORY_DEVICE, 64, 0};
  thrt_buffer* buffer = context.buffer(64);
  std::array<std::byte, 64> memory{};
  thrt_ticket ticket = 0;
  const auto refuse = [](const char* what, const auto& call) {
    Answer answer;
    answer.require_refused(call(answer.slot()), kArgument, what);
  };
  refuse("buffer_create without a place for the buffer",
         [&](thrt_error* error) { return api.buffer_create(context.handle(), &options, nullptr, error); });
  refuse("upload without a buffer",
         [&](thrt_error* error) { return api.upload(context.handle(), nullptr, 0, memory.data(), 4, &ticket, error); });
  refuse("upload without a source",
         [&](thrt_error* error) { return api.upload(context.handle(), buffer, 0, nullptr, 4, &ticket, error); });
  refuse("upload without a place for the ticket",
         [&](thrt_error* error) { return api.upload(context.handle(), buffer, 0, memory.data(), 4, nullptr, error); });
  refuse("download without a buffer", [&](thrt_error* error) {
    return api.download(context.handle(), nullptr, 0, memory.data(), 4, &ticket, error);
  });
  refuse("download without a destination",
         [&](thrt_error* error) { return api.download(context.handle(), buffer, 0, nullptr, 4, &ticket, error); });
  refuse("context_stats without a place",
         [&](thrt_error* error) { return api.context_stats(context.handle(), nullptr, error); });
  api.buffer_destroy(context.handle(), buffer);
  require_works(context);
}

void null_pointers_of_programs(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const thrt_backend_api& api = context.api();
  const Program program = line_program(kCount);
  const thrt_compile_options options{sizeof options, 0};
  thrt_executable* executable = nullptr;
  std::uint32_t count = 0;
  thrt_ticket ticket = 0;
  const auto refuse = [](const char* what, const auto& call) {
    Answer answer;
    answer.require_refused(call(answer.slot()), kArgument, what);
  };
  refuse("check without a program",
         [&](thrt_error* error) { return api.check(context.handle(), nullptr, nullptr, 0, &count, error); });
  refuse("check without a place for the count",
         [&](thrt_error* error) { return api.check(context.handle(), program.abi(), nullptr, 0, nullptr, error); });
  refuse("compile without a program", [&](thrt_error* error) {
    return api.compile(context.handle(), nullptr, &options, &executable, nullptr, error);
  });
  refuse("compile without options", [&](thrt_error* error) {
    return api.compile(context.handle(), program.abi(), nullptr, &executable, nullptr, error);
  });
  refuse("compile without a place for the executable", [&](thrt_error* error) {
    return api.compile(context.handle(), program.abi(), &options, nullptr, nullptr, error);
  });
  refuse("enqueue without a binding",
         [&](thrt_error* error) { return api.enqueue(context.handle(), nullptr, 1, &ticket, error); });
  bind_case(bench, [&](const RawContext& own, const BindTrial& trial) {
    const thrt_slot_buffer slots[] = {trial.in(), trial.out()};
    own.refused_bind(nullptr, slots, 2, kArgument, "bind without an executable");
    own.refused_bind(trial.executable(), nullptr, 2, kArgument, "bind with null slots");
    trial.refuse({{nullptr, 0}, trial.out()}, "bind with a null buffer");
    refuse("bind without a place for the binding", [&](thrt_error* error) {
      return own.api().bind(own.handle(), trial.executable(), slots, 2, nullptr, error);
    });
  });
}

// "Every thrt_error* parameter may be null."
void error_may_be_null(const Bench& bench) {
  const RawHost host(bench);
  const thrt_backend_api& api = host.api();
  const thrt_context_options bad_device{sizeof bad_device, 1000, 0, 0, THRT_PRECISION_F32};
  thrt_context* refused = poison<thrt_context>();
  require(
      api.context_create(host.plugin(), &bad_device, &refused, nullptr) == THRT_INVALID_ARGUMENT && refused == nullptr,
      "context_create of device 1000 without an error");
  const RawContext context = host.context();
  const Program program = line_program(kCount);
  std::uint32_t count = 0;
  require(api.check(context.handle(), program.abi(), nullptr, 0, &count, nullptr) == THRT_OK, "check without an error");
  thrt_program broken = *program.abi();
  broken.name = 1u << 30;
  require(api.check(context.handle(), &broken, nullptr, 0, &count, nullptr) == THRT_INVALID_PROGRAM,
          "check of a malformed program without an error");
  const thrt_compile_options options{sizeof options, 0};
  thrt_executable* executable = poison<thrt_executable>();
  require(api.compile(context.handle(), &broken, &options, &executable, nullptr, nullptr) == THRT_INVALID_PROGRAM &&
              executable == nullptr,
          "compile of a malformed program without an error");
  const RawBinding bound = context.prepare(program);
  thrt_ticket ticket = 0;
  require(api.enqueue(context.handle(), bound.binding, 0, &ticket, nullptr) == THRT_INVALID_ARGUMENT,
          "enqueue with repeat 0 without an error");
  require(api.wait(context.handle(), 0, 0, nullptr) == THRT_OK, "wait without an error");
  context.destroy(bound);
  require_works(context);
}

void unknown_extension(const Bench& bench) {
  const RawHost host(bench);
  require(host.api().get_extension("nobody.nothing/1") == nullptr, "get_extension gives a table for an unknown id");
  require(host.api().get_extension("") == nullptr, "get_extension gives a table for an empty id");
}

}  // namespace

std::vector<Case> argument_cases() {
  return {
      contract_case("device_index_out_of_range", device_index_out_of_range),
      contract_case("unsupported_precision", unsupported_precision),
      contract_case("unavailable_device", unavailable_device),
      contract_case("buffer_options", buffer_options),
      contract_case("copy_out_of_range", copy_out_of_range),
      contract_case("bind_slot_count", bind_slot_count),
      contract_case("bind_buffer_too_small", bind_buffer_too_small),
      contract_case("bind_offset_not_aligned", bind_offset_not_aligned),
      contract_case("bind_overlap", bind_overlap),
      contract_case("objects_of_another_context", objects_of_another_context),
      contract_case("null_pointers_of_context_create", null_pointers_of_context_create),
      contract_case("null_pointers_of_buffers", null_pointers_of_buffers),
      contract_case("null_pointers_of_programs", null_pointers_of_programs),
      contract_case("error_may_be_null", error_may_be_null),
      contract_case("unknown_extension", unknown_extension),
  };
}

}  // namespace thrt::conformance
