// conv2d and its two gradients on oneDNN. Values are NCHW outside; oneDNN may choose blocked layouts inside, and then
// reorders go before and after the convolution. Primitives are made at compile time; memory objects and argument lists
// at bind time.
//
// oneDNN's own dnnl_primitive_execute keeps its arguments in a hash map, so each call of it makes a few small heap
// allocations; that is the one exception to "enqueue allocates nothing" in this backend.
#include "lower.hpp"

#include <omp.h>
#include <thrt/sdk/error.hpp>

#include <dnnl.hpp>

#include <cstring>
#include <string>

namespace thrt::cpu {
namespace {

using dnnl::memory;

// oneDNN takes its thread count from OpenMP when a primitive is made and when it runs. The host's setting is put back.
class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(omp_get_max_threads()) {
    if (threads != before_) omp_set_num_threads(threads);
  }
  ~ThreadCount() {
    if (omp_get_max_threads() != before_) omp_set_num_threads(before_);
  }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

memory::desc plain(const ir::Type& type) {
  const memory::dims dims(type.shape.begin(), type.shape.end());
  return {dims, memory::data_type::f32, memory::format_tag::nchw};
}
memory::desc any(const ir::Type& type) {
  const memory::dims dims(type.shape.begin(), type.shape.end());
  return {dims, memory::data_type::f32, memory::format_tag::any};
}

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// One primitive and where its arguments lie: in a value of the program, or in the step's scratch.
struct Call {
  struct Argument {
    int id;
    memory::desc desc;
    std::uint32_t value;    // or THRT_NONE
    std::uint64_t scratch;  // offset, when value is THRT_NONE
  };
  dnnl::primitive primitive;
  std::vector<Argument> arguments;
};

struct BoundCall {
  dnnl::primitive primitive;
  std::vector<dnnl::memory> memories;
  std::vector<dnnl_exec_arg_t> arguments;
};

struct Convolution {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::primitive_attr attributes;
  std::vector<Call> calls;
  std::uint64_t scratch_bytes = 0;

  Convolution() {
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    // Said outright, because an environment variable of oneDNN's changes the default.
    attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  }

  std::uint64_t take(std::uint64_t bytes) {
    const std::uint64_t offset = scratch_bytes;
    scratch_bytes += aligned(bytes);
    return offset;
  }

  void add_scratchpad(Call& call, const memory::desc& desc) {
    if (desc.get_size() > 0) call.arguments.push_back({DNNL_ARG_SCRATCHPAD, desc, THRT_NONE, take(desc.get_size())});
  }

  Call reorder(const Call::Argument& from, const Call::Argument& to) {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::reorder::primitive_desc desc(engine, from.desc, engine, to.desc, attr);
    Call call{dnnl::reorder(desc), {from, to}};
    call.arguments[0].id = DNNL_ARG_FROM;
    call.arguments[1].id = DNNL_ARG_TO;
    add_scratchpad(call, desc.scratchpad_desc());
    return call;
  }

  struct Tensor {
    int id;
    std::uint32_t value;
    memory::desc outside, inside;
  };

  // The convolution with the reorders it needs; `tensors` ends with the result.
  void add(const dnnl::primitive& primitive, const memory::desc& scratchpad, std::span<const Tensor> tensors) {
    Call main{primitive, {}};
    std::vector<Call> after;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& tensor = tensors[i];
      const Call::Argument outside{tensor.id, tensor.outside, tensor.value, 0};
      if (tensor.inside == tensor.outside) {
        main.arguments.push_back(outside);
        continue;
      }
      const Call::Argument inside{tensor.id, tensor.inside, THRT_NONE, take(tensor.inside.get_size())};
      main.arguments.push_back(inside);
      if (i + 1 == tensors.size()) {
        after.push_back(reorder(inside, outside));
      } else {
        calls.push_back(reorder(outside, inside));
      }
    }
    add_scratchpad(main, scratchpad);
    calls.push_back(std::move(main));
    for (Call& call : after) calls.push_back(std::move(call));
  }
};

void plan(Convolution& convolution, const sdk::OpView& op) {
  const memory::dims strides = {op.attribute(0), op.attribute(1)};
  const memory::dims low = {op.attribute(2), op.attribute(4)}, high = {op.attribute(3), op.attribute(5)};
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  const auto& attributes = convolution.attributes;
  const auto& engine = convolution.engine;
  const ir::Type first = op.operand_type(0), second = op.operand_type(1), result = op.result_type();

  const bool is_forward = op.kind() == ir::OpKind::CONV2D, is_input = op.kind() == ir::OpKind::CONV2D_GRAD_INPUT;
  const ir::Type x = is_forward ? first : is_input ? result : second;
  const ir::Type filter = is_forward || is_input ? second : result;
  const ir::Type y = is_forward ? result : first;
  const dnnl::convolution_forward::primitive_desc forward(
      {is_forward ? dnnl::prop_kind::forward_inference : dnnl::prop_kind::forward_training, kDirect, any(x),
       any(filter), any(y), strides, low, high},
      attributes, engine);
  const auto tensor = [](int id, std::uint32_t value, const ir::Type& type, const memory::desc& inside) {
    return Convolution::Tensor{id, value, plain(type), inside};
  };
  if (is_forward) {
    const Convolution::Tensor tensors[] = {tensor(DNNL_ARG_SRC, op.operand(0), x, forward.src_desc()),
                                           tensor(DNNL_ARG_WEIGHTS, op.operand(1), filter, forward.weights_desc()),
                                           tensor(DNNL_ARG_DST, op.result(), y, forward.dst_desc())};
    convolution.add(dnnl::convolution_forward(forward), forward.scratchpad_desc(), tensors);
  } else if (is_input) {
    const dnnl::convolution_backward_data::primitive_desc desc(
        {kDirect, any(x), any(filter), any(y), strides, low, high}, attributes, engine, forward);
    const Convolution::Tensor tensors[] = {tensor(DNNL_ARG_DIFF_DST, op.operand(0), y, desc.diff_dst_desc()),
                                           tensor(DNNL_ARG_WEIGHTS, op.operand(1), filter, desc.weights_desc()),
                                           tensor(DNNL_ARG_DIFF_SRC, op.result(), x, desc.diff_src_desc())};
    convolution.add(dnnl::convolution_backward_data(desc), desc.scratchpad_desc(), tensors);
  } else {
    const dnnl::convolution_backward_weights::primitive_desc desc(
        {kDirect, any(x), any(filter), any(y), strides, low, high}, attributes, engine, forward);
    const Convolution::Tensor tensors[] = {
        tensor(DNNL_ARG_DIFF_DST, op.operand(0), y, desc.diff_dst_desc()),
        tensor(DNNL_ARG_SRC, op.operand(1), x, desc.src_desc()),
        tensor(DNNL_ARG_DIFF_WEIGHTS, op.result(), filter, desc.diff_weights_desc())};
    convolution.add(dnnl::convolution_backward_weights(desc), desc.scratchpad_desc(), tensors);
  }
}

}  // namespace

Step lower_convolution(const sdk::OpView& op, const CompileSettings& settings) {
  const int threads = settings.threads;
  Step step = step_of(op);
  const ir::Type to = op.result_type();
  if (to.elements() == 0) return step;
  if (op.operand_type(0).elements() == 0 || op.operand_type(1).elements() == 0) {  // a sum over nothing
    step.bind = [bytes = to.bytes(), result = op.result()](const Addresses& addresses, std::byte*) -> Task {
      return [bytes, out = addresses.of(result)] { std::memset(out, 0, bytes); };
    };
    return step;
  }
  const ThreadCount thread_count(threads);
  const auto convolution = std::make_shared<Convolution>();
  try {
    plan(*convolution, op);
  } catch (const dnnl::error& error) {
    throw sdk::Error(THRT_UNSUPPORTED,
                     std::string(op.name()) + ": oneDNN has no kernel for this geometry: " + error.what())
        .at_op(op.flat_index())
        .native("dnnl_primitive_desc_create", error.status);
  }
  step.kernels = static_cast<std::uint32_t>(convolution->calls.size());
  step.memory.scratch_bytes = convolution->scratch_bytes;
  step.bind = [convolution, threads, flat = op.flat_index(), name = op.name()](const Addresses& addresses,
                                                                               std::byte* scratch) -> Task {
    auto bound = std::make_shared<std::vector<BoundCall>>();
    for (const Call& call : convolution->calls) {
      BoundCall& next = bound->emplace_back(BoundCall{call.primitive, {}, {}});
      for (const Call::Argument& argument : call.arguments) {
        std::byte* data = argument.value != THRT_NONE ? addresses.of(argument.value) : scratch + argument.scratch;
        next.memories.emplace_back(argument.desc, convolution->engine, data);
        next.arguments.push_back({argument.id, next.memories.back().get()});
      }
    }
    return [convolution, bound, threads, flat, name] {
      const ThreadCount count(threads);
      for (const BoundCall& call : *bound) {
        const dnnl_status_t status =
            dnnl_primitive_execute(call.primitive.get(), convolution->stream.get(),
                                   static_cast<int>(call.arguments.size()), call.arguments.data());
        if (status != dnnl_success) {
          throw sdk::Error(THRT_INTERNAL, std::string(name) + ": oneDNN failed")
              .at_op(flat)
              .native("dnnl_primitive_execute", status);
        }
      }
    };
  };
  return step;
}

}  // namespace thrt::cpu
