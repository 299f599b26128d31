#!/bin/sh
# Unpack the archive of the repository into /opt/optree, make its environment, and compile all kernels.
# Both images run this script. It needs a package index, and nothing else of a network. The machine code is in a folder
# of its own, because Apptainer's jobs run in a clone of the repository.
set -eu
mkdir -p /opt/optree
tar -xf "$1" -C /opt/optree
cd /opt/optree
sh workflow/setup.sh /opt/venv
OPTREE_MACHINE_CODE=/opt/kernels /opt/venv/bin/python -m optree.compile
chmod -R a+rX /opt/optree /opt/venv /opt/kernels
