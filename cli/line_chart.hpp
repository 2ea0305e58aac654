// A line chart as SVG text, both axes logarithmic.
#pragma once

#include <string>
#include <vector>

namespace thrt::cli {

struct ChartPoint {
  double x = 0.0, y = 0.0;  // above 0
};

struct ChartLine {
  std::string name;
  std::vector<ChartPoint> points;  // by x
};

struct LineChart {
  std::string title;
  std::string x_label, y_label;
  std::vector<ChartLine> lines;
};

// Text from outside (names of devices) may hold anything: it is escaped. Lines without points are in the legend alone.
std::string line_chart_svg(const LineChart& chart);

}  // namespace thrt::cli
