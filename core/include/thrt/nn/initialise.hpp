// The first value of a state slot, computed on the host.
#pragma once

#include <thrt/graph/init.hpp>
#include <thrt/ir/type.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace thrt::nn {

// A function of its arguments alone: other slots and their order have no influence. Numbers come from Philox
// (thrt/philox.h) keyed by the seed, on a stream that is a 64-bit hash of the name; computed in f64 and rounded once.
//
//   orthogonal                of a matrix [in, out], or of a filter [O, C, KH, KW] as [O, C*KH*KW]: orthonormal columns
//                             (rows when there are fewer rows), uniform over all such (Mezzadri 2007)
//   kaiming, xavier uniform   fan_in, fan_out = in, out, or C*KH*KW, O*KH*KW
//   random_state              {seed low, seed high, 0, hash of the name}: the device counts in the third word, so slots
//                             of two names draw from disjoint streams (unless their 32-bit hashes are equal)
//
// Throws Error, with the name, for an initialisation that does not fit the type.
std::vector<std::byte> initial_value(const Init& init, const ir::Type& type, std::string_view name, std::uint64_t seed);

}  // namespace thrt::nn
