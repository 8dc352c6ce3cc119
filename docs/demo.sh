#!/bin/sh
# The main job of mdmem, in a throw-away workspace and a home that are gone afterwards. `make demo` runs it; it needs mdmem and git.
set -eu

place=$(mktemp -d)
clean_up() {
    # The index may still be catching up in there, so that a folder fills again while it is being emptied.
    for _ in 1 2 3 4 5 6 7 8 9; do rm -rf "$place" 2>/dev/null && return; done
    rm -rf "$place"
}
trap 'status=$?; cd /; clean_up; exit $status' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Nothing of the machine's or the person's own settings counts here.
for name in $(env | sed -n 's/^\(\(GIT\|MDMEM\|XDG\)_[A-Za-z_]*\)=.*/\1/p'); do unset "$name"; done
export HOME="$place/home" GIT_CONFIG_NOSYSTEM=1
mkdir "$HOME"

say() { printf '\n# %s\n' "$*"; }

run() {
    printf '$'
    for word; do
        case $word in
        *[!A-Za-z0-9/:=._@-]*) printf ' "%s"' "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    "$@"
}

# finds WORDS QUERY: the search for QUERY must print WORDS.
finds() {
    printf '$ mdmem search "%s"\n' "$2"
    found=$(mdmem search "$2")
    printf '%s\n' "$found"
    case $found in
    *"$1"*) ;;
    *)
        echo "demo: the search for \"$2\" did not find \"$1\"" >&2
        exit 1
        ;;
    esac
}

say "A new workspace. git knows nobody here, so init says who commits."
run mdmem init "$place/notes"
cd "$place/notes"

say "Log a fact: an entry in the log of the day, committed."
run mdmem log --fact "the staging server moved to Frankfurt" --tag ops

say "Edit one section of MEMORY.md; not a byte of the others changes."
run mdmem edit-section Preferences --append "- editor: Helix" --source user-stated --reason "said so"
run mdmem show Preferences

say "Find both again."
finds Frankfurt "where is staging"
finds Helix "which editor"

say "The commit says who said it, and how sure that is."
run git --no-pager log -1 -p --unified=0 --no-color

say "A person edits by hand and commits with plain git; the hook lets the index catch up."
printf '%s\n' "- Helix is set to the theme Solarized" >>memory/editor.md
run git add memory/editor.md
run git -c user.name="A Person" -c user.email=person@example.org commit -q -m "my theme"
finds Solarized "which theme"

say "Done."
