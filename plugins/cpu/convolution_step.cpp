#include "convolution_step.hpp"

#include "convolution_image.hpp"
#include "lower.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace thrt::cpu {
namespace {

// Nanoseconds on one thread. Below a few tens of microseconds a part does not pay for waking a thread.
constexpr double kFewestNanosecondsPerPart = 20'000.0;

double flops_per_nanosecond(const Kernels& kernels, bool bf16) {
  return (kernels.lanes >= 8 ? 100.0 : 35.0) * (bf16 ? 1.8 : 1.0);  // measured on Zen 4
}

std::uint32_t parts_for(double nanoseconds, std::int64_t most, int threads) {
  const double worthwhile = std::max(1.0, nanoseconds / kFewestNanosecondsPerPart);
  const double limit = static_cast<double>(std::min<std::int64_t>(most, threads));
  return static_cast<std::uint32_t>(std::max(1.0, std::min(worthwhile, limit)));
}

std::uint64_t bytes_of(std::uint64_t floats) {
  return (floats * sizeof(float) + 63) / 64 * 64;
}

// What all parts of one step share. A part's scratch is cut into the pieces below, in floats from its start.
struct Plan {
  ConvolutionSpec spec;
  ConvolutionKernels kernels;
  bool bf16;
  std::uint32_t parts;
  std::int64_t group = 1;  // images that are worked on together: two of them pair up for the filter's gradient in bf16
  std::int64_t o_row, c_row;  // channels up to whole vectors
  std::int64_t units;         // of the left side, a pixel: floats, or pairs of bf16
  ImageReader x_reader, y_reader;
  ImageWriter x_writer, y_writer;
  std::vector<std::int64_t> chunk;  // where the parts of the sum start in the left side
  std::uint64_t filter = 0, image = 0, image_pair = 0, rows = 0, rows_pair = 0, bias = 0;
  std::uint64_t floats = 0;  // of one part

  Plan(const ConvolutionSpec& what, const CompileSettings& settings);

  const ConvolutionGeometry& geometry() const { return spec.geometry; }
  FilterShape filter_shape() const;
  std::pair<std::int64_t, std::int64_t> images_of(std::uint32_t part) const;
  void (*block() const)(const ConvolutionBlock&) { return bf16 ? kernels.block_bf16 : kernels.block; }

 private:
  std::uint64_t take(std::uint64_t count) {
    const std::uint64_t at = floats;
    floats += (count + 15) / 16 * 16;
    return at;
  }
  void place_forward();
  void place_grad_input();
  void place_grad_filter();
};

ImageShape shape_of_x(const ConvolutionGeometry& g) {
  return {g.c, g.h, g.w, g.pad_top, g.pad_bottom, g.pad_left, g.pad_right};
}
ImageShape shape_of_y(const ConvolutionGeometry& g) {
  return {g.o, g.oh, g.ow};
}

std::int64_t row_of_y(const ConvolutionSpec& spec, std::int64_t lanes) {
  // The left side of a product may have any length; the other two are whole vectors.
  return spec.kind == ConvolutionSpec::Kind::kGradInput ? spec.geometry.o : round_up(spec.geometry.o, lanes);
}

Plan::Plan(const ConvolutionSpec& what, const CompileSettings& settings)
    : spec(what),
      kernels(settings.kernels->convolution()),
      bf16(settings.precision == THRT_PRECISION_BF16),
      o_row(round_up(what.geometry.o, settings.kernels->lanes)),
      c_row(round_up(what.geometry.c, settings.kernels->lanes)),
      units(what.kind == ConvolutionSpec::Kind::kGradInput ? what.geometry.o : what.geometry.c),
      x_reader(shape_of_x(what.geometry), what.x, what.geometry.c),
      y_reader(shape_of_y(what.geometry), what.y, row_of_y(what, settings.kernels->lanes)),
      x_writer(shape_of_x(what.geometry), what.x.channels_last, c_row),
      y_writer(shape_of_y(what.geometry), what.y.channels_last, o_row) {
  const bool pairs_images = bf16 && spec.kind == ConvolutionSpec::Kind::kGradFilter;
  if (pairs_images) group = 2;
  if (bf16 && !pairs_images) units = (units + 1) / 2;
  const double nanoseconds = geometry().flops() / flops_per_nanosecond(*settings.kernels, bf16);
  parts = parts_for(nanoseconds, (geometry().n + group - 1) / group, settings.threads);
  switch (spec.kind) {
    case ConvolutionSpec::Kind::kForward:
      place_forward();
      break;
    case ConvolutionSpec::Kind::kGradInput:
      place_grad_input();
      break;
    case ConvolutionSpec::Kind::kGradFilter:
      place_grad_filter();
      break;
  }
}

void Plan::place_forward() {
  const ConvolutionGeometry& g = geometry();
  filter = take(static_cast<std::uint64_t>(g.taps() * units * (bf16 ? 3 : 1) * o_row));
  bias = take(static_cast<std::uint64_t>(o_row));
  image = take(x_reader.scratch_floats());
  if (bf16) image_pair = take(static_cast<std::uint64_t>(g.padded_h() * g.padded_w() * units));
  rows = take(y_writer.scratch_floats());
  for (std::int64_t i = 0; i < g.kh; ++i) chunk.push_back(i * g.padded_w() * units);
}

void Plan::place_grad_input() {
  const ConvolutionGeometry& g = geometry();
  filter = take(static_cast<std::uint64_t>(g.taps() * units * (bf16 ? 3 : 1) * c_row));
  image = take(y_reader.scratch_floats());
  if (bf16) image_pair = take(static_cast<std::uint64_t>(g.pixels() * units));
  rows = take(x_writer.scratch_floats());
  chunk.push_back(0);
}

void Plan::place_grad_filter() {
  const ConvolutionGeometry& g = geometry();
  filter = take(static_cast<std::uint64_t>(g.taps() * g.c * o_row));
  bias = take(static_cast<std::uint64_t>(o_row));
  image = take(x_reader.scratch_floats() * static_cast<std::uint64_t>(group));
  rows = take(y_reader.scratch_floats() * static_cast<std::uint64_t>(group));
  if (bf16) {
    image_pair = take(static_cast<std::uint64_t>(g.padded_h() * g.padded_w() * g.c));
    rows_pair = take(static_cast<std::uint64_t>(g.pixels() * o_row));
  }
  for (std::int64_t i = 0; i < g.oh; ++i) chunk.push_back(i * g.stride_h * g.padded_w() * g.c);
}

FilterShape Plan::filter_shape() const {
  const ConvolutionGeometry& g = geometry();
  switch (spec.kind) {
    case ConvolutionSpec::Kind::kForward:
      return {g.o, g.c, g.taps(), bf16 ? 2 * units : units, o_row};
    case ConvolutionSpec::Kind::kGradInput:
      return {g.o, g.c, g.taps(), bf16 ? 2 * units : units, c_row};
    case ConvolutionSpec::Kind::kGradFilter:
      break;
  }
  return {g.o, g.c, g.taps(), g.c, o_row};
}

std::pair<std::int64_t, std::int64_t> Plan::images_of(std::uint32_t part) const {
  const std::int64_t groups = (geometry().n + group - 1) / group;
  const auto edge = [&](std::int64_t p) { return std::min(geometry().n, groups * p / parts * group); };
  return {edge(part), edge(std::int64_t{part} + 1)};
}

// The filter as the products want it, in this part's scratch: packed by each part for itself, which costs less than
// waiting for one of them to do it.
const float* packed_filter(const Plan& plan, const std::byte* data, float* scratch) {
  const FilterShape shape = plan.filter_shape();
  float* packed = scratch + plan.filter;
  const auto* filter = reinterpret_cast<const float*>(data);
  const bool forward = plan.spec.kind == ConvolutionSpec::Kind::kForward;
  (forward ? &pack_filter : &pack_filter_for_input)(plan.kernels, shape, filter, packed);
  if (!plan.bf16) return packed;
  float* pairs = packed + shape.taps * shape.depth * shape.row;
  pair_rows(plan.kernels, packed, shape.taps * shape.depth, shape.row, pairs);
  return pairs;
}

// A filter of one pixel that does not skip any: all rows of an image are one.
bool is_pointwise(const ConvolutionGeometry& g) {
  return g.taps() == 1 && g.stride_h == 1 && g.stride_w == 1 && !g.is_padded();
}

struct Data {
  std::byte *x, *y, *filter, *bias, *positive, *bias_grad;
};

void run_forward(const Plan& plan, const Data& data, std::uint32_t part, float* scratch) {
  const ConvolutionGeometry& g = plan.geometry();
  ConvolutionBlock block;
  block.b = packed_filter(plan, data.filter, scratch);
  block.b_row = plan.o_row;
  block.columns = plan.o_row;
  block.depth = g.kw * plan.units;
  block.chunks = g.kh;
  block.chunk = plan.chunk.data();
  block.rows = is_pointwise(g) ? g.pixels() : g.ow;
  block.outer = is_pointwise(g) ? 1 : g.oh;
  block.a_row = g.stride_w * plan.units;
  block.a_outer = g.stride_h * g.padded_w() * plan.units;
  block.c_row = plan.o_row;
  block.c_outer = g.ow * plan.o_row;
  block.relu = plan.spec.relu;
  if (data.bias != nullptr) {
    float* bias = scratch + plan.bias;
    std::memset(bias, 0, static_cast<std::size_t>(plan.o_row) * sizeof(float));
    std::memcpy(bias, data.bias, static_cast<std::size_t>(g.o) * sizeof(float));
    block.bias = bias;
  }
  plan.x_reader.start(scratch + plan.image);
  auto* y = reinterpret_cast<float*>(data.y);
  const auto [first, last] = plan.images_of(part);
  for (std::int64_t n = first; n < last; ++n) {
    block.a = plan.x_reader.read(plan.kernels, data.x, n, scratch + plan.image);
    if (plan.bf16) {
      float* pairs = scratch + plan.image_pair;
      pair_channels(plan.kernels, block.a, g.padded_h() * g.padded_w(), g.c, pairs);
      block.a = pairs;
    }
    block.c = plan.y_writer.place(y, n, scratch + plan.rows);
    plan.block()(block);
    plan.y_writer.write(plan.kernels, y, n, scratch + plan.rows);
  }
}

void run_grad_input(const Plan& plan, const Data& data, std::uint32_t part, float* scratch) {
  const ConvolutionGeometry& g = plan.geometry();
  const float* filter = packed_filter(plan, data.filter, scratch);
  ConvolutionBlock block;
  block.b_row = plan.c_row;
  block.columns = plan.c_row;
  block.depth = plan.units;
  block.chunk = plan.chunk.data();
  block.rows = is_pointwise(g) ? g.pixels() : g.ow;
  block.outer = is_pointwise(g) ? 1 : g.oh;
  block.a_row = plan.units;
  block.a_outer = g.ow * plan.units;
  block.c_row = g.stride_w * plan.c_row;
  block.c_outer = g.stride_h * g.padded_w() * plan.c_row;
  block.accumulate = true;
  plan.y_reader.start(scratch + plan.image);
  auto* x = reinterpret_cast<float*>(data.x);
  const auto [first, last] = plan.images_of(part);
  for (std::int64_t n = first; n < last; ++n) {
    block.a = plan.y_reader.read(plan.kernels, data.y, n, scratch + plan.image);
    if (plan.bf16) {
      float* pairs = scratch + plan.image_pair;
      pair_channels(plan.kernels, block.a, g.pixels(), g.o, pairs);
      block.a = pairs;
    }
    // Every pixel of dy adds to a window of dx: tap by tap, so that the taps' filters stay in the first-level cache.
    float* dx = plan.x_writer.place(x, n, scratch + plan.rows);
    std::memset(dx, 0, static_cast<std::size_t>(g.padded_h() * g.padded_w() * plan.c_row) * sizeof(float));
    for (std::int64_t i = 0; i < g.kh; ++i) {
      for (std::int64_t j = 0; j < g.kw; ++j) {
        block.b = filter + (i * g.kw + j) * plan.units * plan.c_row;
        block.c = dx + (i * g.padded_w() + j) * plan.c_row;
        plan.block()(block);
      }
    }
    plan.x_writer.write(plan.kernels, x, n, scratch + plan.rows);
    if (data.positive != nullptr) {
      const std::int64_t elements = g.c * g.h * g.w;
      plan.kernels.keep_positive(x + n * elements, reinterpret_cast<const float*>(data.positive) + n * elements,
                                 elements);
    }
  }
}

void run_grad_filter(const Plan& plan, const Data& data, std::uint32_t part, float* scratch) {
  const ConvolutionGeometry& g = plan.geometry();
  float* bias = scratch + plan.bias;
  std::memset(bias, 0, static_cast<std::size_t>(plan.o_row) * sizeof(float));
  ConvolutionBlock block;
  block.columns = plan.o_row;
  block.rows = g.kw * g.c;
  block.outer = g.kh;
  block.chunks = is_pointwise(g) ? 1 : g.oh;
  block.depth = is_pointwise(g) ? g.pixels() : g.ow;
  block.chunk = plan.chunk.data();
  block.a_row = 1;
  block.a_depth = g.stride_w * g.c;
  block.a_outer = g.padded_w() * g.c;
  block.b_row = plan.o_row;
  block.c = scratch + plan.filter;
  block.c_row = plan.o_row;
  block.c_outer = g.kw * g.c * plan.o_row;
  const std::uint64_t image_floats = plan.x_reader.scratch_floats(), row_floats = plan.y_reader.scratch_floats();
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(plan.group); ++i) {
    plan.x_reader.start(scratch + plan.image + i * image_floats);
    plan.y_reader.start(scratch + plan.rows + i * row_floats);
  }
  const auto [first, last] = plan.images_of(part);
  for (std::int64_t n = first; n < last; n += plan.group) {
    const float *x[2] = {}, *y[2] = {};
    for (std::int64_t i = 0; i < std::min(plan.group, last - n); ++i) {
      const auto s = static_cast<std::uint64_t>(i);
      x[i] = plan.x_reader.read(plan.kernels, data.x, n + i, scratch + plan.image + s * image_floats);
      y[i] = plan.y_reader.read(plan.kernels, data.y, n + i, scratch + plan.rows + s * row_floats);
      if (data.bias_grad != nullptr) plan.kernels.add_pixels(bias, y[i], plan.o_row, g.pixels(), plan.o_row);
    }
    block.a = x[0];
    block.b = y[0];
    if (plan.bf16) {
      float *image_pair = scratch + plan.image_pair, *rows_pair = scratch + plan.rows_pair;
      plan.kernels.pair_bf16(reinterpret_cast<std::uint16_t*>(image_pair), x[0], x[1],
                             g.padded_h() * g.padded_w() * g.c);
      plan.kernels.pair_bf16(reinterpret_cast<std::uint16_t*>(rows_pair), y[0], y[1], g.pixels() * plan.o_row);
      block.a = image_pair;
      block.b = rows_pair;
    }
    block.accumulate = n > first;
    plan.block()(block);
  }
}

// Adds up what the parts have summed, and brings it into the program's order.
void finish_grad_filter(const Plan& plan, const Data& data, float* scratch) {
  const FilterShape shape = plan.filter_shape();
  for (std::uint32_t part = 1; part < plan.parts; ++part) {
    const float* other = scratch + part * plan.floats;
    const auto add = [&](std::uint64_t at, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i)
        scratch[at + static_cast<std::uint64_t>(i)] += other[at + static_cast<std::uint64_t>(i)];
    };
    add(plan.filter, shape.taps * shape.depth * shape.row);
    add(plan.bias, plan.o_row);
  }
  unpack_filter(plan.kernels, shape, scratch + plan.filter, reinterpret_cast<float*>(data.filter));
  if (data.bias_grad != nullptr) {
    std::memcpy(data.bias_grad, scratch + plan.bias, static_cast<std::size_t>(shape.o) * sizeof(float));
  }
}

}  // namespace

ConvolutionGeometry ConvolutionGeometry::of(const sdk::OpView& op) {
  const bool is_forward = op.kind() == ir::OpKind::CONV2D, is_input = op.kind() == ir::OpKind::CONV2D_GRAD_INPUT;
  const ir::Type first = op.operand_type(0), second = op.operand_type(1), result = op.result_type();
  const ir::Shape x = (is_forward ? first : is_input ? result : second).shape;
  const ir::Shape filter = (is_forward || is_input ? second : result).shape;
  const ir::Shape y = (is_forward ? result : first).shape;
  ConvolutionGeometry g{};
  g.n = x[0], g.c = x[1], g.h = x[2], g.w = x[3];
  g.o = filter[0], g.kh = filter[2], g.kw = filter[3];
  g.oh = y[2], g.ow = y[3];
  g.stride_h = op.attribute(0), g.stride_w = op.attribute(1);
  g.pad_top = op.attribute(2), g.pad_bottom = op.attribute(3);
  g.pad_left = op.attribute(4), g.pad_right = op.attribute(5);
  return g;
}

Step convolution_step(const ConvolutionSpec& spec, const CompileSettings& settings) {
  using Kind = ConvolutionSpec::Kind;
  const auto plan = std::make_shared<const Plan>(spec, settings);
  Step step;
  const auto names = [](std::vector<std::uint32_t>& list, std::uint32_t value) {
    if (value != THRT_NONE) list.push_back(value);
  };
  names(spec.kind == Kind::kGradInput ? step.memory.writes : step.memory.reads, spec.x.value);
  names(spec.kind == Kind::kForward ? step.memory.writes : step.memory.reads, spec.y.value);
  names(spec.kind == Kind::kGradFilter ? step.memory.writes : step.memory.reads, spec.filter);
  names(step.memory.reads, spec.bias);
  names(step.memory.reads, spec.positive);
  names(step.memory.writes, spec.bias_grad);
  step.memory.scratch_bytes = bytes_of(plan->floats * plan->parts);
  step.parts = plan->parts;
  step.cost = plan->geometry().flops() / flops_per_nanosecond(*settings.kernels, plan->bf16);
  step.bind = [plan](const Addresses& addresses, std::byte* scratch) -> Work {
    const auto at = [&](std::uint32_t value) { return value != THRT_NONE ? addresses.of(value) : nullptr; };
    const ConvolutionSpec& s = plan->spec;
    const Data data{at(s.x.value), at(s.y.value), at(s.filter), at(s.bias), at(s.positive), at(s.bias_grad)};
    const auto bound = std::make_shared<const Data>(data);
    auto* floats = reinterpret_cast<float*>(scratch);
    const auto run = s.kind == Kind::kForward     ? &run_forward
                     : s.kind == Kind::kGradInput ? &run_grad_input
                                                  : &run_grad_filter;
    std::vector<Task> parts;
    for (std::uint32_t part = 0; part < plan->parts; ++part) {
      parts.emplace_back(
          [plan, bound, run, part, mine = floats + part * plan->floats] { run(*plan, *bound, part, mine); });
    }
    Task finish;
    if (s.kind == Kind::kGradFilter) {
      finish = [plan, bound, floats] { finish_grad_filter(*plan, *bound, floats); };
    }
    return Work(std::move(parts), std::move(finish));
  };
  return step;
}

namespace {

struct MaskData {
  const float *x, *positive;
  float* y;
};

// The image is turned where `positive` or y lie channels last, through a copy where only one of them does.
void run_mask(const MaskSpec& spec, const ConvolutionKernels& kernels, const MaskData& data, std::int64_t first,
              std::int64_t last, float* copy) {
  const std::int64_t elements = spec.channels * spec.pixels;
  const bool masks_turned = spec.positive.channels_last;
  for (std::int64_t n = first; n < last; ++n) {
    const float *x = data.x + n * elements, *positive = data.positive + n * elements;
    float* y = data.y + n * elements;
    float* masked = masks_turned == spec.y.channels_last ? y : copy;
    if (masks_turned) {
      kernels.transpose(masked, spec.channels, x, spec.pixels, spec.channels, spec.pixels);
    } else {
      std::memcpy(masked, x, static_cast<std::size_t>(elements) * sizeof(float));
    }
    kernels.keep_positive(masked, positive, elements);
    if (masked == y) continue;
    if (masks_turned) {
      kernels.transpose(y, spec.pixels, masked, spec.channels, spec.pixels, spec.channels);
    } else {
      kernels.transpose(y, spec.channels, masked, spec.pixels, spec.channels, spec.pixels);
    }
  }
}

}  // namespace

Step convolution_mask_step(const MaskSpec& spec, const CompileSettings& settings) {
  Step step;
  step.reads(spec.x);
  step.reads(spec.positive.value);
  step.writes(spec.y.value);
  const std::int64_t elements = spec.channels * spec.pixels;
  step.cost = static_cast<double>(spec.n * elements) * 0.3;
  step.parts = parts_for(step.cost, spec.n, settings.threads);
  const bool copies = spec.positive.channels_last != spec.y.channels_last;
  const std::uint64_t floats = copies ? (static_cast<std::uint64_t>(elements) + 15) / 16 * 16 : 0;
  step.memory.scratch_bytes = bytes_of(floats * step.parts);
  step.bind = [spec, floats, parts = step.parts, kernels = &settings.kernels->convolution()](
                  const Addresses& addresses, std::byte* scratch) -> Work {
    const MaskData data{reinterpret_cast<const float*>(addresses.of(spec.x)),
                        reinterpret_cast<const float*>(addresses.of(spec.positive.value)),
                        reinterpret_cast<float*>(addresses.of(spec.y.value))};
    const auto what = std::make_shared<const MaskSpec>(spec);
    std::vector<Task> tasks;
    for (std::uint32_t part = 0; part < parts; ++part) {
      float* copy = reinterpret_cast<float*>(scratch) + part * floats;
      const std::int64_t first = spec.n * part / parts, last = spec.n * (std::int64_t{part} + 1) / parts;
      tasks.emplace_back([=] { run_mask(*what, *kernels, data, first, last, copy); });
    }
    return Work(std::move(tasks));
  };
  return step;
}

}  // namespace thrt::cpu
