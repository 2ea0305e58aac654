// Integer expressions for where elements lie: a base plus multiples of variables that run from 0 to their extent. Since
// extents are known, most divisions by which shapes are taken apart and put together vanish before they are printed.
#pragma once

#include <thrt/ir/type.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace thrt::emit {

struct Index {
  struct Term {
    int variable;
    std::int64_t factor;
    friend bool operator==(const Term& a, const Term& b) { return a.variable == b.variable && a.factor == b.factor; }
  };
  std::vector<Term> terms;  // by variable; no factor is 0
  std::int64_t base = 0;

  Index() = default;
  Index(std::int64_t number) : base(number) {}  // NOLINT: a number is an index

  bool is_number() const { return terms.empty(); }
  friend bool operator==(const Index& a, const Index& b) { return a.base == b.base && a.terms == b.terms; }

  friend Index operator+(const Index& a, const Index& b) {
    Index sum(a.base + b.base);
    std::size_t i = 0, j = 0;
    while (i < a.terms.size() || j < b.terms.size()) {
      if (j == b.terms.size() || (i < a.terms.size() && a.terms[i].variable < b.terms[j].variable)) {
        sum.terms.push_back(a.terms[i++]);
      } else if (i == a.terms.size() || b.terms[j].variable < a.terms[i].variable) {
        sum.terms.push_back(b.terms[j++]);
      } else {
        const std::int64_t factor = a.terms[i].factor + b.terms[j].factor;
        if (factor != 0) sum.terms.push_back({a.terms[i].variable, factor});
        ++i;
        ++j;
      }
    }
    return sum;
  }
  friend Index operator*(const Index& a, std::int64_t factor) {
    if (factor == 0) return Index(0);
    Index product = a;
    product.base *= factor;
    for (Term& term : product.terms) term.factor *= factor;
    return product;
  }
};

using Indices = std::vector<Index>;  // one per dimension

// The variables of one kernel.
class Variables {
 public:
  // Where a variable comes from, if it is a quotient or a remainder.
  enum class Origin : std::uint8_t { kOwn, kQuotient, kRemainder };

  Index add(std::string name, std::int64_t extent) { return add(std::move(name), extent, Origin::kOwn, Index(), 1); }
  Index add(std::string name, std::int64_t extent, Origin origin, const Index& of, std::int64_t divisor) {
    list_.push_back({std::move(name), extent, origin, of, divisor});
    Index index;
    index.terms.push_back({static_cast<int>(list_.size()) - 1, 1});
    return index;
  }

  std::int64_t min(const Index& x) const { return range(x).first; }
  std::int64_t max(const Index& x) const { return range(x).second; }

  // What of x is divisible by d, divided, and the rest; true if the rest is known to lie in [0, d).
  bool split(const Index& x, std::int64_t d, Index& quotient, Index& rest) const {
    std::int64_t whole = x.base / d, part = x.base % d;
    if (part < 0) {
      part += d;
      --whole;
    }
    quotient = Index(whole);
    rest = Index(part);
    for (const Index::Term& term : x.terms) {
      if (term.factor % d == 0) {
        quotient.terms.push_back({term.variable, term.factor / d});
      } else {
        rest.terms.push_back(term);
      }
    }
    rest = joined(rest);
    return min(rest) >= 0 && max(rest) < d;
  }

  // d * (x / d) + x % d is x.
  Index joined(Index x) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t q = 0; q < x.terms.size() && !changed; ++q) {
        for (std::size_t r = 0; r < x.terms.size() && !changed; ++r) changed = join(x, q, r);
      }
    }
    return x;
  }

  std::string text(const Index& x) const {
    std::string text;
    for (const Index::Term& term : x.terms) {
      const std::string& name = list_[static_cast<std::size_t>(term.variable)].name;
      const std::int64_t factor = term.factor < 0 ? -term.factor : term.factor;
      if (text.empty()) {
        text = term.factor < 0 ? "-" : "";
      } else {
        text += term.factor < 0 ? " - " : " + ";
      }
      text += factor == 1 ? name : name + " * " + std::to_string(factor);
    }
    if (text.empty()) return std::to_string(x.base);
    if (x.base > 0) text += " + " + std::to_string(x.base);
    if (x.base < 0) text += " - " + std::to_string(-x.base);
    return text;
  }

 private:
  struct Variable {
    std::string name;
    std::int64_t extent;
    Origin origin;
    Index of;
    std::int64_t divisor;
  };

  std::pair<std::int64_t, std::int64_t> range(const Index& x) const {
    std::int64_t low = x.base, high = x.base;
    for (const Index::Term& term : x.terms) {
      const std::int64_t last = list_[static_cast<std::size_t>(term.variable)].extent - 1;
      (term.factor < 0 ? low : high) += term.factor * last;
    }
    return {low, high};
  }

  bool join(Index& x, std::size_t q, std::size_t r) const {
    const Variable& quotient = list_[static_cast<std::size_t>(x.terms[q].variable)];
    const Variable& remainder = list_[static_cast<std::size_t>(x.terms[r].variable)];
    const std::int64_t factor = x.terms[r].factor;
    if (quotient.origin != Origin::kQuotient || remainder.origin != Origin::kRemainder ||
        quotient.divisor != remainder.divisor || x.terms[q].factor != factor * quotient.divisor ||
        !(quotient.of == remainder.of)) {
      return false;
    }
    const Index whole = quotient.of * factor;
    x.terms.erase(x.terms.begin() + static_cast<std::ptrdiff_t>(std::max(q, r)));
    x.terms.erase(x.terms.begin() + static_cast<std::ptrdiff_t>(std::min(q, r)));
    x = x + whole;
    return true;
  }

  std::vector<Variable> list_;
};

}  // namespace thrt::emit
