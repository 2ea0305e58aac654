// A launch allocates nothing: malloc and its kin are counted while enqueue runs. Apart from the other tests, because it replaces them
// for the whole process.
#include "host.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#if !defined(__SANITIZE_ADDRESS__) && defined(__GLIBC__)
#define THRT_COUNTS_ALLOCATIONS 1
namespace {
std::atomic<bool> counting{false};
std::atomic<long> allocations{0};
void note() {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

// operator new of libstdc++ ends here too.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): glibc's own names
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
// NOLINTEND(bugprone-reserved-identifier)

void* malloc(std::size_t size) {
  note();
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  note();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
  note();
  return __libc_realloc(memory, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  note();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  note();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  note();
  *memory = __libc_memalign(alignment, size);
  return *memory != nullptr ? 0 : ENOMEM;
}
}
#endif

namespace thrt::testing {
namespace {

using ir::DType;
using ir::OpKind;
using ir::Type;

#ifdef THRT_COUNTS_ALLOCATIONS

long allocations_of_a_launch(Builder& builder) {
  Host host(THRT_CPU_PLUGIN);
  Loaded loaded(host, builder);
  const thrt_program& program = builder.built();
  for (std::uint32_t i = 0; i < program.slot_count; ++i) {
    if (program.slots[i].input_value == THRT_NONE) continue;
    loaded.set(program.strings + program.slots[i].name, Bytes(builder.type(program.slots[i].input_value).bytes(), 0));
  }
  loaded.run();
  allocations = 0;
  counting = true;
  thrt_ticket ticket = 0;
  const thrt_status status = loaded.enqueue(3, &ticket);
  counting = false;
  EXPECT_EQ(status, static_cast<thrt_status>(THRT_OK));
  loaded.wait(ticket);
  return allocations;
}

Type f32(std::initializer_list<std::int64_t> dims) {
  return {DType::kF32, dims};
}

std::uint32_t spread(Builder& b, std::uint32_t x, const std::vector<std::int64_t>& axes, const Type& to) {
  return b.op(OpKind::BROADCAST, {x}, axes, to);
}

// A dense layer, its gradient, a loss, an update: the ops of a training step.
std::uint32_t train(Builder& b, std::uint32_t x, std::uint32_t w, std::uint32_t bias) {
  const Type hidden = f32({64, 64});
  const std::uint32_t z = b.op(OpKind::MATMUL, {x, w}, {0, 0});
  const std::uint32_t h = b.op(OpKind::TANH, {b.op(OpKind::ADD, {z, spread(b, bias, {1}, hidden)})});
  const std::uint32_t largest = b.op(OpKind::REDUCE_MAX, {h}, {1});
  const std::uint32_t e = b.op(OpKind::EXP, {b.op(OpKind::SUB, {h, spread(b, largest, {0}, hidden)})});
  const std::uint32_t p = b.op(OpKind::DIV, {e, spread(b, b.op(OpKind::REDUCE_SUM, {e}, {1}), {0}, hidden)});
  const std::uint32_t gradient = b.op(OpKind::MATMUL, {x, p}, {1, 0});
  return b.op(OpKind::SUB, {w, gradient});
}

TEST(CpuAllocation, IsSeen) {
  allocations = 0;
  counting = true;
  const auto first = std::make_unique<int>(1);
  const std::vector<int> second(100, *first);
  counting = false;
  EXPECT_EQ(second.back(), 1);
  EXPECT_EQ(allocations, 2);
}

TEST(CpuAllocation, NoneInATrainingStep) {
  Builder b;
  const std::uint32_t x = b.input("x", f32({64, 4})), w = b.input("w", f32({4, 64})), bias = b.input("bias", f32({64}));
  b.output("w", train(b, x, w, bias));
  EXPECT_EQ(allocations_of_a_launch(b), 0);
}

TEST(CpuAllocation, NoneInNestedRepeats) {
  const auto inner = std::make_shared<Builder>();
  inner->input("i", {DType::kI32, {}});
  const std::uint32_t w = inner->input("w", f32({4, 64}));
  const std::uint32_t x = inner->input("x", f32({64, 4})), bias = inner->input("bias", f32({64}));
  inner->output("w", train(*inner, x, w, bias));
  const auto outer = std::make_shared<Builder>();
  outer->input("i", {DType::kI32, {}});
  const std::uint32_t w2 = outer->input("w", f32({4, 64}));
  const std::uint32_t x2 = outer->input("x", f32({64, 4})), bias2 = outer->input("bias", f32({64}));
  outer->output("w", outer->repeat(3, {w2}, {x2, bias2}, inner));
  Builder b;
  const std::uint32_t x3 = b.input("x", f32({64, 4})), w3 = b.input("w", f32({4, 64})),
                      bias3 = b.input("bias", f32({64}));
  b.output("w", b.repeat(2, {w3}, {x3, bias3}, outer));
  EXPECT_EQ(allocations_of_a_launch(b), 0);
}

TEST(CpuAllocation, NoneInIndexingSortingAndDrawing) {
  Builder b;
  const std::uint32_t state = b.input("state", {DType::kU32, {4}});
  const std::uint32_t data = b.input("data", f32({2048, 4}));
  const std::uint32_t bits = b.op(OpKind::RANDOM_BITS, {state}, {}, Type{DType::kU32, {2048}});
  const std::uint32_t order = b.op(OpKind::ARGSORT, {bits}, {0});
  const std::uint32_t shuffled = b.op(OpKind::GATHER, {data, order}, {0});
  b.output("y", b.op(OpKind::SCATTER_ADD, {data, order, shuffled}, {0}));
  b.output("best", b.op(OpKind::ARGMAX, {shuffled}, {1}));
  EXPECT_EQ(allocations_of_a_launch(b), 0);
}

TEST(CpuAllocation, NoneInConvolutionsAndTheirGradients) {
  for (const std::int64_t size : {8, 40}) {
    const Type images = f32({2, 16, size, size}), filters = f32({32, 16, 3, 3});
    const std::vector<std::int64_t> attributes = {1, 1, 1, 1, 1, 1};
    Builder b;
    const std::uint32_t x = b.input("x", images), filter = b.input("filter", filters);
    const std::uint32_t y = b.op(OpKind::CONV2D, {x, filter}, attributes);
    b.output("y", y);
    b.output("dx", b.op(OpKind::CONV2D_GRAD_INPUT, {y, filter}, attributes, images));
    b.output("dfilter", b.op(OpKind::CONV2D_GRAD_FILTER, {y, x}, attributes, filters));
    EXPECT_EQ(allocations_of_a_launch(b), 0);
  }
}

#else
TEST(CpuAllocation, IsCountedWithoutSanitizersOnly) {
  GTEST_SKIP() << "a sanitizer or another libc owns malloc here";
}
#endif

}  // namespace
}  // namespace thrt::testing
