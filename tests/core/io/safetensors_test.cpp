#include "thrt/io/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "scratch_folder.hpp"
#include "thrt/error.hpp"

namespace thrt::io {
namespace {

using test::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

const std::filesystem::path kRecorded = std::filesystem::path(THRT_TEST_DATA) / "safetensors";

template <typename T>
std::vector<T> values(const SafeTensors& file, std::string_view name) {
  const TensorView* tensor = file.find(name);
  if (tensor == nullptr) {
    ADD_FAILURE() << "no tensor " << name;
    return {};
  }
  EXPECT_EQ(size_of(tensor->dtype), sizeof(T));
  std::vector<T> result(tensor->bytes.size() / sizeof(T));
  if (!result.empty()) std::memcpy(result.data(), tensor->bytes.data(), tensor->bytes.size());
  return result;
}

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& numbers) {
  return std::as_bytes(std::span(numbers));
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// ------------------------------------------------- files written by the safetensors package (tests/data/.../record.py)

TEST(SafeTensors, ReadsEveryDtypeThatThePackageWrites) {
  const SafeTensors file = SafeTensors::read(kRecorded / "mixed.safetensors");
  EXPECT_EQ(file.tensors().size(), 10U);
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(values<float>(file, "layer/0/weight"), ElementsAre(0.5F, -1.25F, 3.0F, 1e-30F, 0x1p-149F, infinity));
  EXPECT_THAT(file.find("layer/0/weight")->shape, ElementsAre(2, 3));
  EXPECT_THAT(values<std::uint16_t>(file, "layer/0/bias"), ElementsAre(0x3E00, 0xFBFF));  // 1.5, -65504 in binary16
  EXPECT_THAT(values<std::int64_t>(file, "steps"), ElementsAre(INT64_MAX, INT64_MIN));
  EXPECT_THAT(values<std::uint64_t>(file, "counter"), ElementsAre(UINT64_MAX));
  EXPECT_THAT(values<std::int32_t>(file, "index"), ElementsAre(-7, INT32_MAX));
  EXPECT_THAT(values<std::uint32_t>(file, "seed"), ElementsAre(UINT32_MAX));
  EXPECT_THAT(values<std::uint8_t>(file, "pixels"), ElementsAre(0, 127, 255));
  EXPECT_THAT(values<std::uint8_t>(file, "mask"), ElementsAre(1, 0, 1));
  EXPECT_EQ(file.find("mask")->dtype, TensorDType::kBool);
  EXPECT_THAT(values<double>(file, "mean"), ElementsAre(0.1));
  EXPECT_THAT(file.find("mean")->shape, IsEmpty());
  EXPECT_EQ(file.find("mean")->elements(), 1);
  EXPECT_THAT(file.find("nothing")->shape, ElementsAre(0, 3));
  EXPECT_EQ(file.find("nothing")->elements(), 0);
}

TEST(SafeTensors, ReadsThePackagesMetadata) {
  const SafeTensors file = SafeTensors::read(kRecorded / "mixed.safetensors");
  EXPECT_THAT(file.metadata, ElementsAre(Pair("framework", "none"), Pair("näme", "grün \"quoted\"\n")));
}

TEST(SafeTensors, ReadsThePackagesBfloat16) {
  const SafeTensors file = SafeTensors::read(kRecorded / "bf16.safetensors");
  EXPECT_EQ(file.find("half")->dtype, TensorDType::kBF16);
  EXPECT_THAT(values<std::uint16_t>(file, "half"), ElementsAre(0x3F80, 0xC000, 0x4049));
}

TEST(SafeTensors, ReadsThePackagesEmptyFile) {
  const SafeTensors file = SafeTensors::read(kRecorded / "empty.safetensors");
  EXPECT_THAT(file.tensors(), IsEmpty());
  EXPECT_THAT(file.metadata, IsEmpty());
  EXPECT_EQ(file.find("x"), nullptr);
}

// For one tensor there is one way to order things, so our bytes can be compared with the package's after the JSON's
// keys are in the same order.
TEST(SafeTensors, WritesWhatThePackageWrites) {
  SafeTensors file;
  file.add("x", TensorDType::kF32, {2}, bytes_of(std::vector<float>{1.0F, 2.0F}));
  EXPECT_EQ(text_of(file.serialize()), content(kRecorded / "plain.safetensors"));
  EXPECT_EQ(text_of(SafeTensors().serialize()), content(kRecorded / "empty.safetensors"));
}

// ------------------------------------------------------------------------------------------------- our own files

TEST(SafeTensors, KeepsTheOrderTheMetadataAndTheBits) {
  const ScratchFolder folder;
  SafeTensors out;
  const std::vector<float> weights = {1.0F, -0.0F, std::numeric_limits<float>::quiet_NaN(), 4.0F};
  out.add("zz", TensorDType::kU8, {3}, bytes_of(std::vector<std::uint8_t>{7, 8, 9}));
  out.add("weights", TensorDType::kF32, {2, 2}, bytes_of(weights));
  out.add("a \"name\"\n", TensorDType::kI64, {}, bytes_of(std::vector<std::int64_t>{-5}));
  out.metadata = {{"step", "128"}, {"empty", ""}};
  out.write(folder.path() / "x.safetensors");

  const SafeTensors in = SafeTensors::read(folder.path() / "x.safetensors");
  std::vector<std::string> names;
  for (const TensorView& tensor : in.tensors()) names.push_back(tensor.name);
  EXPECT_THAT(names, ElementsAre("zz", "weights", "a \"name\"\n"));
  EXPECT_EQ(in.metadata, out.metadata);
  EXPECT_EQ(text_of(in.find("weights")->bytes), text_of(bytes_of(weights)));
  EXPECT_THAT(values<std::int64_t>(in, "a \"name\"\n"), ElementsAre(-5));
  EXPECT_THAT(values<std::uint8_t>(in, "zz"), ElementsAre(7, 8, 9));
  EXPECT_EQ(text_of(in.serialize()), text_of(out.serialize()));
  EXPECT_EQ(text_of(in.serialize()), content(folder.path() / "x.safetensors"));
}

// The format's layout, read by hand: length in the first 8 bytes, header padded with spaces to 8, larger elements
// first.
TEST(SafeTensors, LaysTheFileOutAsTheFormatSays) {
  SafeTensors file;
  file.add("a", TensorDType::kU8, {1}, bytes_of(std::vector<std::uint8_t>{0x11}));
  file.add("b", TensorDType::kF64, {1}, bytes_of(std::vector<double>{1.0}));
  file.metadata["k"] = "v";
  const std::string text = text_of(file.serialize());
  const std::string json = R"({"__metadata__":{"k":"v"},"a":{"dtype":"U8","shape":[1],"data_offsets":[8,9]},)"
                           R"("b":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})";
  const std::size_t padded = (json.size() + 7) / 8 * 8;
  ASSERT_EQ(text.size(), 8 + padded + 9);
  EXPECT_EQ(static_cast<unsigned char>(text[0]), padded);
  EXPECT_EQ(text.substr(1, 7), std::string(7, '\0'));
  EXPECT_EQ(text.substr(8, padded), json + std::string(padded - json.size(), ' '));
  EXPECT_EQ(text.substr(8 + padded), std::string("\0\0\0\0\0\0\xF0\x3F\x11", 9));  // 1.0, then the byte
}

TEST(SafeTensors, BytesStayInPlaceWhenMoreIsAddedAndWhenMoved) {
  SafeTensors file;
  const std::span<std::byte> first = file.add("first", TensorDType::kU8, {4});
  for (int i = 0; i < 100; ++i) file.add("more" + std::to_string(i), TensorDType::kF32, {100});
  const SafeTensors moved = std::move(file);
  first[3] = std::byte{9};
  EXPECT_THAT(values<std::uint8_t>(moved, "first"), ElementsAre(0, 0, 0, 9));
}

TEST(SafeTensors, WriteFailsLikeWriteFileAtomically) {
  const ScratchFolder folder;
  SafeTensors file;
  file.add("x", TensorDType::kF32, {1});
  EXPECT_THROW(file.write(folder.path() / "no" / "x.safetensors"), Error);
  EXPECT_THAT(folder.names(), IsEmpty());
}

// ----------------------------------------------------------------------------------------------- what add refuses

std::string refusal(std::string name, std::vector<std::int64_t> shape, std::size_t bytes) {
  SafeTensors file;
  file.add("there", TensorDType::kF32, {1});
  const std::vector<std::byte> data(bytes);
  try {
    file.add(std::move(name), TensorDType::kF32, std::move(shape), data);
  } catch (const Error& error) {
    EXPECT_EQ(file.tensors().size(), 1U);
    return error.why();
  }
  return "accepted";
}

TEST(SafeTensors, AddRefusesWhatTheFormatCannotHold) {
  EXPECT_EQ(refusal("x", {2}, 8), "accepted");
  EXPECT_THAT(refusal("x", {2}, 4), HasSubstr("4 bytes, but F32 of shape [2] needs 8"));
  EXPECT_THAT(refusal("there", {1}, 4), HasSubstr("already"));
  EXPECT_THAT(refusal("__metadata__", {1}, 4), HasSubstr("reserves"));
  EXPECT_THAT(refusal("\xFF", {1}, 4), HasSubstr("UTF-8"));
  EXPECT_THAT(refusal("x", {-1}, 4), HasSubstr("negative"));
  EXPECT_THAT(refusal("x", {std::int64_t{1} << 40, std::int64_t{1} << 40}, 4), HasSubstr("too large"));
}

TEST(SafeTensors, MetadataThatIsNotUtf8IsRefusedWhenWritten) {
  SafeTensors file;
  file.metadata["key"] = "\xC3";
  EXPECT_THROW(file.serialize(), Error);
}

TEST(TensorDTypes, MatchThoseOfPrograms) {
  for (const ir::DType dtype : ir::kAllDTypes) {
    EXPECT_EQ(program_dtype(tensor_dtype(dtype)), dtype);
    EXPECT_EQ(size_of(tensor_dtype(dtype)), ir::dtype_size(dtype));
  }
  EXPECT_EQ(size_of(TensorDType::kI64), 8U);
  EXPECT_THROW(program_dtype(TensorDType::kI64), Error);
  EXPECT_THROW(program_dtype(TensorDType::kU64), Error);
}

}  // namespace
}  // namespace thrt::io
