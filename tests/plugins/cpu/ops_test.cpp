// Every op of ops.def on the plugin, alone in a program, against its definition, over many random shapes and values; then chains
// of ops whose values are small integers, so that any correct order of evaluation gives the same bits.
#include "check_op.hpp"
#include "random_chain.hpp"

#include <gtest/gtest.h>

namespace thrt::testing {
namespace {

Host& cpu() {
  static Host host(THRT_CPU_PLUGIN);
  return host;
}

void run_op(Host& host, const RandomOp& op) {
  OpProgram program(op);
  program.expect(run_once(host, program.builder, program.inputs).at("y"));
}

class EveryOp : public ::testing::TestWithParam<ir::OpInfo> {};

TEST_P(EveryOp, EqualsItsDefinition) {
  const OpKind kind = GetParam().kind;
  const int seeds = ir::op_info(kind).level == ir::OpLevel::kVision ? 120 : 60;
  for (int seed = 0; seed < seeds; ++seed) {
    OpGenerator generator(static_cast<std::uint32_t>(seed * 977 + static_cast<int>(kind)));
    const RandomOp op = generator.make(kind);
    SCOPED_TRACE(describe(op));
    ASSERT_NO_FATAL_FAILURE(run_op(cpu(), op));
  }
}

#ifdef THRT_REFERENCE_PLUGIN
// The two backends and the definition agree three ways, so a fault of one of them has a name.
TEST_P(EveryOp, EqualsItsDefinitionOnTheReferenceBackendToo) {
  static Host reference(THRT_REFERENCE_PLUGIN);
  const OpKind kind = GetParam().kind;
  for (int seed = 1000; seed < 1040; ++seed) {
    OpGenerator generator(static_cast<std::uint32_t>(seed * 977 + static_cast<int>(kind)));
    const RandomOp op = generator.make(kind);
    SCOPED_TRACE(describe(op));
    ASSERT_NO_FATAL_FAILURE(run_op(cpu(), op));
    ASSERT_NO_FATAL_FAILURE(run_op(reference, op));
  }
}
#endif

std::vector<ir::OpInfo> single_ops() {
  std::vector<ir::OpInfo> list;
  for (const ir::OpInfo& info : ir::all_ops()) {
    if (info.kind != OpKind::CONSTANT && info.kind != OpKind::REPEAT) list.push_back(info);
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(Cpu, EveryOp, ::testing::ValuesIn(single_ops()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(CpuChains, RandomProgramsGiveTheExactResult) {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Chain chain(seed);
    ASSERT_NO_FATAL_FAILURE(chain.expect_on(cpu(), 0));
    ASSERT_NO_FATAL_FAILURE(chain.expect_on(cpu(), THRT_COMPILE_DEBUG));
#ifdef THRT_REFERENCE_PLUGIN
    static Host reference(THRT_REFERENCE_PLUGIN);
    ASSERT_NO_FATAL_FAILURE(chain.expect_on(reference, 0));
#endif
  }
}

}  // namespace
}  // namespace thrt::testing
