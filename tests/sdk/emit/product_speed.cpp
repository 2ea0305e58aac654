// How fast a plugin that runs emitted kernels multiplies: a large product, those of a policy's layers, and every convolution and
// product of a training step of the Nature network (Mnih et al. 2015) at a batch of 32. Processor time, which
// is what counts on a device that runs on the processor; LP_NUM_THREADS=0 keeps llvmpipe on one thread.
//
//     product_speed PLUGIN
//
// THRUST_VULKAN_KERNELS=gpu makes the vulkan plugin print work-groups' tiles on a processor too, for comparison.
#include "../../plugins/cpu/host.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>

namespace thrt::testing {
namespace {

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Product {
  const char* name;
  ir::OpKind kind;
  ir::Shape first, second;
  std::vector<std::int64_t> attributes;
  std::optional<ir::Shape> declared;
  double products;  // multiply-adds
};

// The least of three times of a run, in seconds.
double seconds(Host& host, const Product& product) {
  Builder builder;
  const ir::Type first{DType::kF32, product.first}, second{DType::kF32, product.second};
  std::optional<ir::Type> declared;
  if (product.declared) declared = ir::Type{DType::kF32, *product.declared};
  const std::uint32_t a = builder.input("a", first), b = builder.input("b", second);
  builder.output("y", builder.op(product.kind, {a, b}, product.attributes, declared));
  Loaded loaded(host, builder);
  loaded.set("a", Bytes(first.bytes(), 0));
  loaded.set("b", Bytes(second.bytes(), 0));
  loaded.run();
  double least = 1e30;
  for (int repetition = 0; repetition < 3; ++repetition) {
    const double start = processor_seconds();
    int runs = 0;
    do {
      loaded.run();
      ++runs;
    } while (processor_seconds() - start < 0.2);
    least = std::min(least, (processor_seconds() - start) / runs);
  }
  return least;
}

void print(Host& host) {
  using ir::OpKind;
  constexpr double kFirst = 32.0 * 32 * 400 * 256, kSecond = 32.0 * 64 * 81 * 512, kThird = 32.0 * 64 * 49 * 576;
  const std::vector<std::int64_t> by_4 = {4, 4, 0, 0, 0, 0}, by_2 = {2, 2, 0, 0, 0, 0}, by_1 = {1, 1, 0, 0, 0, 0};
  const ir::Shape x1 = {32, 4, 84, 84}, x2 = {32, 32, 20, 20}, x3 = {32, 64, 9, 9}, y3 = {32, 64, 7, 7};
  const ir::Shape f1 = {32, 4, 8, 8}, f2 = {64, 32, 4, 4}, f3 = {64, 64, 3, 3};
  const std::vector<Product> alone = {
      {"1024 x 1024 x 1024", OpKind::MATMUL, {1024, 1024}, {1024, 1024}, {0, 0}, {}, 1024.0 * 1024 * 1024},
      {"policy: 256 x 64 x 4", OpKind::MATMUL, {256, 4}, {4, 64}, {0, 0}, {}, 256.0 * 64 * 4},
      {"policy: 256 x 64 x 64", OpKind::MATMUL, {256, 64}, {64, 64}, {0, 0}, {}, 256.0 * 64 * 64},
      {"policy: gradient 64 x 64 x 256", OpKind::MATMUL, {256, 64}, {256, 64}, {1, 0}, {}, 256.0 * 64 * 64},
  };
  const std::vector<Product> nature = {
      {"first layer", OpKind::CONV2D, x1, f1, by_4, {}, kFirst},
      {"second layer", OpKind::CONV2D, x2, f2, by_2, {}, kSecond},
      {"third layer", OpKind::CONV2D, x3, f3, by_1, {}, kThird},
      {"dense layer", OpKind::MATMUL, {32, 3136}, {3136, 512}, {0, 0}, {}, 32.0 * 3136 * 512},
      {"dense layer, by its input", OpKind::MATMUL, {32, 512}, {3136, 512}, {0, 1}, {}, 32.0 * 3136 * 512},
      {"dense layer, by its weights", OpKind::MATMUL, {32, 3136}, {32, 512}, {1, 0}, {}, 32.0 * 3136 * 512},
      {"third layer, by its input", OpKind::CONV2D_GRAD_INPUT, y3, f3, by_1, x3, kThird},
      {"third layer, by its filter", OpKind::CONV2D_GRAD_FILTER, y3, x3, by_1, f3, kThird},
      {"second layer, by its input", OpKind::CONV2D_GRAD_INPUT, x3, f2, by_2, x2, kSecond},
      {"second layer, by its filter", OpKind::CONV2D_GRAD_FILTER, x3, x2, by_2, f2, kSecond},
      {"first layer, by its filter", OpKind::CONV2D_GRAD_FILTER, x2, x1, by_4, f1, kFirst},
  };
  const auto line = [](const char* name, double time, double products) {
    std::printf("%-34s %10.3f ms %8.2f GFLOP/s\n", name, 1e3 * time, 2e-9 * products / time);
    std::fflush(stdout);
  };
  for (const Product& product : alone) line(product.name, seconds(host, product), product.products);
  double time = 0, products = 0;
  for (const Product& product : nature) {
    const double each = seconds(host, product);
    line(product.name, each, product.products);
    time += each;
    products += product.products;
  }
  line("products of a step, batch of 32", time, products);
}

}  // namespace
}  // namespace thrt::testing

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: product_speed PLUGIN\n", stderr);
    return 2;
  }
  try {
    thrt::testing::Host host(argv[1]);
    thrt::testing::print(host);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
