#include <thrt/standard_streams.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string_view>

namespace thrt {

void occupy_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) std::_Exit(2);
  }
}

std::string error_text(const Error& error) {
  const std::string_view what = error.what();
  std::string text = fmt::format("error: {}\n", what.empty() ? "it failed without saying why" : what);
  if (!error.why().empty()) text += fmt::format("  why: {}\n", error.why());
  if (!error.next().empty()) text += fmt::format("  try: {}\n", error.next());
  return text;
}

int report_failure(const Error& error) {
  std::fflush(stdout);
  std::fputs(error_text(error).c_str(), stderr);
  return static_cast<int>(error.kind());
}

void finish_standard_output() {
  const bool failed = std::fflush(stdout) != 0;
  if (!failed && std::ferror(stdout) == 0) return;
  throw Error("cannot write to standard output", failed ? std::strerror(errno) : "an earlier write failed",
              "a place with room for it", ErrorKind::kRun);
}

}  // namespace thrt
