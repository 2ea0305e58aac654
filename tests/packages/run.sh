#!/usr/bin/env bash
# Makes the Debian packages of BUILD and tries them in a clean root of this machine's own release: what each depends on,
# what works with which of them, and that nothing is left behind.
#
#   tests/packages/run.sh BUILD           minutes
#   tests/packages/run.sh BUILD --page    also follows docs/backend_authors.md in a second clean root, as a newcomer would
#
# Needs root (chroot, mount) and the distribution's mirror through apt. The clean root is made once, in build/packages/base.
set -euo pipefail
cd "$(dirname "$0")/../.."
[[ $# -eq 1 || ( $# -eq 2 && $2 == --page ) ]] || { echo "error: usage: $0 BUILD [--page]" >&2; exit 2; }
build=$(realpath "$1")
work=$PWD/build/packages
base=$work/base
root=$work/root

skip() { echo "skipped: $1"; exit 0; }
fail() { echo "error: $1" >&2; exit 1; }
say() { echo "-- $1"; }

[[ $(id -u) -eq 0 ]] || skip "only root can make a clean root file system"
command -v debootstrap >/dev/null || skip "debootstrap is not here"
unshare --mount true 2>/dev/null || skip "this machine does not let root mount anything (a container without the right to?)"
[[ -x $build/bin/thrust ]] || fail "there is nothing to package in $build; try: scripts/test.sh --only release"

# ---------------------------------------------------------------------------------------------------- packages

say "packages"
mkdir -p "$work"
rm -rf "$build/packages"
(cd "$build" && cpack -G DEB) >"$work/cpack.log" 2>&1 || { cat "$work/cpack.log" >&2; fail "cpack failed"; }

depends_on() {  # PACKAGE REGEX
  dpkg-deb -f "$build/packages/$1"_*.deb Depends | grep -Eq "$2" || fail "$1 does not depend on $2"
}
depends_on thrust '\blibstdc\+\+6 \(>= '
depends_on thrust-backend-cpu '\bthrust-abi-1 \(>= 1\.'
depends_on thrust-backend-cpu '\blibstdc\+\+6 \(>= '
with_vulkan=
if [[ -e $build/lib/thrust/plugins/libthrust_backend_vulkan.so ]]; then
  with_vulkan=yes
  depends_on thrust-backend-vulkan '\bthrust-abi-1 \(>= 1\.'
  depends_on thrust-backend-vulkan '\blibvulkan1\b'
  [[ $(dpkg-deb -f "$build/packages"/thrust-backend-vulkan_*.deb Recommends) == "mesa-vulkan-drivers | vulkan-icd" ]] ||
    fail "thrust-backend-vulkan does not recommend a driver"
fi
depends_on thrust-backend-reference '\bthrust-abi-1 \(>= 1\.'
depends_on thrust-sdk '\bthrust-backend-reference \(= '
! dpkg-deb -f "$build/packages"/thrust-backend-cpu_*.deb Depends | grep -q dnnl || fail "the CPU backend depends on oneDNN"
[[ $(dpkg-deb -f "$build/packages"/thrust_*.deb Recommends) == "thrust-backend-cpu | thrust-backend" ]] ||
  fail "thrust does not recommend a backend"

# Somebody else's backend: the template, built against the package, and packed without any of our files.
say "a third backend, from the sdk's package"
other=$work/other
rm -rf "$other"
mkdir -p "$other/sdk" "$other/deb/DEBIAN" "$other/deb/usr/lib/thrust/plugins"
dpkg-deb -x "$build/packages"/thrust-sdk_*.deb "$other/sdk"
cmake -G Ninja -S "$other/sdk/usr/share/thrust/template" -B "$other/build" -DCMAKE_PREFIX_PATH="$other/sdk/usr" >/dev/null
cmake --build "$other/build" >/dev/null
cp "$other/build/libthrust_backend_mybackend.so" "$other/deb/usr/lib/thrust/plugins/"
cat >"$other/deb/DEBIAN/control" <<CONTROL
Package: thrust-backend-mybackend
Version: 0.1.0
Architecture: $(dpkg --print-architecture)
Maintainer: Nobody <nobody@example.invalid>
Depends: thrust-abi-1 (>= 1.0), libc6, libstdc++6
Description: a backend of somebody else
CONTROL
dpkg-deb --root-owner-group --build "$other/deb" "$other/thrust-backend-mybackend.deb" >/dev/null

# --------------------------------------------------------------------------------------------------- clean root

. /etc/os-release
eval "$(apt-config shell proxy Acquire::http::Proxy)"
[[ -z ${proxy:-} ]] || export http_proxy=$proxy

# The mirror, release and components that this machine's apt uses for the release itself.
read -r mirror suite components < <(
  apt-get indextargets --format '$(SITE) $(CODENAME) $(SUITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v name="$VERSION_CODENAME" '$4 == name { site[$1] = site[$1] (site[$1] == "" ? "" : ",") $NF }
      END { for (s in site) if (site[s] ~ /main/) { print s, name, site[s]; exit } }') ||
  fail "apt knows no mirror for $VERSION_CODENAME; try: apt-get update"

if [[ ! -e $base/made ]]; then
  say "a clean root: $suite from $mirror"
  rm -rf "$base"
  debootstrap --variant=minbase --components="$components" "$suite" "$base" "$mirror" >"$work/debootstrap.log" 2>&1 ||
    { tail -5 "$work/debootstrap.log" >&2; fail "debootstrap failed; $work/debootstrap.log has all"; }
  touch "$base/made"
fi
new_root() {
  rm -rf "$root"
  cp -a --reflink=auto "$base" "$root"
  cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
  [[ -z ${proxy:-} ]] || echo "Acquire::http::Proxy \"$proxy\";" >"$root/etc/apt/apt.conf.d/99proxy"
  mkdir "$root/packages"
  cp "$build/packages"/*.deb "$other"/*.deb "$root/packages"
  apt update
}

# In a mount namespace of its own: /proc is gone with the command, whatever happens to it.
inside() {
  unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" /usr/bin/env -i \
    PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"' "$root" "$@"
}
apt() {
  inside apt-get -qq -y --no-install-recommends "$@" >"$work/apt.log" 2>&1 ||
    { cat "$work/apt.log" >&2; fail "apt-get $* failed"; }
}
backends() { inside thrust backends --json | sed -n 's/^ *"id": "\([a-z_]*\)".*/\1/p' | sort | tr '\n' ' '; }
expect_backends() {  # WHEN ID...
  local found
  found=$(backends)
  [[ $found == "$2" ]] || fail "$1, thrust lists: $found; expected: $2"
}
deb() { (cd "$root" && printf '/%s' packages/"$1"_*.deb); }  # the path of a package, as inside() sees it
# Caches, logs and dpkg's own records aside.
files() { (cd "$root" && find usr etc opt srv var/lib -xdev -not -path 'var/lib/dpkg/*' -not -path 'var/lib/apt/*' | sort); }

new_root
files >"$work/before"

# --------------------------------------------------------------------------------------------------------- trials

say "the binary alone"
apt install "$(deb thrust)"
expect_backends "with the binary alone" ""
if inside thrust train ppo CartPole-v1 >"$work/out" 2>"$work/err"; then fail "a training without a backend succeeded"; fi
grep -q '^error: ' "$work/err" && grep -q 'no backend was found' "$work/err" ||
  { cat "$work/err" >&2; fail "a training without a backend does not say that there is none"; }

say "with the CPU backend: train and evaluate"
apt install "$(deb thrust-backend-cpu)"
expect_backends "with the CPU backend" "cpu "
inside thrust train ppo CartPole-v1 --total-timesteps 4096 --run-dir /tmp/run >"$work/out" ||
  { cat "$work/out" >&2; fail "the training failed"; }
grep -q '^backend cpu:0 .*plugin /usr/lib/' "$work/out" || fail "the training did not run on the packaged backend"
inside thrust eval /tmp/run --episodes 5 --json | grep -q '"mean_return":[0-9]' || fail "the evaluation has no mean return"

say "three backends, and one removed"
apt install "$(deb thrust-backend-reference)" /packages/thrust-backend-mybackend.deb
expect_backends "with three backends" "cpu mybackend reference "
apt remove thrust-backend-reference
expect_backends "with the reference backend removed" "cpu mybackend "

say "the sdk brings the reference backend back, and judges"
if inside dpkg -i "$(deb thrust-sdk)" >/dev/null 2>&1; then
  fail "dpkg took the sdk without the reference backend"
fi
apt purge thrust-sdk
apt install "$(deb thrust-sdk)" \
  "$(deb thrust-backend-reference)"
expect_backends "with the sdk" "cpu mybackend reference "
inside thrust-conformance --plugin /usr/lib/thrust/plugins/libthrust_backend_cpu.so --filter add >"$work/out" 2>&1 ||
  { tail -30 "$work/out" >&2; fail "the cpu backend does not pass the suite's cases of 'add'"; }

if [[ -n $with_vulkan ]]; then
  say "the Vulkan backend: without a driver it says what to install, with lavapipe it trains"
  apt install "$(deb thrust-backend-vulkan)"
  expect_backends "with the Vulkan backend" "cpu mybackend reference vulkan "
  if inside thrust train ppo CartPole-v1 --backend vulkan >"$work/out" 2>"$work/err"; then
    fail "a training on Vulkan without a driver succeeded"
  fi
  grep -q 'mesa-vulkan-drivers' "$work/err" || { cat "$work/err" >&2; fail "it does not say what to install"; }
  apt install mesa-vulkan-drivers
  inside thrust train ppo CartPole-v1 --backend vulkan:llvmpipe --total-timesteps 1024 --run-dir /tmp/vulkan >"$work/out" ||
    { cat "$work/out" >&2; fail "the training on lavapipe failed"; }
  grep -q '^backend vulkan:0 (llvmpipe' "$work/out" || fail "the training did not run on lavapipe"
fi

say "all removed"
inside dpkg --remove --dry-run thrust >/dev/null 2>&1 && fail "thrust could go while backends depend on it"
apt purge thrust thrust-sdk thrust-backend-cpu thrust-backend-reference thrust-backend-mybackend \
  ${with_vulkan:+thrust-backend-vulkan libvulkan1 mesa-vulkan-drivers}
apt autoremove --purge
files >"$work/after"
diff "$work/before" "$work/after" || fail "the packages left files behind, or took some along"

if [[ ${2:-} == --page ]]; then
  say "docs/backend_authors.md, from the packages to a backend that passes"
  new_root
  apt install python3-minimal libpython3-stdlib
  cp tests/docs/run_page.py docs/backend_authors.md "$root/packages"
  inside python3 /packages/run_page.py --root --replace ./thrust=/packages/thrust /packages/backend_authors.md \
    >"$work/page.log" 2>&1 || { tail -40 "$work/page.log" >&2; fail "the page does not do what it says"; }
  tail -1 "$work/page.log"
fi
rm -rf "$root"
echo "packages: $(cd "$build/packages" && ls -- *.deb | tr '\n' ' ')"
