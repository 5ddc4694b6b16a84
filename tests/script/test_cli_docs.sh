#!/bin/bash
# Help, version, lists, manual page and completions, all from the same tables.
. "${SRC:?}/tests/script/cli_lib.sh"

expect 0 "help" run --help
cp out help
empty err "help"
lines=$(wc -l <help)
[ "$lines" -ge 24 ] && [ "$lines" -le 60 ] || fail "help has $lines lines"
[ "$(wc -L <help)" -le 100 ] || fail "help is too wide"
says '^Example: paucis ' help "help"
says '^Exit: 0 done' help "help"
for words in -h help "-V -h"; do
    expect 0 "$words" run $words
    same help out "$words"
done

# Every command has a help of its own, of a screen's width, with an example.
commands=$(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' help)
[ "$(echo $commands | wc -w)" -ge 7 ] || fail "commands: $commands"
for command in $commands; do
    expect 0 "$command --help" run "$command" --help
    says "^Usage: paucis $command" out "$command --help"
    says "^Example: .*paucis" out "$command --help"
    [ "$(wc -L <out)" -le 100 ] || fail "$command --help is too wide"
    cp out first
    expect 0 "help $command" run help "$command"
    same first out "help $command"
done
expect 2 "help of nothing" run help nothing

expect 0 "version" run --version
[ "$(cat out)" = "paucis $(sed -n 's/.*VERSION_STRING "\(.*\)"/\1/p' "$SRC/include/paucis/paucis.h")" ] ||
    fail "version: $(cat out)"
expect 0 "-vV" run -vV
says '^formats: openai-chat' out "-vV"
says '^compiler: ' out "-vV"

# Lists
tables="formats policies levels forms strategies prices options rules kernels tokenizers replay"
for table in $tables; do
    expect 0 "list $table" run list "$table"
    cp out text
    expect 0 "list $table --json" run list "$table" --json
    json out "o['schema'] == 1 and len(o['$table']) == $(wc -l <text) and \
        all(set(r) == {'name', 'summary', 'detail'} and r['summary'] for r in o['$table'])" "$table"
done
expect 0 "list rules" run list rules
sed -n '/^```/,/^```/{/^```/!p}' "$SRC/docs/rules.md" >text
same out text "docs/rules.md"
expect 0 "list" run list
says '^formats:' out "list"
says '^openai-chat  ' out "list"
expect 0 "list --json" run list --json
json out "set(o) == {'schema', *'$tables'.split()}" "list --json"

# Every flag of the help is in the manual page and in the completions.
flags=$(sed -n '/^Options:/,/^$/s/.*--\([a-z-]*\).*/\1/p' help | sort -u)
for shell in bash zsh fish; do
    expect 0 "completion $shell" run completion $shell
    cp out "completion.$shell"
    for flag in $flags; do
        says "\(--\|-l \)$flag" "completion.$shell" "completion $shell"
    done
    for command in $commands; do
        says "\b$command\b" "completion.$shell" "completion $shell"
    done
    if command -v $shell >/dev/null; then
        $shell -n "completion.$shell" || fail "completion $shell does not parse"
    fi
done
bash -n completion.bash || fail "completion bash does not parse"
complete_with() { # words..., the last is completed
    bash -c '. ./completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _paucis
             printf "%s\n" "${COMPREPLY[@]}"' bash "$@" 2>/dev/null
}
[ "$(complete_with paucis comp | tr '\n' ' ')" = "compact completion " ] || fail "completes commands"
[ "$(complete_with paucis compact --pass)" = "--pass-through" ] || fail "completes flags"
[ "$(complete_with paucis compact -f anth)" = "anthropic" ] || fail "completes formats"
[ "$(complete_with paucis compact --format = anth)" = "anthropic" ] || fail "completes after ="
[ "$(complete_with paucis list form | tr '\n' ' ')" = "formats forms " ] || fail "completes tables"
[ "$(complete_with paucis compact -l ba)" = "balanced" ] || fail "completes levels"
[ "$(complete_with paucis compact --price anthropic-o)" = "anthropic-opus-5.5" ] || fail "completes prices"
touch some-file.json
[ "$(complete_with paucis compact some)" = "some-file.json" ] || fail "completes files"

expect 0 "man" run man
cp out paucis.1
for section in NAME SYNOPSIS DESCRIPTION COMMANDS OPTIONS "EXIT STATUS" ENVIRONMENT FILES EXAMPLES; do
    says "^\.SH $section\$" paucis.1 "man"
done
for flag in $flags; do
    says "\\\\-\\\\-$(echo "$flag" | sed 's/-/\\\\-/g')" paucis.1 "man"
done
if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww -z paucis.1 2>warnings || fail "groff"
    empty warnings "groff"
fi
if command -v man >/dev/null; then
    LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l paucis.1 >page 2>warnings || fail "man page"
    empty warnings "man page"
fi

# The examples of the commands run as they stand.
cp body.json request.json
cp body.json shorter.json
tr -d "\n" <body.json >traces.jsonl
for command in compact plan check replay list man help completion; do
    run $command --help | sed -n 's/^Example: //p' | sed 's/| man .*/>page/' >example
    expect 0 "example of $command" env PATH="$(dirname "$PAUCIS"):$PATH" bash example
done

finish
