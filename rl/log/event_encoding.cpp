#include "rl/log/event_encoding.hpp"

#include <boost/crc.hpp>
#include <cstring>

namespace thrt::rl {
namespace {

// event.proto, summary.proto.
constexpr std::uint32_t kEventWallTime = 1;
constexpr std::uint32_t kEventStep = 2;
constexpr std::uint32_t kEventFileVersion = 3;
constexpr std::uint32_t kEventSummary = 5;
constexpr std::uint32_t kEventSessionLog = 7;
constexpr std::uint32_t kSessionLogStatus = 1;
constexpr std::uint64_t kSessionLogStart = 1;
constexpr std::uint32_t kSummaryValue = 1;
constexpr std::uint32_t kValueTag = 1;
constexpr std::uint32_t kValueSimple = 2;

// Wire types of the protobuf encoding.
constexpr std::uint32_t kVarint = 0;
constexpr std::uint32_t kFixed64 = 1;
constexpr std::uint32_t kBytes = 2;
constexpr std::uint32_t kFixed32 = 5;

void put_little_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int byte = 0; byte < bytes; ++byte) out.push_back(static_cast<char>((value >> (8 * byte)) & 0xff));
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>((value & 0x7f) | 0x80));
  out.push_back(static_cast<char>(value));
}

void put_key(std::string& out, std::uint32_t field, std::uint32_t wire) {
  put_varint(out, (field << 3) | wire);
}

void put_integer(std::string& out, std::uint32_t field, std::uint64_t value) {
  put_key(out, field, kVarint);
  put_varint(out, value);
}

void put_bytes(std::string& out, std::uint32_t field, std::string_view value) {
  put_key(out, field, kBytes);
  put_varint(out, value.size());
  out.append(value);
}

void put_double(std::string& out, std::uint32_t field, double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  put_key(out, field, kFixed64);
  put_little_endian(out, bits, 8);
}

void put_float(std::string& out, std::uint32_t field, float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  put_key(out, field, kFixed32);
  put_little_endian(out, bits, 4);
}

// A CRC stored beside data that itself holds CRCs is rotated and offset, so that a CRC over both stays meaningful.
std::uint32_t masked(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1edc6f41, 0xffffffff, 0xffffffff, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

std::string tfrecord(std::string_view data) {
  std::string out;
  put_little_endian(out, data.size(), 8);
  put_little_endian(out, masked(crc32c(out)), 4);
  out.append(data);
  put_little_endian(out, masked(crc32c(data)), 4);
  return out;
}

std::string file_version_event(double wall_time) {
  std::string event;
  put_double(event, kEventWallTime, wall_time);
  put_bytes(event, kEventFileVersion, "brain.Event:2");
  return event;
}

std::string session_start_event(double wall_time, std::int64_t step) {
  std::string session;
  put_integer(session, kSessionLogStatus, kSessionLogStart);
  std::string event;
  put_double(event, kEventWallTime, wall_time);
  put_integer(event, kEventStep, static_cast<std::uint64_t>(step));
  put_bytes(event, kEventSessionLog, session);
  return event;
}

std::string scalar_event(double wall_time, std::int64_t step, std::string_view tag, float value) {
  std::string point;
  put_bytes(point, kValueTag, tag);
  put_float(point, kValueSimple, value);
  std::string summary;
  put_bytes(summary, kSummaryValue, point);
  std::string event;
  put_double(event, kEventWallTime, wall_time);
  put_integer(event, kEventStep, static_cast<std::uint64_t>(step));
  put_bytes(event, kEventSummary, summary);
  return event;
}

}  // namespace thrt::rl
