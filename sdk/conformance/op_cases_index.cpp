// Cases of ops whose operands say where to read or write, of random bits and of repeats.
#include "op_parts.hpp"

#include <thrt/philox.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace thrt::conformance {
namespace {

// Indices around and outside [0, size).
Tensor indices(CaseProgram& p, const Shape& shape, std::int64_t size) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < std::max<std::int64_t>(shape.elements(), 1); ++i) {
    switch (p.numbers.between(0, 9)) {
      case 0:
        values.push_back(static_cast<double>(p.numbers.between(-3, -1)));
        break;
      case 1:
        values.push_back(static_cast<double>(p.numbers.between(size, size + 3)));
        break;
      default:
        values.push_back(static_cast<double>(p.numbers.between(0, std::max<std::int64_t>(size - 1, 0))));
    }
  }
  return p.given({DType::kI32, shape}, values);
}

Tensor extreme_indices(CaseProgram& p) {
  return p.given({DType::kI32, {4}}, {-2147483648.0, 2147483647.0, -1.0, 0.0});
}

struct Indexed {
  Shape x;
  int axis;
  Shape indices;
};

std::vector<Indexed> indexed_shapes() {
  return {{{7}, 0, {}},
          {{257}, 0, {33}},
          {{1}, 0, {5}},
          {{5, 7}, 0, {3}},
          {{5, 7}, 1, {2, 3}},
          {{5, 7}, 0, {0}},
          {{5, 7}, 1, {}},
          {{3, 4, 5}, 1, {7}},
          {{3, 4, 5}, 2, {2, 2}},
          {{0, 4}, 1, {3}},
          {{4, 0}, 0, {3}},
          {{0}, 0, {0}},
          {{2, 3, 2, 3}, 2, {2, 1, 2}},
          {{2, 1, 3, 2, 1, 3}, 3, {5}}};
}

std::string name_of(const Indexed& each) {
  return fmt::format("{} axis {} at {}", each.x.str(), each.axis, each.indices.str());
}

}  // namespace

Parts gather_parts(DType dtype) {
  return {{"shapes", [=](CaseProgram& p) {
             for (const Indexed& each : indexed_shapes()) {
               const Tensor x = p.random({dtype, each.x}, -100.0, 100.0);
               p.output(name_of(each), gather(x, indices(p, each.indices, each.x[each.axis]), each.axis));
             }
             const Tensor x = p.random({dtype, {6, 9}}, -100.0, 100.0);
             p.output("extremes", gather(x, extreme_indices(p), 0));
             p.output("transposed", gather(transpose(x), indices(p, {5}, 9), 0));
             p.output("computed", gather(x, iota(p.graph, {DType::kI32, {12}}, 0) - 2.0, 1));
           }}};
}

Parts scatter_add_parts(DType dtype) {
  Parts parts = {
      {"shapes", [=](CaseProgram& p) {
         const double low = ir::is_float(dtype) ? -4.0 : -2e9, high = ir::is_float(dtype) ? 4.0 : 2e9;
         for (const Indexed& each : indexed_shapes()) {
           const Tensor x = p.random({dtype, each.x}, low, high);
           const Tensor at = indices(p, each.indices, each.x[each.axis]);
           const Tensor updates = p.random({dtype, ir::infer({.kind = OpKind::GATHER,
                                                              .operands = std::vector<Type>{x.type(), at.type()},
                                                              .attributes = std::vector<std::int64_t>{each.axis}})[0]
                                                       .shape},
                                           low, high);
           p.output(name_of(each), scatter_add(x, at, updates, each.axis));
         }
         p.output("extremes", scatter_add(p.random({dtype, {6, 9}}), extreme_indices(p), p.random({dtype, {4, 9}}), 0));
         const Tensor x = p.random({dtype, {6, 9}});
         p.output("transposed", scatter_add(transpose(x), indices(p, {5}, 9), transpose(p.random({dtype, {6, 5}})), 0));
       }}};
  // Many updates of one element: a sum in f16 would stand still at 2048.
  parts.push_back({"accumulation", [=](CaseProgram& p) {
                     const double low = ir::is_float(dtype) ? 0.5 : 0.0, high = ir::is_float(dtype) ? 0.95 : 7.0;
                     const Tensor at = p.given({DType::kI32, {4096}}, {1.0});
                     p.output("4096 on one", scatter_add(p.random({dtype, {3}}, low, high), at,
                                                         p.random({dtype, {4096}}, low, high), 0));
                     std::vector<double> places;
                     for (int i = 0; i < 64 * 33; ++i) places.push_back(static_cast<double>(i * 7 % 33));
                     p.output("64 on each",
                              scatter_add(p.random({dtype, {33}}, low, high), p.given({DType::kI32, {64 * 33}}, places),
                                          p.random({dtype, {64 * 33}}, low, high), 0));
                   }});
  return parts;
}

// Blocks of a value: inside, reaching over each end, empty, whole.
struct Block {
  Shape x;
  std::vector<double> starts;
  Shape size;
};

const std::vector<Block>& blocks() {
  static const std::vector<Block> list = {
      {{}, {}, {}},
      {{257}, {17}, {33}},
      {{257}, {-5}, {33}},
      {{257}, {2147483647}, {33}},
      {{257}, {-2147483648.0}, {257}},
      {{5}, {3}, {0}},
      {{0}, {3}, {0}},
      {{17, 33}, {3, 20}, {5, 7}},
      {{17, 33}, {16, 40}, {5, 33}},
      {{3, 4, 5}, {1, -1, 9}, {2, 2, 2}},
      {{2, 3, 2, 3, 2, 3}, {1, 1, 1, 1, 1, 1}, {1, 2, 1, 2, 1, 2}},
  };
  return list;
}

Tensor given_starts(CaseProgram& p, const Block& block) {
  return p.given({DType::kI32, {block.x.rank()}}, block.starts.empty() ? std::vector<double>{0.0} : block.starts);
}

Parts dynamic_slice_parts(DType dtype) {
  return {{"shapes", [=](CaseProgram& p) {
             for (const Block& block : blocks()) {
               const Tensor at = given_starts(p, block);
               p.output(fmt::format("{} from {} of {}", block.x.str(), fmt::join(block.starts, ","), block.size.str()),
                        dynamic_slice(p.random({dtype, block.x}, -100.0, 100.0), at, block.size));
             }
           }}};
}

Parts dynamic_update_slice_parts(DType dtype) {
  return {
      {"shapes", [=](CaseProgram& p) {
         for (const Block& block : blocks()) {
           const Tensor at = given_starts(p, block);
           p.output(fmt::format("{} into {} at {}", block.size.str(), block.x.str(), fmt::join(block.starts, ",")),
                    dynamic_update_slice(p.random({dtype, block.x}, -100.0, 100.0),
                                         p.random({dtype, block.size}, -100.0, 100.0), at));
         }
         const Tensor x = p.random({dtype, {5, 7}});
         p.output("into itself", dynamic_update_slice(x, slice(x, 0, 0, 2), p.given({DType::kI32, {2}}, {2.0, 0.0})));
       }}};
}

namespace {

// Elements as philox.h defines them, computed here.
Outcome check_philox(const Bench& bench) {
  const DeviceContext context(bench);
  Graph graph("philox");
  constexpr std::int64_t kCount = 4099;
  graph.output("bits", random_bits(graph.input("state", {DType::kU32, {4}}), {kCount}));
  DeviceProgram program(context, lower(graph));
  const std::vector<std::vector<std::uint32_t>> states = {{0, 0, 0, 0},
                                                          {0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu},
                                                          {0xa4093822u, 0x299f31d0u, 0x13198a2eu, 0x03707344u}};
  for (const std::vector<std::uint32_t>& state : states) {
    program.buffer(0)->write(std::as_bytes(std::span(state)));
    program.run();
    const Bytes bytes = program.buffer(1)->read("bits");
    std::vector<std::uint32_t> words(kCount);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    for (std::uint64_t i = 0; i < words.size(); ++i) {
      const std::uint32_t right = thrt_random_word(state.data(), i);
      if (words[i] != right) {
        return {Outcome::Kind::kFailed, fmt::format("state {:#x}: word {} is {:#010x}, Philox4x32-10 gives {:#010x}",
                                                    fmt::join(state, " "), i, words[i], right)};
      }
    }
    // The known answer that the generator's authors publish for key 0 and counter 0 (Random123, kat_vectors).
    constexpr std::uint32_t kKnown[4] = {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u};
    if (state == states[0] && !std::equal(kKnown, kKnown + 4, words.begin())) {
      return {Outcome::Kind::kFailed, "key 0, counter 0: not the known answer of Philox4x32-10"};
    }
  }
  return {};
}

}  // namespace

Parts random_bits_parts(DType dtype) {
  if (dtype != DType::kU32) return {};  // its operand and result are u32 alone
  Part part{"philox", [](CaseProgram& p) {
              const Tensor state = p.given({DType::kU32, {4}}, {1234567.0, 42.0, 4294967295.0, 7.0});
              for (const Shape& shape : common_shapes()) p.output(shape.str(), random_bits(state, shape));
              const Tensor advanced = state + p.given({DType::kU32, {4}}, {0.0, 0.0, 1.0, 0.0});
              p.output("advanced", random_bits(advanced, {33}));
              p.output("large", random_bits(advanced, {(1 << 21) + 5}));
            }};
  part.check = check_philox;
  return {part};
}

namespace {

// A loop body's slots in the order that ops.def asks for.
struct Body {
  explicit Body(const std::string& name)
      : graph(std::make_shared<Graph>(name)), iteration(graph->input("iteration", {DType::kI32, {}})) {}
  Tensor carried(const std::string& name, const Type& type) { return graph->state(name, type, {}); }
  std::shared_ptr<Graph> graph;
  Tensor iteration;
};

std::vector<Tensor> loop(CaseProgram& p, std::int64_t trips, const std::vector<Tensor>& carried,
                         const std::vector<Tensor>& invariants, const Body& body) {
  return p.graph.append_repeat(trips, carried, invariants, body.graph);
}

// Rotates x by one place: for every dtype.
Body rotation(const Type& type) {
  Body body("rotation");
  const Tensor x = body.carried("x", type);
  body.graph->update("x", concat(std::vector<Tensor>{slice(x, 0, 1, type.shape[0] - 1), slice(x, 0, 0, 1)}, 0));
  return body;
}

}  // namespace

Parts repeat_parts(DType dtype) {
  Parts parts = {{"movement", [=](CaseProgram& p) {
                    const Type type{dtype, {7}};
                    for (const std::int64_t trips : {0, 1, 2, 5, 100}) {
                      p.output(fmt::format("rotated {} times", trips),
                               loop(p, trips, {p.random(type, -100.0, 100.0)}, {}, rotation(type))[0]);
                    }
                    // Two that change places, one that stays, and one that is written at the iteration's place.
                    Body body("swap");
                    const Tensor a = body.carried("a", type), b = body.carried("b", type);
                    const Tensor same = body.carried("same", type), ring = body.carried("ring", {dtype, {9}});
                    const Tensor one = body.graph->input("one", {dtype, {1}});
                    body.graph->update("a", b);
                    body.graph->update("b", a);
                    body.graph->update("same", same);
                    body.graph->update("ring", dynamic_update_slice(ring, one, reshape(body.iteration, {1})));
                    const Tensor x = p.random(type, -100.0, 100.0);
                    const std::vector<Tensor> results =
                        loop(p, 5, {x, p.random(type, -100.0, 100.0), x, p.random({dtype, {9}}, -100.0, 100.0)},
                             {p.random({dtype, {1}}, -100.0, 100.0)}, body);
                    for (std::size_t i = 0; i < results.size(); ++i) p.output(fmt::format("result {}", i), results[i]);
                  }}};
  if ((ir::kDTypesNumber & ir::dtype_bit(dtype)) == 0) return parts;
  parts.push_back({"nested", [=](CaseProgram& p) {
                     const Type type{dtype, {3, 5}};
                     Body inner("inner");
                     const Tensor y = inner.carried("y", type);
                     const Tensor step = inner.graph->input("step", type);
                     inner.graph->update("y", y + step * cast(inner.iteration, dtype));
                     Body outer("outer");
                     const Tensor x = outer.carried("x", type);
                     const Tensor increment = outer.graph->input("increment", type);
                     const Tensor unused = outer.graph->input("unused", type);
                     static_cast<void>(unused);
                     const std::vector<Tensor> invariants = {increment}, carried = {x};
                     outer.graph->update(
                         "x", outer.graph->append_repeat(4, carried, invariants, inner.graph)[0] - increment);
                     const Tensor start = p.random(type), by = p.random(type);
                     p.output("nested", loop(p, 3, {start}, {by, start}, outer)[0]);
                     p.output("start", start + by);
                   }});
  return parts;
}

}  // namespace thrt::conformance
