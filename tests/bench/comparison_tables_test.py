#!/usr/bin/env python3
"""The tables of docs/performance.md on results written by hand, whose ratios are known."""
import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import comparison_tables as tables  # noqa: E402

GOALS = {"throughput": [{"groups": "_train_step$", "against": "floor", "most_ratio": 2.0},
                        {"groups": "_train_step$", "against": "torch_eager", "least_speedup": 15}],
         "bf16": [{"groups": "^net_", "batch": 256, "least_speedup": 1.6}],
         "rates": [{"groups": "^pole_env_step$", "least_per_second": 40e6}],
         "two_threads": {"most_ratio": 1.05}, "launch": {"most_nanoseconds": 100},
         "learning": [{"work": "task", "peer": "sb3", "least_speedup": 8, "most_mark_seconds": 0.6}]}


def result(identifier, us, threads=1, **more):
    return {"id": identifier, "threads": threads, "us": us, **more}


def cells(table, beginning):
    """The row that begins with a cell, as a list of cells."""
    for line in table.splitlines():
        row = [cell.strip() for cell in line.strip("|").split("|")]
        if row[:len(beginning)] == beginning:
            return row
    raise AssertionError(f"no row {beginning} in\n{table}")


class ThroughputTable(unittest.TestCase):
    def test_medians_ratios_and_verdicts(self):
        data = tables.Throughput([
            result("a_train_step/cpu/b64", 50.0), result("a_train_step/cpu/b64", 40.0), result("a_train_step/cpu/b64", 900.0),
            result("a_train_step/floor/b64", 20.0), result("a_train_step/torch_eager/b64", 600.0),
            result("a_train_step/torch_compile/b64", 500.0)])
        row = cells(tables.throughput_table(data, GOALS, 1), ["`a_train_step` b64", "cpu"])
        self.assertEqual(row[2:], ["50.0 µs", "20.0 µs", "2.50 (≤ 2) **missed**", "600 µs", "12.0 (≥ 15) **missed**",
                                   "500 µs", "10.0"])

    def test_a_goal_that_is_met_and_what_was_not_measured(self):
        data = tables.Throughput([result("a_train_step/cpu/b64", 30.0), result("a_train_step/floor/b64", 15.0)])
        row = cells(tables.throughput_table(data, GOALS, 1), ["`a_train_step` b64", "cpu"])
        self.assertEqual(row[4:], ["2.00 (≤ 2) ✓", "–", "–", "–", "–"])

    def test_the_floor_of_two_threads_is_the_better_of_one_and_two(self):
        data = tables.Throughput([result("a_train_step/cpu/b64", 30.0, 2), result("a_train_step/floor/b64", 15.0, 1),
                                  result("a_train_step/floor/b64", 60.0, 2)])
        row = cells(tables.throughput_table(data, GOALS, 2), ["`a_train_step` b64", "cpu"])
        self.assertEqual(row[3], "15.0 µs")

    def test_bf16_stands_beside_bf16_and_is_judged_against_f32(self):
        data = tables.Throughput([
            result("net_forward/cpu/b256", 3000.0), result("net_forward/cpu-bf16/b256", 2000.0),
            result("net_forward/floor/b256", 2800.0), result("net_forward/floor-bf16/b256", 1600.0)])
        row = cells(tables.throughput_table(data, GOALS, 1), ["`net_forward` b256", "cpu-bf16"])
        self.assertEqual(row[2:5], ["2.00 ms", "1.60 ms", "1.25"])
        row = cells(tables.bf16_table(data, GOALS), ["`net_forward` b256"])
        self.assertEqual(row[1:], ["1", "3.00 ms", "2.00 ms", "1.50 (≥ 1.6) **missed**"])

    def test_two_threads_against_one(self):
        data = tables.Throughput([result("a/cpu/b64", 100.0, 1), result("a/cpu/b64", 60.0, 2),
                                  result("b/cpu/b64", 100.0, 1), result("b/cpu/b64", 110.0, 2)])
        table = tables.threads_table(data, GOALS)
        self.assertEqual(cells(table, ["`a` b64"])[5], "0.60 (≤ 1.05) ✓")
        self.assertEqual(cells(table, ["`b` b64"])[5], "1.10 (≤ 1.05) **missed**")

    def test_environments(self):
        data = tables.Throughput([result("pole_env_step/host/b1024", 20.0, env_steps_per_second=51.2e6),
                                  result("pole_env_step/gymnasium/b1024", 80.0)])
        row = cells(tables.env_table(data, GOALS), ["`pole_env_step`"])
        self.assertEqual(row[1:], ["1024", "51.2 M/s (≥ 40.0 M/s) ✓", "12.8 M/s", "4.00"])

    def test_launch(self):
        table = tables.launch_table([["a direct call", 1.5], ["launch of an empty program", 120.0]], GOALS)
        self.assertEqual(cells(table, ["launch of an empty program"])[1], "120.0 ns (< 100) **missed**")
        self.assertEqual(cells(table, ["a direct call"])[1], "1.5 ns")


class LearningTable(unittest.TestCase):
    def test_a_ratio_near_its_goal_shows_on_which_side_it_is(self):
        goal = {"least_speedup": 1.6}
        self.assertEqual(tables.judged(1.598, goal, True), "1.598 (≥ 1.6) **missed**")
        self.assertEqual(tables.judged(1.5, goal, True), "1.50 (≥ 1.6) **missed**")
        self.assertEqual(tables.judged(1.053, {"most_ratio": 1.05}, False), "1.053 (≤ 1.05) **missed**")

    def test_as_many_threads_and_marks_are_judged(self):
        def ran(system, seconds, threads=1, **more):
            return {"work": "task", "system": system, "threads": threads, "seconds": seconds, "mark": 475, "seed": 1,
                    "mark_step": None, "mark_seconds": None, "final_return": 500.0, **more}

        table = tables.learning_table([ran("sb3", 20.0), ran("ours", 3.0, mark_seconds=0.5, mark_step=20000),
                                       ran("ours", 2.0, 2, mark_seconds=0.3, mark_step=20000)], GOALS)
        first = cells(table, ["`task`", "ours", "1"])
        self.assertEqual(first[3:], ["3.00", "20000", "0.50", "1 of 1", "500.0",
                                     "6.67 times sb3 with as many threads (≥ 8) **missed**, 10.0 times with 2, "
                                     "mark after 0.40 s (≤ 0.6 s) ✓"])
        self.assertEqual(cells(table, ["`task`", "sb3"])[4:7], ["–", "–", "0 of 1"])

    def test_a_whole_process(self):
        goals = {"learning": [{"work": "task", "most_process_seconds": 1.0}]}
        ran = {"work": "task", "system": "ours", "threads": 2, "seconds": 0.5, "mark": 475, "seed": 1, "mark_step": 9,
               "mark_seconds": 0.5, "final_return": 500.0}
        table = tables.learning_table([{**ran, "process_seconds": 0.8}, {**ran, "process_seconds": 1.5}], goals)
        self.assertEqual(cells(table, ["`task`"])[8], "whole process 1.15 (0.80–1.50) s (≤ 1 s) **missed**")
        table = tables.learning_table([{**ran, "process_seconds": 0.8},
                                       {**ran, "process_seconds": 0.9, "mark_step": None, "mark_seconds": None}], goals)
        self.assertEqual(cells(table, ["`task`"])[6], "1 of 2")
        self.assertEqual(cells(table, ["`task`"])[8], "whole process 0.85 (0.80–0.90) s (≤ 1 s) **missed**",
                         "a seed that did not get there is not left out")


class Text(unittest.TestCase):
    def test_times(self):
        for us, text in ((0.5, "0.50 µs"), (9.995, "10.0 µs"), (999.4, "999 µs"), (999.6, "1.00 ms"), (2.5e6, "2.50 s"),
                         (None, "–")):
            self.assertEqual(tables.time_text(us), text)

    def test_markers(self):
        page = "head\n<!-- begin t -->\nold\n<!-- end t -->\ntail\n"
        self.assertEqual(tables.between_markers(page, "t", "new\n\n"),
                         "head\n<!-- begin t -->\nnew\n<!-- end t -->\ntail\n")
        with self.assertRaises(ValueError):
            tables.between_markers("nothing", "t", "new")

    def test_the_page_and_the_goals_of_the_tree(self):
        page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
        for name in ("throughput", "learning"):
            self.assertNotEqual(tables.between_markers(page, name, "new"), page)
        goals = json.loads((ROOT / "bench" / "goals.json").read_text(encoding="utf-8"))
        self.assertEqual(tables.goal_for(goals, "nature_dqn_qnet_forward", "floor")["most_ratio"], 1.15)
        self.assertEqual(tables.goal_for(goals, "sac_train_step", "torch_eager")["least_speedup"], 15)


if __name__ == "__main__":
    unittest.main()
