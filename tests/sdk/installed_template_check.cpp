// installed_template_check PLUGIN OTHER: uses PLUGIN, a build of sdk/template, as a host does, fifty times from load to
// unload, while OTHER, a plugin of another build, is in the process and works too. Exit code 0 when all is as it should be.
#include "loaded_backend.hpp"

#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <limits>
#include <vector>

namespace thrt::testing {
namespace {

void expect(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

// What the plugin throws inside comes out as a status and a message.
void expect_failure(Session& session, thrt_status status, const char* message, const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception&) {
    if (session.error.code == status && std::string(session.error.message).find(message) != std::string::npos) return;
    throw std::runtime_error("the failure was to have status " + std::to_string(status) + " and to say '" + message +
                             "'; it has " + std::to_string(session.error.code) + " and says '" + session.error.message +
                             "'");
  }
  throw std::runtime_error(std::string("a call went well that was to fail with '") + message + "'");
}

void use(const LoadedBackend& backend) {
  Session session(*backend.api, 1 << 20);
  const Array x = f32({2}, {1.5f, -2.0f});
  expect(session.op(OpKind::NEG, {x}).as<float>() == std::vector<float>{-1.5f, 2.0f}, "neg is wrong");
  const Array a = f32({2, 2}, {1, 2, 3, 4});
  expect(session.op(OpKind::MATMUL, {a, a}, {0, 1}).as<float>() == std::vector<float>{5, 11, 11, 25},
         "matmul is wrong");

  expect_failure(session, THRT_UNSUPPORTED, "erf: ", [&] { session.op(OpKind::ERF, {x}); });
  expect_failure(session, THRT_UNSUPPORTED, "f64", [&] { session.op(OpKind::NEG, {f64({1}, {1})}); });
  expect_failure(session, THRT_OVER_BUDGET, "budget", [&] { session.buffer(1 << 21); });
  expect_failure(session, THRT_INVALID_PROGRAM, "op 0", [&] {
    ProgramBuilder builder;
    builder.output("y", builder.op(OpKind::NEG, {builder.input("x", {DType::kF32, {2}})}));
    builder.operands[0] = 1000;
    session.compile(builder.build());
  });
  // Thrown while running, kept, and thrown again by wait.
  expect_failure(session, THRT_NON_FINITE, "infinity", [&] {
    ProgramBuilder builder;
    builder.output("y", builder.op(OpKind::EXP, {builder.input("x", {DType::kF32, {1}})}));
    session.run(builder.build(), {{"x", f32({1}, {1000.0f})}}, THRT_COMPILE_CHECK_FINITE);
  });

  thrt_stats stats{};
  stats.struct_size = sizeof stats;
  session.require(session.api().context_stats(session.context(), &stats, &session.error));
  expect(stats.buffers == 0 && stats.executables == 0 && stats.bindings == 0 && stats.bytes_allocated == 0,
         "something is left behind");
}

}  // namespace
}  // namespace thrt::testing

int main(int argc, char** argv) {
  using namespace thrt::testing;
  if (argc != 3) return 2;
  try {
    LoadedBackend other(argv[2]);
    Session beside(*other.api);
    for (int time = 0; time < 50; ++time) {
      use(LoadedBackend(argv[1]));
      expect(beside.op(OpKind::NEG, {f32({1}, {1})}).as<float>() == std::vector<float>{-1}, "the other one is wrong");
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
