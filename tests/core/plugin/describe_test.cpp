// thrt/describe.h between host and plugin: what the loader takes, and each rule that the validation layer checks.
#include <thrt/describe.h>

#include <array>

#include "validation_fixture.hpp"

namespace thrt {
namespace {

using testing::HasSubstr;

TEST(DescribeExtension, APluginNeedNotHaveIt) {
  for (const bool validate : {false, true}) {
    LoadOptions options;
    options.validate = validate;
    EXPECT_EQ(LoadedPlugin(built_plugin("null"), options).describe_api(), nullptr);
  }
}

TEST(DescribeExtension, ATableWithoutItsFunctionsIsRefused) {
  EXPECT_THAT(error_of([] { LoadedPlugin plugin(built_plugin("short_extension")); }).what(),
              HasSubstr("its table of thrt.describe/1 has struct_size 8, the first version's has 24"));
}

// What the plugin below answers with.
struct Answers {
  std::string text;
  std::uint64_t needed = 0;
  thrt_program_counters counters{};
};
Answers answers;

thrt_status plain_describe(thrt_context*, thrt_executable*, char* text, uint64_t capacity, uint64_t* needed,
                           thrt_error* error) {
  if (answers.text.empty()) return plain_fail(error, THRT_UNSUPPORTED, "no description");
  if (capacity > 0 && capacity >= answers.needed) std::memcpy(text, answers.text.data(), answers.text.size());
  *needed = answers.needed;
  return THRT_OK;
}
thrt_status plain_counters(thrt_context*, thrt_executable*, thrt_program_counters* counters, thrt_error*) {
  plain_write(counters, &answers.counters, sizeof answers.counters);
  return THRT_OK;
}
constexpr thrt_describe_api kPlainDescribe = {sizeof(thrt_describe_api), 0, plain_describe, plain_counters};

class DescribeValidation : public Validation {
 protected:
  void SetUp() override {
    answers = {};
    describe_ = &kPlainDescribe;
    open_context();
    ASSERT_EQ(compile(&executable_), kOk);
  }
  void TearDown() override {
    api().executable_destroy(context_, executable_);
    Validation::TearDown();
  }
  // As a plugin must: with its NUL, and its length.
  static void answer(const std::string& text) {
    answers.text = text + '\0';
    answers.needed = answers.text.size();
  }
  thrt_status describe(char* text, uint64_t capacity) {
    return table().describe(context_, executable_, text, capacity, &needed_, &error_);
  }
  const thrt_describe_api& table() const { return *layer_->describe_api(); }

  thrt_executable* executable_ = nullptr;
  uint64_t needed_ = 0;
};

TEST_F(DescribeValidation, PassesOnWhatIsRight) {
  answer("one\ntwo\n");
  EXPECT_EQ(describe(nullptr, 0), kOk);
  EXPECT_EQ(needed_, 9u);
  std::array<char, 9> text{};
  EXPECT_EQ(describe(text.data(), text.size()), kOk) << error_.message;
  EXPECT_STREQ(text.data(), "one\ntwo\n");
  answers.counters = {0, 0, 4, 3, 2, 1};
  thrt_program_counters counters{};
  counters.struct_size = sizeof counters;
  EXPECT_EQ(table().counters(context_, executable_, &counters, &error_), kOk);
  EXPECT_EQ(counters.launches, 4u);
  EXPECT_EQ(counters.bytes_written, 1u);
  answers.text.clear();
  EXPECT_EQ(describe(nullptr, 0), static_cast<thrt_status>(THRT_UNSUPPORTED));
  EXPECT_STREQ(error_.message, "no description");
  EXPECT_TRUE(layer_->violations().empty());
}

TEST_F(DescribeValidation, RulesOfTheHost) {
  EXPECT_EQ(describe(nullptr, 5), kInvalidArgument);
  EXPECT_EQ(host_rule(), "describe: text is null");
  EXPECT_EQ(table().describe(context_, executable_, nullptr, 0, nullptr, &error_), kInvalidArgument);
  EXPECT_EQ(host_rule(), "describe: needed is null");
  EXPECT_EQ(table().counters(context_, executable_, nullptr, &error_), kInvalidArgument);
  EXPECT_EQ(host_rule(), "counters: counters is null");
  thrt_executable* gone = nullptr;
  ASSERT_EQ(compile(&gone), kOk);
  api().executable_destroy(context_, gone);
  EXPECT_EQ(table().describe(context_, gone, nullptr, 0, &needed_, &error_), kInvalidArgument);
  EXPECT_EQ(host_rule(), "describe: the executable is destroyed");
}

TEST_F(DescribeValidation, RulesOfThePlugin) {
  std::array<char, 16> text{};
  answer("one\n");
  answers.needed = 3;  // less than it writes
  EXPECT_EQ(describe(text.data(), 4), kInternal);
  EXPECT_EQ(plugin_rule(), "describe writes past capacity");
  EXPECT_EQ(describe(text.data(), 8), kInternal);
  EXPECT_EQ(plugin_rule(), "describe does not end the text where it says");
  answers.text = std::string("one\n");  // without a NUL
  answers.needed = 4;
  EXPECT_EQ(describe(text.data(), 8), kInternal);
  EXPECT_EQ(plugin_rule(), "describe does not end the text where it says");
  answers.needed = 0;
  EXPECT_EQ(describe(nullptr, 0), kInternal);
  EXPECT_EQ(plugin_rule(), "describe answered OK and describes nothing");
  answers.counters.reserved = 1;
  thrt_program_counters counters{};
  counters.struct_size = sizeof counters;
  EXPECT_EQ(table().counters(context_, executable_, &counters, &error_), kInternal);
  EXPECT_EQ(plugin_rule(), "counters sets the counters' reserved field");
}

}  // namespace
}  // namespace thrt
