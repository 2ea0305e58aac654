#include <thrt/sdk/error.hpp>

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>

namespace thrt::sdk {
namespace {

template <typename Thrown>
thrt_error thrown_as_error(const Thrown& thrown) {
  thrt_error error{};
  error.code = guarded(&error, [&] { throw thrown; });
  return error;
}

TEST(Guard, KeepsAllOfAnError) {
  const thrt_error error = thrown_as_error(
      Error(THRT_OUT_OF_MEMORY, "no memory").at_op(7).at_value(9).native("cuMemAlloc_with_a_name_beyond_31_chars", -2));
  EXPECT_EQ(error.code, THRT_OUT_OF_MEMORY);
  EXPECT_EQ(error.op_index, 7u);
  EXPECT_EQ(error.value_index, 9u);
  EXPECT_EQ(error.native_code, -2);
  EXPECT_STREQ(error.native_api, "cuMemAlloc_with_a_name_beyond_3");
  EXPECT_STREQ(error.message, "no memory");
}

TEST(Guard, GivesEveryExceptionAStatus) {
  EXPECT_EQ(thrown_as_error(std::bad_alloc()).code, THRT_OUT_OF_MEMORY);
  EXPECT_EQ(thrown_as_error(ir::RuleError("rank")).code, THRT_INVALID_PROGRAM);
  EXPECT_EQ(thrown_as_error(std::runtime_error("a bug")).code, THRT_INTERNAL);
  EXPECT_STREQ(thrown_as_error(std::runtime_error("a bug")).message, "a bug");
  EXPECT_EQ(thrown_as_error(42).code, THRT_INTERNAL);
  EXPECT_EQ(thrown_as_error(42).op_index, THRT_NONE);
  EXPECT_EQ(thrown_as_error(Error(THRT_OK, "claims success")).code, THRT_INTERNAL);
}

TEST(Guard, LeavesTheErrorAloneOnSuccessAndTakesNull) {
  thrt_error error{};
  error.code = 99;
  EXPECT_EQ(guarded(&error, [] {}), THRT_OK);
  EXPECT_EQ(error.code, 99u);
  EXPECT_EQ(guarded(nullptr, [] { throw 1; }), THRT_INTERNAL);
}

TEST(SetText, CutsBetweenCharacters) {
  char five[5];
  set_text(five, "abcdef");
  EXPECT_STREQ(five, "abcd");
  set_text(five,
           "ab\xE2\x82\xAC"
           "d");  // a euro sign of three bytes does not fit whole
  EXPECT_STREQ(five, "ab");
  set_text(five, "abc\xC3\xA9");
  EXPECT_STREQ(five, "abc");
  set_text(five, "ab\xC3\xA9");
  EXPECT_STREQ(five, "ab\xC3\xA9");
  set_text(five, "\xE2\x82\xAC\xE2\x82\xAC");
  EXPECT_STREQ(five, "\xE2\x82\xAC");
}

TEST(SetText, IsOneLine) {
  char text[16];
  set_text(text, "a\nb\r\tc\x7F");
  EXPECT_STREQ(text, "a b  c ");
}

TEST(Guard, TerminatesALongMessage) {
  const thrt_error error = thrown_as_error(std::runtime_error(std::string(2000, 'x')));
  EXPECT_EQ(std::string(error.message), std::string(sizeof error.message - 1, 'x'));
}

}  // namespace
}  // namespace thrt::sdk
