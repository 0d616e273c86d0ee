# Runs command lines without our confinement, in throwaway namespaces where nothing of the host can be written. In
# the directory $1, which has a project as template, they find a copy of it in memory.
#
# Reads lines that end with a zero byte; an empty one makes a fresh copy. Says "done" after each, when all that the
# line started has ended.
exec 8< "$1/template"
mount --make-rprivate /
while read -r _ _ _ _ place _; do
    mount -o remount,bind,ro "$(printf %b "$place")"
done < /proc/self/mountinfo 2> /dev/null
mount -t tmpfs none /tmp
mkdir -p "$1"
mount -t tmpfs none "$1"
mkdir "$1/template" "$1/elsewhere"
mount -c --bind /proc/self/fd/8 "$1/template"
exec 8<&-
echo e > "$1/elsewhere/e.txt"
# Whatever the line starts holds descriptor 9, the pipe that `cat` reads to its end.
run='cd "$1/project" && (bash -c "$2") 9>&1 > /dev/null 2>&1 < /dev/null | cat'
while IFS= read -r -d '' line; do
    if [ -z "$line" ]; then
        rm -rf "$1/project"
        cp -a "$1/template" "$1/project"
    else
        timeout -k 1 10 unshare --mount --pid --ipc --fork --kill-child --mount-proc \
            bash -c "$run" control "$1" "$line" > /dev/null 2>&1 < /dev/null
    fi
    echo done
done
