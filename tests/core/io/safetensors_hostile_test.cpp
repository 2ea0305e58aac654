// Files that break the format: each is refused with a message of its own, and no change of bits does harm.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "scratch_folder.hpp"
#include "thrt/error.hpp"
#include "thrt/io/safetensors.hpp"

namespace thrt::io {
namespace {

using test::ScratchFolder;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::byte> file_of(const std::string& json, std::size_t data_bytes) {
  std::vector<std::byte> file(8 + json.size() + data_bytes);
  const std::uint64_t length = json.size();
  std::memcpy(file.data(), &length, 8);
  std::memcpy(file.data() + 8, json.data(), json.size());
  return file;
}

// What the reader says of a file; the name and an advice must be in every refusal.
std::string verdict(std::span<const std::byte> file) {
  try {
    SafeTensors::parse(file, "runs/a.safetensors");
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'runs/a.safetensors'"));
    EXPECT_FALSE(error.next().empty()) << error.why();
    EXPECT_EQ(error.kind(), ErrorKind::kStart);
    return error.why();
  }
  return "accepted";
}

std::string verdict(const std::string& json, std::size_t data_bytes = 0) {
  return verdict(file_of(json, data_bytes));
}

// A header with one tensor `x` whose fields are given.
std::string tensor_verdict(const std::string& fields, std::size_t data_bytes) {
  return verdict("{\"x\":{" + fields + "}}", data_bytes);
}

TEST(HostileSafeTensors, TheTemplateOfTheseTestsIsAccepted) {
  EXPECT_EQ(tensor_verdict(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])", 8), "accepted");
  EXPECT_EQ(verdict("{}"), "accepted");
  EXPECT_EQ(verdict(R"({"__metadata__":{}}     )"), "accepted");
}

TEST(HostileSafeTensors, TooShortForALength) {
  EXPECT_THAT(verdict(std::vector<std::byte>{}), HasSubstr("it has 0 bytes"));
  EXPECT_THAT(verdict(std::vector<std::byte>(7)), HasSubstr("it has 7 bytes"));
}

TEST(HostileSafeTensors, HeaderLongerThanTheFileOrTheFormatAllows) {
  std::vector<std::byte> file = file_of("{}", 0);
  file[0] = std::byte{3};
  EXPECT_THAT(verdict(file), HasSubstr("a header of 3 bytes, but only 2 follow"));
  std::memset(file.data(), 0xFF, 8);
  EXPECT_THAT(verdict(file), HasSubstr("a header of 18446744073709551615 bytes; the format allows 100000000"));
}

TEST(HostileSafeTensors, HeaderThatIsNotAJsonObject) {
  EXPECT_THAT(verdict(""), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(verdict("[]"), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(verdict("\xEF\xBB\xBF{}"), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(verdict("{\"x\":"), HasSubstr("not JSON, at byte"));
  EXPECT_THAT(verdict("{} {}"), HasSubstr("not JSON, at byte"));
  EXPECT_THAT(verdict(R"({"x\ud800":{}})"), HasSubstr("not JSON, at byte"));
}

TEST(HostileSafeTensors, HeaderThatIsNotUtf8) {
  for (const char* bad : {"\xFF", "\x80", "\xC0\xAF", "\xC3", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) {
    EXPECT_EQ(verdict("{\"" + std::string(bad) + "\":{}}"), "its header is not UTF-8");
  }
  for (const char* good : {"\xC3\xBC", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(verdict("{\"__metadata__\":{\"" + std::string(good) + "\":\"\"}}"), "accepted");
  }
}

TEST(HostileSafeTensors, NestingIsRefusedAtOnceHoweverDeep) {
  EXPECT_THAT(verdict("{\"x\":" + std::string(1'000'000, '[')), HasSubstr("\"x\" is a list instead of an object"));
  EXPECT_THAT(verdict("{\"x\":{\"shape\":" + std::string(1'000'000, '[')), HasSubstr("has a list where its shape"));
  EXPECT_THAT(verdict("{\"__metadata__\":{\"a\":{"), HasSubstr("\"a\" of __metadata__ is an object"));
}

TEST(HostileSafeTensors, WrongKindsOfValues) {
  EXPECT_THAT(verdict(R"({"x":1})"), HasSubstr("\"x\" is a number instead of an object"));
  EXPECT_THAT(verdict(R"({"x":null})"), HasSubstr("\"x\" is null instead of an object"));
  EXPECT_THAT(verdict(R"({"__metadata__":{"a":true}})"), HasSubstr("\"a\" of __metadata__ is true instead of a str"));
  EXPECT_THAT(tensor_verdict(R"("dtype":4)", 0), HasSubstr("has a number where its dtype"));
  EXPECT_THAT(tensor_verdict(R"("shape":"2")", 0), HasSubstr("has a string where its shape"));
  EXPECT_THAT(tensor_verdict(R"("shape":[{}])", 0), HasSubstr("has an object where its shape"));
  EXPECT_THAT(tensor_verdict(R"("shape":[-1])", 0), HasSubstr("has a negative number -1 in its shape"));
  EXPECT_THAT(tensor_verdict(R"("shape":[1.5])", 0),
              HasSubstr("has \"1.5\", which is no 64-bit integer, in its shape"));
  EXPECT_THAT(tensor_verdict(R"("data_offsets":[0,18446744073709551616])", 0), HasSubstr("no 64-bit integer"));
  EXPECT_THAT(tensor_verdict(R"("data_offsets":[0,1,2])", 0), HasSubstr("more than two data_offsets"));
}

TEST(HostileSafeTensors, MissingUnknownAndRepeatedFields) {
  EXPECT_THAT(tensor_verdict("", 0), HasSubstr("tensor \"x\" has no dtype"));
  EXPECT_THAT(tensor_verdict(R"("dtype":"F32")", 0), HasSubstr("tensor \"x\" has no shape"));
  EXPECT_THAT(tensor_verdict(R"("dtype":"F32","shape":[])", 0), HasSubstr("tensor \"x\" has no data_offsets"));
  EXPECT_THAT(tensor_verdict(R"("dtype":"F32","shape":[],"data_offsets":[0])", 4), HasSubstr("has 1 data_offsets"));
  EXPECT_THAT(tensor_verdict(R"("strides":[1])", 0), HasSubstr("has a field \"strides\""));
  EXPECT_THAT(tensor_verdict(R"("dtype":"F32","dtype":"F16")", 0), HasSubstr("\"dtype\" of \"x\" is in it twice"));
  EXPECT_THAT(verdict(R"({"__metadata__":{"a":"1","a":"2"}})"), HasSubstr("\"a\" of \"__metadata__\" is in it twice"));
  EXPECT_THAT(verdict(R"({"__metadata__":{},"__metadata__":{}})"), HasSubstr("\"__metadata__\" is in it twice"));
}

TEST(HostileSafeTensors, DuplicateNames) {
  const std::string x = R"("x":{"dtype":"U8","shape":[1],"data_offsets":)";
  EXPECT_THAT(verdict("{" + x + "[0,1]}," + x + "[1,2]}}", 2), HasSubstr("\"x\" is in it twice"));
}

TEST(HostileSafeTensors, UnknownDtypes) {
  const std::string why = tensor_verdict(R"("dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1])", 1);
  EXPECT_THAT(why, HasSubstr("tensor \"x\" has dtype \"F8_E4M3\", which is not known here"));
  EXPECT_THAT(tensor_verdict(R"("dtype":"f32","shape":[1],"data_offsets":[0,4])", 4), HasSubstr("not known here"));
}

TEST(HostileSafeTensors, SizesThatDoNotMatchTheShape) {
  EXPECT_THAT(tensor_verdict(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])", 8),
              HasSubstr("has 8 bytes, but F32 of shape [3] needs 12"));
  EXPECT_THAT(tensor_verdict(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0])", 0),
              HasSubstr("more bytes than 63 bits count"));
  EXPECT_THAT(tensor_verdict(R"("dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,0])", 0),
              HasSubstr("does not fit 63 bits"));
}

TEST(HostileSafeTensors, OffsetsOutOfRangeBackwardsOrWrappingAround) {
  EXPECT_THAT(tensor_verdict(R"("dtype":"U8","shape":[8],"data_offsets":[8,16])", 8),
              HasSubstr("lies at bytes 8 to 16, but the file has 8 bytes of data"));
  EXPECT_THAT(tensor_verdict(R"("dtype":"U8","shape":[8],"data_offsets":[8,0])", 8),
              HasSubstr("ends at byte 0 before it begins at 8"));
  EXPECT_THAT(
      tensor_verdict(R"("dtype":"U8","shape":[1],"data_offsets":[18446744073709551614,18446744073709551615])", 1),
      HasSubstr("lies at bytes 18446744073709551614"));
}

TEST(HostileSafeTensors, OverlapsGapsAndTrailingBytes) {
  const auto two = [](const char* first, const char* second, std::size_t data_bytes) {
    return verdict(std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + first +
                       R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}",
                   data_bytes);
  };
  EXPECT_EQ(two("[0,4]", "[4,8]", 8), "accepted");
  EXPECT_EQ(two("[4,8]", "[0,4]", 8), "accepted");
  EXPECT_THAT(two("[0,4]", "[3,7]", 7), HasSubstr("tensor \"b\" overlaps the one before it, which ends at byte 4"));
  EXPECT_THAT(two("[0,4]", "[0,4]", 4), HasSubstr("overlaps"));
  EXPECT_THAT(two("[0,4]", "[6,10]", 10), HasSubstr("tensor \"b\" begins at byte 6, 2 bytes after"));
  EXPECT_THAT(two("[1,5]", "[5,9]", 9), HasSubstr("tensor \"a\" begins at byte 1"));
  EXPECT_THAT(two("[0,4]", "[4,8]", 11), HasSubstr("3 bytes follow the last tensor"));
  EXPECT_THAT(two("[0,4]", "[4,8]", 7), HasSubstr("the file has 7 bytes of data"));
}

TEST(HostileSafeTensors, LongAndControlNamesArePrintedEscapedAndCut) {
  const std::string why = verdict("{\"\\u001b[31m" + std::string(5000, 'n') + "\":1}");
  EXPECT_THAT(why, HasSubstr("\\u001b[31mnnn"));
  EXPECT_LT(why.size(), 200U);
  EXPECT_THAT(why, Not(HasSubstr("\x1b")));
}

TEST(HostileSafeTensors, TooManyDimensions) {
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  EXPECT_THAT(tensor_verdict(R"("dtype":"U8","shape":[)" + ones + R"(],"data_offsets":[0,1])", 1),
              HasSubstr("more than 64 dimensions"));
}

// ------------------------------------------------------------------------------------------ things that are no files

std::string reading(const std::filesystem::path& path) {
  try {
    SafeTensors::read(path);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(path.string()));
    EXPECT_FALSE(error.next().empty());
    return error.why();
  }
  return "accepted";
}

TEST(HostileSafeTensors, PathsThatAreNotReadableFiles) {
  const ScratchFolder folder;
  EXPECT_EQ(reading(folder.path() / "missing"), "No such file or directory");
  EXPECT_EQ(reading(folder.path()), "it is not a regular file");
  EXPECT_EQ(reading("/dev/zero"), "it is not a regular file");
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(reading(folder.path() / "pipe"), "it is not a regular file");
  std::ofstream(folder.path() / "empty").flush();
  EXPECT_THAT(reading(folder.path() / "empty"), HasSubstr("it has 0 bytes"));
  std::ofstream(folder.path() / "text") << "This is a text file, nothing else.\n";
  EXPECT_THAT(reading(folder.path() / "text"), HasSubstr("announces a header"));
}

// A sparse file of 1 TiB costs nothing on disk; its size alone must not make the reader allocate.
TEST(HostileSafeTensors, AHugeSparseFileIsRefusedBeforeItsDataIsAllocated) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder.path() / "huge";
  const std::vector<std::byte> head = file_of("{}", 0);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(head.data()), 10);
  std::error_code failed;
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40, failed);
  ASSERT_FALSE(failed) << failed.message();
  EXPECT_THAT(reading(path), HasSubstr("1099511627766 bytes follow the last tensor"));
}

// ---------------------------------------------------------------------------------------------------------- fuzzing

std::vector<std::byte> recorded(const char* name) {
  std::ifstream file(std::filesystem::path(THRT_TEST_DATA) / "safetensors" / name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Accepted or refused, never anything else; what is accepted is whole and its bytes are there (ASan watches the sum).
bool parses(std::span<const std::byte> file) {
  try {
    const SafeTensors parsed = SafeTensors::parse(file, "fuzz");
    std::size_t total = 0;
    unsigned sum = 0;
    for (const TensorView& tensor : parsed.tensors()) {
      std::uint64_t elements = 1;
      for (const std::int64_t size : tensor.shape) elements *= static_cast<std::uint64_t>(size);
      EXPECT_EQ(elements * size_of(tensor.dtype), tensor.bytes.size());
      total += tensor.bytes.size();
      for (const std::byte byte : tensor.bytes) sum += std::to_integer<unsigned>(byte);
    }
    EXPECT_LT(total, file.size());
    EXPECT_LE(sum, 255 * total);
    return true;
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "'fuzz' is not a usable safetensors file");
    EXPECT_FALSE(error.why().empty());
    return false;
  }
}

TEST(HostileSafeTensors, EveryTruncationIsRefused) {
  const std::vector<std::byte> file = recorded("mixed.safetensors");
  ASSERT_TRUE(parses(file));
  for (std::size_t size = 0; size < file.size(); ++size) {
    // A copy of exactly this size, so that ASan sees a read of one byte beyond it.
    const std::vector<std::byte> cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(parses(cut)) << size;
  }
}

TEST(HostileSafeTensors, EveryFlipOfOneBitIsAcceptedOrRefused) {
  for (const char* name : {"mixed.safetensors", "plain.safetensors", "bf16.safetensors", "empty.safetensors"}) {
    std::vector<std::byte> file = recorded(name);
    ASSERT_TRUE(parses(file));
    std::size_t refused = 0;
    for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
      file[bit / 8] ^= std::byte{1} << (bit % 8);
      if (!parses(file)) ++refused;
      file[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    EXPECT_GE(refused, 64U) << name;  // each bit of the length at the least
  }
}

TEST(HostileSafeTensors, RandomChangesOfTheHeaderAreAcceptedOrRefused) {
  const std::vector<std::byte> file = recorded("mixed.safetensors");
  std::uint64_t header = 0;
  std::memcpy(&header, file.data(), 8);
  // Characters that JSON and the format give a meaning, so that many changes reach beyond the parser.
  const std::string alphabet = "{}[]\",:0123456789-.eE\\u FBUIOL_";
  std::mt19937 random(1);
  std::size_t accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> changed = file;
    const unsigned changes = 1 + random() % 4;
    for (unsigned i = 0; i < changes; ++i) {
      changed[8 + random() % header] = static_cast<std::byte>(alphabet[random() % alphabet.size()]);
    }
    if (parses(changed)) ++accepted;
  }
  EXPECT_GT(accepted, 0U);
  EXPECT_LT(accepted, 20000U);
}

}  // namespace
}  // namespace thrt::io
