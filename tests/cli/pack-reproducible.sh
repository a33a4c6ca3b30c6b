#!/bin/bash
# The same input gives the same bytes, for any name, folder, time, locale and user limits.
. "$TOP/tests/cli/common.sh"

many_functions 100 >many.ll
make_program lld app ./many.ll
cp app raw
expect_status 0 "$stackpack" pack -o first app
mkdir -p some/where/else
cp raw some/where/else/another-name
touch -d 2001-02-03 some/where/else/another-name
sleep 1.1
(
  cd some/where/else
  TZ=Asia/Tokyo LC_ALL=C.UTF-8 MALLOC_PERTURB_=85 HOME=/ expect_status 0 "$stackpack" pack another-name
)
expect_same first some/where/else/another-name
MALLOC_PERTURB_=170 expect_status 0 "$stackpack" pack --quiet app
expect_same first app
