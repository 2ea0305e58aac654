// Loads the plugin file it is given and negates two numbers with it; exit code 0 when that works.
#include "loaded_backend.hpp"

#include <cstdio>
#include <exception>
#include <vector>

int main(int argc, char** argv) {
  using namespace thrt::testing;
  if (argc != 2) return 2;
  try {
    LoadedBackend backend(argv[1]);
    Session session(*backend.api);
    const std::vector<float> negated = session.op(OpKind::NEG, {f32({2}, {1.5f, -2.0f})}).as<float>();
    if (negated != std::vector<float>{-1.5f, 2.0f}) {
      std::fputs("the plugin computes wrong numbers\n", stderr);
      return 1;
    }
    try {
      session.op(OpKind::ABS, {f32({1}, {1.0f})});
    } catch (const std::exception& refusal) {
      return session.error.code == THRT_UNSUPPORTED ? 0 : 1;
    }
    std::fputs("the plugin took an op that it refuses\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 1;
}
