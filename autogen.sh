#!/bin/sh
# Makes ./configure from configure.ac; then: mkdir build; cd build; ../configure
cd "$(dirname "$0")" && mkdir -p m4 && exec autoreconf -fi
