#!/usr/bin/env python3
"""Each rule of check_tree.py against a small tree that breaks it, and one that breaks none."""
import pathlib
import sys
import tempfile
import unittest

import check_tree

GOOD = {
    "sdk/include/thrt/abi.h": "#ifndef A\n#define A\n#include <stdint.h>\n#endif\n",
    "sdk/include/thrt/ir/type.hpp": "#pragma once\n#include <thrt/abi.h>\n",
    "sdk/include/thrt/sdk/plan.hpp": "#pragma once\n#include <thrt/ir/type.hpp>\n",
    "core/include/thrt/error.hpp": "#pragma once\n#include <string>\n// Use:\n//     throw Error(1);\nusing Text = std::string;\n",
    "core/io/file.hpp": "#pragma once\n",
    "core/io/file.cpp": '#include "io/file.hpp"\n#include "thrt/error.hpp"\n#include <thrt/ir/type.hpp>\n',
    "rl/include/thrt/rl/env.hpp": "#pragma once\n#include <thrt/error.hpp>\n",
    "cli/main.cpp": "#include <thrt/rl/env.hpp>\nint main() { return 0; }\n",
    "plugins/cpu/plugin.cpp": "#include <thrt/sdk/plan.hpp>\n",
    "tests/core/file_test.cpp": '#include "core/io/file.hpp"\n',
    "docs/a.md": "text\n",
}


def lines(count):
    return "  f();\n" * count


class CheckTree(unittest.TestCase):
    def findings(self, changes, compiler=None):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {**GOOD, **changes}.items():
                target = pathlib.Path(folder, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)
            return check_tree.check_tree(folder, compiler)[0]

    def expect(self, path, text, rule, part="", line=None, fails=True, compiler=None):
        found = self.findings({path: text}, compiler)
        self.assertEqual([(f.path, f.rule, f.fails) for f in found], [(path, rule, fails)], found)
        self.assertIn(part, found[0].text)
        if line is not None:
            self.assertEqual(found[0].line, line)

    def accept(self, path, text, compiler=None):
        self.assertEqual(self.findings({path: text}, compiler), [])

    def test_good_tree_has_no_findings(self):
        self.assertEqual(self.findings({}, compiler=COMPILER), [])

    def test_includes(self):
        self.expect("core/a.cpp", "\n#include <thrt/rl/env.hpp>\n", "include", "core may not include", line=2)
        self.expect("core/a.cpp", "#include <thrt/sdk/plan.hpp>\n", "include", "for plugins")
        self.expect("rl/a.cpp", '#include "thrt/sdk/plan.hpp"\n', "include", "for plugins")
        self.expect("rl/a.cpp", '#include "../cli/main.cpp"\n', "include", "rl may not include")
        self.expect("rl/a.cpp", '#include "core/io/file.hpp"\n', "include", "private to core")
        self.expect("plugins/cpu/a.cpp", "#include <thrt/error.hpp>\n", "include", "plugins may not include")
        self.expect("plugins/gpu/a.cpp", '#include "../cpu/plugin.cpp"\n', "include", "another plugin")
        self.expect("sdk/reference/a.cpp", "#include <thrt/error.hpp>\n", "include", "sdk may not include")
        self.accept("core/a.cpp", "/*\n#include <thrt/rl/env.hpp>\n*/\n")

    def test_file_sizes(self):
        self.expect("core/a.cpp", "\n" * 801, "size", "801 lines")
        self.expect("core/a.cpp", "\n" * 501, "size", "501 lines", fails=False)
        self.accept("core/a.cpp", "// This file is long because it is one table.\n" + "\n" * 700)
        self.accept("core/a.cpp", "\n" * 500)

    def test_function_lengths(self):
        signature = "template <class T>\nstd::vector<T> f(int a = 3) const noexcept {\n"
        self.expect("core/a.cpp", signature + lines(149) + "}\n", "function", "151 lines", line=2)
        self.accept("core/a.cpp", signature + lines(148) + "}\n")
        member = "namespace a::b {\nclass C final : public D {\n C() : x_(1), y_{2} {\n" + lines(149) + " }\n};\n}\n"
        self.expect("core/a.cpp", member, "function", "151 lines", line=3)
        self.expect("core/a.cpp", "TEST(A, B) {\n" + lines(150) + "}\n", "function")
        self.accept("core/a.cpp", "struct S {\n" + "  int a();\n" * 300 + "};\n")
        self.accept("core/a.cpp", "const int kTable[] = {\n" + "  {1, 2},\n" * 300 + "};\n")
        self.accept("core/a.cpp", "void f() {\n}\n" * 200)
        self.accept("core/a.cpp", 'const char* s = "{";  // {\nchar c = \'{\';\n' + "int x;\n" * 200)

    def test_dead_code(self):
        for dead in ("return x;", "x = y + 1;", "auto a = f(b);", "f(a, g(b));", "if (x) {", "}", "a.b->c();",
                     "#include <string>", "void f(int a) {"):
            self.expect("core/a.cpp", f"\n  // {dead}\n", "dead code", dead, line=2)
        for prose in ("The mean of x; see above.", "x (in bytes);", "f(x) = x * x", "if it is empty, nothing happens;",
                      "for all i: a[i] < b[i]", "{a, b} is a pair"):
            self.accept("core/a.cpp", f"// {prose}\n")
        self.expect("core/a.cpp", "#if 0\n#endif\n", "word", "#if 0")

    def test_words_and_names(self):
        self.expect("core/a.cpp", "namespace thrust {}\n", "word", "thrt")
        self.expect("core/a.cpp", "namespace a::thrust::b {}\n", "word", "thrt")
        self.expect("core/a.cpp", "using thrust::f;\n", "word", "thrt")
        self.expect("core/a.h", "#define THRUST_A 1\n", "word", "THRT_")
        self.expect("core/a.cpp", "// TO" "DO: later\n", "word", "roadmap")
        self.accept("core/a.cpp", 'const char* kName = "thrust::train";  // as in thrust::x\n')
        for name in ("utils.cpp", "graph_helpers.cpp", "common.cpp", "plugin_manager.cpp"):
            self.expect(f"core/{name}", "\n", "name")
        self.accept("core/common_subexpression.cpp", "\n")

    def test_text(self):
        self.expect("docs/b.md", "a \n", "text", "white space", line=1)
        self.expect("core/a.cpp", "int\ta;\n", "text", "tab")
        self.expect("core/a.cpp", "int a;", "text", "newline")
        self.accept("tests/data/a.md", "a \t")

    def test_headers(self):
        self.expect("core/a.hpp", "int f();\n", "header", "#pragma once")
        self.expect("core/a.hpp", "#pragma once\nstd::string f();\n", "header", "alone", compiler=COMPILER)
        self.expect("core/a.hpp", '#pragma once\n#include "thrt/none.hpp"\n', "header", "alone", compiler=COMPILER)
        self.accept("core/a.hpp", "#pragma once\n#include <no_such_library.h>\n", compiler=COMPILER)
        self.accept("core/a.hpp", "#pragma once\n#ifndef LEVEL\n#error define LEVEL\n#endif\n", compiler=COMPILER)


if __name__ == "__main__":
    COMPILER = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "c++"
    unittest.main()
