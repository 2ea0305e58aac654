#include "line_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace thrt::cli {
namespace {

// Pixels. The legend is a column on the right.
constexpr double kWidth = 800.0, kHeight = 480.0;
constexpr double kLeft = 80.0, kRight = 620.0, kTop = 50.0, kBottom = 410.0;

// Okabe and Ito's colours, which colour-blind readers can tell apart ("Color Universal Design", 2008).
constexpr std::array<const char*, 7> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#e69f00", "#56b4e9", "#000000"};

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;  // XML has no place for control characters
    }
  }
  return result;
}

// Values to pixels on one axis.
class LogAxis {
 public:
  LogAxis(double low, double high, double from, double to)
      : low_(std::log(low)), scale_(high > low ? (to - from) / (std::log(high) - std::log(low)) : 0.0), from_(from) {}

  double at(double value) const { return from_ + scale_ * (std::log(value) - low_); }

 private:
  double low_, scale_, from_;
};

struct Extent {
  double low = 1.0, high = 10.0;
};

template <typename Value>
Extent extent_of(const LineChart& chart, Value value) {
  bool any = false;
  Extent extent;
  for (const ChartLine& line : chart.lines) {
    for (const ChartPoint& point : line.points) {
      const double v = value(point);
      extent = any ? Extent{std::min(extent.low, v), std::max(extent.high, v)} : Extent{v, v};
      any = true;
    }
  }
  return extent;
}

// To whole powers of ten.
Extent widened(const Extent& extent) {
  const double low = std::pow(10.0, std::floor(std::log10(extent.low)));
  const double high = std::pow(10.0, std::ceil(std::log10(extent.high)));
  return {low, high > low ? high : 10.0 * low};
}

class Drawing {
 public:
  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void line(double x1, double y1, double x2, double y2, const char* colour) {
    add(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}"/>)", x1, y1, x2, y2, colour);
  }
  void label(double x, double y, const char* anchor, const std::string& text) {
    add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", x, y, anchor, escaped(text));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Horizontal rules at the powers of ten, vertical ones at the values of x that occur.
void draw_axes(Drawing& svg, const LineChart& chart, const LogAxis& x, const LogAxis& y, const Extent& y_extent) {
  for (double value = y_extent.low; value <= y_extent.high * 1.001; value *= 10.0) {
    svg.line(kLeft, y.at(value), kRight, y.at(value), "#dddddd");
    svg.label(kLeft - 8.0, y.at(value) + 4.0, "end", fmt::format("{:g}", value));
  }
  std::vector<double> columns;
  for (const ChartLine& line : chart.lines) {
    for (const ChartPoint& point : line.points) columns.push_back(point.x);
  }
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  for (const double value : columns) {
    svg.line(x.at(value), kTop, x.at(value), kBottom, "#eeeeee");
    svg.label(x.at(value), kBottom + 18.0, "middle", fmt::format("{:g}", value));
  }
  svg.line(kLeft, kTop, kLeft, kBottom, "#333333");
  svg.line(kLeft, kBottom, kRight, kBottom, "#333333");
  svg.label((kLeft + kRight) / 2.0, kBottom + 44.0, "middle", chart.x_label);
  svg.add(R"svg(<text x="20" y="{0:.1f}" text-anchor="middle" transform="rotate(-90 20 {0:.1f})">{1}</text>)svg",
          (kTop + kBottom) / 2.0, escaped(chart.y_label));
}

void draw_line(Drawing& svg, const ChartLine& line, const char* colour, const LogAxis& x, const LogAxis& y) {
  std::string corners;
  for (const ChartPoint& point : line.points) {
    corners += fmt::format("{}{:.1f},{:.1f}", corners.empty() ? "" : " ", x.at(point.x), y.at(point.y));
  }
  svg.add(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="2"/>)", corners, colour);
  for (const ChartPoint& point : line.points) {
    svg.add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3.5" fill="{}"/>)", x.at(point.x), y.at(point.y), colour);
  }
}

}  // namespace

std::string line_chart_svg(const LineChart& chart) {
  const Extent x_extent = extent_of(chart, [](const ChartPoint& point) { return point.x; });
  const Extent y_extent = widened(extent_of(chart, [](const ChartPoint& point) { return point.y; }));
  const LogAxis x(x_extent.low, x_extent.high, kLeft + 20.0, kRight - 20.0);
  const LogAxis y(y_extent.low, y_extent.high, kBottom, kTop);

  Drawing svg;
  svg.add(R"(<?xml version="1.0" encoding="UTF-8"?>)");
  svg.add(R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0:g}" height="{1:g}" viewBox="0 0 {0:g} {1:g}")"
          R"( font-family="sans-serif" font-size="13" fill="#333333">)",
          kWidth, kHeight);
  svg.add(R"(<rect width="{:g}" height="{:g}" fill="#ffffff"/>)", kWidth, kHeight);
  svg.add(R"(<text x="{:.1f}" y="28" text-anchor="middle" font-size="16">{}</text>)", (kLeft + kRight) / 2.0,
          escaped(chart.title));
  draw_axes(svg, chart, x, y, y_extent);
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    const char* const colour = kColours[i % kColours.size()];
    draw_line(svg, chart.lines[i], colour, x, y);
    const double row = kTop + 10.0 + 22.0 * static_cast<double>(i);
    svg.add(R"(<rect x="{:.1f}" y="{:.1f}" width="14" height="4" fill="{}"/>)", kRight + 16.0, row, colour);
    svg.label(kRight + 38.0, row + 6.0, "start", chart.lines[i].name);
  }
  svg.add("</svg>");
  return svg.text();
}

}  // namespace thrt::cli
