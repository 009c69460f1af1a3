# SPDX-License-Identifier: BSD-2-Clause
# cmake -DIN=FILE -DOUT=FILE.c -DNAME=SYMBOL -P embed.cmake: a text as a C string.
file(READ ${IN} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
# A line of C for each line of text.
string(REPLACE "0x0a," "0x0a,\n" bytes "${bytes}")
file(WRITE ${OUT} "const char ${NAME}[] = {\n${bytes}0};\n")
