// Structs that are longer or shorter than this version's, the manifest, and check()'s list of refusals.
#include "open_program.hpp"
#include "raw_host.hpp"

#include <thrt/graph/tensor_ops.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>

namespace thrt::conformance {
namespace {

constexpr unsigned char kFill = 0xA5;

// What a host of a later minor version passes: the struct with a field more.
template <typename Struct>
struct Longer {
  Struct known{};
  std::uint64_t future = 0;

  explicit Longer(const Struct& value) : known(value) { known.struct_size = sizeof *this; }
};

// `call(&struct, error)` must succeed when the field this version does not know is zero, and be refused when it is set.
template <typename Struct, typename Call>
void try_longer(const Struct& value, const char* what, const Call& call) {
  Longer<Struct> longer(value);
  Answer zero, set;
  zero.require_ok(call(&longer.known, zero.slot()), what);
  longer.future = 1;
  set.require_refused(call(&longer.known, set.slot()), {THRT_INCOMPATIBLE}, what);
}

void longer_plugin_options(const Bench& bench) {
  const RawHost host(bench);
  try_longer(thrt_plugin_options{}, "plugin_open with longer options",
             [&](const thrt_plugin_options* options, thrt_error* error) {
               thrt_plugin* opened = poison<thrt_plugin>();
               const thrt_status status = host.api().plugin_open(options, &opened, error);
               require(status == THRT_OK || opened == nullptr,
                       "plugin_open: failed and did not set the plugin to null");
               if (status == THRT_OK) host.api().plugin_close(opened);
               return status;
             });
}

void longer_context_options(const Bench& bench) {
  const RawHost host(bench);
  thrt_context_options options{};
  options.device_index = host.device();
  try_longer(options, "context_create with longer options", [&](const thrt_context_options* longer, thrt_error* error) {
    thrt_context* made = poison<thrt_context>();
    const thrt_status status = host.api().context_create(host.plugin(), longer, &made, error);
    require(status == THRT_OK || made == nullptr, "context_create: failed and did not set the context to null");
    if (status == THRT_OK) host.api().context_destroy(made);
    return status;
  });
}

void longer_buffer_options(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  thrt_buffer_options options{};
  options.bytes = 64;
  try_longer(options, "buffer_create with longer options", [&](const thrt_buffer_options* longer, thrt_error* error) {
    thrt_buffer* made = nullptr;
    const thrt_status status = context.api().buffer_create(context.handle(), longer, &made, error);
    if (status == THRT_OK) context.api().buffer_destroy(context.handle(), made);
    return status;
  });
}

void longer_compile_options(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const Program program = line_program(8);
  try_longer(thrt_compile_options{}, "compile with longer options",
             [&](const thrt_compile_options* longer, thrt_error* error) {
               thrt_executable* made = nullptr;
               const thrt_status status =
                   context.api().compile(context.handle(), program.abi(), longer, &made, nullptr, error);
               if (status == THRT_OK) context.api().executable_destroy(context.handle(), made);
               return status;
             });
}

void longer_program(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const Program program = line_program(8);
  try_longer(*program.abi(), "check of a longer program", [&](const thrt_program* longer, thrt_error* error) {
    std::uint32_t count = 0;
    return context.api().check(context.handle(), longer, nullptr, 0, &count, error);
  });
  try_longer(*program.abi(), "compile of a longer program", [&](const thrt_program* longer, thrt_error* error) {
    const thrt_compile_options options{sizeof options, 0};
    thrt_executable* made = nullptr;
    const thrt_status status = context.api().compile(context.handle(), longer, &options, &made, nullptr, error);
    if (status == THRT_OK) context.api().executable_destroy(context.handle(), made);
    return status;
  });
}

// An output struct with `capacity` bytes: what comes after them stays, and so does struct_size and what lies inside but
// behind the struct, which a plugin of this version does not know. What lies inside agrees with `full`, given bytes
// [4, common).
template <typename Struct, typename Call>
void try_capacity(const Bench& bench, const Struct& full, std::size_t common, std::uint32_t capacity, const char* what,
                  const Call& call) {
  alignas(Struct) std::array<unsigned char, sizeof(Struct) + 64> memory;
  memory.fill(kFill);
  std::memcpy(memory.data(), &capacity, sizeof capacity);
  Answer answer;
  answer.require_ok(call(reinterpret_cast<Struct*>(memory.data()), answer.slot()), what);
  std::uint32_t size_after = 0;
  std::memcpy(&size_after, memory.data(), sizeof size_after);
  require(size_after == capacity, "{}: struct_size was {} and is {}", what, capacity, size_after);
  const bool may_know_more = bench.plugin->manifest().abi_minor > THRT_ABI_MINOR;
  const std::size_t known = may_know_more ? capacity : std::min<std::size_t>(capacity, sizeof(Struct));
  for (std::size_t at = known; at < memory.size(); ++at) {
    require(memory[at] == kFill, "{}: wrote byte {} of a struct of {} bytes with room for {}", what, at, sizeof(Struct),
            capacity);
  }
  const std::size_t compared = std::min<std::size_t>(common, capacity);
  require(std::memcmp(memory.data() + 4, reinterpret_cast<const unsigned char*>(&full) + 4, compared - 4) == 0,
          "{}: the part that fits differs from what a full struct gets", what);
}

void output_capacity(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const auto stats = [&](thrt_stats* out, thrt_error* error) {
    return context.api().context_stats(context.handle(), out, error);
  };
  const thrt_stats full_stats = context.stats();
  for (const std::uint32_t capacity : {24u, 40u, 64u, 72u, 128u}) {
    try_capacity(bench, full_stats, sizeof full_stats, capacity, "context_stats", stats);
  }
  const auto info = [&](thrt_device_info* out, thrt_error* error) {
    return host.api().device_info(host.plugin(), host.device(), out, error);
  };
  thrt_device_info full_info{};
  full_info.struct_size = sizeof full_info;
  Answer answer;
  answer.require_ok(info(&full_info, answer.slot()), "device_info");
  for (const std::uint32_t capacity : {16u, 64u, 256u, 568u, 600u}) {
    try_capacity(bench, full_info, offsetof(thrt_device_info, memory_total), capacity, "device_info", info);
  }
  const Program program = line_program(8);
  thrt_executable_info full_executable{};
  full_executable.struct_size = sizeof full_executable;
  context.api().executable_destroy(context.handle(), context.compile(*program.abi(), 0, &full_executable));
  for (const std::uint32_t capacity : {16u, 32u, 80u, 112u}) {
    try_capacity(bench, full_executable, offsetof(thrt_executable_info, workspace_bytes), capacity, "compile's info",
                 [&](thrt_executable_info* out, thrt_error* error) {
                   const thrt_compile_options options{sizeof options, 0};
                   thrt_executable* made = nullptr;
                   const thrt_status status =
                       context.api().compile(context.handle(), program.abi(), &options, &made, out, error);
                   if (status == THRT_OK) context.api().executable_destroy(context.handle(), made);
                   return status;
                 });
  }
}

// Bytes that end where the process may not read on.
class EndOfPage {
 public:
  EndOfPage() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* mapped = mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    start_ = static_cast<unsigned char*>(mapped);
    mprotect(start_ + page_, page_, PROT_NONE);
  }
  ~EndOfPage() { munmap(start_, 2 * page_); }
  EndOfPage(const EndOfPage&) = delete;
  EndOfPage& operator=(const EndOfPage&) = delete;

  // The first `bytes` of `value`, with that as its struct_size.
  template <typename Struct>
  const Struct* place(Struct value, std::uint32_t bytes) const {
    value.struct_size = bytes;
    return static_cast<const Struct*>(std::memcpy(start_ + page_ - bytes, &value, bytes));
  }

 private:
  std::size_t page_;
  unsigned char* start_;
};

// "A callee that knows a longer one takes the missing part as zero": of options alone, since no program is shorter than
// that of 1.0.
void shorter_options(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const EndOfPage end;
  {
    thrt_plugin* opened = nullptr;
    Answer answer;
    answer.require_ok(host.api().plugin_open(end.place(thrt_plugin_options{}, 8), &opened, answer.slot()),
                      "plugin_open with options of 8 bytes");
    host.api().plugin_close(opened);
  }
  thrt_context_options of_context{};
  of_context.device_index = host.device();
  for (const std::uint32_t bytes : {8u, 16u, 24u}) {
    thrt_context* made = nullptr;
    Answer answer, stats_answer;
    answer.require_ok(host.api().context_create(host.plugin(), end.place(of_context, bytes), &made, answer.slot()),
                      "context_create with shorter options");
    thrt_stats stats{};
    stats.struct_size = sizeof stats;
    const thrt_status status = host.api().context_stats(made, &stats, stats_answer.slot());
    host.api().context_destroy(made);
    stats_answer.require_ok(status, "context_stats");
    require(stats.bytes_budget == context.stats().bytes_budget,
            "context_create with options of {} bytes, without a budget: it is {}, that of none given is {}", bytes,
            stats.bytes_budget, context.stats().bytes_budget);
  }
  thrt_buffer_options of_buffer{};
  of_buffer.bytes = 100;
  for (const std::uint32_t bytes : {16u, 24u}) {
    thrt_buffer* made = nullptr;
    Answer answer;
    answer.require_ok(context.api().buffer_create(context.handle(), end.place(of_buffer, bytes), &made, answer.slot()),
                      "buffer_create with shorter options");
    context.write(made, std::vector<float>(25, 2.0f));
    require(context.read(made, 25).back() == 2.0f, "a buffer made with options of {} bytes does not hold its bytes",
            bytes);
    context.api().buffer_destroy(context.handle(), made);
  }
  const Program program = line_program(8);
  thrt_executable* made = nullptr;
  Answer answer;
  answer.require_ok(context.api().compile(context.handle(), program.abi(), end.place(thrt_compile_options{}, 8), &made,
                                          nullptr, answer.slot()),
                    "compile");
  context.api().executable_destroy(context.handle(), made);
  // The program itself, so that nothing behind it is read either.
  made = nullptr;
  Answer of_program;
  const thrt_compile_options options{sizeof options, 0};
  of_program.require_ok(context.api().compile(context.handle(), end.place(*program.abi(), sizeof(thrt_program)),
                                              &options, &made, nullptr, of_program.slot()),
                        "compile of a program at the end of a page");
  context.api().executable_destroy(context.handle(), made);
}

void executable_info(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const Program program = line_program(64);
  thrt_executable_info info{};
  info.struct_size = sizeof info;
  context.api().executable_destroy(context.handle(), context.compile(*program.abi(), 0, &info));
  require(info.ops == program.op_count(), "info.ops is {}, the program has {}", info.ops, program.op_count());
  require(info.ops_on_device == info.ops, "info.ops_on_device is {} of {}", info.ops_on_device, info.ops);
  require(std::memchr(info.kind, 0, sizeof info.kind) != nullptr && info.kind[0] != '\0', "info.kind is no string");
}

// -------------------------------------------------------------------------------------------------------------- manifest

template <std::size_t N>
void require_text(const char (&text)[N], const char* field, bool may_be_empty) {
  const void* end = std::memchr(text, 0, N);
  require(end != nullptr, "manifest.{} does not end within its {} bytes", field, N);
  require(may_be_empty || text[0] != '\0', "manifest.{} is empty", field);
  for (const char* at = text; at != end; ++at) {
    require(*at >= 0x20 && *at < 0x7F, "manifest.{} has a character that is not printable ASCII", field);
  }
}

void manifest(const Bench& bench) {
  const std::vector<std::byte> bytes = read_manifest_bytes(bench.plugin->file());
  require(bytes.size() >= sizeof(thrt_manifest), "the manifest has {} bytes", bytes.size());
  thrt_manifest read;
  std::memcpy(&read, bytes.data(), sizeof read);
  require(read.magic == THRT_MANIFEST_MAGIC && read.struct_size == bytes.size(), "the manifest's start is wrong");
  require_text(read.id, "id", false);
  require_text(read.version, "version", false);
  require_text(read.vendor, "vendor", false);
  require_text(read.description, "description", true);
  require(read.id == id_of_file_name(bench.plugin->file()), "manifest.id is '{}', the file is {}", read.id,
          bench.plugin->file().filename().string());
  require(read.pointer_bits == 8 * sizeof(void*), "manifest.pointer_bits is {}", read.pointer_bits);
  require(read.opset_min >= 1 && read.opset_min <= read.opset_max, "the op sets {} to {} are no range", read.opset_min,
          read.opset_max);
  for (const std::uint8_t byte : read.reserved) require(byte == 0, "manifest.reserved is not zero");
}

// ----------------------------------------------------------------------------------------------------------------- check

// A dtype that values of this device may not have.
std::optional<DType> missing_dtype(const DeviceInfo& device) {
  for (const DType dtype : {DType::kF64, DType::kF16, DType::kBF16}) {
    if ((device.storage_dtypes & ir::dtype_bit(dtype)) == 0) return dtype;
  }
  return std::nullopt;
}

void check_lists_refusals(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const std::optional<DType> dtype = missing_dtype(host.info());
  if (!dtype) return;  // it refuses nothing, so there is no list
  Graph graph("refused");
  const Tensor x = graph.input("x", {*dtype, {4}});
  graph.output("y", -abs(-x));
  const Program program = lower(graph);
  std::array<thrt_verdict, 8> all{}, some{};
  std::uint32_t total = 0;
  const auto check = [&](thrt_verdict* verdicts, std::uint32_t capacity) {
    std::uint32_t count = UINT32_MAX;
    Answer answer;
    answer.require_ok(context.api().check(context.handle(), program.abi(), verdicts, capacity, &count, answer.slot()),
                      "check");
    return count;
  };
  total = check(all.data(), static_cast<std::uint32_t>(all.size()));
  require(total >= 1 && total <= 3, "check counts {} refusals in a program of 3 ops with a dtype the device lacks",
          total);
  for (std::uint32_t i = 0; i < total; ++i) {
    require(all[i].op_index < 3 && all[i].code == THRT_UNSUPPORTED, "verdict {} is of op {} with code {}", i,
            all[i].op_index, all[i].code);
    require(std::memchr(all[i].reason, 0, sizeof all[i].reason) != nullptr && all[i].reason[0] != '\0',
            "verdict {} has no reason", i);
  }
  require(check(nullptr, 0) == total, "check counts differently when it has no room");
  std::memset(some.data(), kFill, sizeof some);
  require(check(some.data(), 1) == total, "check counts differently when it has room for one");
  require(std::memcmp(&some[0], &all[0], offsetof(thrt_verdict, reason)) == 0, "the first refusal depends on the room");
  const auto* rest = reinterpret_cast<const unsigned char*>(&some[1]);
  require(std::all_of(rest, rest + sizeof some - sizeof some[0], [](unsigned char byte) { return byte == kFill; }),
          "check writes more refusals than there is room for");
  const thrt_compile_options options{sizeof options, 0};
  thrt_executable* executable = poison<thrt_executable>();
  Answer answer;
  answer.require_refused(
      context.api().compile(context.handle(), program.abi(), &options, &executable, nullptr, answer.slot()),
      {THRT_UNSUPPORTED}, "compile of a program that check refuses");
  require(executable == nullptr, "compile: failed and did not set the executable to null");
  std::uint32_t first = all[0].op_index;
  for (std::uint32_t i = 1; i < total; ++i) first = std::min(first, all[i].op_index);
  require(answer.error().op_index == first, "compile names op {}, the first refused is {}", answer.error().op_index,
          first);
  require_works(context);
}

void check_of_a_good_program(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  const thrt_stats before = context.stats();
  const Program program = line_program(1 << 18);
  thrt_verdict first{};
  std::uint32_t count = UINT32_MAX;
  Answer answer;
  answer.require_ok(context.api().check(context.handle(), program.abi(), &first, 1, &count, answer.slot()), "check");
  if (count > 0) throw Declined(std::string(first.reason, strnlen(first.reason, sizeof first.reason)));
  const thrt_stats after = context.stats();
  require(after.bytes_allocated == before.bytes_allocated && after.executables == 0, "check allocates {} bytes",
          after.bytes_allocated - before.bytes_allocated);
}

}  // namespace

std::vector<Case> struct_cases() {
  return {
      contract_case("longer_plugin_options", longer_plugin_options),
      contract_case("longer_context_options", longer_context_options),
      contract_case("longer_buffer_options", longer_buffer_options),
      contract_case("longer_compile_options", longer_compile_options),
      contract_case("longer_program", longer_program),
      contract_case("shorter_options", shorter_options),
      contract_case("output_capacity", output_capacity),
      contract_case("executable_info", executable_info),
      contract_case("manifest", manifest),
      contract_case("check_lists_refusals", check_lists_refusals),
      contract_case("check_of_a_good_program", check_of_a_good_program),
  };
}

}  // namespace thrt::conformance
