#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# The unit cpustat-export: its file, and what it counts in its sandbox, run by systemd.

# shellcheck disable=SC2154 # run sets status, output, stderr

load helpers

setup() {
	common_setup
	UNIT=$T/cpustat-export.service
}

teardown() {
	common_teardown
	# shellcheck disable=SC2086 # several words
	[ -z "${GROUPS_MADE-}" ] || find $GROUPS_MADE -depth -type d -exec rmdir {} +
}

@test "systemd accepts the unit file" {
	need_command systemd-analyze
	[ -x /usr/local/bin/cpustat ] || sed "s,/usr/local/bin/,$CPC_BUILD/," "$CPC_BUILD/cpustat-export.service" >"$UNIT"
	[ -e "$UNIT" ] || cp "$CPC_BUILD/cpustat-export.service" "$UNIT"
	go -0 systemd-analyze verify --man=no "$UNIT"
	[[ $stderr != *cpustat-export* ]]
	go -0 systemd-analyze security --offline=yes --no-pager --threshold=29 "$UNIT"
}

# The hierarchies of cgroups that systemd gets, with a cgroup of our own in each. Since version 258
# systemd refuses those of version 1.
make_groups() {
	local at name=export-$$ version hierarchies=(/sys/fs/cgroup{,/unified,/systemd,/memory,/pids})
	GROUPS_MADE=
	read -r _ version _ < <(systemctl --version)
	[ "${version%%[!0-9]*}" -lt 258 ] || hierarchies=(/sys/fs/cgroup{,/unified})
	for at in "${hierarchies[@]}"; do
		[ -e "$at/cgroup.procs" ] || continue
		mkdir "$at/$name"
		GROUPS_MADE+=" $at/$name"
	done
	[ -n "$GROUPS_MADE" ] || skip "no cgroups are mounted that systemd supports"
}

# Runs in namespaces of its own, as process 1.
# shellcheck disable=SC2016 # for the inner shell
SYSTEMD='set -eu
	mount --make-rprivate /
	mount -t proc proc /proc
	umount -l /sys/fs/cgroup
	if [ "${GROUPS_MADE% *}" = "" ]; then
		mount -t cgroup2 cgroup2 /sys/fs/cgroup
	else
		mount -t tmpfs tmpfs /sys/fs/cgroup
		for at in $GROUPS_MADE; do
			at=${at%/*}
			mkdir $at
			case $at in
			*/unified) mount -t cgroup2 cgroup2 $at ;;
			*/systemd) mount -t cgroup -o none,name=systemd cgroup $at ;;
			*) mount -t cgroup -o ${at##*/} cgroup $at ;;
			esac
		done
	fi
	mount -t tmpfs tmpfs /run
	mkdir -p /run/systemd/system/cpustat-export.service.d
	cp $CPC_BUILD/cpustat /run # the sandbox hides some other directories
	sed "s,/usr/local/bin/,/run/," $CPC_BUILD/cpustat-export.service >/run/systemd/system/cpustat-export.service
	printf "[Unit]\nDefaultDependencies=no\n[Service]\nEnvironment=CPUSTAT_SECONDS=0.2 CPUSTAT_LISTEN=127.0.0.1:0\nStandardError=file:/run/log\n" \
		>/run/systemd/system/cpustat-export.service.d/test.conf
	printf "[Unit]\nDefaultDependencies=no\nWants=cpustat-export.service\n" >/run/systemd/system/test.target
	eventually() {
		i=0
		until "$@" || grep -qv listening /run/log; do
			i=$((i + 1))
			[ $i -le 600 ] || { echo "never came true: $*"; return 1; }
			sleep 0.1
		done
	}
	read_counts() {
		python3 -c "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())" \
			"$(sed -n "s/^cpustat: listening on //p" /run/log)" >/run/prom && grep -q cpc_events_total /run/prom
	}
	faults() {
		awk "/^cpc_events_total.*\"page-faults\"/ { n += \$NF } END { print n + 0 }" /run/prom
	}
	counted() {
		read_counts && [ "$(faults)" -ge "$1" ] &&
			grep -q "^cpc_events_seconds_total.*kind=\"kernel\".* [0-9.]*[1-9]" /run/prom
	}
	(
		trap "cat /run/log >\"\$T/log\" || :; systemctl exit 0" EXIT
		eventually grep -q listening /run/log
		eventually read_counts # all is new: 0
		read_counts
		touched=$(($(faults) + 1000))
		"$WORK/touch-pages" 1000
		eventually counted $touched
		cat /run/prom >"$T/prom"
		grep -E "^(CapEff|NoNewPrivs|Seccomp):" /proc/$(pidof -s cpustat)/status >"$T/status"
		systemctl stop cpustat-export
		! read_counts
		: >"$T/stopped"
	) >"$T/inner" 2>&1 &
	export container=test
	exec /lib/systemd/systemd --system --unit=test.target --show-status=0'

@test "run by systemd, it counts in its sandbox, and serves the counts" {
	need_keys
	need_command systemctl unshare pidof
	[ -x /lib/systemd/systemd ] || skip "there is no systemd"
	make_groups
	export GROUPS_MADE CPC_BUILD WORK T
	# shellcheck disable=SC2016 # for the inner shell
	go sh -c 'for group in $GROUPS_MADE; do echo $$ >$group/cgroup.procs; done
		exec unshare -p -m -u -i -C --fork --kill-child sh -c "$0"' "$SYSTEMD"
	cat "$T/inner" "$T/log"
	[ -e "$T/stopped" ]
	# Other tests move LWPs that run, too; that is counted, and no loss.
	[ "$(sed '/ a running LWP changed its service unnoticed/d; /listening on/d' "$T/log")" = "" ]
	# CAP_PERFMON, CAP_BPF
	diff <(tr -s '\t ' ' ' <"$T/status") <(printf '%s\n' "CapEff: 000000c000000000" "NoNewPrivs: 1" "Seccomp: 2")
	awk '/^cpc_events_total.*"page-faults"/ { n += $NF } /^cpc_counted_cpus / { cpus = $2 }
		/^cpc_events_seconds_total.*kind="kernel"/ { kernel = $NF }
		END { exit n < 1000 || cpus != '"$(nproc)"' || kernel == 0 }' "$T/prom"
	grep -q 'service="cpustat-export.service"\|service="/export-' "$T/prom"
}
