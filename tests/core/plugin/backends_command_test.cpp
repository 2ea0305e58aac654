// What `thrust backends` prints.
#include <nlohmann/json.hpp>

#include "backends.hpp"
#include "plugin_folder.hpp"

namespace thrt::cli {
namespace {

using testing::HasSubstr;

Discovery found_in(const PluginFolder& folder) {
  folder.add("null");
  folder.add("wrong_major");
  return discover({{}, folder.path().string(), {"/no/such/folder"}}, test_prober());
}

TEST(BackendsCommand, TextNamesTheUsableTheUnusableAndThePlaces) {
  const PluginFolder folder;
  const std::string text = backends_as_text(found_in(folder));
  EXPECT_THAT(text, HasSubstr("null 1.0.0 by the Thrust RL tests, ABI 1.0: computes nothing\n  " +
                              folder.file("null").string() + "\n  0: null device (cpu)\n"));
  EXPECT_THAT(text, HasSubstr("memory 1.0 GiB (1.0 GiB free)"));
  EXPECT_THAT(text, HasSubstr("precisions f32; values f32 f16 bf16 i32 u32 u8 bool f64"));
  EXPECT_THAT(text, HasSubstr("not usable:\n  " + folder.file("wrong_major").string() +
                              "\n    built for ABI 2.3, this binary has ABI 1.0\n    try: upgrade thrust\n"));
  EXPECT_THAT(text, HasSubstr("looked in:\n  " + folder.path().string() +
                              " (THRUST_PLUGIN_PATH)\n  /no/such/folder (beside the binary, no such folder)\n"));
}

TEST(BackendsCommand, JsonIsOneObjectWithTheSame) {
  const PluginFolder folder;
  const nlohmann::json json = nlohmann::json::parse(backends_as_json(found_in(folder)));
  EXPECT_EQ(json["abi"], "1.0");
  ASSERT_EQ(json["backends"].size(), 1u);
  EXPECT_EQ(json["backends"][0]["id"], "null");
  EXPECT_EQ(json["backends"][0]["file"], folder.file("null").string());
  EXPECT_EQ(json["backends"][0]["devices"][0]["kind"], "cpu");
  EXPECT_EQ(json["backends"][0]["devices"][0]["precisions"], nlohmann::json({"f32"}));
  EXPECT_EQ(json["backends"][0]["devices"][0]["memory_total"], 1u << 30);
  ASSERT_EQ(json["unusable"].size(), 1u);
  EXPECT_EQ(json["unusable"][0]["reason"], "built for ABI 2.3, this binary has ABI 1.0");
  EXPECT_EQ(json["looked_in"][1]["exists"], false);
}

TEST(BackendsCommand, NothingFoundIsSaid) {
  EXPECT_THAT(backends_as_text(discover({{}, {}, {"/no/such/folder"}}, test_prober())), HasSubstr("no usable backend"));
}

}  // namespace
}  // namespace thrt::cli
