#!/bin/sh
# Make the virtual environment of the first argument from the lock. Called by make; a second call makes it anew.
set -eu
venv=$1

python=
for candidate in "${PYTHON:-}" python3.11 python3.12 python3.13 python3; do
    if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "error: no Python 3.11, 3.12 or 3.13 found; install one, or name it: make PYTHON=/path/to/python" >&2
    exit 1
fi

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    # On Debian, this part of the standard library is a package of its own.
    package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    echo "setup: $python cannot make virtual environments without $package" >&2
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "setup: installing $package" >&2
        apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$package"
    else
        echo "error: install it (apt-get install $package) and run make again" >&2
        exit 1
    fi
fi

if [ -d "$venv" ] && [ ! -e "$venv/ready" ] && [ ! -e "$venv/made-by-optree" ]; then
    echo "error: $venv is an environment that make has not made; remove it, or give make another one: VENV=.venv-optree" >&2
    exit 1
fi
echo "setup: $("$python" --version) into $venv, about a minute"
"$python" -m venv --clear "$venv"
touch "$venv/made-by-optree"
pip() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-build-isolation "$@"; }
pip --require-hashes -r requirements/build.lock # two dependencies come as source, so their build tools are pinned, too
pip --require-hashes -r requirements/main.lock
pip --no-deps --editable .
echo "setup: done"
