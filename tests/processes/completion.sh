#!/usr/bin/env bash
# completion.sh - what bash, zsh and fish complete of our command lines, asked of those shells.
# promises: install
# uses: fish zsh
# test: once
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
PATH=$build:$PATH
mkdir "$work/folder" "$work/home" "$work/home/functions"
touch "$work/folder/file" "$work/folder/other"
cd "$work"

# Each line is a command line, up to where somebody asks what may follow, and all that may.
cases=$(cat <<'END'
syncopate com|compare completion
syncopate run --mo|--mode --model --momentum
syncopate run --mode |allreduce async ssp:S sync
syncopate run --optimizer a|adagrad adam adamw
syncopate compare --modes sync,as|sync,async
syncopate compare --modes sync,ss|sync,ssp:S
syncopate export --out folder/f|folder/file
syncopate evaluate folder/o|folder/other
syncopate run --out fol|folder
syncopate run --quiet --log-f|--log-format
syncopate run --epochs |
syncopate help ex|export
syncopate completion |bash fish zsh
syncopate man syncopate-c|syncopate-calibrate syncopate-compare syncopate-completion
syncopate-ps --on-worker-loss |continue fail wait
syncopate-worker --transport t|tcp
END
)

# offers SHELL COMMAND-LINE EXPECTED FOUND
offers()
{
    if [ "$4" != "$3" ]; then fail "$1 completes '$2' with '$4', not with '$3'"; fi
}
# In order, on one line.
words() { tr -s '[:space:]' '[\n*]' | sed -e '/^$/d' -e 's,/$,,' | sort | paste -sd ' '; }

# --- bash: by the function, and by a tab ----------------------------------------------------------
syncopate completion bash >"$work/bash"
# Lines to standard output, of what it offers for those of standard input.
bash_offers()
{
    # shellcheck disable=SC2016 # For the other bash.
    bash --norc -c '
        . ./bash
        while IFS= read -r line; do
            eval "COMP_WORDS=($line)"
            case $line in *" ") COMP_WORDS+=("") ;; esac
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
            if [[ $(complete -p "${COMP_WORDS[0]}") =~ " -F "([^ ]+) ]]; then "${BASH_REMATCH[1]}"; fi
            echo "${COMPREPLY[@]}"
        done'
}
# all_offer SHELL FILE - the cases, and what it offers for each.
all_offer()
{
    while IFS='|' read -r line expected && IFS= read -r found <&3; do
        offers "$1" "$line" "$expected" "$(words <<<"$found")"
    done <<<"$cases" 3<"$2"
    if [ "$(wc -l <"$2")" -ne "$(wc -l <<<"$cases")" ]; then fail "$1 has not as many answers as there are cases"; fi
}
cut -d'|' -f 1 <<<"$cases" | bash_offers >"$work/bash-found"
all_offer bash "$work/bash-found"
offers bash "--mode=s, cut at =" "ssp:S sync" "$(bash_offers <<<'syncopate run --mode = s' | words)"
for program in syncopate-ps syncopate-worker "syncopate run" "syncopate inspect"; do
    $program --help | grep -oE '^  --[a-z0-9-]+' | sed "s/^ /$program/"
done >"$work/options"
bash_offers <"$work/options" >"$work/offered"
count=0
while read -r line && read -r found <&3; do
    case " $found " in
        *" ${line##* } "*) count=$((count + 1)) ;;
        *) fail "bash does not complete $line" ;;
    esac
done <"$work/options" 3<"$work/offered"
if [ "$count" -ne "$(wc -l <"$work/options")" ]; then fail "bash does not answer for every option"; fi
if [ "$count" -lt 60 ]; then fail "only $count options were looked for"; fi
ok "bash completes $count options, and what may follow them"

# A person at a terminal: a tab where | stands, then return.
{
    printf '. ./bash; PS1="> "\n'
    printf 'syncopate() { echo "called: $*"; }\n'
    printf 'syncopate export --ou\tfolder/fi\t\n'
    printf 'exit\n'
} | TERM=dumb HOME=$work/home script -qec "bash --norc -i" "$work/typed.log" >/dev/null 2>&1 || true
tr -d '\r' <"$work/typed.log" | grep -qx 'called: export --out folder/file' ||
    fail "two tabs do not make a command line"
ok "a tab after a part of an option and of a file completes both at a terminal"

# --- fish -----------------------------------------------------------------------------------------
if command -v fish >/dev/null; then
    syncopate completion fish >"$work/fish"
    mapfile -t lines < <(cut -d'|' -f 1 <<<"$cases")
    # shellcheck disable=SC2016 # For fish.
    HOME=$work/home fish --no-config -c 'source ./fish; for line in $argv; complete -C "$line"; echo .; end' "${lines[@]}" |
        cut -f 1 | awk '$0 == "." { print found; found = ""; next } { found = found " " $0 }' >"$work/fish-found"
    all_offer fish "$work/fish-found"
    ok "fish completes the same"
else
    skip "what fish completes: fish is not here"
fi

# --- zsh ------------------------------------------------------------------------------------------
# Types each line of standard input into a zsh, asks for what may follow, and prints that.
cat >"$work/type.zsh" <<'END'
zmodload zsh/zpty
heard() # PATTERN - until that has come, or nothing has for so long that it will not
{
    local chunk quiet=0
    all=
    until [[ $all = $~1 ]] || (( quiet > 600 )); do
        if zpty -r -t zsh chunk; then all+=$chunk quiet=0; else sleep 0.05; (( quiet++ )); fi
    done
}
zpty zsh env TERM=dumb zsh -f -i
zpty -w zsh 'PROMPT="> "; unsetopt zle_bracketed_paste prompt_cr prompt_sp; stty columns 300
    fpath=(~/functions $fpath); autoload -U compinit; compinit -u -D; LISTMAX=10000
    zstyle ":completion:*" verbose no; echo is re""ady'
heard $'*is ready\r*> *' # And not what was typed: it is to take keys.
while IFS= read -r line; do
    zpty -n -w zsh $'\C-u'"$line"$'\C-d\C-u:asked:' # What is typed last is shown when the rest has been.
    heard '*:asked:*'
    lines=("${(@f)all}")
    print -r -- "$line|${lines[2,-2]}" # Between what was typed and that again.
done
END
if command -v zsh >/dev/null; then
    syncopate completion zsh >"$work/home/functions/_syncopate"
    cut -d'|' -f 1 <<<"$cases" | HOME=$work/home zsh -f "$work/type.zsh" | tr -d '\r\a' >"$work/zsh.log"
    if [ "$(wc -l <"$work/zsh.log")" -ne "$(wc -l <<<"$cases")" ]; then fail "zsh has no answers"; fi
    # Of folder/file it shows the file.
    while IFS='|' read -r line expected && IFS='|' read -r _ found <&3; do
        offers zsh "$line" "$(tr ' ' '\n' <<<"$expected" | sed 's,.*/,,' | words)" "$(words <<<"$found")"
    done <<<"$cases" 3<"$work/zsh.log"
    ok "zsh completes the same"
else
    skip "what zsh completes: zsh is not here"
fi
