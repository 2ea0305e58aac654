// Numbers that PyTorch computed (tests/data/nn/record.py): lines of a name and numbers.
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace thrt::test {

inline const std::vector<double>& recorded(const std::string& name) {
  static const std::map<std::string, std::vector<double>> all = [] {
    std::map<std::string, std::vector<double>> lines;
    std::ifstream file(THRT_TEST_DATA "/nn/torch.txt");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string key;
      words >> key;
      for (std::string word; words >> word;) lines[key].push_back(std::stod(word));
    }
    return lines;
  }();
  const auto found = all.find(name);
  if (found == all.end()) throw std::invalid_argument("nothing is recorded under " + name);
  return found->second;
}

// Part of a line: numbers [first, first + count).
inline std::vector<double> recorded(const std::string& name, std::size_t first, std::size_t count) {
  const std::vector<double>& line = recorded(name);
  const auto begin = line.begin() + static_cast<std::ptrdiff_t>(first);
  if (first + count > line.size()) throw std::invalid_argument(name + " is too short");
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace thrt::test
