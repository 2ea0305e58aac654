#!/usr/bin/env python3
"""make_future_abi.py INCLUDE TO: a copy of the sdk's headers as a later minor version of the ABI might have them.

Each growable struct gets two fields, the function table two functions, the op set one op (in op set 2), and the minor version is 1.
Headers without a change become links, so the copy never lags behind. A replacement that finds nothing to replace is an
error: then a header changed and this file has to follow.
"""
import re
import sys
from pathlib import Path

STRUCTS = ["thrt_manifest", "thrt_program", "thrt_device_info", "thrt_plugin_options", "thrt_context_options",
           "thrt_buffer_options", "thrt_compile_options", "thrt_executable_info", "thrt_stats"]


class Header:
    def __init__(self, include: Path, name: str):
        self.name = name
        self.text = (include / "thrt" / name).read_text()

    def replace(self, pattern: str, replacement: str, count: int = 1) -> None:
        self.text, found = re.subn(pattern, replacement, self.text, flags=re.MULTILINE)
        if found != count:
            sys.exit(f"{self.name}: {found} places fit {pattern!r}, {count} were expected")


def future_abi(include: Path) -> Header:
    header = Header(include, "abi.h")
    header.replace(r"^#define THRT_ABI_MINOR 0u$", "#define THRT_ABI_MINOR 1u")
    header.replace(r"^#define THRT_OPSET 1u$", "#define THRT_OPSET 2u")
    for struct in STRUCTS:
        fields = "  uint64_t future_number;\n  uint64_t future_more;\n"
        end = "};" if struct == "thrt_program" else f"}} {struct};"
        # The struct's own end: nothing between its start and it closes another one.
        header.replace(rf"(struct {struct} {{(?:(?!^}})[\s\S])*)^{re.escape(end)}$", rf"\g<1>{fields}{end}")
        header.replace(rf"sizeof\({struct}\) == (\d+)", rf"sizeof({struct}) == \1 + 16")
    header.replace(r"^} thrt_backend_api;$",
                   "  /* [context] */\n"
                   "  thrt_status (*future_answer)(thrt_context* context, uint64_t* answer, thrt_error* error);\n"
                   "  /* [any] */\n"
                   "  uint32_t (*future_version)(void);\n"
                   "} thrt_backend_api;")
    header.replace(r"8 \+ 19 \* sizeof\(void\*\)", "8 + 21 * sizeof(void*)")
    grown = re.findall(r"struct_size;", header.text)
    if len(grown) != len(STRUCTS) + 1:  # the table is the last
        sys.exit(f"abi.h: {len(grown)} structs have struct_size, {len(STRUCTS) + 1} are known here")
    return header


def future_headers(include: Path) -> list[Header]:
    ops = Header(include, "ops.def")
    ops.text += '\n/* x * x * x. */\nTHRT_OP(CUBE, cube, 200, 1, TRAINING, 1, 1, 1, UNARY, FLOAT, 3, "")\n'
    opset = Header(include, "ir/opset.hpp")
    opset.replace(r"^    default:$", "    case OpKind::CUBE:\n      return 2;\n    default:")
    # The plugins say which host they need and what their manifest holds.
    table = Header(include, "sdk/backend_table.hpp")
    table.replace(r"kHostMinorNeeded = 0;", "kHostMinorNeeded = THRT_FUTURE_NEEDED;")
    table.replace(r"^template <typename PluginClass>\ninline constexpr thrt_backend_api kApi",
                  "inline thrt_status future_answer(thrt_context* context, std::uint64_t* answer, thrt_error* error) noexcept {\n"
                  "  return in_context(context, error, [&](ContextHandle&) { *answer = 42; });\n"
                  "}\n"
                  "inline std::uint32_t future_version() noexcept {\n  return THRT_ABI_MINOR;\n}\n\n"
                  "template <typename PluginClass>\ninline constexpr thrt_backend_api kApi")
    table.replace(r"&wait};", "&wait, &future_answer, &future_version};")
    plugin = Header(include, "sdk/plugin.hpp")
    plugin.replace(r"\{\}\};( *)\\$", r"{}, THRT_FUTURE_NUMBER, 0};\1\\")
    return [future_abi(include), ops, opset, table, plugin]


def main() -> None:
    include, to = Path(sys.argv[1]), Path(sys.argv[2])
    changed = {header.name: header.text for header in future_headers(include)}
    for file in sorted((include / "thrt").rglob("*")):
        name = str(file.relative_to(include / "thrt"))
        target = to / "thrt" / name
        if file.is_dir():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if name in changed:
            if not target.is_file() or target.is_symlink() or target.read_text() != changed[name]:
                target.unlink(missing_ok=True)
                target.write_text(changed[name])
        elif not target.is_symlink():
            target.unlink(missing_ok=True)
            target.symlink_to(file.resolve())


main()
