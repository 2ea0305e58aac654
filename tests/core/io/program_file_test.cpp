// Program files: round trips, a file written by hand from the documentation, and files of strangers.
#include <thrt/io/program_file.hpp>

#include <thrt/error.hpp>
#include <thrt/graph/program.hpp>
#include <thrt/graph/repeat.hpp>
#include <thrt/graph/tensor_ops.hpp>
#include <thrt/ir/fingerprint.hpp>
#include <thrt/ir/print.hpp>
#include <thrt/ir/verify.hpp>

#include "scratch_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/crc.hpp>

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace thrt::io {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

const Type kVector{DType::kF32, {3}};

// Constants, groups, locations, a repeat within a repeat.
Program sample() {
  Graph inner("inner");
  inner.update("count", inner.state("count", {DType::kI32, {}}, Init::zeros()) + 1.0);
  Graph body("body");
  body.update("x", body.state("x", kVector, Init::zeros()) * constant_f32(body, {3}, std::array<float, 3>{1, 2, 3}));
  repeat(body, 2, inner, {});
  Graph graph("sample");
  const Tensor x = graph.input("x in", kVector);
  const Tensor w = graph.state("w", kVector, Init::constant(2.0));
  {
    const Graph::Mark outer(graph, "outer/1", "net");
    const Graph::Mark mark(graph, "inner/1", "layer");
    graph.update("w", w * constant_f32(graph, {3}, std::array<float, 3>{4, 5, 6}) + x);
  }
  repeat(graph, 5, body, {});
  graph.output("y", slice(graph.current("w"), 0, 1, 2));
  return lower(graph);
}

template <typename Element>
void expect_same_array(const Element* a, const Element* b, std::uint64_t count, const char* name) {
  if (count == 0) return;
  EXPECT_EQ(std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(Element)), 0) << name;
}

void expect_same(const thrt_program& a, const thrt_program& b) {
  EXPECT_EQ(b.struct_size, sizeof(thrt_program));
  EXPECT_EQ(a.opset, b.opset);
  EXPECT_EQ(a.fingerprint[0], b.fingerprint[0]);
  EXPECT_EQ(a.fingerprint[1], b.fingerprint[1]);
  ASSERT_EQ(std::vector({a.value_count, a.op_count, a.slot_count, a.operand_count, a.attribute_count, a.group_count,
                         a.subprogram_count, a.name}),
            std::vector({b.value_count, b.op_count, b.slot_count, b.operand_count, b.attribute_count, b.group_count,
                         b.subprogram_count, b.name}));
  ASSERT_EQ(a.constant_bytes, b.constant_bytes);
  ASSERT_EQ(a.string_bytes, b.string_bytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.constants) % 64, 0u);
  expect_same_array(a.values, b.values, a.value_count, "values");
  expect_same_array(a.ops, b.ops, a.op_count, "ops");
  expect_same_array(a.slots, b.slots, a.slot_count, "slots");
  expect_same_array(a.operands, b.operands, a.operand_count, "operands");
  expect_same_array(a.attributes, b.attributes, a.attribute_count, "attributes");
  expect_same_array(a.groups, b.groups, a.group_count, "groups");
  expect_same_array(a.constants, b.constants, a.constant_bytes, "constants");
  expect_same_array(a.strings, b.strings, a.string_bytes, "strings");
  for (std::uint32_t i = 0; i < a.subprogram_count; ++i) expect_same(*a.subprograms[i], *b.subprograms[i]);
}

// What the reader says about bytes; "" when it takes them.
std::string why_not(const Bytes& bytes) {
  try {
    static_cast<void>(StoredProgram::parse(bytes, "x.program"));
    return {};
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::StartsWith("'x.program' is not a usable program file"));
    EXPECT_FALSE(error.next().empty()) << error.why();
    return error.why();
  }
}

template <typename Number>
void put(Bytes& bytes, std::size_t at, Number number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
}

// Length and checksum as they should be, whatever was done to the rest.
Bytes sealed(Bytes bytes) {
  put(bytes, 16, static_cast<std::uint64_t>(bytes.size()));
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data() + 64, bytes.size() - 64);
  put(bytes, 12, static_cast<std::uint32_t>(crc.checksum()));
  return bytes;
}

TEST(ProgramFile, GivesBackWhatWasWritten) {
  const Program program = sample();
  const test::ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "sample.program";
  write_program(file, *program.abi());
  EXPECT_EQ(folder.names(), std::vector<std::string>{"sample.program"});
  const StoredProgram read = StoredProgram::read(file);
  expect_same(*program.abi(), *read.abi());
  EXPECT_EQ(ir::print(*program.abi()), ir::print(*read.abi()));
  EXPECT_EQ(program_bytes(*read.abi()), program_bytes(*program.abi()));
}

TEST(ProgramFile, KeepsItsMemoryAsLongAsACopyLives) {
  StoredProgram copy = StoredProgram::parse(program_bytes(*sample().abi()), "first");
  {
    const StoredProgram other = StoredProgram::parse(program_bytes(*lower(Graph("empty")).abi()), "second");
    EXPECT_EQ(other.abi()->op_count, 0u);
    const StoredProgram first = copy;
    copy = other;
    copy = first;
  }
  EXPECT_STREQ(copy.abi()->strings + copy.abi()->name, "sample");
}

// record.py made the file from docs/program_file.md, with zlib's CRC-32.
TEST(ProgramFile, ReadsAFileMadeByHand) {
  const StoredProgram program = StoredProgram::read(THRT_TEST_DATA "/program_file/scale.program");
  EXPECT_EQ(ir::print(*program.abi()),
            "program \"scale\"\n"
            "slot 0 \"w\" = %0 -> %2 : f32[2]\n"
            "%1 = constant() offset=0 : f32[2]\n"
            "%2 = repeat(%0, %1) trip_count=3, carried=1 : f32[2]  # loop\n"
            "  program \"body\"\n"
            "  slot 0 \"i\" = %0 : i32[]\n"
            "  slot 1 \"x\" = %1 -> %3 : f32[2]\n"
            "  slot 2 \"y\" = %2 : f32[2]\n"
            "  %3 = mul(%1, %2) : f32[2]\n");
  float constant[2];
  std::memcpy(constant, program.abi()->constants, sizeof constant);
  EXPECT_EQ(constant[0], 2.0F);
  EXPECT_EQ(constant[1], 0.5F);
  EXPECT_STREQ(program.abi()->strings + program.abi()->groups[0].name, "powers/1");

  std::ifstream file(THRT_TEST_DATA "/program_file/scale.program", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Bytes bytes = program_bytes(*program.abi());
  EXPECT_EQ(text, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

TEST(ProgramFile, SaysWhatIsWrongWithTheHead) {
  const Bytes good = program_bytes(*sample().abi());
  const auto damaged = [&](std::size_t at, auto number) {
    Bytes bytes = good;
    put(bytes, at, number);
    return why_not(bytes);
  };
  EXPECT_EQ(damaged(0, 'X'), "it does not begin with THRTPROG");
  EXPECT_EQ(damaged(8, 2u), "it has format version 2; this thrust reads version 1");
  EXPECT_THAT(damaged(16, UINT64_MAX), HasSubstr("it says that it has 18446744073709551615 bytes, and has"));
  EXPECT_EQ(damaged(12, 0u), "its bytes do not add up to its checksum");
  EXPECT_EQ(damaged(24, '\1'), "a reserved byte of its head is not zero");
  EXPECT_EQ(why_not(Bytes(good.begin(), good.begin() + 100)), "it has 100 bytes, and the smallest has 128");
  EXPECT_EQ(why_not({}), "it has 0 bytes, and the smallest has 128");
}

TEST(ProgramFile, SaysWhereAnArrayDoesNotFit) {
  const Bytes good = program_bytes(*sample().abi());
  const auto damaged = [&](std::size_t at, auto number) {
    Bytes bytes = good;
    put(bytes, 64 + at, number);
    return why_not(sealed(bytes));
  };
  EXPECT_THAT(damaged(0, UINT32_MAX), HasSubstr("the values of the program take 274877906880 bytes, and"));
  EXPECT_THAT(damaged(4, UINT32_MAX), HasSubstr("the ops of the program take 206158430160 bytes"));
  EXPECT_THAT(damaged(8, UINT32_MAX), HasSubstr("the slots of the program take"));
  EXPECT_THAT(damaged(12, UINT32_MAX), HasSubstr("the operands of the program take"));
  EXPECT_THAT(damaged(16, UINT32_MAX), HasSubstr("the attributes of the program take"));
  EXPECT_THAT(damaged(20, UINT32_MAX), HasSubstr("the groups of the program take"));
  EXPECT_THAT(damaged(24, UINT32_MAX), HasSubstr("the program has 4294967295 sub-programs, which do not fit"));
  EXPECT_THAT(damaged(24, 0u), HasSubstr("bytes follow the last program"));
  EXPECT_EQ(damaged(28, UINT32_MAX), "the program's name is out of range");
  EXPECT_THAT(damaged(32, UINT64_MAX), HasSubstr("the constants of the program take 18446744073709551615 bytes"));
  EXPECT_THAT(damaged(40, UINT64_MAX), HasSubstr("the strings of the program take 18446744073709551615 bytes"));
  EXPECT_THAT(damaged(48, 99u), HasSubstr("the program is written in op set 99"));
  EXPECT_EQ(damaged(52, '\1'), "a reserved byte of the head of the program is not zero");
  Bytes bytes = good;
  bytes.insert(bytes.end(), 64, std::byte{0});
  EXPECT_EQ(why_not(sealed(bytes)), "64 bytes follow the last program");
}

TEST(ProgramFile, NamesTheSubProgram) {
  // scale.program has its sub-program at the end: 64 bytes of counts, 4 values, an op, 3 slots, 2 operands, 13 of strings.
  const StoredProgram scale = StoredProgram::read(THRT_TEST_DATA "/program_file/scale.program");
  const Bytes good = program_bytes(*scale.abi());
  const std::size_t body = good.size() - 64 - (4 * 64 + 48 + 3 * 16 + 2 * 4 + 13 + 11);
  Bytes bytes = good;
  put(bytes, body, 1000u);
  EXPECT_THAT(why_not(sealed(bytes)), HasSubstr("the values of sub-program 0 take 64000 bytes"));
  bytes = good;
  put(bytes, good.size() - 1, '\1');
  EXPECT_EQ(why_not(sealed(bytes)), "the padding after the strings of sub-program 0 is not zero");
  bytes = good;
  put(bytes, body + 64 + 4 * 64, 43u);  // mul becomes div: another program, and a good one
  EXPECT_EQ(why_not(sealed(bytes)), "");
  put(bytes, body + 64 + 4 * 64, 9999u);
  EXPECT_EQ(why_not(sealed(bytes)), "op 2: kind 9999 is no op of the op set");
}

TEST(ProgramFile, EndsAtDeepSubPrograms) {
  // Empty programs, each the sub-program of the one before.
  Bytes bytes = program_bytes(*lower(Graph("")).abi());
  const Bytes empty(bytes.begin() + 64, bytes.end());
  for (int i = 0; i < 100; ++i) {
    put(bytes, bytes.size() - empty.size() + 24, 1u);
    bytes.insert(bytes.end(), empty.begin(), empty.end());
  }
  EXPECT_THAT(why_not(sealed(bytes)), HasSubstr("lies deeper than 16 sub-programs"));
}

TEST(ProgramFile, RefusesEveryPartOfAFile) {
  const Bytes good = program_bytes(*sample().abi());
  for (std::size_t size = 0; size < good.size(); ++size) {
    const Bytes part(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(why_not(part), "") << size;
    if (size < 128) continue;
    EXPECT_NE(why_not(sealed(part)), "") << size;
  }
}

// Behind a right checksum: refused in words, or well-formed.
TEST(ProgramFile, AnswersToEveryByteChanged) {
  const Bytes good = program_bytes(*sample().abi());
  std::mt19937 random(1);
  std::size_t taken = 0;
  for (int i = 0; i < 20000; ++i) {
    Bytes bytes = good;
    for (std::size_t changes = 1 + random() % 3; changes > 0; --changes) {
      bytes[64 + random() % (bytes.size() - 64)] = static_cast<std::byte>(random());
    }
    EXPECT_NE(why_not(bytes) == "", bytes != good);
    bytes = sealed(bytes);
    if (why_not(bytes) != "") continue;
    ++taken;
    const StoredProgram program = StoredProgram::parse(bytes, "x.program");
    ir::verify(*program.abi());
    EXPECT_EQ(program_bytes(*program.abi()), bytes);
  }
  EXPECT_GT(taken, 0u);
}

TEST(ProgramFile, SaysWhyAFileCannotBeRead) {
  const test::ScratchFolder folder;
  const auto reading = [](const std::filesystem::path& path) {
    try {
      static_cast<void>(StoredProgram::read(path));
    } catch (const Error& error) {
      return std::string(error.what()) + ": " + error.why();
    }
    return std::string();
  };
  EXPECT_EQ(reading("/nowhere"), "cannot read '/nowhere': No such file or directory");
  EXPECT_THAT(reading(folder.path()), HasSubstr("it is not a regular file"));
  // A head that announces what is not there takes no memory for it.
  const std::filesystem::path file = folder.path() / "head.program";
  Bytes head = program_bytes(*sample().abi());
  put(head, 16, std::uint64_t{1} << 60);
  std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(head.data()), 200);
  EXPECT_THAT(reading(file), HasSubstr("it says that it has 1152921504606846976 bytes, and has 200"));
}

}  // namespace
}  // namespace thrt::io
