// What the interpreter base class does for an author beside running kernels. That it runs them right is tested on what is
// built on it: the reference backend and the template.
#include "loaded_backend.hpp"

#include <thrt/sdk/interpreter.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

namespace thrt::testing {
namespace {

using sdk::Call;
using ::testing::HasSubstr;

void double_up(const Call& call) {
  for (std::int64_t i = 0; i < call.out().count; ++i) {
    sdk::elements<float>(call.out())[i] = 2 * sdk::elements<float>(call.in(0))[i];
  }
}

// The result through the scratch memory, which no operand and no result may share.
void through_scratch(const Call& call) {
  ASSERT_EQ(reinterpret_cast<std::uintptr_t>(call.scratch) % 64, 0u);
  auto* scratch = reinterpret_cast<float*>(call.scratch);
  for (std::int64_t i = 0; i < call.out().count; ++i) scratch[i] = -1;
  for (std::int64_t i = 0; i < call.out().count; ++i) scratch[i] = sdk::elements<float>(call.in(0))[i];
  for (std::int64_t i = 0; i < call.out().count; ++i) sdk::elements<float>(call.out())[i] = scratch[i] + 1;
}

void fail(const Call&) {
  throw sdk::Error(THRT_DEVICE_LOST, "the kernel had enough");
}

int times_asked_for_exp = 0;

class Doubler final : public sdk::InterpreterPlugin {
 public:
  explicit Doubler(const sdk::PluginOptions&) {}
  thrt_device_info describe() const override { return sdk::describe_processor("doubler", {DType::kF32, DType::kI32}); }
  sdk::KernelChoice find(const sdk::OpView& op) const override {
    EXPECT_TRUE(sdk::needs_kernel(op.kind())) << op.name();
    if (op.kind() == OpKind::NEG) return &double_up;
    if (op.kind() == OpKind::ABS) return {&through_scratch, static_cast<std::uint64_t>(op.result_type().bytes())};
    if (op.kind() == OpKind::SQRT) return &fail;
    if (op.kind() == OpKind::LOG) return sdk::KernelChoice::refuse("no logarithms today");
    if (op.kind() == OpKind::EXP && ++times_asked_for_exp == 1) return &double_up;  // a fault: not the same each time
    return nullptr;
  }
};

class InterpreterTest : public ::testing::Test {
 protected:
  static const thrt_backend_api& api() {
    const thrt_backend_api* table = nullptr;
    sdk::backend_entry<Doubler>(THRT_ABI_MAJOR, THRT_ABI_MINOR, &table, "doubler", nullptr);
    return *table;
  }
  std::vector<thrt_verdict> check(const thrt_program& program) {
    std::vector<thrt_verdict> verdicts(8);
    std::uint32_t count = 0;
    session.require(api().check(session.context(), &program, verdicts.data(),
                                static_cast<std::uint32_t>(verdicts.size()), &count, &session.error));
    verdicts.resize(count);
    return verdicts;
  }

  Session session{api()};
  const Type vector{DType::kF32, {3}};
};

TEST_F(InterpreterTest, KernelsRunWithTheirScratchInARepeat) {
  auto body = std::make_shared<ProgramBuilder>("body");
  body->input("i", {DType::kI32, {}});
  const std::uint32_t x = body->input("x", vector);
  body->state_output(1, body->op(OpKind::ABS, {body->op(OpKind::NEG, {x})}));  // x = 2 x + 1
  ProgramBuilder builder;
  builder.output("y", builder.repeat(body, 3, 1, {builder.input("x", vector)})[0]);
  const auto outputs = session.run(builder.build(), {{"x", f32({3}, {0, 1, -1})}});
  EXPECT_EQ(outputs.at("y").as<float>(), (std::vector<float>{7, 15, -1}));
}

TEST_F(InterpreterTest, RefusalsNameTheOpAndTheReasonInBodiesToo) {
  auto body = std::make_shared<ProgramBuilder>("body");
  body->input("i", {DType::kI32, {}});
  const std::uint32_t x = body->input("x", vector);
  body->state_output(1, body->op(OpKind::LOG, {x}));
  ProgramBuilder builder;
  const std::uint32_t carried = builder.repeat(body, 3, 1, {builder.input("x", vector)})[0];
  builder.output("y", builder.op(OpKind::COS, {carried}));
  const std::uint32_t wide = builder.op(OpKind::CAST, {carried}, {}, Type{DType::kF64, {3}});
  builder.output("z", builder.op(OpKind::RESHAPE, {wide}, {}, Type{DType::kF64, {3, 1}}));
  const std::vector<thrt_verdict> verdicts = check(builder.build());
  ASSERT_EQ(verdicts.size(), 4u);
  EXPECT_EQ(verdicts[0].op_index, 1u);
  EXPECT_STREQ(verdicts[0].reason, "log: no logarithms today");
  EXPECT_EQ(verdicts[1].op_index, 2u);
  EXPECT_STREQ(verdicts[1].reason, "cos: is not done here");
  EXPECT_STREQ(verdicts[2].reason, "cast: f64 is not done here");
  EXPECT_EQ(verdicts[3].op_index, 4u);  // an op without a kernel, of a dtype that the device lacks
  EXPECT_STREQ(verdicts[3].reason, "reshape: f64 is not done here");
}

TEST_F(InterpreterTest, WhatAKernelThrowsComesFromWait) {
  EXPECT_ANY_THROW(session.op(OpKind::SQRT, {f32({1}, {4})}));
  EXPECT_EQ(session.error.code, static_cast<std::uint32_t>(THRT_DEVICE_LOST));
  EXPECT_STREQ(session.error.message, "the kernel had enough");
}

TEST_F(InterpreterTest, AFindThatChangesItsMindIsTheBackendsFault) {
  times_asked_for_exp = 0;
  EXPECT_ANY_THROW(session.op(OpKind::EXP, {f32({1}, {4})}));
  EXPECT_EQ(session.error.code, static_cast<std::uint32_t>(THRT_INTERNAL));
  EXPECT_THAT(session.error.message, HasSubstr("exp"));
}

TEST(KernelFor, TakesTheStoredTypeOrNone) {
  const auto choose = [](auto x) -> sdk::Kernel { return sizeof x == 4 ? &double_up : &through_scratch; };
  EXPECT_EQ((sdk::kernel_for<float, bool>(DType::kF32, choose)), &double_up);
  EXPECT_EQ((sdk::kernel_for<float, bool>(DType::kBool, choose)), &through_scratch);
  EXPECT_EQ((sdk::kernel_for<float, bool>(DType::kI32, choose)), nullptr);
}

}  // namespace
}  // namespace thrt::testing
