# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# awk -f join.awk page.html read.py model.py series.py plot.py chart.py page.py write.py main.py
#
# Prints the program: page.html as the string PAGE, and the parts without what they import from each other.
BEGIN { parts = " read model series plot chart page write " }
FILENAME ~ /\.html$/ { page = page $0 "\n"; next }
/^from / && index(parts, " " $2 " ") { next }
FNR <= 4 && FILENAME !~ /read\.py$/ && /^# (SPDX|Copyright)/ { next }
FNR == 1 && FILENAME !~ /read\.py$/ { print "" }
/^import / && seen[$0]++ { next }
{ print }
FILENAME ~ /read\.py$/ && /^import sys/ { printf "\nPAGE = r\"\"\"%s\"\"\"\n", page }
