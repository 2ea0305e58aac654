// Programs spread over threads, whether that pays or not: the same bits as on one thread, and the exact result where it
// is known.
#include "../../../plugins/cpu/lanes.hpp"
#include "../../../plugins/cpu/step.hpp"
#include "../../../plugins/cpu/team.hpp"
#include "random_chain.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace thrt::cpu {
namespace {

using testing::Builder;
using testing::Bytes;
using testing::Chain;
using Outputs = std::map<std::string, Bytes>;

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, Free>;

Memory memory_of(std::uint64_t bytes) {
  const std::uint64_t size = (bytes + 64) / 64 * 64;
  Memory memory(static_cast<std::byte*>(std::aligned_alloc(64, size)));
  std::memset(memory.get(), 0xa5, size);  // nothing may count on zeros
  return memory;
}

// A program compiled for some number of threads, with its buffers.
class Prepared {
 public:
  Prepared(Builder& builder, int threads) : builder_(builder), team_(threads) {
    const thrt_program& program = builder.built();
    CompileSettings settings{&best_kernels(), 0, threads};
    settings.always_spread = true;
    routine_ = compile_routine(sdk::ProgramView(program), settings);
    workspace_ = memory_of(routine_.plan.workspace_bytes);
    std::vector<std::byte*> slots;
    for (std::uint32_t i = 0; i < program.slot_count; ++i) {
      const thrt_slot& slot = program.slots[i];
      names_.emplace_back(program.strings + slot.name);
      bytes_.push_back(builder.type(slot.input_value != THRT_NONE ? slot.input_value : slot.output_value).bytes());
      slots_.push_back(memory_of(bytes_.back()));
      slots.push_back(slots_.back().get());
    }
    bound_ = routine_.bind(slots, workspace_.get());
    if (spread()) team_.grow_to(bound_.lanes->count());
  }

  bool spread() const { return bound_.lanes != nullptr; }

  Outputs run(const std::map<std::string, Bytes>& inputs, int times = 1) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto input = inputs.find(names_[i]);
      if (input != inputs.end() && bytes_[i] > 0) std::memcpy(slots_[i].get(), input->second.data(), bytes_[i]);
    }
    for (int i = 0; i < times; ++i) {
      if (spread()) {
        run_together(*bound_.lanes, team_);
      } else {
        bound_.run_alone();
      }
    }
    Outputs outputs;
    const thrt_program& program = builder_.built();
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (program.slots[i].output_value == THRT_NONE) continue;
      Bytes& bytes = outputs[names_[i]];
      bytes.resize(bytes_[i]);
      if (bytes_[i] > 0) std::memcpy(bytes.data(), slots_[i].get(), bytes_[i]);
    }
    return outputs;
  }

 private:
  Builder& builder_;
  Team team_;
  Routine routine_;
  Memory workspace_;
  std::vector<Memory> slots_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> bytes_;
  BoundRoutine bound_;
};

TEST(CpuThreads, RandomProgramsGiveTheExactResult) {
  int spread = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    Chain chain(seed);
    const Outputs alone = Prepared(chain.builder(), 1).run(chain.inputs());
    chain.expect(alone);
    for (const int threads : {2, 3}) {
      Prepared prepared(chain.builder(), threads);
      spread += prepared.spread() ? 1 : 0;
      for (int again = 0; again < 5; ++again) ASSERT_EQ(prepared.run(chain.inputs()), alone) << "seed " << seed;
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(spread, 60);  // else this has shown nothing
}

// Two recurrences modulo 2^32 in one loop, x' = 5 x + i and y' = 7 y + 3 x + i with the old x, four words each, within a
// loop that swaps them.
TEST(CpuThreads, NestedLoopsGiveTheExactResult) {
  constexpr int kOuter = 6, kInner = 50;
  const ir::Type words{ir::DType::kU32, {4}}, index{ir::DType::kI32, {}};
  const auto scaled = [&](Builder& b, std::uint32_t x, std::uint32_t factor) {
    const std::uint32_t f = b.constant(ir::Type{ir::DType::kU32, {}}, std::vector<std::uint32_t>{factor});
    return b.op(ir::OpKind::MUL, {x, b.op(ir::OpKind::BROADCAST, {f}, {}, words)});
  };
  const auto inner = std::make_shared<Builder>();
  {
    const std::uint32_t i = inner->input("i", index);
    const std::uint32_t x = inner->input("x", words), y = inner->input("y", words);
    const std::uint32_t u = inner->op(ir::OpKind::CAST, {i}, {}, ir::Type{ir::DType::kU32, {}});
    const std::uint32_t trip = inner->op(ir::OpKind::BROADCAST, {u}, {}, words);
    const std::uint32_t x_next = inner->op(ir::OpKind::ADD, {scaled(*inner, x, 5), trip});
    const std::uint32_t both = inner->op(ir::OpKind::ADD, {scaled(*inner, y, 7), scaled(*inner, x, 3)});
    inner->output("x", x_next);
    inner->output("y", inner->op(ir::OpKind::ADD, {both, trip}));
  }
  const auto outer = std::make_shared<Builder>();
  {
    outer->input("i", index);
    const std::uint32_t x = outer->input("x", words), y = outer->input("y", words);
    const std::uint32_t first = outer->repeat(kInner, {x, y}, {}, inner);
    outer->output("x", first + 1);
    outer->output("y", first);
  }
  Builder b;
  const std::uint32_t x = b.input("x", words), y = b.input("y", words);
  const std::uint32_t first = b.repeat(kOuter, {x, y}, {}, outer);
  b.output("x", first);
  b.output("y", first + 1);

  std::vector<std::uint32_t> x_now = {1, 2, 3, 4}, y_now = {5, 6, 7, 8};
  const std::map<std::string, Bytes> inputs = {{"x", testing::bytes_of(x_now)}, {"y", testing::bytes_of(y_now)}};
  constexpr int kTimes = 3;
  for (int run = 0; run < kTimes * kOuter; ++run) {
    for (std::uint32_t trip = 0; trip < kInner; ++trip) {
      for (std::size_t k = 0; k < 4; ++k) {
        const std::uint32_t old = x_now[k];
        x_now[k] = 5 * old + trip;
        y_now[k] = 7 * y_now[k] + 3 * old + trip;
      }
    }
    std::swap(x_now, y_now);
  }
  for (const int threads : {1, 2, 3}) {
    Outputs got = Prepared(b, threads).run(inputs, kTimes);
    EXPECT_EQ(testing::elements_of<std::uint32_t>(got.at("x")), x_now) << threads << " threads";
    EXPECT_EQ(testing::elements_of<std::uint32_t>(got.at("y")), y_now) << threads << " threads";
  }
}

}  // namespace
}  // namespace thrt::cpu
