"""The tables of docs/performance.md, from what was measured: text out of numbers, nothing is run here.

A throughput result is {"id": "GROUP/TARGET/bBATCH", "threads": N, "us": median microseconds, ...}; a learning result is
{"work": NAME, "system": NAME, "threads": N, "seconds": S, "mark_step": N or null, "mark_seconds": S or null,
"final_return": R or null, "seed": N}.
"""
import re
import statistics


def split_id(identifier):
    """"a/cpu/b64" -> ("a", "cpu", 64)."""
    group, target, batch = identifier.split("/")
    return group, target, int(batch[1:])


class Throughput:
    """Medians by group, batch, target and threads."""

    def __init__(self, results):
        self.medians, self.rates, self.order = {}, {}, []
        samples, rates = {}, {}
        for result in results:
            group, target, batch = split_id(result["id"])
            key = (group, batch, target, result["threads"])
            samples.setdefault(key, []).append(result["us"])
            if result.get("env_steps_per_second"):
                rates.setdefault(key, []).append(result["env_steps_per_second"])
            if (group, batch) not in self.order:
                self.order.append((group, batch))
        self.medians = {key: statistics.median(values) for key, values in samples.items()}
        self.rates = {key: statistics.median(values) for key, values in rates.items()}

    def threads(self):
        return sorted({key[3] for key in self.medians})

    def us(self, group, batch, target, threads):
        if target == "floor" or target.startswith("floor-"):  # the better of one thread and that many
            found = [self.medians.get((group, batch, target, n)) for n in {1, threads}]
            found = [value for value in found if value is not None]
            return min(found) if found else None
        return self.medians.get((group, batch, target, threads))

    def backends(self):
        """Targets of our own, f32 ones first."""
        known = ("floor", "torch", "gymnasium", "host")
        ours = {key[2] for key in self.medians if not key[2].startswith(known)}
        return sorted(ours, key=lambda name: ("-" in name, name))


def time_text(us):
    if us is None:
        return "–"
    for limit, unit, scale in ((1e3, "µs", 1.0), (1e6, "ms", 1e-3), (float("inf"), "s", 1e-6)):
        if us < 0.9995 * limit:
            value = us * scale
            return f"{value:.{0 if value >= 99.95 else 1 if value >= 9.995 else 2}f} {unit}"
    raise AssertionError


def ratio_text(ratio):
    return "–" if ratio is None else f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:.0f}"


def ratio_beside(ratio, goal):
    """A digit more where it takes one to see on which side of its goal the ratio is."""
    near = ratio != goal and abs(ratio / goal - 1.0) < 0.01
    return f"{ratio:.3f}" if near and goal < 9.995 else ratio_text(ratio)


def quotient(a, b):
    return None if a is None or not b else a / b


def rate_text(rate):
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate >= scale:
            return f"{rate / scale:.1f} {unit}/s"
    return f"{rate:.0f} /s"


def markdown(header, rows, align=None):
    align = align or ["---"] + ["---:"] * (len(header) - 1)
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join(align) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def verdict(text, met):
    return f"{text} ✓" if met else f"{text} **missed**"


def goal_for(goals, group, against):
    for goal in goals.get("throughput", []):
        if goal["against"] == against and re.search(goal["groups"], group):
            return goal
    return None


def judged(ratio, goal, speedup):
    """A ratio with what its goal says of it."""
    if ratio is None or goal is None:
        return ratio_text(ratio)
    limit = goal["least_speedup" if speedup else "most_ratio"]
    sign, met = ("≥", ratio >= limit) if speedup else ("≤", ratio <= limit)
    return verdict(f"{ratio_beside(ratio, limit)} ({sign} {limit:g})", met)


def throughput_table(data, goals, threads):
    """One table for a number of threads: ours, the floor, PyTorch, and their ratios."""
    rows = []
    for group, batch in data.order:
        for target in data.backends():
            ours = data.us(group, batch, target, threads)
            if ours is None:
                continue
            suffix = "-" + target.split("-", 1)[1] if "-" in target else ""
            is_f32 = not suffix
            floor = data.us(group, batch, "floor" + suffix, threads)
            eager = data.us(group, batch, "torch_eager" + suffix, threads)
            compiled = data.us(group, batch, "torch_compile" + suffix, threads)
            rows.append([
                f"`{group}` b{batch}", target, time_text(ours), time_text(floor),
                judged(quotient(ours, floor), goal_for(goals, group, "floor") if is_f32 else None, False),
                time_text(eager),
                judged(quotient(eager, ours), goal_for(goals, group, "torch_eager") if is_f32 else None, True),
                time_text(compiled), ratio_text(quotient(compiled, ours))])
    header = ["group", "backend", "ours", "floor", "ours / floor", "torch eager", "eager / ours", "torch.compile",
              "compile / ours"]
    return markdown(header, rows, ["---", "---"] + ["---:"] * 7)


def bf16_table(data, goals):
    rows = []
    for group, batch in data.order:
        for target in data.backends():
            if not target.endswith("-bf16"):
                continue
            for threads in data.threads():
                bf16 = data.us(group, batch, target, threads)
                f32 = data.us(group, batch, target[:-len("-bf16")], threads)
                ratio = quotient(f32, bf16)
                if ratio is None:
                    continue
                goal = next((g for g in goals.get("bf16", [])
                             if re.search(g["groups"], group) and g["batch"] == batch), None)
                rows.append([f"`{group}` b{batch}", str(threads), time_text(f32), time_text(bf16),
                             judged(ratio, goal, True)])
    return markdown(["group", "threads", "f32", "bf16", "f32 / bf16"], rows) if rows else ""


def threads_table(data, goals):
    """N threads against one, for our backends."""
    counts = data.threads()
    rows = []
    for group, batch in data.order:
        for target in data.backends():
            one = data.us(group, batch, target, 1)
            for threads in counts:
                many = data.us(group, batch, target, threads)
                if threads == 1 or one is None or many is None:
                    continue
                rows.append([f"`{group}` b{batch}", target, time_text(one), f"{threads}", time_text(many),
                             judged(many / one, goals.get("two_threads"), False)])
    if not rows:
        return ""
    return markdown(["group", "backend", "1 thread", "N", "N threads", "N / 1"], rows, ["---", "---"] + ["---:"] * 4)


def env_table(data, goals):
    rows = []
    for group, batch in data.order:
        rate = data.rates.get((group, batch, "host", 1))
        if rate is None:
            continue
        goal = next((g for g in goals.get("rates", []) if re.search(g["groups"], group)), None)
        text = rate_text(rate)
        if goal:
            text = verdict(f"{text} (≥ {rate_text(goal['least_per_second'])})", rate >= goal["least_per_second"])
        numpy = data.us(group, batch, "gymnasium", 1)
        numpy_rate = rate_text(1e6 * batch / numpy) if numpy else "–"
        rows.append([f"`{group}`", str(batch), text, numpy_rate,
                     ratio_text(quotient(numpy, data.us(group, batch, "host", 1)))])
    header = ["group", "environments", "steps, one core", "Gymnasium's NumPy vector environment", "times faster"]
    return markdown(header, rows) if rows else ""


def launch_table(results, goals):
    if not results:
        return ""
    goal, rows = goals["launch"]["most_nanoseconds"], []
    for name, nanoseconds in results:
        is_judged = name == "launch of an empty program"
        text = f"{nanoseconds:.1f} ns"
        rows.append([name, verdict(f"{text} (< {goal})", nanoseconds < goal) if is_judged else text])
    return markdown(["call", "time"], rows)


def spread(values, digits=2):
    values = [value for value in values if value is not None]
    if not values:
        return "–"
    middle = f"{statistics.median(values):.{digits}f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def learning_table(results, goals):
    """Whole runs: the work, then a line for each system and number of threads. Judged is the peer's best number of threads
    against ours with as many; what our best number gives is said beside it."""
    order, by_key = [], {}
    for result in results:
        key = (result["work"], result["system"], result["threads"])
        by_key.setdefault(key, []).append(result)
        if result["work"] not in order:
            order.append(result["work"])
    rows = []
    for work in order:
        keys = sorted(key for key in by_key if key[0] == work)
        keys.sort(key=lambda key: key[1] != "ours")
        took = {}  # by system: seconds by number of threads
        for key in keys:
            took.setdefault(key[1], {})[key[2]] = statistics.median(r["seconds"] for r in by_key[key])
        for key in keys:
            runs = by_key[key]
            marks = [r.get("mark_seconds") for r in runs]
            reached = f"{sum(m is not None for m in marks)} of {len(runs)}" if runs[0].get("mark") is not None else "–"
            rows.append([f"`{work}`", key[1], str(key[2]), spread([r["seconds"] for r in runs]),
                         spread([r.get("mark_step") for r in runs], 0), spread(marks), reached,
                         spread([r.get("final_return") for r in runs], 1), ""])
        for goal in goals.get("learning", []):
            if goal["work"] != work or "ours" not in took:
                continue
            first = next(row for row in rows if row[0] == f"`{work}`" and row[1] == "ours")
            texts = []
            if goal.get("peer") in took:
                peer = took[goal["peer"]]
                threads = min(peer, key=peer.get)
                if threads in took["ours"]:
                    ratio = peer[threads] / took["ours"][threads]
                    texts.append(verdict(f"{ratio_beside(ratio, goal['least_speedup'])} times {goal['peer']} with as many "
                                         f"threads (≥ {goal['least_speedup']:g})", ratio >= goal["least_speedup"]))
                more = min(took["ours"], key=took["ours"].get)
                if more != threads:
                    texts.append(f"{ratio_text(peer[threads] / took['ours'][more])} times with {more}")
            if "most_seconds" in goal:
                least = min(took["ours"].values())
                texts.append(verdict(f"{least:.2f} s (≤ {goal['most_seconds']:g} s)", least <= goal["most_seconds"]))
            if "most_mark_seconds" in goal:
                marks = [r["mark_seconds"] for key in keys if key[1] == "ours" for r in by_key[key]
                         if r.get("mark_seconds") is not None]
                if marks:
                    middle = statistics.median(marks)
                    texts.append(verdict(f"mark after {middle:.2f} s (≤ {goal['most_mark_seconds']:g} s)",
                                         middle <= goal["most_mark_seconds"]))
            if "most_process_seconds" in goal:
                timed = [r for key in keys for r in by_key[key] if r.get("process_seconds")]
                found = [r["process_seconds"] for r in timed]
                limit = goal["most_process_seconds"]
                texts.append(verdict(f"whole process {spread(found)} s (≤ {limit:g} s)",
                                     bool(found) and statistics.median(found) <= limit
                                     and all(r["mark_seconds"] is not None for r in timed)))
            first[8] = ", ".join(texts)
    header = ["work", "system", "threads", "seconds", "mark at step", "mark after s", "reached", "final return", "goal"]
    return markdown(header, rows, ["---", "---"] + ["---:"] * 6 + ["---"]) if rows else ""


def between_markers(page, name, text):
    """The page with what lies between its two markers of that name replaced."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    first, last = page.find(begin), page.find(end)
    if first < 0 or last < first:
        raise ValueError(f"the page has no markers '{begin}' and '{end}'")
    return page[:first + len(begin)] + "\n" + text.strip("\n") + "\n" + page[last:]
