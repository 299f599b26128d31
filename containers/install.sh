#!/bin/sh
# Unpack the archive of the repository into /opt/optree, make its environment, and compile all kernels.
# Both images run this script. It needs a package index, and nothing else of a network.
set -eu
mkdir -p /opt/optree
tar -xf "$1" -C /opt/optree
cd /opt/optree
sh workflow/setup.sh /opt/venv
/opt/venv/bin/python -m optree.compile # the machine code is kept beside the package
chmod -R a+rX /opt/optree /opt/venv
