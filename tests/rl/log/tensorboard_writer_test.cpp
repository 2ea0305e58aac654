// Reads event files back with a parser that shares nothing with the writer.
#include "thrt/rl/log/tensorboard_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <regex>
#include <sstream>

#include "rl/log/event_encoding.hpp"
#include "thrt/error.hpp"

namespace thrt::rl {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// CRC-32C a bit at a time, straight from its reflected polynomial.
std::uint32_t slow_crc32c(const std::string& bytes) {
  std::uint32_t crc = 0xffffffff;
  for (unsigned char byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82f63b78 : crc >> 1;
  }
  return ~crc;
}

std::uint32_t slow_mask(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8;
}

template <class T>
T load(const std::string& bytes, std::size_t at) {
  T value{};
  EXPECT_LE(at + sizeof value, bytes.size());
  std::memcpy(&value, bytes.data() + at, sizeof value);  // the test machines are little-endian, as the file is
  return value;
}

std::vector<std::string> records_of(const std::string& file) {
  std::vector<std::string> records;
  for (std::size_t at = 0; at < file.size();) {
    const auto length = load<std::uint64_t>(file, at);
    EXPECT_EQ(load<std::uint32_t>(file, at + 8), slow_mask(slow_crc32c(file.substr(at, 8))));
    records.push_back(file.substr(at + 12, length));
    EXPECT_EQ(records.back().size(), length) << "a record is cut short";
    EXPECT_EQ(load<std::uint32_t>(file, at + 12 + length), slow_mask(slow_crc32c(records.back())));
    at += 16 + length;
  }
  return records;
}

// One protobuf message: raw bytes of each field by number. Varints become their 8 bytes.
std::map<int, std::string> fields_of(const std::string& message) {
  std::map<int, std::string> fields;
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0; at < message.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(message[at++]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < message.size()) {
    const std::uint64_t key = varint();
    std::string& field = fields[static_cast<int>(key >> 3)];
    std::size_t size = 0;
    if ((key & 7) == 0) {
      const std::uint64_t value = varint();
      field.assign(reinterpret_cast<const char*>(&value), sizeof value);
      continue;
    }
    if ((key & 7) == 1) size = 8;
    if ((key & 7) == 2) size = varint();
    if ((key & 7) == 5) size = 4;
    field = message.substr(at, size);
    EXPECT_EQ(field.size(), size) << "a field is cut short";
    at += size;
  }
  return fields;
}

struct Scalar {
  double wall_time;
  std::int64_t step;
  std::string tag;
  float value;
};

Scalar scalar_of(const std::string& record) {
  const auto event = fields_of(record);
  const auto point = fields_of(fields_of(event.at(5)).at(1));
  return {load<double>(event.at(1), 0), load<std::int64_t>(event.at(2), 0), point.at(1), load<float>(point.at(2), 0)};
}

class TensorBoard : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("tb_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::vector<std::string> records(const TensorBoardWriter& writer) {
    std::ifstream file(writer.path(), std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return records_of(bytes.str());
  }

  std::filesystem::path folder_;
};

TEST(Crc32c, EqualsThePublishedCheckValues) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);              // the catalogue's check value
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);    // RFC 3720, appendix B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);  // same
  EXPECT_EQ(slow_crc32c("123456789"), 0xe3069283u);
}

TEST_F(TensorBoard, BeginsWithItsVersion) {
  const TensorBoardWriter writer(folder_);
  const auto all = records(writer);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(fields_of(all[0]).at(3), "brain.Event:2");
  EXPECT_GT(load<double>(fields_of(all[0]).at(1), 0), 1.6e9);
}

TEST_F(TensorBoard, NamesTheFileAsTensorBoardDoes) {
  const TensorBoardWriter writer(folder_);
  EXPECT_TRUE(std::regex_match(writer.path().filename().string(),
                               std::regex("events\\.out\\.tfevents\\.[0-9]{10}\\..+\\." + std::to_string(getpid()))))
      << writer.path();
}

TEST_F(TensorBoard, WritesScalars) {
  TensorBoardWriter writer(folder_);
  writer.add_scalar("charts/episodic_return", 475.5F, 150000, 1.7e9 + 0.25);
  writer.add_scalar("losses/value_loss", -0.0F, 0, 2.0);
  writer.add_scalar(std::string(300, 't'), 1e-30F, std::int64_t{1} << 40, 3.0);  // lengths and steps of many bytes
  writer.flush();
  const auto all = records(writer);
  ASSERT_THAT(all, SizeIs(4));
  const Scalar first = scalar_of(all[1]);
  EXPECT_EQ(first.tag, "charts/episodic_return");
  EXPECT_EQ(first.value, 475.5F);
  EXPECT_EQ(first.step, 150000);
  EXPECT_EQ(first.wall_time, 1.7e9 + 0.25);
  EXPECT_EQ(scalar_of(all[2]).step, 0);
  EXPECT_EQ(scalar_of(all[3]).tag, std::string(300, 't'));
  EXPECT_EQ(scalar_of(all[3]).step, std::int64_t{1} << 40);
  EXPECT_EQ(scalar_of(all[3]).value, 1e-30F);
}

TEST_F(TensorBoard, AResumedRunStartsASessionAfterTheCheckpoint) {
  const TensorBoardWriter writer(folder_, 2048);
  const auto all = records(writer);
  ASSERT_THAT(all, SizeIs(2));
  const auto event = fields_of(all[1]);
  EXPECT_EQ(load<std::int64_t>(event.at(2), 0), 2049);
  EXPECT_EQ(load<std::int64_t>(fields_of(event.at(7)).at(1), 0), 1);  // SessionLog.START
}

TEST_F(TensorBoard, TwoWritersNeverShareAFile) {
  const TensorBoardWriter first(folder_);
  const TensorBoardWriter second(folder_);
  EXPECT_NE(first.path(), second.path());
  EXPECT_THAT(records(first), SizeIs(1));
  EXPECT_THAT(records(second), SizeIs(1));
}

TEST_F(TensorBoard, RefusesAMissingFolder) {
  try {
    TensorBoardWriter writer(folder_ / "missing");
    ADD_FAILURE() << "no thrt::Error was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("missing"));
  }
}

}  // namespace
}  // namespace thrt::rl
