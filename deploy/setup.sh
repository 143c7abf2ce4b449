#!/usr/bin/env bash
# setup.sh - installs what Syncopate needs and this machine lacks, from Debian's packages.
#
#     deploy/setup.sh build     what compiles and runs the programs
#     deploy/setup.sh check     and what the tests need
#     deploy/setup.sh bench     what compiles and runs the programs, and the benchmarks
#     deploy/setup.sh ci        and what the continuous checks need (sanitizers, formatting)
#     deploy/setup.sh deb       what compiles and runs the programs, and makes a Debian package of them
#     deploy/setup.sh engines   what compiles and runs the programs, and the engines that start jobs on
#                               several hosts, as tests/engines tries them; none of their daemons is started
#
# Nothing is done, and fast, when all is there. Otherwise: as root, or through sudo, after saying
# what is missing and what it is for. On a system without apt it lists what to install, and goes on
# when pkg-config and the tools are found all the same. It never waits for an answer, except that
# sudo may ask for a password when a person sits at a terminal.
#
# Exit code: 0 when the build can go on, 1 when it cannot.
set -euo pipefail

# One row a package: what for, its Debian name, and a proof that it is there for systems that name
# their packages otherwise (lib:NAME for pkg-config, tool:NAME for a program, any:- for no proof).
table_build=(
    "compiler          gcc                    tool:gcc"
    "compiler          libc6-dev              any:-"
    "build             make                   tool:make"
    "build             pkg-config             tool:pkg-config"
    "messages          libzmq3-dev            lib:libzmq"
    "message_headers   libprotobuf-c-dev      lib:libprotobuf-c"
    "message_headers   protobuf-c-compiler    tool:protoc-c"
    "packed_data_files zlib1g-dev             lib:zlib"
    "run.json          libjansson-dev         lib:jansson"
    "digests           libsodium-dev          lib:libsodium"
    "SHA-256           nettle-dev             lib:nettle"
    "metrics_over_HTTP libmicrohttpd-dev      lib:libmicrohttpd"
    "training_images   dataset-fashion-mnist  any:-"
)
table_check=(
    "unit_tests        check                  lib:check"
    "network_tests     iproute2               tool:ip"
    "process_tests     procps                 tool:ps"
    "manual_tests      mandoc                 tool:mandoc"
)
table_bench=(
    "matrix_arithmetic libopenblas-dev        lib:openblas"
    "network_limit     iperf3                 tool:iperf3"
    "network_limit     iproute2               tool:ip"
)
table_ci=(
    "second_compiler   clang                  tool:clang"
    "formatting        clang-format           tool:clang-format"
    "analysis          clang-tidy             tool:clang-tidy"
    "analysis          cppcheck               tool:cppcheck"
    "scripts           shellcheck             tool:shellcheck"
    "sanitizers        libclang-rt-dev        any:-"
    "completion_tests  zsh                    tool:zsh"
    "completion_tests  fish                   tool:fish"
    "page_tests        chromium               tool:chromium"
    "page_tests        chromium-driver        tool:chromedriver"
    "page_tests        python3-selenium       any:-"
    "table_tests       texlive-latex-recommended any:-"
    "TensorBoard_tests python3-protobuf       any:-"
    "Python_client     python3-zmq            any:-"
    "float64_reference python3-numpy          any:-"
    "Python_programs   python3-torch          any:-"
    "Python_package    python3-venv           any:-"
    "package_tests     lintian                tool:lintian"
    "readers_of_ours   python3                tool:python3"
    "unit_tests        strace                 tool:strace"
    "a_bare_machine    debootstrap            tool:debootstrap"
)

table_deb=(
    "Debian_package    debhelper              tool:dh"
    "Debian_package    dpkg-dev               tool:dpkg-buildpackage"
)

table_engines=(
    "several_hosts     iproute2               tool:ip"
    "Slurm             slurm-wlm              tool:slurmctld"
    "Slurm             munge                  tool:munged"
    "Open_MPI          openmpi-bin            tool:mpirun"
    "ssh               openssh-server         any:-"
    "ssh               openssh-client         tool:ssh"
    "pods              podman                 tool:podman"
    "containers        runc                   tool:runc"
    "container_network netavark               any:-"
    "container_network iptables               tool:iptables"
    "container_names   aardvark-dns           any:-"
    "first_in_a_pod    catatonit              any:-"
    "images            buildah                tool:buildah"
    "user_namespaces   uidmap                 tool:newuidmap"
    "manifests         python3-yaml           any:-"
    "programs          python3-numpy          any:-"
    "compose           podman-compose         tool:podman-compose"
    "systemd_units     systemd                tool:systemd-analyze"
    "metrics_format    prometheus             tool:promtool"
)
# Services of theirs that stay as they are while packages are installed: the tests start their own.
quiet_services='munge slurmctld slurmd slurmdbd ssh podman podman-auto-update podman-restart prometheus'

usage()
{
    echo "usage: setup.sh build|check|bench|ci|deb|engines" >&2
    exit 2
}

# Names of the wanted packages that dpkg does not have installed, one a line.
missing_packages()
{
    local installed row what name proof
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null |
        sed -n 's/^installed //p')
    for row in "${rows[@]}"; do
        read -r what name proof <<<"$row"
        grep -qxF "$name" <<<"$installed" || echo "$name"
    done
}

# Rows whose proof fails: the packages that are truly not there, under any name.
unproven_rows()
{
    local row what name proof
    for row in "${rows[@]}"; do
        read -r what name proof <<<"$row"
        case $proof in
        tool:*) command -v "${proof#tool:}" >/dev/null 2>&1 || echo "$row" ;;
        lib:*) pkg-config --exists "${proof#lib:}" 2>/dev/null || echo "$row" ;;
        esac
    done
}

what_for()
{
    local row what name proof
    for row in "${rows[@]}"; do
        read -r what name proof <<<"$row"
        if [ "$name" = "$1" ]; then echo "${what//_/ }"; fi
    done
}

# The prefix that makes a command run as root, in the array `as_root`; fails when there is none.
find_root()
{
    as_root=()
    if [ "$(id -u)" -eq 0 ]; then return 0; fi
    command -v sudo >/dev/null 2>&1 || return 1
    as_root=(sudo -n)
    if sudo -n true 2>/dev/null; then return 0; fi
    if [ -t 0 ] && [ -t 2 ]; then
        as_root=(sudo)
        return 0
    fi
    return 1
}

# On a release that lacks one of the packages the others are still worth installing.
keep_available()
{
    local name
    for name in "$@"; do
        if apt-cache show --no-all-versions "$name" >/dev/null 2>&1; then
            echo "$name"
        else
            echo "setup: $name is not among this system's packages; going on without it" >&2
        fi
    done
}

# What apt-get says, on standard input, goes to $log; how much there is to fetch is said, and on a
# terminal how far it is, on a line that is written over.
show_progress()
{
    local line kind percent text
    while IFS= read -r line; do
        case $line in
        dlstatus:* | pmstatus:*)
            if [ ! -t 1 ]; then continue; fi
            IFS=: read -r kind _ percent text <<<"$line"
            if [ "$kind" = dlstatus ]; then kind=fetching; else kind=installing; fi
            printf '\r\033[K%.79s' "setup: $kind, ${percent%.*} %: $text"
            ;;
        *)
            echo "$line" >>"$log"
            if [[ $line =~ ^Need\ to\ get\ (.*)\ of\ archives ]]; then
                if [ -t 1 ]; then printf '\r\033[K'; fi
                echo "setup: fetching ${BASH_REMATCH[1]}"
            fi
            ;;
        esac
    done
    if [ -t 1 ]; then printf '\r\033[K'; fi
}

# Debian starts a service when its package is installed, unless this file forbids it.
policy=/usr/sbin/policy-rc.d
forbid_services()
{
    if [ -e "$policy" ]; then return 0; fi # The administrator has decided already.
    "${as_root[@]}" sh -c "umask 022 && cat >$policy && chmod 755 $policy" <<EOF || return 0
#!/bin/sh
# Until deploy/setup.sh of Syncopate has ended.
case " $quiet_services " in *" \${1%.service} "*) exit 101 ;; esac
EOF
    policy_is_ours=1
}
allow_services()
{
    if [ -n "$policy_is_ours" ]; then "${as_root[@]}" rm -f "$policy"; fi
    policy_is_ours=
}

install_packages()
{
    local apt=(env DEBIAN_FRONTEND=noninteractive LC_ALL=C
        apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0) available
    "${as_root[@]}" "${apt[@]}" update >"$log" 2>&1 || {
        tail -n 3 "$log" >&2
        echo "setup: apt-get update failed; trying with the lists that are here" >&2
    }
    mapfile -t available < <(keep_available "$@")
    if [ "${#available[@]}" -eq 0 ]; then return 0; fi
    : >"$log"
    # The status has a descriptor of its own: apt-get closes it for the packages' scripts, and those without a
    # standard output fail. (A shell opens it, for sudo keeps none but the first three.)
    # </dev/null: questions get no answer.
    # shellcheck disable=SC2016 # For the inner shell.
    "${as_root[@]}" sh -c 'exec "$@" 3>&1' sh "${apt[@]}" -o APT::Status-Fd=3 install -y --no-install-recommends \
        "${available[@]}" </dev/null 2>&1 | show_progress && return 0
    tail -n 20 "$log" >&2
    return 1
}

main()
{
    local missing=() unproven=() name row what proof
    mapfile -t missing < <(if command -v dpkg-query >/dev/null 2>&1; then missing_packages; else echo .; fi)
    if [ "${#missing[@]}" -eq 0 ]; then return 0; fi

    if command -v apt-get >/dev/null 2>&1 && command -v dpkg-query >/dev/null 2>&1; then
        echo "setup: missing here, from Debian's packages:"
        for name in "${missing[@]}"; do printf 'setup:   %-22s %s\n' "$name" "$(what_for "$name")"; done
        if find_root; then
            echo "setup: installing them with ${as_root[*]:+${as_root[*]} }apt-get install"
            if [ "$wanted" = engines ]; then forbid_services; fi
            if install_packages "${missing[@]}"; then
                echo "setup: done"
            else
                echo "setup: apt-get failed" >&2
            fi
            allow_services
        else
            echo "setup: needs root; run:" >&2
            fold -s -w 76 <<<"sudo apt-get install -y --no-install-recommends ${missing[*]}" |
                sed -e 's/^/    /' -e '$!s/$/\\/' >&2
        fi
    fi

    mapfile -t unproven < <(unproven_rows)
    if [ "${#unproven[@]}" -eq 0 ]; then return 0; fi
    echo "setup: cannot go on without these; install them in this system's own way:" >&2
    for row in "${unproven[@]}"; do
        read -r what name proof <<<"$row"
        printf 'setup:   %-20s %-17s (looked for %s)\n' "$name" "${what//_/ }" "$proof" >&2
    done
    return 1
}

case ${1-} in
build) rows=("${table_build[@]}") ;;
check) rows=("${table_build[@]}" "${table_check[@]}") ;;
bench) rows=("${table_build[@]}" "${table_bench[@]}") ;;
ci) rows=("${table_build[@]}" "${table_check[@]}" "${table_bench[@]}" "${table_deb[@]}" "${table_ci[@]}") ;;
deb) rows=("${table_build[@]}" "${table_deb[@]}") ;;
engines) rows=("${table_build[@]}" "${table_engines[@]}") ;;
*) usage ;;
esac
wanted=$1 as_root=() policy_is_ours=
log=$(mktemp) # What apt-get says.
trap 'rm -f "$log"; allow_services' EXIT
main
