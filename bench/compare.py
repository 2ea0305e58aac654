#!/usr/bin/env python3
"""Times ours, the floor and the peers in alternation on this machine, and writes docs/performance.md.

  bench/compare.py                        every group, 1 and 2 threads, three rounds: about 11 minutes on two cores
  bench/compare.py --quick                one short round, written to a temporary folder: to see that everything runs
  bench/compare.py --groups train_step    only these (a regular expression over GROUP/bBATCH)
  bench/compare.py --learning             also whole trainings, ours beside SB3, CleanRL's settings and RLtools
  bench/compare.py --skip-peers           ours and the floor alone
  bench/compare.py --tables-only          writes the page again from the recorded results

Needs a build with THRT_BUILD_BENCH (the release preset), and for the peers bench/peers/setup.sh once. Raw results go to
bench/results/MACHINE/; the page gets their medians. A peer that cannot run is reported and left out.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import comparison_tables as tables

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = ROOT / "bench" / "peers"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--peers-python", type=pathlib.Path, default=PEERS / ".venv" / "bin" / "python")
    parser.add_argument("--threads", default="1,2", help="as in 1,2")
    parser.add_argument("--groups", default=".", help="a regular expression over GROUP/bBATCH")
    parser.add_argument("--backend", default="cpu", help="ours, as in cpu,cuda; empty: all that are found")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=1, help="of each learning run")
    # PyTorch's small networks get slower with a second thread, by up to ten times.
    parser.add_argument("--peer-threads", default="1", help="of the peers' trainings; a peer's best counts")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--learning", action="store_true")
    parser.add_argument("--only-learning", action="store_true")
    parser.add_argument("--skip-peers", action="store_true")
    parser.add_argument("--skip-compile", action="store_true", help="without torch.compile")
    parser.add_argument("--tables-only", action="store_true")
    parser.add_argument("--results", type=pathlib.Path, help="folder of the raw results [bench/results/MACHINE]")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs" / "performance.md")
    options = parser.parse_args()
    options.threads = [int(n) for n in options.threads.split(",")]
    options.peer_threads = [int(n) for n in options.peer_threads.split(",")]
    options.learning |= options.only_learning
    if options.quick:
        options.rounds = 1
        # What was measured to be quoted stays as it is.
        scratch = pathlib.Path(tempfile.mkdtemp(prefix="thrust_bench_quick_"))
        options.results = options.results or scratch
        if options.page == ROOT / "docs" / "performance.md":
            options.page = scratch / "performance.md"
            shutil.copyfile(ROOT / "docs" / "performance.md", options.page)
    return options


# ------------------------------------------------------------------------------------------------------------- the machine

def text_of(*command):
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def machine():
    facts = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    levels = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if flag in facts.get("flags", "").split()]
    name = facts.get("model name", platform.machine())
    changed = text_of("git", "status", "--porcelain", "--untracked-files=no", "--", "*.cpp", "*.hpp", "*.h", "CMakeLists.txt")
    return {"name": f"{name}, {os.cpu_count()} cores",
            "family": f"family {facts.get('cpu family')} model {facts.get('model')}", "instructions": levels,
            "kernel": ".".join(platform.release().split(".")[:2]),
            "compiler": text_of("c++", "--version").split("\n")[0],
            "commit": text_of("git", "rev-parse", "--short", "HEAD") + ("+" if changed else ""),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")}


def folder_name(facts):
    return re.sub(r"[^a-z0-9]+", "-", f"{facts['name']} {facts['family']}".lower()).strip("-")


# --------------------------------------------------------------------------------------------------------------- throughput

def environment_for(threads):
    environment = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        environment[name] = str(threads)
    environment.setdefault("TORCHINDUCTOR_CACHE_DIR", str(PEERS / ".venv" / "inductor"))
    return environment


class Report:
    """What ran, how long it took, and what did not run."""

    def __init__(self):
        self.start, self.failures = time.monotonic(), []

    def note(self, text):
        print(f"[{time.monotonic() - self.start:6.1f} s] {text}", file=sys.stderr, flush=True)

    def failed(self, what, why):
        self.failures.append(" ".join(f"{what}: {why}".replace(str(ROOT) + "/", "").split()))
        self.note(f"{what} failed: {why}")


def run(report, what, command, threads, timeout, accepted=(0,)):
    report.note(what)
    try:
        done = subprocess.run([str(word) for word in command], env=environment_for(threads), capture_output=True, text=True,
                              timeout=timeout, cwd=ROOT, check=False)
    except (OSError, subprocess.TimeoutExpired) as failure:
        report.failed(what, failure)
        return None
    if done.returncode not in accepted:
        report.failed(what, f"exit code {done.returncode}: {done.stderr.strip()[-400:]}")
        return None
    return done.stdout


def benchmarks_of(document, threads, report):
    for entry in document["benchmarks"]:
        if entry.get("run_type") == "aggregate":
            continue
        if entry.get("error_occurred"):
            report.failed(entry["name"], entry.get("error_message", "no reason given"))
            continue
        scale = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}[entry["time_unit"]]
        result = {"id": entry["name"], "threads": threads, "us": entry["real_time"] * scale}
        for field in ("setup_ms", "env_steps_per_second", "parameters", "way"):
            if entry.get(field):
                result[field] = entry[field]
        yield result


def google_benchmark(report, what, command, threads, options):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        seconds = 0.01 if options.quick else 0.25
        text = run(report, what, [*command, "--threads", threads, f"--benchmark_min_time={seconds}",
                                  f"--benchmark_filter={options.groups_filter}", f"--benchmark_out={out.name}"], threads, 600)
        if text is None or not os.path.getsize(out.name):
            return None
        return json.loads(pathlib.Path(out.name).read_text(encoding="utf-8"))


def wanted_groups(options):
    """The filter as one over ids, for the programs match it against "GROUP/TARGET/bBATCH"."""
    if options.groups == ".":
        return "^[a-z0-9_]+/[^/]+/b[0-9]+"  # not the floor's single layers
    listed = text_of(options.build / "bin" / "thrust", "bench", "--list")
    pairs = [line.split()[0] for line in listed.splitlines() if line]
    chosen = [pair for pair in pairs if re.search(options.groups, pair)]
    if not chosen:
        raise SystemExit(f"error: --groups '{options.groups}' leaves no group\n  why: groups: {', '.join(pairs)}\n"
                         "  try: --groups train_step")
    return "|".join(f"^{pair.split('/')[0]}/[^/]+/{pair.split('/')[1]}(/|$)" for pair in chosen)


def measure_launch(options, report):
    """(what, nanoseconds of one thread) of the calls into a backend, where the program and the null plugin are built."""
    program, null = options.build / "bin" / "launch_overhead", options.build / "tests/plugins/libthrust_backend_null.so"
    if not program.exists() or not null.exists():
        report.failed("launch overhead", "launch_overhead or the null plugin is not built")
        return []
    text = run(report, "launch overhead", [program, null, options.build / "lib/thrust/plugins/libthrust_backend_cpu.so",
                                           "--benchmark_format=json", "--benchmark_repetitions=5",
                                           "--benchmark_min_time=0.1"], 1, 120)
    times = {}
    for entry in json.loads(text)["benchmarks"] if text else []:
        if entry.get("aggregate_name") == "median":
            scale = {"ns": 1.0, "us": 1e3, "ms": 1e6}[entry["time_unit"]]
            times[entry["run_name"]] = entry["cpu_time"] * scale
    return [[LAUNCHES.get(name, name), time] for name, time in times.items()]


LAUNCHES = {"direct_call": "a direct call", "launch/null": "launch of an empty program"}


def measure_throughput(options, report):
    bin_folder, results, versions = options.build / "bin", [], {}
    options.groups_filter = wanted_groups(options)
    has_peers = not options.skip_peers and options.peers_python.exists()
    if not options.skip_peers and not has_peers:
        report.failed("the peers", f"there is no {options.peers_python}: bench/peers/setup.sh makes it")
    ours = [bin_folder / "trainer_throughput", "--precision", "f32,bf16"]
    for backend in filter(None, options.backend.split(",")):
        ours += ["--backend", backend]
    bf16 = "avx512_bf16" in machine()["instructions"] or "amx_bf16" in machine()["instructions"]
    if options.backend and not bf16:  # a backend that is named with a precision that it lacks is an error
        ours[2] = "f32"
    for threads in options.threads:
        for number in range(options.rounds):
            title = f"round {number + 1} of {options.rounds}, {threads} threads"
            document = google_benchmark(report, f"ours, {title}", ours, threads, options)
            if document is None and ours[2] != "f32":  # built before the backend had bf16
                ours[2] = "f32"
                document = google_benchmark(report, f"ours in f32, {title}", ours, threads, options)
            if document:
                results += benchmarks_of(document, threads, report)
            document = google_benchmark(report, f"floor, {title}", [bin_folder / "limits"], threads, options)
            if document:
                versions["oneDNN of the floor"] = document["context"].get("onednn", "?")
                results += benchmarks_of(document, threads, report)
            variants = ["eager"] + (["compile"] if number == 0 and not options.skip_compile and not options.quick else [])
            for variant in variants if has_peers else []:
                text = run(report, f"torch {variant}, {title}",
                           [options.peers_python, PEERS / "torch_trainer_throughput.py", "--threads", threads, "--variants",
                            variant, "--filter", options.groups_filter, "--min-time", 0.01 if options.quick else 0.25],
                           threads, 900)
                if text:
                    document = json.loads(text)
                    versions["PyTorch"] = document["context"]["torch"]
                    results += benchmarks_of(document, threads, report)
    return {"results": results, "versions": versions, "launch": measure_launch(options, report)}


# ----------------------------------------------------------------------------------------------------------------- learning

OURS = {
    "ppo_cartpole_solved": ("ppo", "CartPole-v1", 150_000, "--stop-at 475"),
    "ppo_cartpole_cleanrl": ("ppo", "CartPole-v1", 500_000,
                             "--num-envs 4 --num-steps 128 --num-minibatches 4 --update-epochs 4 --learning-rate 2.5e-4 "
                             "--anneal-lr --gamma 0.99 --gae-lambda 0.95 --clip-coef 0.2 --no-anneal-clip --clip-vloss "
                             "--norm-adv --ent-coef 0.01 --vf-coef 0.5 --max-grad-norm 0.5"),
    "ppo_cartpole_zoo": ("ppo", "CartPole-v1", 100_000, ""),
    "dqn_cartpole_zoo": ("dqn", "CartPole-v1", 50_000, ""),
    "a2c_cartpole_zoo": ("a2c", "CartPole-v1", 500_000, ""),
    "sac_pendulum_rltools": ("sac", "Pendulum-v1", 10_000,
                             "--num-envs 1 --hidden 64,64 --batch-size 100 --learning-rate 1e-3 --learning-starts 100 "
                             "--buffer-size 10000 --train-frequency 1 --gradient-steps 1"),
    "ppo_pendulum_rltools": ("ppo", "Pendulum-v1", 303_104,
                             "--num-envs 4 --num-steps 1024 --num-minibatches 16 --update-epochs 2 --learning-rate 1e-3 "
                             "--no-anneal-lr --gamma 0.95 --gae-lambda 0.95 --clip-coef 0.2 --no-anneal-clip "
                             "--no-clip-vloss --norm-adv --hidden 64,64 --activation relu"),
}
QUICK_STEPS = 4096  # of every work
PEER_RUNS = {
    "ppo_cartpole_solved": (),
    "ppo_cartpole_cleanrl": ("cleanrl_ppo.py",), "ppo_cartpole_zoo": ("sb3_cartpole.py", "ppo"),
    "dqn_cartpole_zoo": ("sb3_cartpole.py", "dqn"), "a2c_cartpole_zoo": ("sb3_cartpole.py", "a2c"),
    "sac_pendulum_rltools": ("rltools_pendulum.py", "sac"), "ppo_pendulum_rltools": ("rltools_pendulum.py", "ppo"),
}


def evaluations_of(folder):
    """(step, seconds of training, mean return) of each evaluation that a run made."""
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return [(each["step"], each["seconds"], each["mean_return"]) for each in summary.get("evaluations", [])]


def train_ours(options, report, work, threads, seed):
    algorithm, environment, steps, settings = OURS[work]
    steps = QUICK_STEPS if options.quick else steps
    # As learning_clock.py has it: fifty evaluations of ten episodes, whose time does not count. Where it is the whole process
    # that is timed, they are thrust's own, and count.
    evaluations = []
    if environment == "CartPole-v1" and "--stop-at" not in settings:
        evaluations = ["--eval-every", steps // 50, "--eval-episodes", 10]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch, "run")
        start = time.monotonic()
        text = run(report, f"{work}, ours, {threads} threads, seed {seed}",
                   [options.build / "bin" / "thrust", "train", algorithm, environment, *settings.split(), "--seed", seed,
                    "--threads", threads, "--total-timesteps", steps, "--run-dir", folder, "--json", *evaluations], threads, 900,
                   accepted=(0, 1) if "--stop-at" in settings else (0,))  # 1: it ran, and did not reach its mark
        wall = time.monotonic() - start
        if not text:
            return None
        ran = json.loads(text)
        result = {"work": work, "system": "ours", "threads": threads, "seed": seed, "seconds": ran["seconds"],
                  "setup_seconds": ran["setup_seconds"], "process_seconds": wall, "steps": ran["step"], "mark": None,
                  "mark_step": None, "mark_seconds": None, "final_return": None}
        if environment == "CartPole-v1":
            result["mark"] = 475.0
            for step, seconds, mean in evaluations_of(folder):
                if mean >= 475.0:
                    result["mark_step"], result["mark_seconds"] = step, seconds
                    break
        text = run(report, f"{work}, evaluation of ours",
                   [options.build / "bin" / "thrust", "eval", folder, "--episodes", 100, "--json"], threads, 300)
        if text:
            result["final_return"] = json.loads(text)["mean_return"]
        return result


def measure_learning(options, report):
    results, versions = [], {}
    has_peers = not options.skip_peers and options.peers_python.exists()
    for work, peer in PEER_RUNS.items():
        for seed in range(1, options.seeds + 1):
            for threads in options.threads:
                ours = train_ours(options, report, work, threads, seed)
                if ours:
                    results.append(ours)
            for threads in options.peer_threads if has_peers and peer else []:
                command = [options.peers_python, PEERS / peer[0], *peer[1:], "--threads", threads, "--seed", seed]
                command += ["--steps", QUICK_STEPS] if options.quick else []
                text = run(report, f"{work}, peer, {threads} threads, seed {seed}", command, threads, 900)
                if text:
                    results.append(json.loads(text.strip().splitlines()[-1]))
                    versions[results[-1]["system"]] = results[-1].pop("versions", "")
    return {"results": results, "versions": versions}


# ------------------------------------------------------------------------------------------------------------------ the page

def conditions(facts, versions, command, failures):
    lines = [f"- machine: {facts['name']} ({facts['family']}; {', '.join(facts['instructions'])}), Linux {facts['kernel']}",
             f"- built with {facts['compiler']}, release preset, commit `{facts['commit']}`, {facts['date']}",
             f"- command: `{command}`"]
    lines += [f"- {name}: {version}" for name, version in sorted(versions.items()) if version]
    lines += [f"- did not run: {failure}" for failure in failures]
    return "\n".join(lines) + "\n"


def throughput_text(record, goals):
    data = tables.Throughput(record["results"])
    parts = [conditions(record["machine"], record["versions"], record["command"], record["failures"])]
    for threads in data.threads():
        parts.append(f"### {threads} thread{'s' if threads > 1 else ''}\n\n" + tables.throughput_table(data, goals, threads))
    for title, table in (("### bf16", tables.bf16_table(data, goals)),
                         ("### Threads", tables.threads_table(data, goals)),
                         ("### Environments", tables.env_table(data, goals)),
                         ("### Launch", tables.launch_table(record.get("launch", []), goals))):
        if table:
            parts.append(title + "\n\n" + table)
    return "\n".join(parts)


def learning_text(record, goals):
    return (conditions(record["machine"], record["versions"], record["command"], record["failures"]) + "\n" +
            tables.learning_table(record["results"], goals))


def write_page(options, folder):
    goals = json.loads((ROOT / "bench" / "goals.json").read_text(encoding="utf-8"))
    page = options.page.read_text(encoding="utf-8")
    for name, text_from in (("throughput", throughput_text), ("learning", learning_text)):
        file = folder / f"{name}.json"
        if file.exists():
            text = text_from(json.loads(file.read_text(encoding="utf-8")), goals)
            page = tables.between_markers(page, name, text)
            print(text)
    options.page.write_text(page, encoding="utf-8")


def without_paths(arguments):
    """What a reader has to type; where this machine keeps things is nobody's business."""
    kept, skip = [], False
    for word in arguments:
        is_path = word.split("=")[0] in ("--build", "--peers-python", "--results", "--page")
        if not skip and not is_path:
            kept.append(shlex.quote(word))
        skip = is_path and "=" not in word
    return kept


def estimate(options):
    rounds = options.rounds * len(options.threads)
    seconds = 0 if options.only_learning else rounds * (25 if options.skip_peers else 75) * (0.2 if options.quick else 1)
    if not options.only_learning and not options.skip_peers and not options.skip_compile and not options.quick:
        seconds += 60 * len(options.threads)
    if options.learning:
        seconds += (60 if options.quick else 260) * options.seeds
    return seconds


def main():
    options = parse_arguments()
    facts, report = machine(), Report()
    folder = options.results or ROOT / "bench" / "results" / folder_name(facts)
    if not options.tables_only:
        if not (options.build / "bin" / "trainer_throughput").exists():
            raise SystemExit(f"error: there is no trainer_throughput in {options.build}/bin\n"
                             "  try: cmake --preset release && cmake --build --preset release")
        report.note(f"this takes about {estimate(options) / 60:.0f} minutes")
        command = " ".join(["bench/compare.py", *without_paths(sys.argv[1:])])
        folder.mkdir(parents=True, exist_ok=True)
        jobs = [("throughput", measure_throughput)] * (not options.only_learning) + [("learning", measure_learning)] * options.learning
        for name, measure in jobs:
            report.failures = []
            record = {"machine": facts, "command": command, **measure(options, report), "failures": report.failures}
            (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    write_page(options, folder)
    report.note(f"raw results: {folder}; page: {options.page}")


if __name__ == "__main__":
    main()
