// Runs graphs on the reference backend: what the tests of graphs and networks compute with.
#pragma once

#include <thrt/graph/passes.hpp>
#include <thrt/graph/program.hpp>
#include <thrt/graph/scalar_bytes.hpp>
#include <thrt/nn/initialise.hpp>
#include <thrt/runtime/context.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace thrt::test {

// A tensor on the host.
struct HostValue {
  Type type;
  std::vector<std::byte> bytes;

  HostValue() = default;
  HostValue(const Type& of, std::vector<std::byte> content) : type(of), bytes(std::move(content)) {}
  HostValue(const Type& of, const std::vector<double>& numbers) : type(of) {
    for (const double number : numbers) {
      const std::vector<std::byte> one = scalar_bytes(number, of.dtype);
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
  }

  std::vector<double> numbers() const {
    std::vector<double> result;
    const std::size_t size = ir::dtype_size(type.dtype);
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      result.push_back(scalar_value(std::span<const std::byte>(bytes).subspan(at, size), type.dtype));
    }
    return result;
  }
  double number() const { return numbers().at(0); }
  friend bool operator==(const HostValue& a, const HostValue& b) { return a.type == b.type && a.bytes == b.bytes; }
};

using HostValues = std::map<std::string, HostValue>;

inline HostValue f64(const Shape& shape, const std::vector<double>& numbers) {
  return {{DType::kF64, shape}, numbers};
}
inline HostValue f32(const Shape& shape, const std::vector<double>& numbers) {
  return {{DType::kF32, shape}, numbers};
}
inline HostValue i32(const Shape& shape, const std::vector<double>& numbers) {
  return {{DType::kI32, shape}, numbers};
}

// One context for the whole test binary.
inline const Context& reference() {
  static const Context context(
      std::make_shared<LoadedPlugin>(THRT_BUILD_DIR "/lib/thrust/plugins/libthrust_backend_reference.so"));
  return context;
}

// A compiled graph with its buffers. State starts at its initial value for the seed.
class Session {
 public:
  explicit Session(const Graph& graph, std::uint64_t seed = 1) : executable_(reference(), lower(graph)) {
    for (const Program::Slot& slot : executable_.program().slots()) {
      Buffer buffer(reference(), slot.type.bytes());
      const std::vector<std::byte> first = slot.kind == Graph::SlotKind::kState
                                               ? nn::initial_value(slot.init, slot.type, slot.name, seed)
                                               : std::vector<std::byte>(slot.type.bytes());
      buffer.write(std::span<const std::byte>(first));
      index_[slot.name] = buffers_.size();
      buffers_.push_back(buffer);
    }
    binding_ = std::make_unique<Binding>(executable_, buffers_);
  }

  void set(const std::string& name, const HostValue& value) {
    const Type& type = executable_.program().slots()[index_.at(name)].type;
    if (!(type == value.type)) throw std::invalid_argument(name + ": " + type.str() + " set to " + value.type.str());
    buffers_[index_.at(name)].write(std::span<const std::byte>(value.bytes));
  }
  HostValue get(const std::string& name) const {
    const std::size_t at = index_.at(name);
    HostValue value;
    value.type = executable_.program().slots()[at].type;
    value.bytes.resize(value.type.bytes());
    buffers_[at].read(value.bytes);
    return value;
  }
  void run() { binding_->run(); }

  // Every slot's content.
  HostValues all() const {
    HostValues values;
    for (const auto& [name, at] : index_) values[name] = get(name);
    return values;
  }

 private:
  Executable executable_;
  std::map<std::string, std::size_t> index_;
  std::vector<Buffer> buffers_;
  std::unique_ptr<Binding> binding_;
};

// Runs a graph once and returns every slot's content afterwards.
inline HostValues run(const Graph& graph, const HostValues& given = {}) {
  Session session(graph);
  for (const auto& [name, value] : given) session.set(name, value);
  session.run();
  return session.all();
}

// Reproducible numbers for inputs: SplitMix64 (Steele, Lea and Flood 2014).
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(bits() % n); }
  double uniform(double low, double high) { return low + (high - low) * (static_cast<double>(bits() >> 11) * 0x1p-53); }
  std::vector<double> uniforms(std::int64_t count, double low, double high) {
    std::vector<double> result;
    for (std::int64_t i = 0; i < count; ++i) result.push_back(uniform(low, high));
    return result;
  }

 private:
  std::uint64_t state_;
};

}  // namespace thrt::test
