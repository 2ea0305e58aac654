// A kernel of each kind that a dialect's compiler may meet: every op, with every dtype of its own.
#pragma once

#include "../../plugins/cpu/random_op.hpp"

#include <thrt/emit/emit.hpp>

#include <map>
#include <string>

namespace thrt::testing {

// By text. `half`: what takes the place of f32 in every second program.
inline std::map<std::string, emit::Kernel> every_kernel(const emit::Dialect& dialect, DType half) {
  std::map<std::string, emit::Kernel> kernels;
  for (const ir::OpInfo& info : ir::all_ops()) {
    if (info.kind == OpKind::CONSTANT || info.kind == OpKind::REPEAT) continue;
    for (int seed = 0; seed < 8; ++seed) {
      OpGenerator generator(static_cast<std::uint32_t>(seed * 1013 + static_cast<int>(info.kind)));
      const RandomOp op = generator.make(info.kind);
      const auto type_of = [&](ir::Type type) {
        if (type.dtype == DType::kF32 && seed % 2 == 1) type.dtype = half;
        return type;
      };
      Builder builder;
      std::vector<std::uint32_t> operands;
      for (const Naive& operand : op.operands) {
        operands.push_back(builder.input("x" + std::to_string(operands.size()), type_of(operand.type)));
      }
      std::optional<ir::Type> declared = op.declared;
      if (declared) declared = type_of(*declared);
      builder.output("y", builder.op(op.kind, operands, op.attributes, declared));
      emit::Options options;
      const bool is_product = emit::detail::is_contraction(info.kind);
      if (is_product && seed % 4 >= 2) options.tiles = emit::Tiles{4, 2, 8, 16, 1 + seed / 4};  // by work-groups
      const emit::Plan plan = emit::plan(sdk::ProgramView(builder.built()), dialect, options);
      for (const emit::Step& step : plan.steps) {
        for (const emit::Kernel& kernel : step.kernels) kernels.emplace(kernel.text, kernel);
      }
    }
  }
  return kernels;
}

}  // namespace thrt::testing
