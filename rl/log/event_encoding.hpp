// The bytes of a TensorBoard event file: protobuf events in TFRecord frames.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace thrt::rl {

// CRC-32C (Castagnoli, RFC 3720 appendix B.4).
std::uint32_t crc32c(std::string_view bytes);

// Frame of one record: length (u64), masked CRC of those 8 bytes (u32), the data, masked CRC of the data (u32), all
// little-endian. Source: TensorFlow's documentation of the TFRecord format.
std::string tfrecord(std::string_view data);

// Encoded `Event` messages (field numbers of TensorFlow's event.proto and summary.proto).
std::string file_version_event(double wall_time);
std::string session_start_event(double wall_time, std::int64_t step);
std::string scalar_event(double wall_time, std::int64_t step, std::string_view tag, float value);

}  // namespace thrt::rl
