#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# rows.pl DIRECTORY COMMAND... - a script over the text of the programs in DIRECTORY/bin and
# DIRECTORY/sbin.  It looks the event up in the lists of cpustat -h, and adds up the exit rows of
# cputrack.  Prints the sum.
use strict;
use warnings;

my ($dir, @command) = @ARGV;
my (%known, $sum);

open(my $help, '-|', "$dir/sbin/cpustat", '-h') or die "cpustat: $!\n";
while (<$help>) {
	next unless /^\s+event\[*[0-9]-*[0-9]*\]*: / ... /^$/;
	$known{$_} = 1 for split;
}
close($help) or die "cpustat: $?\n";
die "no page-faults\n" unless $known{'page-faults'};

open(my $rows, '-|', "$dir/bin/cputrack", '-ef', '-c', 'pic0=page-faults', @command)
	or die "cputrack: $!\n";
while (<$rows>) {
	my ($time, $pid, $lwp, $event, $pic0) = split;
	$sum += $pic0 if $event eq 'exit';
}
close($rows) or die "cputrack: $?\n";
print "$sum\n";
