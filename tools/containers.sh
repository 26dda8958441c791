#!/usr/bin/env bash
# What the end-to-end tests need, on a bare Debian machine as root, without a Docker daemon and without an image
# registry: podman, and a base image made of Debian's packages under the name that the Dockerfile asks for.
#
#   tools/containers.sh set-up          install podman and make the base image, where they are not there
#   tools/containers.sh environment     print the variables that podman, and Docker's clients, need
#   tools/containers.sh build TAG       build the Dockerfile
#   tools/containers.sh size TAG        print how large that image is
#   tools/containers.sh socket start    a Docker-compatible socket, for act; `socket stop` ends it
#
# Everything that is made lies in $E2E (default: /tmp/rollout-compare-e2e); images lie in podman's own store.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export E2E=${E2E:-/tmp/rollout-compare-e2e}
export CONTAINERS_CONF=$E2E/containers.conf
SOCKET=$E2E/podman.sock
LOCAL_BASE=localhost/python:3.13-slim
BASE=docker.io/library/$(sed -n 's/^ARG BASE_IMAGE=//p' Dockerfile)
mkdir -p "$E2E"

fail() {
    echo "tools/containers.sh: $1" >&2
    exit 1
}

install_packages() {
    local wanted=() package
    for package in podman podman-docker runc netavark aardvark-dns iptables uidmap mmdebstrap; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || wanted+=("$package")
    done
    if [ ${#wanted[@]} -gt 0 ]; then
        [ "$(id -u)" = 0 ] || fail "podman is not there, and only root can install it"
        command -v apt-get >/dev/null || fail "podman is not there, and neither is apt-get to install it with"
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${wanted[@]}" >/dev/null
    fi
    local most
    most=$(ulimit -Hn)
    [ "$most" = unlimited ] && most=1048576
    # runc: crun fails where both versions of cgroups are mounted. Limits: podman's own need a capability that a
    # container may lack.
    cat >"$CONTAINERS_CONF" <<CONF
[containers]
default_ulimits = ["nofile=$most:$most", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
CONF
}

make_base() {
    if ! podman image exists "$LOCAL_BASE"; then
        local archive=$E2E/rootfs.tar context index
        # Under another name until it is whole: what a cancelled run leaves must not be taken for it.
        if [ ! -s "$archive" ]; then
            mmdebstrap --quiet --variant=essential --include=ca-certificates,python3,python3-venv,python3-pip \
                --aptopt='Acquire::Languages "none"' --dpkgopt='path-exclude=/usr/share/man/*' \
                --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
                trixie "$E2E/rootfs.part.tar"
            mv "$E2E/rootfs.part.tar" "$archive"
        fi
        podman import -q --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
            --change 'ENV LANG=C.UTF-8' --change 'CMD ["python3"]' "$archive" "$LOCAL_BASE-raw"
        context=$(mktemp -d)
        # What this machine trusts, and where its pip is told to look: a build inside of it needs the same.
        cp /etc/ssl/certs/ca-certificates.crt "$context/host-ca.crt"
        index=${PIP_INDEX_URL:-$(python3 -m pip config get global.index-url 2>/dev/null || true)}
        {
            echo '[global]'
            echo 'cert = /etc/ssl/certs/ca-certificates.crt'
            echo 'disable-pip-version-check = true'
            [ -z "$index" ] || echo "index-url = $index"
        } >"$context/pip.conf"
        cat >"$context/Containerfile" <<CONTAINERFILE
FROM $LOCAL_BASE-raw
COPY host-ca.crt /etc/ssl/certs/ca-certificates.crt
COPY pip.conf /etc/pip.conf
RUN ln -sf python3 /usr/bin/python && rm -f /usr/lib/python3.*/EXTERNALLY-MANAGED
CONTAINERFILE
        podman build -q -t "$LOCAL_BASE" "$context"
        rm -rf "$context"
    fi
    # Who has the real one keeps it.
    podman image exists "$BASE" || podman tag "$LOCAL_BASE" "$BASE"
}

size() {
    local whole base
    whole=$(podman image inspect --format '{{.Size}}' "$1")
    base=$(podman image inspect --format '{{.Size}}' "$BASE")
    echo "$1: $(((whole + 500000) / 1000000)) MB, $(((whole - base + 500000) / 1000000)) MB of them above the base"
}

socket() {
    case $1 in
    start)
        setsid nohup podman system service --time=0 "unix://$SOCKET" >"$E2E/service.log" 2>&1 </dev/null &
        echo $! >"$E2E/service.pid"
        for _ in $(seq 50); do
            [ -S "$SOCKET" ] && timeout 10 podman --remote --url "unix://$SOCKET" version >/dev/null 2>&1 && return
            sleep 0.2
        done
        fail "the socket does not answer"
        ;;
    stop)
        [ ! -f "$E2E/service.pid" ] || kill "$(cat "$E2E/service.pid")" 2>/dev/null || true
        rm -f "$SOCKET" "$E2E/service.pid"
        ;;
    *) fail "socket start, or socket stop" ;;
    esac
}

case ${1:-} in
set-up)
    install_packages
    make_base
    ;;
environment) printf 'CONTAINERS_CONF=%s\nDOCKER_HOST=unix://%s\n' "$CONTAINERS_CONF" "$SOCKET" ;;
build) podman build --pull=never --network host -q -t "${2:?a tag}" . ;;
size) size "${2:?a tag}" ;;
socket) socket "${2:-}" ;;
*) fail "set-up, environment, build TAG, size TAG, or socket start|stop" ;;
esac
