// The reader of config.toml, and the values of options: the first byte picks which.
#include "target.hpp"

#include <thrt/error.hpp>
#include <thrt/rl/train/config_file.hpp>
#include <thrt/rl/train/fields.hpp>

#include <string>
#include <string_view>

namespace thrt::fuzz {
namespace {

// A configuration that was read is written and read as the same.
void check_round_trip(const rl::RunConfig& config) {
  const std::string text = rl::to_toml(config);
  rl::RunConfig again;
  rl::apply_config_text(text, "written", again);
  expect(rl::to_toml(again) == text, "a configuration is read as it was written");
}

void read_file(std::string_view text) {
  rl::RunConfig config = rl::default_config("ppo", "CartPole-v1");
  const std::string before = rl::to_toml(config);
  try {
    rl::apply_config_text(text, "input", config);
  } catch (const Error& error) {
    expect(*error.what() != '\0' && !error.next().empty(), "an error has words");
    expect(rl::to_toml(config) == before, "a file that is refused changes nothing");
    return;
  }
  check_round_trip(config);
  try {
    rl::validate(config);
  } catch (const Error& error) {
    expect(*error.what() != '\0', "an error has words");
  }
}

void set_option(std::size_t which, std::string_view text) {
  const auto fields = rl::run_fields();
  const rl::Field& field = fields[which % fields.size()];
  rl::RunConfig config = rl::default_config("ppo", "CartPole-v1");
  const std::string before = rl::to_toml(config);
  try {
    rl::set_field(field, config, text, "", rl::option_name(field));
  } catch (const Error& error) {
    expect(*error.what() != '\0' && !error.next().empty(), "an error has words");
    expect(rl::to_toml(config) == before, "a value that is refused changes nothing");
    return;
  }
  expect(rl::field_holds(field, config), "a value that is taken is in range");
  rl::RunConfig again = config;
  rl::set_field(field, again, rl::field_text(field, config), "", "again");
  expect(rl::to_toml(again) == rl::to_toml(config), "a value is read as it is shown");
  check_round_trip(config);
}

}  // namespace
}  // namespace thrt::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thrt;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  // Letters pick the file, so that what people write is read as they wrote it, but for its first byte.
  if (data[0] >= 0x20) {
    fuzz::read_file({reinterpret_cast<const char*>(data), size});
  } else {
    fuzz::set_option(data[0], text);
  }
  return 0;
}
