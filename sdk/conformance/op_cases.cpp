#include "case_program.hpp"

namespace thrt::conformance {

std::vector<Case> op_cases() {
  std::vector<Case> cases;
  cases.push_back({"add/f32/shapes", "add", DType::kF32, Level::kCore, [](const Bench& bench) {
                     CaseProgram p("add");
                     for (const Shape& shape : {Shape{}, Shape{0}, Shape{5}, Shape{3, 17}, Shape{2, 3, 4}}) {
                       const Tensor a = p.random({DType::kF32, shape}), b = p.random({DType::kF32, shape});
                       p.output("add " + shape.str(), a + b);
                     }
                     return p.compare(bench);
                   }});
  cases.push_back({"matmul/f32/shapes", "matmul", DType::kF32, Level::kCore, [](const Bench& bench) {
                     CaseProgram p("matmul");
                     for (const bool t : {false, true}) {
                       const Tensor a = p.random({DType::kF32, {7, 33}}), b = p.random({DType::kF32, {33, 17}});
                       p.output(t ? "transposed" : "plain", t ? matmul(b, a, true, true) : matmul(a, b));
                     }
                     return p.compare(bench);
                   }});
  cases.push_back({"reduce_sum/f32/shapes", "reduce_sum", DType::kF32, Level::kCore, [](const Bench& bench) {
                     CaseProgram p("reduce_sum");
                     const Tensor x = p.random({DType::kF32, {5, 257, 3}});
                     p.output("rows", sum(x, {1}));
                     p.output("all", sum(x));
                     return p.compare(bench);
                   }});
  return cases;
}

}  // namespace thrt::conformance
