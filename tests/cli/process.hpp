// Runs the built `thrust` binary in a folder of its own and keeps what it printed.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace thrt::cli::test {

namespace fs = std::filesystem;

inline std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Outcome {
  int code = -1;   // the exit code, or -1
  int signal = 0;  // that ended it, or 0
  std::string out;
  std::string err;
};

// A started process; its output goes to files, so that it never waits for a reader.
class Process {
 public:
  Process(const std::vector<std::string>& arguments, const fs::path& working_folder, const fs::path& output_folder)
      : out_(output_folder / "stdout"), err_(output_folder / "stderr") {
    std::vector<std::string> words = {THRT_BUILD_DIR "/bin/thrust"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    // Opened here: what await() reads is never the output of the process before.
    const int out = open(out_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    const int err = open(err_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    child_ = fork();
    if (child_ != 0) {
      close(out);
      close(err);
      return;
    }
    unsetenv("THRUST_PLUGIN_PATH");
    if (chdir(working_folder.c_str()) != 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(126);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ~Process() {
    if (!running_) return;
    ::kill(child_, SIGKILL);
    wait();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void send(int signal) const { ::kill(child_, signal); }
  bool is_running() const {
    siginfo_t info{};
    return running_ && waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
  }
  // Waits until standard output contains `text`; false when the process ends before or after a minute.
  bool await(const std::string& text) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (text_of(out_).find(text) == std::string::npos) {
      if (!is_running() || std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }
  Outcome wait() {
    int status = 0;
    waitpid(child_, &status, 0);
    running_ = false;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0, text_of(out_),
            text_of(err_)};
  }

 private:
  fs::path out_;
  fs::path err_;
  pid_t child_ = -1;
  bool running_ = true;
};

// A test with a working folder that starts empty.
class ThrustTest : public testing::Test {
 protected:
  ThrustTest() {
    std::string pattern = testing::TempDir() + "thrust_cli_XXXXXX";
    top_ = fs::canonical(mkdtemp(pattern.data()));  // mode 0700, so plugins may lie in it
    fs::create_directory(work());
  }
  ~ThrustTest() override {
    std::error_code ignored;
    fs::remove_all(top_, ignored);
  }

  fs::path work() const { return top_ / "work"; }
  fs::path top() const { return top_; }

  Outcome thrust(const std::vector<std::string>& arguments) const { return Process(arguments, work(), top_).wait(); }
  // It must succeed.
  std::string thrust_out(const std::vector<std::string>& arguments) const {
    const Outcome outcome = thrust(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
  }

  // Files and folders below the working folder, sorted.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(work())) {
      names.push_back(fs::relative(entry.path(), work()).string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  fs::path top_;
};

}  // namespace thrt::cli::test
