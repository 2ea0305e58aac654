// Values that come from nowhere else: index ramps and random bits.
#include "kernel.hpp"

#include <thrt/philox.h>

namespace thrt::reference {

template <>
void kernel<OpKind::IOTA>(const Call& call) {
  const auto axis = static_cast<std::size_t>(call.attributes[0]);
  with_number(call.out().type.dtype, [&](auto type) {
    using Stored = decltype(type);
    for_each_index(call.out().type.shape, [&](const auto& index, std::int64_t flat) {
      elements<Stored>(call.out())[flat] = narrow<Stored>(static_cast<Wide<Stored>>(index[axis]));
    });
  });
}

template <>
void kernel<OpKind::RANDOM_BITS>(const Call& call) {
  const std::uint32_t* state = elements<std::uint32_t>(call.in(0));
  const std::int64_t count = call.out().type.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    elements<std::uint32_t>(call.out())[i] = thrt_random_word(state, static_cast<std::uint64_t>(i));
  }
}

}  // namespace thrt::reference
