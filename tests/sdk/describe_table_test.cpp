// thrt/describe.h as the SDK offers it, over Executable::describe() and counters().
#include "backend_table_fixture.hpp"

#include <thrt/describe.h>

#include <array>
#include <cstring>
#include <string>

namespace thrt::testing {
namespace {

using ::testing::HasSubstr;

class DescribeTable : public BackendTable {
 protected:
  DescribeTable() { EXPECT_EQ(compile(&executable), THRT_OK); }

  thrt_status describe(char* text, std::uint64_t capacity) {
    return table.describe(context, executable, text, capacity, &needed, &error);
  }

  const thrt_describe_api& table = *static_cast<const thrt_describe_api*>(api.get_extension(THRT_DESCRIBE_ID));
  std::uint64_t needed = 77;
};

TEST_F(DescribeTable, IsFoundByItsIdAlone) {
  EXPECT_EQ(table.struct_size, sizeof(thrt_describe_api));
  EXPECT_EQ(table.reserved, 0u);
  EXPECT_EQ(api.get_extension("thrt.describe/2"), nullptr);
  EXPECT_EQ(api.get_extension("thrt.describe"), nullptr);
  EXPECT_EQ(api.get_extension(""), nullptr);
}

TEST_F(DescribeTable, SaysHowManyBytesATextTakes) {
  script.description = "k0\nk1\n";
  EXPECT_EQ(describe(nullptr, 0), THRT_OK);
  EXPECT_EQ(needed, 7u);
  std::array<char, 8> text;
  text.fill('~');
  EXPECT_EQ(describe(text.data(), 6), THRT_OK);
  EXPECT_EQ(std::string(text.data(), text.size()), "~~~~~~~~");  // it does not fit: nothing is written
  EXPECT_EQ(needed, 7u);
  EXPECT_EQ(describe(text.data(), 7), THRT_OK);
  EXPECT_STREQ(text.data(), "k0\nk1\n");
  EXPECT_EQ(text[7], '~');
}

TEST_F(DescribeTable, CountsOneRun) {
  script.counters = thrt_program_counters{99, 5, 3, 2, 4096, 1ull << 40};
  thrt_program_counters counters{};
  counters.struct_size = sizeof counters;
  ASSERT_EQ(table.counters(context, executable, &counters, &error), THRT_OK);
  EXPECT_EQ(counters.struct_size, sizeof counters);
  EXPECT_EQ(counters.reserved, 0u);
  EXPECT_EQ(counters.launches, 3u);
  EXPECT_EQ(counters.barriers, 2u);
  EXPECT_EQ(counters.bytes_read, 4096u);
  EXPECT_EQ(counters.bytes_written, 1ull << 40);
}

TEST_F(DescribeTable, WritesNoMoreThanTheCallerHasRoomFor) {
  script.counters = thrt_program_counters{0, 0, 1, 2, 3, 4};
  thrt_program_counters counters;
  std::memset(&counters, 0xA5, sizeof counters);
  counters.struct_size = 16;
  ASSERT_EQ(table.counters(context, executable, &counters, &error), THRT_OK);
  EXPECT_EQ(counters.launches, 1u);
  EXPECT_EQ(counters.barriers, 0xA5A5'A5A5'A5A5'A5A5u);
}

TEST_F(DescribeTable, SaysWhenThereIsNothingToSay) {
  EXPECT_EQ(describe(nullptr, 0), THRT_UNSUPPORTED);
  EXPECT_THAT(error.message, HasSubstr("does not describe"));
  EXPECT_EQ(needed, 77u);
  thrt_program_counters counters{};
  counters.struct_size = sizeof counters;
  EXPECT_EQ(table.counters(context, executable, &counters, &error), THRT_UNSUPPORTED);
  EXPECT_THAT(error.message, HasSubstr("does not count"));
}

TEST_F(DescribeTable, RefusesWhatEveryCallRefuses) {
  script.description = "k0\n";
  std::array<char, 8> text{};
  EXPECT_EQ(table.describe(nullptr, executable, text.data(), 8, &needed, &error), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(table.describe(context, nullptr, text.data(), 8, &needed, &error), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(table.describe(context, executable, text.data(), 8, nullptr, &error), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(describe(nullptr, 8), THRT_INVALID_ARGUMENT);
  EXPECT_EQ(table.counters(context, executable, nullptr, &error), THRT_INVALID_ARGUMENT);
  thrt_program_counters counters{};  // struct_size 0
  EXPECT_EQ(table.counters(context, executable, &counters, &error), THRT_INVALID_ARGUMENT);

  thrt_context* const first = context;
  ASSERT_EQ(create_context(), THRT_OK);
  EXPECT_EQ(describe(text.data(), 8), THRT_INVALID_STATE);  // the executable is the first context's
  api.context_destroy(first);
}

TEST_F(DescribeTable, LetsNoExceptionOut) {
  for (const char* function : {"describe", "counters"}) {
    script.failing = function;
    script.failure = [] { throw std::runtime_error("boom"); };
    thrt_program_counters counters{};
    counters.struct_size = sizeof counters;
    const thrt_status status = std::string(function) == "describe"
                                   ? describe(nullptr, 0)
                                   : table.counters(context, executable, &counters, &error);
    EXPECT_EQ(status, THRT_INTERNAL);
    EXPECT_THAT(error.message, HasSubstr("boom"));
  }
}

}  // namespace
}  // namespace thrt::testing
