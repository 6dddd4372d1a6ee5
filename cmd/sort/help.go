// SPDX-License-Identifier: Apache-2.0

package sort

// Help is the text of --help. The letter h is an ordering option.
const Help = `NAME:
   freehold sort - sort lines within a memory budget, with the output of LC_ALL=C sort

USAGE:
   freehold sort [options] [FILE...]
   freehold sort [options] --files0-from=FILE

DESCRIPTION:
   Writes the lines of all files in order. Without a file, or for the file -, it reads the standard input.
   Lines compare as bytes. Options are those of GNU sort, and two more: --compress and --json-key.

   Exit status: 0 sorted; 1 with -c or -C, and the input is out of order; 2 an error.

OPTIONS OF THE ORDER, for the command or for one key:
   -b, --ignore-leading-blanks   ignore leading blanks when a key is looked for
   -d, --dictionary-order        compare only blanks, letters and digits
   -f, --ignore-case             compare small letters as capital letters
   -h, --human-numeric-sort      compare numbers with units: 2K before 1G
   -i, --ignore-nonprinting      compare only printable characters
   -M, --month-sort              compare months: other text, then JAN to DEC
   -n, --numeric-sort            compare decimal numbers of any length
   -r, --reverse                 reverse the order
       --sort=WORD               the same by words: human-numeric, month, numeric

OPTIONS:
   -c, --check                   check the order of a file, report the first line out of order
   -C, --check=quiet             check the order of a file, report nothing
   -k, --key=POS1[,POS2]         compare what lies from POS1 to POS2; may be repeated
       --json-key=PATH[:ORDER]   compare a field of JSON Lines: time, user.name, size:n; may be repeated
   -m, --merge                   merge files that are sorted
   -o, --output=FILE             write to FILE, which may be an input
   -s, --stable                  keep lines with equal keys in the order of the input
   -t, --field-separator=CHAR    separate fields by CHAR, in place of the change from text to blanks
   -u, --unique                  write the first of lines with equal keys; with -c, check that there are none
   -z, --zero-terminated         lines end with NUL
       --files0-from=FILE        read the files whose names stand in FILE, with NUL behind each
   -S, --buffer-size=SIZE        sort in SIZE of memory, at least 1M; by default in a quarter of the container's or machine's
   -T, --temporary-directory=DIR write temporary data to DIR, the first of several; by default to $TMPDIR or /tmp, or to /var/tmp if /tmp is in memory
       --compress                compress temporary data with Zstandard
       --parallel=N              sort with N goroutines, by default one a CPU and at most 8
       --batch-size=N            merge at most N files; more are sorted
       --help                    print this text
       --version                 print the version

   POS is F[.C][ORDER]: field F and in it character C, from 1 on. ORDER is letters of the options above, in place of those for the command.
   SIZE is a number and a unit: b, K (the default), M, G, T, or % of the memory.
   Lacking are -g, -R, -V, --random-source, --debug and --compress-program.
`
