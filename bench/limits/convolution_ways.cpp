#include "convolution_ways.hpp"

#include <oneapi/dnnl/dnnl.hpp>

#include <cstring>
#include <unordered_map>
#include <utility>

namespace thrt::bench {
namespace {

using dnnl::memory;
using Arguments = std::unordered_map<int, memory>;

// All ones and a half: neither denormals nor zeros, and the same in each way.
void fill(const memory& values, memory::data_type type) {
  const std::size_t bytes = values.get_desc().get_size();
  auto* data = static_cast<std::byte*>(values.get_data_handle());
  if (type == memory::data_type::f32) {
    const float number = 1.5F;
    for (std::size_t i = 0; i + sizeof number <= bytes; i += sizeof number)
      std::memcpy(data + i, &number, sizeof number);
  } else {
    const std::uint16_t number = 0x3fc0;  // 1.5 in bf16
    for (std::size_t i = 0; i + sizeof number <= bytes; i += sizeof number)
      std::memcpy(data + i, &number, sizeof number);
  }
}

memory filled(const memory::desc& desc, const dnnl::engine& engine) {
  memory values(desc, engine);
  fill(values, desc.data_type());
  return values;
}

Way way(std::string name, const dnnl::primitive& primitive, const Arguments& arguments, const dnnl::engine& engine) {
  dnnl::stream stream(engine);  // not const, for its copy in the closure would be
  return {std::move(name), [primitive, arguments, stream]() mutable {
            primitive.execute(stream, arguments);
            stream.wait();
          }};
}

memory::dims dims_of(const ir::Shape& shape) {
  return {shape.begin(), shape.end()};
}

struct Layouts {
  memory::desc x, filter, filter_grad, bias, y;
  memory::dims strides, low, high;

  Layouts(const Convolution& c, memory::format_tag tag, memory::data_type type)
      : x(dims_of(c.x), type, tag),
        filter(dims_of(c.filter), type, memory::format_tag::any),
        filter_grad(dims_of(c.filter), memory::data_type::f32, memory::format_tag::any),
        bias({c.filter[0]}, memory::data_type::f32, memory::format_tag::x),
        y(dims_of(c.y), type, tag),
        strides{c.attributes[0], c.attributes[1]},
        low{c.attributes[2], c.attributes[4]},
        high{c.attributes[3], c.attributes[5]} {}
};

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

Way convolution_way(const Convolution& c, memory::format_tag tag, memory::data_type type, std::string name) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const Layouts l(c, tag, type);
  dnnl::primitive_attr attributes;
  if (c.kind == Convolution::Kind::kForward) {
    dnnl::post_ops relu;
    relu.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
    attributes.set_post_ops(relu);
  }
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, kDirect, l.x, l.filter, l.bias, l.y, l.strides, l.low, l.high}, attributes,
      engine);
  switch (c.kind) {
    case Convolution::Kind::kForward:
      return way(std::move(name), dnnl::convolution_forward(forward),
                 {{DNNL_ARG_SRC, filled(forward.src_desc(), engine)},
                  {DNNL_ARG_WEIGHTS, filled(forward.weights_desc(), engine)},
                  {DNNL_ARG_BIAS, filled(forward.bias_desc(), engine)},
                  {DNNL_ARG_DST, filled(forward.dst_desc(), engine)}},
                 engine);
    case Convolution::Kind::kGradInput: {
      const dnnl::convolution_backward_data::primitive_desc desc(
          {kDirect, l.x, l.filter, l.y, l.strides, l.low, l.high}, engine, forward);
      return way(std::move(name), dnnl::convolution_backward_data(desc),
                 {{DNNL_ARG_DIFF_DST, filled(desc.diff_dst_desc(), engine)},
                  {DNNL_ARG_WEIGHTS, filled(desc.weights_desc(), engine)},
                  {DNNL_ARG_DIFF_SRC, filled(desc.diff_src_desc(), engine)}},
                 engine);
    }
    case Convolution::Kind::kGradFilter:
      break;
  }
  const dnnl::convolution_backward_weights::primitive_desc desc(
      {kDirect, l.x, l.filter_grad, l.bias, l.y, l.strides, l.low, l.high}, engine, forward);
  return way(std::move(name), dnnl::convolution_backward_weights(desc),
             {{DNNL_ARG_SRC, filled(desc.src_desc(), engine)},
              {DNNL_ARG_DIFF_DST, filled(desc.diff_dst_desc(), engine)},
              {DNNL_ARG_DIFF_WEIGHTS, filled(desc.diff_weights_desc(), engine)},
              {DNNL_ARG_DIFF_BIAS, filled(desc.diff_bias_desc(), engine)}},
             engine);
}

}  // namespace

std::vector<Way> ways_of(const Convolution& convolution, bool bf16) {
  const memory::data_type type = bf16 ? memory::data_type::bf16 : memory::data_type::f32;
  return {convolution_way(convolution, memory::format_tag::any, type, "dnnl, its own layout"),
          convolution_way(convolution, memory::format_tag::nhwc, type, "dnnl, channels last")};
}

std::vector<Way> bf16_ways_of(const Product& product) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const auto type = memory::data_type::bf16;
  const auto plain = [&](std::int64_t rows, std::int64_t columns, bool transposed) {
    return memory::desc({rows, columns}, type, transposed ? memory::format_tag::ba : memory::format_tag::ab);
  };
  const memory::desc a = plain(product.rows, product.depth, product.transpose_a);
  const memory::desc c({product.rows, product.columns}, memory::data_type::f32, memory::format_tag::ab);
  std::vector<Way> ways;
  for (const bool chosen : {false, true}) {
    const memory::desc b = chosen ? memory::desc({product.depth, product.columns}, type, memory::format_tag::any)
                                  : plain(product.depth, product.columns, product.transpose_b);
    const dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(a, b, c), engine);
    ways.push_back(way(chosen ? "dnnl_matmul, its own layout" : "dnnl_matmul", dnnl::matmul(desc),
                       {{DNNL_ARG_SRC, filled(desc.src_desc(), engine)},
                        {DNNL_ARG_WEIGHTS, filled(desc.weights_desc(), engine)},
                        {DNNL_ARG_DST, filled(desc.dst_desc(), engine)}},
                       engine));
  }
  return ways;
}

}  // namespace thrt::bench
